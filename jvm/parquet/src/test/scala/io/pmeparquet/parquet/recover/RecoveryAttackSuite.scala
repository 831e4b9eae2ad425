package io.pmeparquet.parquet.recover

import java.io.{EOFException, IOException, UncheckedIOException}
import java.net.URI
import java.nio.file.Files

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FSDataInputStream, FSInputStream, Path, RawLocalFileSystem}
import org.apache.parquet.bytes.{BytesInput, HeapByteBufferAllocator}
import org.apache.parquet.column.statistics.Statistics
import org.apache.parquet.column.values.plain.PlainValuesWriter
import org.apache.parquet.column.values.rle.RunLengthBitPackingHybridValuesWriter
import org.apache.parquet.column.Encoding
import org.apache.parquet.column.ParquetProperties.WriterVersion
import org.apache.parquet.example.data.simple.convert.GroupRecordConverter
import org.apache.parquet.example.data.simple.SimpleGroupFactory
import org.apache.parquet.example.data.Group
import org.apache.parquet.filter2.compat.FilterCompat
import org.apache.parquet.hadoop.example.ExampleParquetWriter
import org.apache.parquet.hadoop.metadata.CompressionCodecName
import org.apache.parquet.hadoop.util.HadoopOutputFile
import org.apache.parquet.hadoop.ParquetFileWriter
import org.apache.parquet.io.ColumnIOFactory
import org.apache.parquet.schema.{MessageType, MessageTypeParser}

import io.pmeparquet.{PmeException, SampledSuite}
import io.pmeparquet.parquet.{PmeCryptoFactory, WrittenFilesSuite}
import io.pmeparquet.parquet.bytes.FileVersion
import io.pmeparquet.parquet.copy.FileRewrite
import io.pmeparquet.parquet.scope.ReadScope

/** Attacks on recovery. */
class RecoveryAttackSuite extends WrittenFilesSuite with SampledSuite {
  private val use = kms("f", "n", "l")
  private val keys = Seq("footerKey" -> "f", "columnKeys" -> "n: name")
  private val allowing = "plaintextFiles" -> "allow"

  private def text(row: Group, of: MessageType): Map[String, String] =
    (0 until of.getFieldCount).map { field =>
      val values = (0 until row.getFieldRepetitionCount(field)).map { at =>
        if (of.getType(field).isPrimitive) row.getValueToString(field, at)
        else row.getGroup(field, at).toString.replaceAll("\\s+", " ").trim
      }
      of.getFieldName(field) -> values.mkString(";")
    }.toMap

  private def back(
      scope: ReadScope,
      file: Path,
      unauthenticated: Boolean = false,
      own: Configuration = conf
  ): (Seq[Map[String, String]], Seq[LostRows]) = {
    val opened = new FileRecovery(scope, unauthenticated).open(FileVersion.of(file, own), own, () => ())
    try {
      val of = opened.metadata.getSchema
      val columns = new ColumnIOFactory(opened.metadata.getCreatedBy).getColumnIO(of)
      val groups = opened.groups.map { group =>
        val records = columns.getRecordReader(group.pages, new GroupRecordConverter(of), FilterCompat.NOOP)
        (0 until group.rowCount).map { at =>
          text(records.read(), of).filterNot { case (field, _) => group.lostRows(field).get(at) }
        } -> group.lost
      }.toList
      (groups.flatMap(_._1), groups.flatMap(_._2))
    } finally opened.close()
  }

  private def expected(id: Int) = Map("id" -> s"$id", "name" -> (if (id % 3 > 0) s"name ${id % 20}" else ""))

  directory.test("clearLevels=allow alone moves no value to another row") { root =>
    val file = write(root, use, keys: _*)(
      _.withWriterVersion(WriterVersion.PARQUET_2_0).withDictionaryEncoding(false)
    )
    val honest = Files.readAllBytes(local(file))
    def scope = reader(use, "clearLevels" -> "allow")
    val all = back(scope, file)
    val wrong = (4 until honest.length / 2 by (if (isWhole) 5 else 61)).flatMap { at =>
      Files.write(local(file), honest.updated(at, (honest(at) ^ 1).toByte))
      try
        back(scope, file)._1.zipWithIndex.collectFirst {
          case (row, id) if row.exists { case (field, value) => expected(id)(field) != value } =>
            s"byte $at, row $id: $row"
        }
      catch { case _: PmeException => None }
    }
    assertEquals(wrong.take(3).toList, Nil, s"${wrong.size} bytes; sound: ${all._2}")
  }

  directory.test("unauthenticated=true takes V2 pages with levels outside, as it says") { root =>
    val file = write(root, use, keys: _*)(_.withWriterVersion(WriterVersion.PARQUET_2_0))
    val (rows, lost) = back(reader(use), file, unauthenticated = true)
    assertEquals(lost, Nil)
    assertEquals(rows, (0 until RowCount).map(expected))
  }

  directory.test("a plaintext column is not reported as damaged") { root =>
    val file = write(root, use, keys :+ ("unlistedColumns" -> "plaintext"): _*)()
    val (_, lost) = back(reader(use), file)
    assertEquals(lost.map(_.column), Seq("id"))
    assertEquals(lost.map(_.condition).filter(_ == "PME_DAMAGED_FILE"), Nil, lost)
  }

  directory.test("one bit of the first page does not cost a file with a stored prefix") { root =>
    val file = write(root, use, keys :+ ("aadPrefix" -> "here"): _*)()
    val honest = Files.readAllBytes(local(file))
    val (at, size) = framesOf(honest).head
    Files.write(local(file), honest.updated(at + size - 1, (honest(at + size - 1) ^ 1).toByte))
    val (rows, lost) = back(reader(use), file)
    assertEquals(lost.map(_.column).distinct, Seq("id"))
    assertEquals(rows.size, RowCount)
  }

  for (dictionary <- Seq(true, false))
    directory.test(
      s"unauthenticated=true takes plaintext columns, as it says; with dictionaries: $dictionary"
    ) { root =>
      val file =
        write(root, use, keys :+ ("unlistedColumns" -> "plaintext"): _*)(_.withDictionaryEncoding(dictionary))
      val (rows, lost) = back(reader(use), file, unauthenticated = true)
      assertEquals(lost, Nil)
      assertEquals(rows, (0 until RowCount).map(expected))
    }

  directory.test("plaintext columns without a usable index come back in their rows") { root =>
    val file =
      write(root, use, keys :+ ("unlistedColumns" -> "plaintext"): _*)(_.withDictionaryEncoding(false))
    val counters = new io.pmeparquet.parquet.bytes.ReadCounters
    val opened = io.pmeparquet.parquet.file.OpenFiles.read(reader(use), version(file), conf, counters)
    val index = opened.chunks(0, Seq(Seq("id")), counters).chunks.head.meta.getOffsetIndexReference
    val bytes = Files.readAllBytes(local(file))
    Files.write(
      local(file),
      bytes.patch(index.getOffset.toInt, Seq.fill(index.getLength)(-1.toByte), index.getLength)
    )
    val (rows, lost) = back(reader(use), file, unauthenticated = true)
    val wrong = rows.zipWithIndex.filter { case (row, id) => row.get("id").exists(_ != s"$id") }
    assertEquals(
      wrong.take(3).map(_.toString).toList,
      Nil,
      s"${wrong.size} of ${rows.size} rows have another's id; lost: $lost"
    )
  }

  private val pairs = MessageTypeParser.parseMessageType(
    "message m { repeated group pairs { required int32 a; required int32 b; } }"
  )
  private def plainWriter(of: MessageType, file: Path) = new ParquetFileWriter(
    HadoopOutputFile.fromPath(file, conf),
    of,
    ParquetFileWriter.Mode.CREATE,
    1L << 27,
    0,
    64,
    100,
    false
  )
  private val allocator = HeapByteBufferAllocator.getInstance

  private def page(repetitions: Seq[Int], values: Seq[Int]): BytesInput = {
    def levels(of: Seq[Int]) = {
      val out = new RunLengthBitPackingHybridValuesWriter(1, 64, 1 << 16, allocator)
      of.foreach(out.writeInteger)
      out.getBytes
    }
    val out = new PlainValuesWriter(64, 1 << 16, allocator)
    values.foreach(out.writeInteger)
    BytesInput.copy(BytesInput.concat(levels(repetitions), levels(values.map(_ => 1)), out.getBytes))
  }

  directory.test("leaves that disagree do not move values of another key into other rows") { root =>
    val plain = new Path(root.resolve("p.parquet").toUri)
    val out = plainWriter(pairs, plain)
    out.start()
    out.startBlock(2)
    // Row 0 has 1; row 1 has 2 and 3. Whoever has the key of b says that it is the other way round.
    Seq(Seq(0, 0, 1) -> Seq(1, 2, 3), Seq(0, 1, 0) -> Seq(10, 11, 20)).zipWithIndex.foreach {
      case ((repetitions, values), ordinal) =>
        val descriptor = pairs.getColumns.get(ordinal)
        out.startColumn(descriptor, 3, CompressionCodecName.UNCOMPRESSED)
        val bytes = page(repetitions, values)
        val none: Statistics[_] = Statistics.createStats(descriptor.getPrimitiveType)
        out.writeDataPage(3, bytes.size.toInt, bytes, none, 2L, Encoding.RLE, Encoding.RLE, Encoding.PLAIN)
        out.endColumn()
    }
    out.endBlock()
    out.end(new java.util.HashMap[String, String])
    Files.deleteIfExists(local(plain).resolveSibling(".p.parquet.crc"))
    val file = new Path(root.resolve("f.parquet").toUri)
    val to = writer(use, root, "footerKey" -> "f", "columnKeys" -> "n: pairs.a; l: pairs.b")
    new FileRewrite(reader(use, allowing), conf, Some(to), reader(use), conf, () => ())
      .write(plain, file, file)
    val (rows, lost) = back(reader(use), file)
    val inRow0 = rows.head.get("pairs")
    assert(inRow0.forall(!_.contains("a: 2")), s"row 0 has a value of row 1: $rows, lost $lost")
  }

  private val optional =
    MessageTypeParser.parseMessageType("message m { required int32 id; optional int32 v; }")

  directory.test("an authentic page with a level above the greatest is damage, not a crash") { root =>
    val plain = new Path(root.resolve("p.parquet").toUri)
    val out = plainWriter(optional, plain)
    out.start()
    out.startBlock(2)
    val (ids, level) = (new PlainValuesWriter(64, 1 << 16, allocator), 9)
    Seq(1, 2).foreach(ids.writeInteger)
    // A run of two levels, each 9, in a byte.
    val run = Array[Byte](2, 0, 0, 0, 4, level.toByte)
    Seq(BytesInput.copy(ids.getBytes), BytesInput.from(run, 0, run.length)).zipWithIndex.foreach {
      case (bytes, ordinal) =>
        val descriptor = optional.getColumns.get(ordinal)
        out.startColumn(descriptor, 2, CompressionCodecName.UNCOMPRESSED)
        val none: Statistics[_] = Statistics.createStats(descriptor.getPrimitiveType)
        out.writeDataPage(2, bytes.size.toInt, bytes, none, 2L, Encoding.RLE, Encoding.RLE, Encoding.PLAIN)
        out.endColumn()
    }
    out.endBlock()
    out.end(new java.util.HashMap[String, String])
    Files.deleteIfExists(local(plain).resolveSibling(".p.parquet.crc"))
    val file = new Path(root.resolve("f.parquet").toUri)
    val to = writer(use, root, "footerKey" -> "f", "columnKeys" -> "n: v")
    new FileRewrite(reader(use, allowing), conf, Some(to), reader(use), conf, () => ())
      .write(plain, file, file)
    val (rows, lost) = back(reader(use), file)
    assertEquals(rows.map(_.keySet), Seq(Set("id"), Set("id")))
    assertEquals(lost.map(_.column), Seq("v"))
  }

  private val numbers = MessageTypeParser.parseMessageType("message m { repeated int32 v; }")

  /** A file of these pages of one repeated column: each value is the number of its row times 100 and its place in it. */
  private def straddling(root: java.nio.file.Path, sizes: Seq[Int], cuts: Int): Path = {
    val plain = new Path(root.resolve("p.parquet").toUri)
    val items = sizes.zipWithIndex.flatMap { case (size, row) =>
      (0 until size).map(at => at.min(1) -> (row * 100 + at))
    }
    val out = plainWriter(numbers, plain)
    out.start()
    out.startBlock(sizes.size.toLong)
    val descriptor = numbers.getColumns.get(0)
    out.startColumn(descriptor, items.size.toLong, CompressionCodecName.UNCOMPRESSED)
    val none: Statistics[_] = Statistics.createStats(descriptor.getPrimitiveType)
    items.grouped(cuts).foreach { part =>
      val bytes = page(part.map(_._1), part.map(_._2))
      val begun = part.count(_._1 == 0).toLong
      out.writeDataPage(
        part.size,
        bytes.size.toInt,
        bytes,
        none,
        begun,
        Encoding.RLE,
        Encoding.RLE,
        Encoding.PLAIN
      )
    }
    out.endColumn()
    out.endBlock()
    out.end(new java.util.HashMap[String, String])
    Files.deleteIfExists(local(plain).resolveSibling(".p.parquet.crc"))
    val file = new Path(root.resolve(s"f-$cuts.parquet").toUri)
    val to = writer(use, root, "footerKey" -> "f")
    new FileRewrite(reader(use, allowing), conf, Some(to), reader(use), conf, () => ())
      .write(plain, file, file)
    Files.delete(local(plain))
    Files.deleteIfExists(local(file).resolveSibling(s".${file.getName}.crc"))
    file
  }

  private val sizes = Seq(2, 1, 7, 1, 1, 3, 9, 2, 1, 5)
  private def straddled(row: Int) = (0 until sizes(row)).map(at => row * 100 + at).mkString(";")

  private def wrongIn(rows: Seq[Map[String, String]], lost: Seq[LostRows]): Seq[String] = {
    val reported = lost.flatMap(one => one.first until one.first + one.count).map(_.toInt).toSet
    rows.zipWithIndex.flatMap { case (row, at) =>
      val back = row.get("v")
      if (back.exists(_ != straddled(at))) Some(s"row $at: $back, not ${straddled(at)}")
      else if (back.isEmpty != reported(at)) Some(s"row $at: $back, reported: ${reported(at)}")
      else None
    }
  }

  for (cuts <- if (isWhole) 2 to 5 else Seq(3)) {
    directory.test(
      s"rows that straddle pages, with an index that says otherwise, are whole or lost: $cuts"
    ) { root =>
      val (rows, lost) = back(reader(use), straddling(root, sizes, cuts))
      assertEquals(wrongIn(rows, lost).toList, Nil)
    }

    directory.test(s"rows that straddle pages, without an index, are whole or lost: $cuts") { root =>
      val file = straddling(root, sizes, cuts)
      val honest = Files.readAllBytes(local(file))
      val ends = framesOf(honest).map { case (at, size) => at + size - 1 }
      def moduleOf(end: Int) = bent(file, end) {
        new io.pmeparquet.parquet.verify.FileVerification(reader(use), io.pmeparquet.parquet.verify.Sample())
          .of(version(file), conf, () => ())
          .findings
          .head
          .module
          .get
      }
      val (indexes, pages) = ends.partition(moduleOf(_).contains("index"))
      val blind = honest.clone
      indexes.foreach(end => blind(end) = (blind(end) ^ 1).toByte)
      val wrong = for (one <- -1 +: pages; other <- pages.filter(_ > one)) yield {
        val bytes = blind.clone
        Seq(one, other).filter(_ >= 0).foreach(end => bytes(end) = (bytes(end) ^ 1).toByte)
        Files.write(local(file), bytes)
        val (rows, lost) = back(reader(use), file)
        wrongIn(rows, lost).map(what => s"$one, $other: $what")
      }
      assertEquals(wrong.flatten.take(3).toList, Nil)
    }
  }

  private val lists = MessageTypeParser.parseMessageType("message m { repeated binary name (UTF8); }")

  directory.test("a small page does not become a huge one") { root =>
    val file = new Path(root.resolve("l.parquet").toUri)
    val own = new Configuration(false)
    val scope = writer(use, root, keys: _*)
    PmeCryptoFactory.useForWrite(own, scope)
    val out = ExampleParquetWriter.builder(file).withConf(own).withType(lists).build()
    val groups = new SimpleGroupFactory(lists)
    val long = "x" * 20000
    (0 until 100).foreach { _ =>
      val row = groups.newGroup()
      (0 until 50).foreach(_ => row.append("name", long))
      out.write(row)
    }
    out.close()
    java.lang.ref.Reference.reachabilityFence(scope)
    val opened = new FileRecovery(reader(use), unauthenticated = false).open(version(file), conf, () => ())
    try {
      val page = opened.groups.next().pages.getPageReader(lists.getColumns.get(0)).readPage()
      val stored = Files.size(local(file))
      assert(
        page.getUncompressedSize < 16 * 1024 * 1024,
        s"a page of ${page.getUncompressedSize} bytes from a file of $stored"
      )
    } finally opened.close()
  }

  /** More than is read with the footer. */
  private def large(root: java.nio.file.Path): Path = {
    val file = new Path(root.resolve("large.parquet").toUri)
    val own = new Configuration(false)
    val scope = writer(use, root, keys: _*)
    PmeCryptoFactory.useForWrite(own, scope)
    val out = ExampleParquetWriter
      .builder(file)
      .withConf(own)
      .withType(schema)
      .withDictionaryEncoding(false)
      .withPageRowCountLimit(5000)
      .build()
    val random = new scala.util.Random(1)
    val groups = new SimpleGroupFactory(schema)
    (0 until 20000).foreach(id =>
      out.write(groups.newGroup().append("id", id).append("name", random.alphanumeric.take(100).mkString))
    )
    out.close()
    java.lang.ref.Reference.reachabilityFence(scope)
    Files.deleteIfExists(local(file).resolveSibling(".large.parquet.crc"))
    file
  }

  for (
    (name, failure) <- Seq(
      "an I/O error" -> (() => throw new IOException("test: gone")),
      "a connection that is cut" -> (() => throw new EOFException("test: premature end of content")),
      "a client's exception" -> (() => throw new UncheckedIOException(new IOException("test: reset"))),
      "a client's state" -> (() => throw new IllegalStateException("test: connection pool shut down"))
    )
  )
    directory.test(s"storage that fails is not loss: $name") { root =>
      val file = large(root)
      val own = new Configuration(false)
      own.set("fs.flaky.impl", classOf[FlakyFileSystem].getName)
      own.set("fs.flaky.impl.disable.cache", "true")
      val there = new Path("flaky", "", local(file).toString)
      FlakyFileSystem.reset(Int.MaxValue, failure)
      assertEquals(back(reader(use), there, own = own)._2, Nil)
      val reads = FlakyFileSystem.count
      assert(reads > 5, reads)
      val took = (1 to reads by (if (isWhole) 1 else 5)).flatMap { at =>
        FlakyFileSystem.reset(at, failure)
        try Some(s"read $at of $reads: ${back(reader(use), there, own = own)._2.map(_.condition)}")
        catch {
          case failed: PmeException => Some(s"read $at of $reads: ${failed.getCondition()}")
          case _: Exception => None
        }
      }
      assertEquals(took.toList, Nil)
    }

  directory.test("a row group that states very many rows does not fill the memory") { root =>
    val flat = MessageTypeParser.parseMessageType(
      (0 until 8).map(at => s"required int32 c$at;").mkString("message m { ", " ", " }")
    )
    val plain = new Path(root.resolve("p.parquet").toUri)
    val out = plainWriter(flat, plain)
    val many = 2000000000L
    out.start()
    out.startBlock(many)
    flat.getColumns.forEach { descriptor =>
      out.startColumn(descriptor, many, CompressionCodecName.UNCOMPRESSED)
      val bytes = BytesInput.fromInt(7)
      out.writeDataPage(
        1,
        4,
        bytes,
        Statistics.createStats(descriptor.getPrimitiveType),
        1L,
        Encoding.RLE,
        Encoding.RLE,
        Encoding.PLAIN
      )
      out.endColumn()
    }
    out.endBlock()
    out.end(new java.util.HashMap[String, String])
    Files.deleteIfExists(local(plain).resolveSibling(".p.parquet.crc"))
    val refused = intercept[PmeException](
      new FileRecovery(reader(use, allowing), unauthenticated = true).open(version(plain), conf, () => ())
    )
    assertEquals(refused.condition, io.pmeparquet.Condition.Unsupported)
    assert(refused.getMessage.contains("2000000000 rows"), refused.getMessage)
  }
}

object FlakyFileSystem {
  @volatile private var left = Int.MaxValue
  @volatile var count = 0
  @volatile private var fail: () => Nothing = () => throw new IOException
  def reset(at: Int, failure: () => Nothing): Unit = { left = at; count = 0; fail = failure }
  def step(): Unit = {
    count += 1
    if (count == left) fail()
  }
}

/** Local files, of which one read fails. */
class FlakyFileSystem extends RawLocalFileSystem {
  override def getScheme: String = "flaky"
  override def getUri: URI = URI.create("flaky:///")
  override def open(path: Path, buffer: Int): FSDataInputStream = {
    val under = super.open(path, buffer)
    new FSDataInputStream(new FSInputStream {
      override def seek(at: Long): Unit = under.seek(at)
      override def getPos: Long = under.getPos
      override def seekToNewSource(at: Long): Boolean = false
      override def read(): Int = under.read()
      override def read(bytes: Array[Byte], at: Int, length: Int): Int = {
        FlakyFileSystem.step()
        under.read(bytes, at, length)
      }
      override def read(from: Long, bytes: Array[Byte], at: Int, length: Int): Int = {
        FlakyFileSystem.step()
        under.read(from, bytes, at, length)
      }
      override def close(): Unit = under.close()
    })
  }
}
