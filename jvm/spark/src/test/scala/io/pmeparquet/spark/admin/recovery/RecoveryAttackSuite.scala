package io.pmeparquet.spark.admin.recovery

import java.io.IOException
import java.net.URI
import java.nio.{ByteBuffer, ByteOrder}
import java.nio.file.{Files, Path, Paths}

import scala.collection.JavaConverters._
import scala.util.Try

import org.apache.hadoop.fs.{FSDataInputStream, Path => HadoopPath, RawLocalFileSystem}
import org.apache.parquet.bytes.BytesInput
import org.apache.parquet.column.statistics.Statistics
import org.apache.parquet.column.Encoding
import org.apache.parquet.hadoop.metadata.CompressionCodecName
import org.apache.parquet.hadoop.util.HadoopOutputFile
import org.apache.parquet.hadoop.ParquetFileWriter
import org.apache.parquet.schema.{MessageType, MessageTypeParser}
import org.apache.spark.sql.{DataFrame, Row}

import io.pmeparquet.spark.admin.seal.{IndexRequests, Sealing}
import io.pmeparquet.spark.SparkSuite
import io.pmeparquet.testkit.TestKms

/** Attacks on recovery. */
class RecoveryAttackSuite extends SparkSuite {
  private def whole: String = directory.resolve("whole").toString
  private val pages = Map(
    "parquet.page.row.count.limit" -> "5",
    "parquet.page.size.row.check.min" -> "1",
    "parquet.enable.dictionary" -> "false"
  )

  private def put(frame: DataFrame, where: String, options: Map[String, String] = keys): Unit =
    frame
      .orderBy("id")
      .coalesce(1)
      .write
      .format(SparkSuite.Format)
      .options(options ++ pages)
      .save(s"$target/$where")

  private def recover(
      lost: String,
      read: Map[String, String] = keys,
      write: Map[String, String] = keys,
      unauthenticated: Boolean = false,
      from: String = target,
      to: String = whole,
      sealing: Map[String, String] = null
  ): RecoveredTable = {
    val seal = Option(sealing).map(_.asJava).orNull
    Recovery.recover(spark, from, to, read.asJava, write.asJava, lost, unauthenticated, null, seal)
  }

  private def back(options: Map[String, String] = keys): Seq[Row] =
    reader(options).load(whole).orderBy("id").collect().toSeq

  private def ends(file: Path): Seq[Int] = {
    val bytes = Files.readAllBytes(file)
    def length(at: Int) = ByteBuffer.wrap(bytes, at, 4).order(ByteOrder.LITTLE_ENDIAN).getInt
    val footer = bytes.length - 8 - length(bytes.length - 8)
    Iterator.iterate(4)(at => at + 4 + length(at)).takeWhile(_ < footer).map(at => at + 3 + length(at)).toList
  }

  private def uncheck(file: Path): Unit = {
    Files.deleteIfExists(file.resolveSibling(s".${file.getFileName}.crc"))
    ()
  }

  private def flip(file: Path, place: Int, keepsChecksum: Boolean = false): Unit = {
    val bytes = Files.readAllBytes(file)
    bytes(place) = (bytes(place) ^ 1).toByte
    Files.write(file, bytes)
    if (!keepsChecksum) uncheck(file)
  }

  private def said(done: RecoveredTable) =
    s"${done.files} files ${done.rows} rows ${done.rowsLeftOut} out ${done.rowsWithLoss} with loss ${done.lostFiles} lost files: " +
      done.lost.collect().map(_.toString.take(200)).mkString("; ")

  private val only = kms + ("footerKey" -> "footer")

  for (mode <- Seq("rows", "cells"))
    test(s"a lost cell is lost if files spell the column in different cases: $mode") {
      put(spark.range(1, 21).selectExpr("id AS ID", "concat('c', id) AS name"), "p=1", only)
      put(spark.range(101, 121).selectExpr("id", "concat('c', id) AS name"), "p=2", only)
      val second = files().filter(_.toString.contains("p=2")).head
      flip(second, ends(second)(1))
      val done = recover(mode, only, only)
      val rows = back(only)
      val wrong = rows.filter { row =>
        val id = row.getAs[Any]("ID")
        id == null && mode == "rows" || id == 0L || s"c$id" != row.getAs[String]("name") && mode == "rows"
      }
      assertEquals(wrong.map(_.toString), Nil, said(done))
      if (mode == "cells") assertEquals(done.rowsWithLoss, 5L, said(done))
    }

  test("a listed file that somebody replaced by another of the table does not come back in its place") {
    people
      .selectExpr("*", "IF(id < 20, 'here', 'there') AS place")
      .coalesce(1)
      .write
      .format(SparkSuite.Format)
      .options(keys + ("snapshot" -> "update"))
      .partitionBy("place")
      .save(target)
    val data = files().filterNot(_.toString.contains("_pme_snapshots"))
    val (here, there) = (data.head, data.last)
    Files.write(there, Files.readAllBytes(here))
    Seq(here, there).foreach(uncheck)
    val read = Try(reader(keys).load(target).collect())
    assert(read.isFailure, "a read takes it")
    val done = recover("rows")
    val wrong = back().count(row => (row.getAs[Long]("id") < 20) != (row.getAs[String]("place") == "here"))
    assertEquals(wrong, 0, said(done))
  }

  test("one bit costs one page, though Hadoop's checksum of the file no longer matches") {
    put(people, "p=1")
    val file = files().head
    flip(file, ends(file)(1), keepsChecksum = true)
    val done = recover("rows")
    assertEquals((done.files, done.rows), (1L, 35L), said(done))
  }

  for (key <- Seq("denied", "down"))
    test(s"a target that cannot be written is an error and no loss: $key") {
      put(people, "p=1")
      val done = Try(recover("rows", write = kms + ("footerKey" -> key)))
      assert(done.isFailure, said(done.get))
    }

  test("a KMS that does not answer is an error and no loss") {
    val own =
      Map("kms" -> classOf[SometimesDown].getName, "footerKey" -> "footer", "columnKeys" -> "sometimes: ssn")
    put(people, "p=1", own)
    SometimesDown.down = true
    val done =
      try
        Try(
          recover(
            "rows",
            read = Map(
              "kms" -> classOf[SometimesDown].getName,
              "parquet.encryption.cache.lifetime.seconds" -> "1234"
            )
          )
        )
      finally SometimesDown.down = false
    assert(done.isFailure, said(done.get))
  }

  test("storage that fails is an error and no loss") {
    put(people, "p=1")
    put(people, "p=2")
    inHadoop(
      "fs.failing.impl" -> classOf[FailingFileSystem].getName,
      "fs.failing.impl.disable.cache" -> "true"
    ) {
      val done = Try(recover("rows", from = s"failing://$target"))
      assert(done.isFailure, said(done.get))
    }
  }

  test("the target is not put into the table by way of a link") {
    put(people, "p=1")
    val link = directory.resolve("link")
    Files.createSymbolicLink(link, directory.resolve("table"))
    val done = Try(untouched()(recover("rows", to = s"$link/new")))
    assert(done.isFailure && !Files.exists(directory.resolve("table/new")), done.map(said).toString)
  }

  test("the target is not put into the table of a single file") {
    put(people, "p=1")
    val done = Try(recover("rows", from = files().head.toString, to = s"$target/p=2"))
    assert(done.isFailure, s"${done.map(said)}; the table now has ${reader(keys).load(target).count()} rows")
  }

  test("the report names all that is missing: fields of a struct") {
    put(people.selectExpr("id", "named_struct('a', id, 'b', ssn) AS pair"), "p=1", only)
    val file = files().head
    val found = ends(file).indices.by(if (isWhole) 1 else 7).flatMap { at =>
      val honest = Files.readAllBytes(file)
      flip(file, ends(file)(at))
      val done = recover("cells", only, only, to = s"$whole-$at")
      Files.write(file, honest)
      val lost = done.lost.collect().map(_.getAs[String]("column")).toSet
      val null_ = Try(reader(only).load(s"$whole-$at").where("pair.b IS NULL").count()).getOrElse(-1L)
      if (null_ > 0 && !lost.exists(Set("pair.b", "pair").contains))
        Some(s"module $at: $null_ of pair.b are gone, report: $lost")
      else None
    }
    assertEquals(found.take(2).toList, Nil)
  }

  test("a type that does not merge does not keep the other files from coming back") {
    put(people.selectExpr("id", "ssn"), "p=1", only)
    put(people.selectExpr("concat('x', id) AS id", "ssn"), "p=2", only)
    val done = Try(recover("rows", only, only))
    assert(done.isSuccess, done.toString)
  }

  test("a fault of the snapshot's own index is no lost file of the table") {
    write(people, keys)
    val index = IndexRequests.parse("""{"kind": "minMax", "column": "id", "parameters": {}}""")
    Sealing.seal(spark, target, keys, Some(Seq(index)), Some("unsealed"))
    val parts = allFiles().filter(_.toString.contains("_pme_snapshots"))
    val all = parts.flatMap { part =>
      val honest = Files.readAllBytes(part)
      flip(part, honest.length / 2)
      val done = Try(recover("rows", to = s"$whole-${part.getFileName}"))
      Files.write(part, honest)
      done.toOption.filter(_.lostFiles > 0).map(one => s"${part.getFileName}: ${said(one)}")
    }
    assertEquals(all.toList, Nil)
  }

  private def plain(where: String)(fill: (ParquetFileWriter, MessageType) => Unit): HadoopPath = {
    val of = MessageTypeParser.parseMessageType("message m { optional int64 id; }")
    val file = new HadoopPath(directory.resolve("table").resolve(where).toUri)
    val conf = new org.apache.hadoop.conf.Configuration(false)
    val out = new ParquetFileWriter(
      HadoopOutputFile.fromPath(file, conf),
      of,
      ParquetFileWriter.Mode.CREATE,
      1L << 27,
      0,
      64,
      100,
      false
    )
    out.start()
    fill(out, of)
    out.end(new java.util.HashMap[String, String])
    file
  }

  /** Pages, each of some values that all have one level. */
  private def group(out: ParquetFileWriter, of: MessageType, pages: Seq[(Int, Int)]): Unit = {
    val descriptor = of.getColumns.get(0)
    val rows = pages.map(_._1.toLong).sum
    out.startBlock(rows)
    out.startColumn(descriptor, rows, CompressionCodecName.UNCOMPRESSED)
    val none: Statistics[_] = Statistics.createStats(descriptor.getPrimitiveType)
    pages.foreach { case (count, level) =>
      val header = Iterator.iterate(count.toLong << 1)(_ >>> 7).takeWhile(_ > 0).map(_ & 0x7f).toList
      val run = header.init.map(_ | 0x80).map(_.toByte) ++ List(header.last.toByte, level.toByte)
      val bytes = (List(run.size, 0, 0, 0).map(_.toByte) ++ run ++ (if (level == 1) List.fill(8)(7.toByte)
                                                                    else Nil)).toArray
      out.writeDataPage(
        count,
        bytes.length,
        BytesInput.from(bytes, 0, bytes.length),
        none,
        count.toLong,
        Encoding.RLE,
        Encoding.RLE,
        Encoding.PLAIN
      )
    }
    out.endColumn()
    out.endBlock()
  }

  for (
    (name, second) <- Seq(
      "a row group of very many rows" -> Seq.fill(1500)(2000000 -> 0),
      "a level above the greatest" -> Seq(1 -> 9)
    )
  )
    test(s"one hostile file does not keep the others from coming back: $name") {
      plain("../plain/p=2/bad.parquet") { (out, of) =>
        group(out, of, Seq(1 -> 1))
        group(out, of, second)
      }
      io.pmeparquet.spark.admin.TableCopies.encrypt(
        spark,
        directory.resolve("plain").toString,
        target,
        kms.asJava,
        only.asJava
      )
      put(spark.range(40).selectExpr("nullif(id, -1L) AS id"), "p=1", only)
      val done = Try(recover("rows", only, only))
      assert(done.isSuccess, done.toString.take(1500))
      assert(done.get.rows >= 40, said(done.get))
    }

  test("a session whose writes seal does not break or seal a recovery") {
    put(people, "p=1")
    setOptions(Map("snapshot" -> "update"))
    val done = Try(recover("rows"))
    assert(done.isSuccess, done.toString.take(1000))
    setOptions(Map("snapshot" -> "off"))
    assertEquals(back().size, 40, said(done.get))
  }

  for (allowed <- if (isWhole) 0 to 8 else Seq(0, 3, 6))
    test(s"a KMS that stops while the target is written is an error and no loss: after $allowed calls") {
      put(people, "p=1")
      put(people, "p=2")
      val write = Map(
        "kms" -> classOf[SometimesDown].getName,
        "footerKey" -> "w",
        "doubleWrapping" -> "false",
        "columnKeys" -> "w2: ssn"
      )
      SometimesDown.wraps = allowed
      val done =
        try
          Try(
            recover(
              "rows",
              write = write + ("parquet.encryption.cache.lifetime.seconds" -> s"${2000 + allowed}")
            )
          )
        finally SometimesDown.wraps = Int.MaxValue
      done.foreach(one => assertEquals((one.rows, one.lostFiles), (80L, 0L), said(one)))
    }

  test("a KMS that stops before the seal leaves the table, the list of what is lost, and the reason") {
    put(people, "p=1")
    flip(files().head, ends(files().head).head)
    val seal = Map("kms" -> classOf[SometimesDown].getName)
    val write = seal ++ Map("footerKey" -> "w", "doubleWrapping" -> "false")
    val ran = (0 to 8).map { allowed =>
      SometimesDown.wraps = allowed
      val own = write + ("parquet.encryption.cache.lifetime.seconds" -> s"${3000 + allowed}")
      val to = s"$whole-$allowed"
      val done =
        try Try(recover("rows", write = own, to = to, sealing = seal)).toOption
        finally SometimesDown.wraps = Int.MaxValue
      done.foreach { one =>
        assertEquals(Option(one.notSealed).isEmpty, Option(one.sealedAs).isDefined)
        Option(one.notSealed).foreach(why => assertEquals(why.condition, "PME_KMS_UNAVAILABLE", why.message))
        assert(one.lost.count() > 0)
      }
      assertEquals(Files.exists(Paths.get(to)), done.isDefined)
      done.map(_.notSealed != null)
    }
    assertEquals(ran.distinct.toList, List(None, Some(true), Some(false)), ran)
  }

  test("a target with a prefix of its place can be read there") {
    put(people, "p=1")
    val bound = keys + ("aadPrefix" -> "{table}/{path}/{file}")
    val done = Try(recover("rows", write = bound))
    assert(done.isSuccess, done.toString.take(1000))
    assertEquals(back(bound).size, 40, said(done.get))
  }

  test("the partition's own column is not the one of lost cells") {
    put(people, "lost_columns=1")
    flip(files().head, ends(files().head)(1))
    val done = Try(recover("cells"))
    val read = Try(back())
    assert(done.isFailure || read.isSuccess, read.toString)
    read.foreach(rows =>
      assert(
        done.isFailure || rows.exists(_.getAs[Any](Recovery.LostColumns) != null) &&
          rows.head.getAs[Any](Recovery.LostColumns).isInstanceOf[scala.collection.Seq[_]],
        rows.head.toString
      )
    )
  }

  test("partitions and names with special characters come back") {
    val odd = people.selectExpr("*", "concat('a b%2F:=#', id % 2, 'é') AS place")
    odd.coalesce(1).write.format(SparkSuite.Format).options(keys).partitionBy("place").save(target)
    val done = recover("rows")
    assertEquals((done.files, done.rows, done.lostFiles), (2L, 40L, 0L), said(done))
    assertEquals(rows(reader(keys).load(whole)), rows(reader(keys).load(target)))
  }

  test("external key material serves, and is written") {
    val own = keys + ("keyMaterial" -> "external")
    put(people, "p=1", own)
    val done = recover("rows", own, own)
    assertEquals((done.files, done.rows, done.lostFiles), (1L, 40L, 0L), said(done))
    assertEquals(back(own).size, 40)
  }

  test("unusual types come back".tag(SparkSuite.Nightly)) {
    val wide = spark
      .range(0, 40)
      .selectExpr(
        "id",
        "cast(id % 2 = 0 AS boolean) AS flag",
        "cast(id AS decimal(38, 3)) AS d38",
        "cast(id AS decimal(9, 2)) AS d9",
        "cast(id AS float) AS f",
        "cast(id AS byte) AS b",
        "cast(from_unixtime(id * 86400 * 200) AS timestamp) AS ts",
        "array(cast(id AS decimal(38, 3)), NULL) AS ld",
        "array(cast(from_unixtime(id * 86400 * 200) AS timestamp)) AS lts",
        "array(id % 2 = 0) AS lb",
        "map(id, array(struct(id AS x, cast(id AS string) AS y))) AS m",
        "cast(NULL AS int) AS none",
        "cast(cast(id AS string) AS binary) AS bin"
      )
    set(Map("spark.sql.parquet.outputTimestampType" -> "INT96"))
    put(wide, "p=1", only)
    val file = files().head
    val honest = Files.readAllBytes(file)
    val truth = reader(only).load(target).collect().map(row => row.getAs[Long]("id") -> row).toMap
    ends(file).indices.by(if (isWhole) 7 else 29).foreach { at =>
      Files.write(file, honest)
      flip(file, ends(file)(at))
      val to = s"$whole-$at"
      val done = recover("cells", only, only, to = to)
      reader(only).load(to).collect().foreach { row =>
        val lost = Option(row.getAs[scala.collection.Seq[String]](Recovery.LostColumns)).toSeq.flatten
        if (!lost.contains("id")) {
          val one = truth(row.getAs[Long]("id"))
          row.schema.fieldNames.filterNot(n => n == Recovery.LostColumns || lost.contains(n)).foreach {
            name =>
              def text(value: Any) = value match {
                case bytes: Array[Byte] => bytes.toSeq.toString
                case other => String.valueOf(other)
              }
              assertEquals(text(row.getAs[Any](name)), text(one.getAs[Any](name)), s"$at $name ${said(done)}")
          }
        }
      }
    }
  }
}

object SometimesDown {
  @volatile var wraps: Int = Int.MaxValue
  @volatile var down = false
}

class SometimesDown extends TestKms {
  override def wrapKey(key: Array[Byte], masterKeyId: String): String = {
    if (SometimesDown.wraps <= 0)
      throw new java.io.UncheckedIOException(new java.net.ConnectException("test: refused"))
    SometimesDown.wraps -= 1
    super.wrapKey(key, masterKeyId)
  }
  override def unwrapKey(wrapped: String, masterKeyId: String): Array[Byte] =
    if (SometimesDown.down && masterKeyId == "sometimes")
      throw new java.io.UncheckedIOException(new java.net.ConnectException("test: refused"))
    else super.unwrapKey(wrapped, masterKeyId)
}

/** Local files. Those below p=2 cannot be opened. */
class FailingFileSystem extends RawLocalFileSystem {
  override def getScheme: String = "failing"
  override def getUri: URI = URI.create("failing:///")
  override def open(path: HadoopPath, buffer: Int): FSDataInputStream =
    if (path.toString.contains("p=2")) throw new IOException("test: the store answers 503")
    else super.open(path, buffer)
}
