package io.pmeparquet.parquet.copy

import java.nio.file.{Files, Path => LocalPath}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.pmeparquet.parquet.WrittenFilesSuite
import io.pmeparquet.PmeException

/** What storage alters while a merged file is written is noticed before it is used, and so is a source that changes. */
class MergedFilesSuite extends WrittenFilesSuite {
  private val use = kms("f", "n")
  private val ways: Seq[(String, Seq[(String, String)])] = Seq(
    "GCM" -> Seq("uniformKey" -> "f"),
    "CTR" -> Seq("uniformKey" -> "f", "algorithm" -> "AES_GCM_CTR_V1"),
    "a column without key" -> Seq(
      "footerKey" -> "f",
      "columnKeys" -> "n: name",
      "unlistedColumns" -> "plaintext"
    ),
    "plaintext" -> Nil
  )

  private def bending(at: Int): Configuration = {
    val bending = new Configuration(false)
    bending.set("fs.file.impl", classOf[BendingFileSystem].getName)
    bending.set("fs.file.impl.disable.cache", "true")
    bending.setInt(BendingFileSystem.At, at)
    bending
  }

  private def merged(
      root: LocalPath,
      files: Seq[Path],
      options: Seq[(String, String)],
      own: Configuration
  ): Path = {
    val scope = reader(use, options.filter(_._1 == "algorithm") :+ ("plaintextFiles" -> "allow"): _*)
    val traits = FileTraits.of(scope, listed(files.head), conf)._1.fold(why => fail(why), identity)
    val write = if (options.isEmpty) None else Some(writer(use, root, options: _*))
    val made = new Path(root.toUri.toString, "merged.parquet")
    val work = new FileMerge(scope, write, traits, own, () => ())
    val done = work.write(files.map(listed), None, made, made)
    assertEquals(done.map(_.rows), Right(files.size.toLong * RowCount))
    made
  }

  for ((what, options) <- ways)
    directory.test(s"a merged file that is altered on its way to the disk fails its check: $what") { root =>
      val files = (0 until 3).map(_ => write(root, use, options: _*)())
      val length = Files.size(local(merged(root, files, options, bending(-1)))).toInt
      // Pages, indexes and the footer.
      for (at <- 10 until length by 97) {
        Files.delete(root.resolve("merged.parquet"))
        intercept[Exception](merged(root, files, options, bending(at)))
      }
    }

  directory.test("a source that is not as it was listed, or has other keys, is refused") { root =>
    val options = Seq("uniformKey" -> "f")
    val files = (0 until 2).map(_ => write(root, use, options: _*)())
    val scope = reader(use)
    val traits = FileTraits.of(scope, listed(files.head), conf)._1.fold(why => fail(why), identity)
    val before = files.map(listed)
    def refused(): Unit = {
      val work = new FileMerge(scope, Some(writer(use, root, options: _*)), traits, conf, () => ())
      val made = new Path(root.toUri.toString, "merged.parquet")
      val failed = intercept[PmeException](work.write(before, None, made, made))
      assert(failed.getMessage.contains("changed"), failed.getMessage)
      assert(!Files.exists(local(made)))
    }
    val other = write(root, use, "uniformKey" -> "n")()
    Files.write(local(files(1)), Files.readAllBytes(local(other)))
    refused()
    // Even with the time and the length of the first one.
    Files.setLastModifiedTime(
      local(files(1)),
      java.nio.file.attribute.FileTime.fromMillis(before(1).modified)
    )
    refused()
  }
}
