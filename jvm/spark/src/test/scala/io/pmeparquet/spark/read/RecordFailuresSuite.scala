package io.pmeparquet.spark.read

import org.apache.parquet.example.data.simple.NanoTime
import org.apache.parquet.example.data.Group
import org.apache.parquet.io.ParquetDecodingException

import io.pmeparquet.spark.{AlteredFile, PairSuite}
import io.pmeparquet.Condition.NotAuthentic

/** A record that cannot be decoded fails as in Spark's own source: with place, block, file and cause. */
class RecordFailuresSuite extends PairSuite {

  override def beforeEach(context: BeforeEach): Unit = {
    super.beforeEach(context)
    set(Map("spark.sql.parquet.enableVectorizedReader" -> "false"))
  }

  private def file(source: Source) = s"${source.path}/a.parquet"

  /** Writes the same rows for both sources, in row groups of two. */
  private def write(schema: String, rows: Seq[Group => Any]): Unit =
    for (source <- Seq(ours, theirs))
      OtherWriter.write(file(source), schema, rows, isEncrypted = source == ours, groupRows = Some(2))

  /** The classes of a failure and its causes, with conditions, and the text about a record. */
  private def causes(job: => Any): Seq[String] =
    Iterator.iterate[Throwable](intercept[Throwable](job))(_.getCause).takeWhile(_ != null).toList.map {
      failed =>
        val text = failed match {
          case of: ParquetDecodingException => of.getMessage.replaceAll("file:\\S+", "FILE")
          case other => conditionOf(other)
        }
        s"${failed.getClass.getName} $text"
    }

  for (
    (schema, place) <- Seq(
      "n INT" -> "at 2 in block 0",
      "s STRUCT<n: INT>" -> "at 2 in block 0",
      "t BIGINT" -> "at 1 in block 0",
      "n STRING" -> "at 2 in block 0",
      // Its values are in a dictionary, which is decoded before the first record.
      "same STRING" -> "at 0 in block -1",
      "n TIMESTAMP" -> "",
      "last INT" -> "at 5 in block 2"
    )
  )
    test(s"another type than the file's fails as in Spark's own source: $schema") {
      val rows = (0 until 5).map { at => (group: Group) =>
        val struct = group.addGroup("s")
        if (at > 0) {
          group.append("n", at.toLong)
          struct.append("n", at.toLong)
        }
        if (at == 4) group.append("last", 1L)
        group.append("t", "abcde".substring(at, at + 1)).append("same", 7L)
      }
      write(
        "message m { optional int64 n; optional binary t (UTF8); optional group s { optional int64 n; } " +
          "optional int64 last; required int64 same; }",
        rows
      )
      for (scan <- Seq("v1", "v2")) {
        if (scan == "v2") set(Map("spark.sql.sources.useV1SourceList" -> ""))
        def read(source: Source) =
          causes(
            source.reader("scan" -> scan, "reader" -> "pages").schema(schema).load(source.path).collect()
          )
        val found = read(ours)
        assertEquals(found, read(theirs))
        val text = s"${classOf[ParquetDecodingException].getName} Can not read value $place in file FILE"
        if (place.nonEmpty) assert(found.exists(_.startsWith(text)), found)
      }
    }

  for (isInt96 <- Seq(true, false))
    test(s"an old date fails as in Spark's own source: isInt96=$isInt96") {
      // Three new days, and one of the year 1200 in the second row group.
      val days = Seq(18262, 18628, 18993, -281236)
      val rows = days.map { day => (group: Group) =>
        if (isInt96) group.append("t", new NanoTime(day + 2440588, 0L))
        else group.append("t", day * 86400L * 1000000)
      }
      write(
        s"message m { optional ${if (isInt96) "int96 t" else "int64 t (TIMESTAMP(MICROS, true))"}; }",
        rows
      )
      val names = Seq("datetimeRebaseModeInRead", "int96RebaseModeInRead")
      set(names.map(name => s"spark.sql.parquet.$name" -> "EXCEPTION").toMap)
      val (found, expected) = both(source => causes(source.read("reader" -> "pages").collect()))
      assertEquals(found, expected)
      assert(found.exists(_.contains("INCONSISTENT_BEHAVIOR_CROSS_VERSION")), found)
    }

  test("our own failures keep their condition") {
    write(
      "message m { required int64 n; }",
      (1 to 3).map(at => (group: Group) => group.append("n", at.toLong))
    )
    AlteredFile.flipInModule(files(ours.path).head, 1)
    refused(NotAuthentic, "a.parquet", "'n'")(ours.read("reader" -> "pages").collect())
  }
}
