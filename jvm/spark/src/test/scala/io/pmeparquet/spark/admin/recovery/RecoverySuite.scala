package io.pmeparquet.spark.admin.recovery

import java.nio.{ByteBuffer, ByteOrder}
import java.nio.file.{Files, Path}

import scala.collection.JavaConverters._
import scala.util.Random

import org.apache.spark.sql.{DataFrame, Row}

import io.pmeparquet.spark.SparkSuite
import io.pmeparquet.Condition.{BadOption, SnapshotMismatch, Unsupported}

/** `Recovery` writes what opens of a damaged table, says what does not, and leaves the source as it is. */
class RecoverySuite extends SparkSuite {
  private def whole: String = directory.resolve("whole").toString

  /** Twenty rows of each place, five in a page. */
  private def residents: DataFrame = people.selectExpr(
    "*",
    "named_struct('a', id, 'b', ssn) AS pair",
    "IF(id % 3 = 0, NULL, array(ssn, 'x', NULL)) AS list",
    "IF(id < 20, 'here', 'there') AS place"
  )

  private val pages = Map(
    "parquet.page.row.count.limit" -> "5",
    "parquet.page.size.row.check.min" -> "1",
    "parquet.enable.dictionary" -> "false"
  )

  private def damaged(options: (String, String)*): Unit =
    residents
      .orderBy("id")
      .coalesce(1)
      .write
      .format(SparkSuite.Format)
      .options(keys ++ options ++ pages)
      .partitionBy("place")
      .save(target)

  private def recover(
      lost: String,
      read: Map[String, String] = keys,
      unauthenticated: Boolean = false,
      like: Option[String] = None,
      sealing: Option[Map[String, String]] = None
  ): RecoveredTable = Recovery.recover(
    spark,
    target,
    whole,
    read.asJava,
    keys.asJava,
    lost,
    unauthenticated,
    like.orNull,
    sealing.map(_.asJava).orNull
  )

  private def back(options: Map[String, String] = keys): Seq[Row] =
    reader(options).load(whole).orderBy("id").collect().toSeq

  private def truth: Map[Long, Row] =
    residents.collect().map(row => row.getAs[Long]("id") -> row).toMap

  private def files: Seq[Path] = files().filterNot(_.toString.contains("_pme_snapshots"))

  /** Where each module before the footer ends. */
  private def ends(file: Path): Seq[Int] = {
    val bytes = Files.readAllBytes(file)
    def length(at: Int) = ByteBuffer.wrap(bytes, at, 4).order(ByteOrder.LITTLE_ENDIAN).getInt
    val footer = bytes.length - 8 - length(bytes.length - 8)
    Iterator.iterate(4)(at => at + 4 + length(at)).takeWhile(_ < footer).map(at => at + 3 + length(at)).toList
  }

  private def flip(file: Path, places: Int*): Unit = {
    val bytes = Files.readAllBytes(file)
    places.foreach(place => bytes(place) = (bytes(place) ^ 1).toByte)
    Files.write(file, bytes)
    Files.deleteIfExists(file.resolveSibling(s".${file.getFileName}.crc"))
    ()
  }

  private def assertTrue(rows: Seq[Row]): Unit = {
    val all = truth
    rows.foreach { row =>
      val id = Option(row.getAs[Any]("id")).map(_.asInstanceOf[Long])
      val lost =
        if (row.schema.fieldNames.contains(Recovery.LostColumns))
          Option(row.getAs[scala.collection.Seq[String]](Recovery.LostColumns)).toSeq.flatten
        else Nil
      assertEquals(id.isEmpty, lost.contains("id"))
      id.foreach { known =>
        for (name <- row.schema.fieldNames if name != Recovery.LostColumns) {
          val expected = if (lost.contains(name)) null else all(known).getAs[Any](name)
          assertEquals(row.getAs[Any](name), expected, s"$name of $known")
        }
      }
    }
  }

  test("a sound table comes back whole, in its partitions") {
    damaged()
    val done = recover("rows")
    assertEquals((done.files, done.rows, done.rowsLeftOut, done.lost.count()), (2L, 40L, 0L, 0L))
    assertEquals(back().size, 40)
    assertTrue(back())
    assertEquals(files(whole).map(_.getParent.getFileName.toString).sorted, Seq("place=here", "place=there"))
  }

  test("rows that have lost a value are left out, and all others come back") {
    damaged()
    val before = files.map(file => file -> Files.readAllBytes(file).toSeq)
    val random = new Random(3)
    val hit = files.map(file => file -> random.shuffle(ends(file)).take(2))
    hit.foreach { case (file, places) => flip(file, places: _*) }
    val done = recover("rows")
    val rows = back()
    assertTrue(rows)
    assertEquals((rows.size.toLong, done.rows + done.rowsLeftOut), (done.rows, 40L))
    assert(done.rowsLeftOut > 0 && done.rows > 0, s"${done.rows} ${done.rowsLeftOut}")
    assert(done.lost.collect().forall(_.getAs[String]("condition") == "PME_NOT_AUTHENTIC"))
    // The source is as it was damaged.
    before.zip(hit).foreach { case ((file, bytes), (_, places)) =>
      val now = Files.readAllBytes(file).toSeq
      assertEquals(now.indices.filter(at => now(at) != bytes(at)), places.sorted.toIndexedSeq)
    }
  }

  test("cells that are lost are NULL, and each row names them") {
    damaged()
    files.foreach(file => flip(file, ends(file).filter(_ % 4 == 1).take(4): _*))
    val done = recover("cells")
    val rows = back()
    assertTrue(rows)
    assertEquals((rows.size, done.rows, done.rowsLeftOut), (40, 40L, 0L))
    assertEquals(
      rows.count(!_.isNullAt(rows.head.fieldIndex(Recovery.LostColumns))).toLong,
      done.rowsWithLoss
    )
    assert(done.rowsWithLoss > 0 && done.rowsWithLoss < 40, done.rowsWithLoss)
  }

  test("a column without its key is lost, and a file without its footer") {
    damaged()
    flip(files.head, Files.readAllBytes(files.head).length - 20)
    val done = recover("cells", read = keys + ("columnKeys" -> "other: ssn"))
    assertEquals((done.files, done.rows, done.rowsWithLoss), (1L, 20L, 20L))
    val lost =
      done.lost.collect().map(row => Option(row.getAs[String]("column")) -> row.getAs[String]("condition"))
    assertEquals(
      lost.toSet,
      Set(
        None -> "PME_NOT_AUTHENTIC",
        Some("ssn") -> "PME_KEY_METADATA",
        Some("salary") -> "PME_KEY_METADATA"
      )
    )
    assertTrue(back())
  }

  test(
    "a file without its footer comes back by the columns of another file, but for columns with keys of their own"
  ) {
    damaged()
    flip(files.head, Files.readAllBytes(files.head).length - 20)
    val done = recover("cells", like = Some(files.last.toString))
    assertEquals((done.files, done.rows, done.rowsWithLoss, done.lostFiles), (2L, 40L, 20L, 0L))
    assertEquals(
      done.lost.select("column").distinct().collect().map(_.getString(0)).toSet,
      // Without a column: what the whole file has lost. Nothing shows whether the list of the last row goes on.
      Set(null, "ssn", "salary", "list.element")
    )
    assertTrue(back())
  }

  test("what nothing authenticates comes back only if it is asked for") {
    damaged("algorithm" -> "AES_GCM_CTR_V1")
    val read = keys + ("algorithm" -> "AES_GCM_CTR_V1")
    val none = recover("rows", read)
    assertEquals((none.files, none.rows, none.rowsLeftOut), (0L, 0L, 40L))
    assert(!Files.exists(directory.resolve("whole")))
    val all = recover("rows", read, unauthenticated = true)
    assertEquals((all.files, all.rows, all.rowsLeftOut), (2L, 40L, 0L))
    assertTrue(back())
  }

  test("a file that the table's snapshot does not list does not come back, and one that is gone is named") {
    damaged("snapshot" -> "update")
    val sealedTable = keys
    val planted = files.head.resolveSibling("part-9.parquet")
    Files.copy(files.head, planted)
    val gone = files.last
    Files.delete(gone)
    val done = recover("rows", read = sealedTable)
    assertEquals((done.files, done.rows), (1L, 20L))
    val lost =
      done.lost.collect().map(row => row.getAs[String]("file") -> row.getAs[String]("condition")).toMap
    assertEquals(lost, Seq(planted, gone).map(file => s"file:$file" -> "PME_SNAPSHOT_MISMATCH").toMap)
  }

  test("the new table is sealed only if that is asked for, and its seal says what it was recovered from") {
    damaged()
    flip(files.head, ends(files.head).head)
    val done = recover("rows", sealing = Some(kms))
    assertEquals((done.sealedAs.version, done.sealedAs.files), (1L, done.files))
    val manifest = Files.readString(directory.resolve("whole/_pme_snapshots/snapshot-0000000001.json"))
    // With the end of the text: nothing follows the path.
    assert(manifest.contains(s", recovered from file:$target" + '"'), manifest)
    assertEquals(back(keys + ("snapshot" -> "require")).size.toLong, done.rows)
    Files.delete(files(whole).filterNot(_.toString.contains("_pme_snapshots")).head)
    refused(SnapshotMismatch, "is missing")(back())
  }

  test("a seal that is impossible is refused before anything is written") {
    damaged()
    refused(Unsupported, "sign")(recover("rows", sealing = Some(kms + ("signingKey" -> "signer"))))
    assert(!Files.exists(directory.resolve("whole")))
  }

  test("the caller says what to do with rows, and the target is new and elsewhere") {
    damaged()
    refused(BadOption, "lost")(recover("some"))
    for (path <- Seq(target, s"$target/place=here/new", directory.toString))
      refused(BadOption, path) {
        Recovery.recover(
          spark,
          target,
          path,
          keys.asJava,
          keys.asJava,
          "rows",
          unauthenticated = false,
          null,
          null
        )
      }
    assert(!Files.exists(directory.resolve("whole")))
  }
}
