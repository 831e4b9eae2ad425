package io.pmeparquet.spark.write

import java.nio.file.{Files, Paths}

import org.apache.spark.sql.AnalysisException

import io.pmeparquet.spark.PairSuite

/** Save modes and codecs leave what they leave with Spark's own source. */
class SaveModesSuite extends PairSuite {
  for (
    (mode, first, second, count) <- Seq(("append", 20, 20, 40), ("overwrite", 20, 5, 5), ("ignore", 3, 9, 3))
  )
    test(s"rows are those that Spark's own source would have: $mode") {
      def job(source: Source) = {
        source.writer(residents(0, first)).mode(mode).save(source.path)
        source.writer(residents(100, second)).mode(mode).save(source.path)
        source.read()
      }
      assertEquals(same(job).size, count)
      assertEncrypted()
    }

  test("an existing path is refused, which is the default") {
    for (source <- Seq(ours, theirs)) {
      source.writer(residents(0, 3)).mode("error").save(source.path)
      for (writer <- Seq(source.writer(residents(9, 3)), source.writer(residents(9, 3)).mode("error"))) {
        val failed = intercept[AnalysisException](writer.save(source.path))
        assertEquals(conditionOf(failed), "PATH_ALREADY_EXISTS")
      }
    }
    assertEquals(same(_.read()).size, 3)
  }

  private def suffixes(source: Source) =
    files(source.path).map(_.getFileName.toString.dropWhile(_ != '.')).toSet

  for (codec <- Seq("none", "uncompressed", "snappy", "gzip", "zstd", "lz4", "lz4_raw"))
    test(s"a codec is written and read back: $codec") {
      // The columns whose form depends on the codec: repeated text, numbers, nulls.
      val frame = residents().select("id", "name", "tags", "salary").coalesce(1)
      assertEquals(
        same { source =>
          source.write(frame, "compression" -> codec)
          source.read()
        }.size,
        20
      )
      assertEquals(suffixes(ours), suffixes(theirs))
      assertEncrypted()
    }

  test("the session's codec is used") {
    set(Map("spark.sql.parquet.compression.codec" -> "gzip"))
    same { source =>
      source.write(residents())
      source.read()
    }
    assertEquals(suffixes(ours), Set(".gz.parquet"))
  }

  // Spark has no library for LZO (GPL), and none for Brotli (native, of others).
  for (codec <- Seq("lzo", "brotli", "quick"))
    test(s"a codec without a library, and an unknown one, fail as in Spark's own source: $codec") {
      for (source <- Seq(theirs, ours)) {
        // One task: with two, Spark may delete `_temporary` before the second one creates its file there.
        val failed = intercept[Throwable](source.write(residents().coalesce(1), "compression" -> codec))
        val texts = Iterator.iterate(failed)(_.getCause).takeWhile(_ != null).map(_.toString.toLowerCase)
        assert(texts.exists(_.contains(codec)), failed)
        if (Files.exists(Paths.get(source.path)))
          assertEquals(allFiles(source.path).filter(_.toString.endsWith(".parquet")), Nil)
      }
    }
}
