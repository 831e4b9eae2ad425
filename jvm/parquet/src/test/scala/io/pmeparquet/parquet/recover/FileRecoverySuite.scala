package io.pmeparquet.parquet.recover

import java.lang.ref.Reference
import java.nio.{ByteBuffer, ByteOrder}
import java.nio.file.{Files, Path => LocalPath}

import scala.concurrent.duration.Duration
import scala.util.Random

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.example.data.simple.convert.GroupRecordConverter
import org.apache.parquet.example.data.simple.SimpleGroup
import org.apache.parquet.example.data.Group
import org.apache.parquet.filter2.compat.FilterCompat
import org.apache.parquet.hadoop.example.ExampleParquetWriter
import org.apache.parquet.io.ColumnIOFactory
import org.apache.parquet.schema.{MessageType, MessageTypeParser}

import io.pmeparquet.{PmeException, SampledSuite}
import io.pmeparquet.parquet.{PmeCryptoFactory, WrittenFilesSuite}
import io.pmeparquet.parquet.scope.ReadScope
import io.pmeparquet.parquet.verify.{FileVerification, Sample}

/**
 * What came back of a file.
 *
 * @param starts the first row of each row group
 * @param cells those of each row, by fields
 */
private final case class Back(
    starts: Seq[Int],
    cells: Seq[Map[String, String]],
    lost: Seq[LostRows],
    rebuiltBy: Option[String] = None
)

/** What comes back of a damaged file: only what its writer wrote, in its rows, and all that the report does not name. */
class FileRecoverySuite extends WrittenFilesSuite with SampledSuite {

  /** A busy machine is no failure. */
  override def munitTimeout: Duration = Duration(10, "min")

  private val use = kms("f", "n", "l")
  private val keys = Seq("footerKey" -> "f", "columnKeys" -> "n: name; l: tags.list.element, pairs")

  private val shapes: MessageType = MessageTypeParser.parseMessageType("""message m {
    required int32 id;
    optional binary name (UTF8);
    optional group place { optional int64 x; required double y; }
    optional group tags (LIST) { repeated group list { optional binary element (UTF8); } }
    repeated group pairs { required int32 a; optional binary b; }
  }""")
  private val count = 120

  private def row(id: Int): Group = {
    val made = new SimpleGroup(shapes)
    made.add("id", id)
    if (id % 3 > 0) made.add("name", s"name ${id % 7}")
    if (id % 4 > 0) {
      val place = made.addGroup("place")
      if (id % 2 > 0) place.add("x", id.toLong)
      place.add("y", id / 2.0)
    }
    if (id % 5 > 0) {
      val tags = made.addGroup("tags")
      (0 until id % 4).foreach { item =>
        val one = tags.addGroup("list")
        if (item != 1) one.add("element", s"tag $id-$item")
      }
    }
    (0 until id % 3).foreach { item =>
      val pair = made.addGroup("pairs").append("a", id * 10 + item)
      if (item == 0) pair.append("b", s"b $id")
    }
    made
  }
  private val truth: IndexedSeq[Map[String, String]] =
    (0 until count).map(id => fields(row(id)))

  private def fields(row: Group): Map[String, String] =
    (0 until shapes.getFieldCount).map { field =>
      val values = (0 until row.getFieldRepetitionCount(field)).map { at =>
        if (shapes.getType(field).isPrimitive) row.getValueToString(field, at)
        else row.getGroup(field, at).toString
      }
      shapes.getFieldName(field) -> values.mkString(";")
    }.toMap

  private def made(root: LocalPath, options: Seq[(String, String)], rows: Int = count)(
      set: Writer => Writer
  ): Path = {
    val file = new Path(root.resolve("f.parquet").toUri)
    val own = new Configuration(false)
    val scope = writer(use, root, options: _*)
    PmeCryptoFactory.useForWrite(own, scope)
    val out = set(ExampleParquetWriter.builder(file).withConf(own).withType(shapes)).build()
    (0 until rows).foreach(id => out.write(row(id)))
    out.close()
    Reference.reachabilityFence(scope)
    Files.deleteIfExists(local(file).resolveSibling(".f.parquet.crc"))
    file
  }

  /** Pages of a few rows. */
  private def paged(set: Writer): Writer = set.withPageRowCountLimit(17).withMinRowCountForPageSizeCheck(1)

  private def recovered(
      scope: ReadScope,
      file: Path,
      unauthenticated: Boolean = false,
      like: Option[Path] = None
  ): Back = {
    val recovery = new FileRecovery(scope, unauthenticated, like.map(_.toString))
    val opened = recovery.open(version(file), conf, () => ())
    try {
      val schema = opened.metadata.getSchema
      val columns = new ColumnIOFactory(opened.metadata.getCreatedBy).getColumnIO(schema)
      val groups = opened.groups.map { group =>
        val records =
          columns.getRecordReader(group.pages, new GroupRecordConverter(schema), FilterCompat.NOOP)
        val lost = fieldNames(schema).map(field => field -> group.lostRows(field)).toMap
        val rows = (0 until group.rowCount).map { at =>
          val all = fields(records.read())
          all.filterNot { case (field, _) => lost(field).get(at) }
        }
        rows -> group.lost
      }.toList
      Back(
        groups.scanLeft(0)(_ + _._1.size).init,
        groups.flatMap(_._1),
        groups.flatMap(_._2),
        opened.rebuiltBy
      )
    } finally opened.close()
  }

  private def fieldNames(schema: MessageType) = (0 until schema.getFieldCount).map(schema.getFieldName)

  /** Requires that what came back is true, and that the report names just what did not. */
  private def check(back: Back, clue: => String): Unit = {
    back.cells.zip(truth).zipWithIndex.foreach { case ((cells, true_), at) =>
      cells.foreach { case (field, value) => assertEquals(value, true_(field), s"$clue, row $at, $field") }
    }
    val reported = back.lost.flatMap { one =>
      (one.first until one.first + one.count).map(row =>
        (back.starts(one.rowGroup) + row.toInt) -> fieldOf(one.column)
      )
    }.toSet
    val missing = back.cells.zipWithIndex.flatMap { case (cells, at) =>
      (truth(at).keySet -- cells.keySet).map(at -> _)
    }.toSet
    assertEquals(reported, missing, clue)
    back.lost.foreach(one => assert(one.condition.startsWith("PME_") && one.message.nonEmpty, s"$clue: $one"))
  }

  private def fieldOf(column: String) = column.takeWhile(_ != '.')

  private def modes: Seq[(String, Seq[(String, String)], Writer => Writer)] = Seq(
    ("with dictionaries and an index", keys, paged(_)),
    ("without a dictionary", keys, (set: Writer) => paged(set).withDictionaryEncoding(false)),
    ("with a readable footer", keys :+ ("plaintextFooter" -> "true"), paged(_))
  )

  /** The kind of the module that ends with a byte. */
  private def moduleOf(file: Path, honest: Array[Byte], end: Int): String =
    try {
      Files.write(local(file), honest.updated(end, (honest(end) ^ 1).toByte))
      val found = new FileVerification(reader(use), Sample()).of(version(file), conf, () => ()).findings
      found.head.module.get
    } finally {
      Files.write(local(file), honest)
      ()
    }

  for ((name, options, set) <- modes)
    directory.test(s"a sound file comes back whole: $name") { root =>
      val back = recovered(reader(use), made(root, options)(set))
      check(back, name)
      assertEquals(back.lost, Nil)
      assertEquals(back.cells.size, count)
    }

  for ((name, options, set) <- modes)
    directory.test(s"whichever bit is flipped, the rest of the file comes back: $name") { root =>
      val file = made(root, options)(set)
      val honest = Files.readAllBytes(local(file))
      // A module is about as long as this.
      val step = if (isWhole) 1 else 197
      var whole, partly, none = 0
      for (place <- 0 until honest.length by step) {
        Files.write(local(file), honest.updated(place, (honest(place) ^ (1 << (place % 8))).toByte))
        try {
          val back = recovered(reader(use), file)
          check(back, s"byte $place")
          if (back.lost.isEmpty) whole += 1 else partly += 1
          assert(back.lost.map(one => fieldOf(one.column)).distinct.size <= 1, s"byte $place: ${back.lost}")
        } catch { case _: PmeException => none += 1 }
      }
      assert(partly > 5 && none > 0, s"$whole $partly $none")
    }

  directory.test("without an index, pages before the first damage and behind the last one come back") {
    root =>
      val file = made(root, keys)(paged)
      val honest = Files.readAllBytes(local(file))
      val frames = framesOf(honest)
      val (indexes, pages) =
        frames.map { case (at, size) => at + size - 1 }.partition(moduleOf(file, honest, _) == "offset index")
      val blind = honest.clone
      indexes.foreach(end => blind(end) = (blind(end) ^ 1).toByte)
      Files.write(local(file), blind)
      assertEquals(recovered(reader(use), file).lost, Nil)
      val counts =
        for (
          (one, at) <- pages.zipWithIndex if isWhole || at % 3 == 0;
          other <- Seq(one, pages((at + 5) % pages.size))
        ) yield {
          val bytes = blind.clone
          bytes(one) = (bytes(one) ^ 1).toByte
          if (other != one) bytes(other) = (bytes(other) ^ 2).toByte
          Files.write(local(file), bytes)
          val back = recovered(reader(use), file)
          check(back, s"$one and $other")
          back.lost.map(_.count).sum
        }
      assert(counts.exists(lost => lost > 0 && lost <= 18) && counts.distinct.size > 5, counts)
  }

  directory.test("pages that were moved within their chunk do not come back in other rows") { root =>
    // Seven full pages of each flat column.
    val file = made(root, keys, rows = 7 * 17)(paged(_).withDictionaryEncoding(false))
    val honest = Files.readAllBytes(local(file))
    val frames = framesOf(honest)
    for (isBlind <- Seq(false, true)) {
      val bytes = honest.clone
      def flip(frame: Int): Unit = {
        val (at, size) = frames(frame)
        bytes(at + size - 1) = (bytes(at + size - 1) ^ 1).toByte
      }
      if (isBlind) frames.indices.drop(14).foreach { frame =>
        val (at, size) = frames(frame)
        if (moduleOf(file, honest, at + size - 1) == "offset index") flip(frame)
      }
      // The column `id` is the first. Its page 3 is damaged, and its length leads to where pages 4 and 5 are now: in the
      // places of 5 and 6.
      flip(2 * 3)
      def start(page: Int) = frames(2 * page)._1
      val more = start(7) - start(6)
      val body = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)
      val prefix = frames(2 * 3 + 1)._1
      body.putInt(prefix, body.getInt(prefix) + more)
      System.arraycopy(honest, start(4), bytes, start(4) + more, start(6) - start(4))
      Files.write(local(file), bytes)
      val back = recovered(reader(use), file)
      check(back, s"blind: $isBlind")
      assert(back.lost.exists(_.column == "id"), back.lost)
    }
  }

  directory.test("a row group that is damaged leaves the others") { root =>
    val file = made(root, keys, rows = 8)(_.withMinRowCountForPageSizeCheck(1).withRowGroupSize(1L))
    val honest = Files.readAllBytes(local(file))
    val ends = framesOf(honest).map { case (at, size) => at + size - 1 }
    ends.zip(ends.drop(1)).grouped(7).map(_.head).foreach { case (one, two) =>
      val bytes = honest.clone
      Seq(one, two).foreach(end => bytes(end) = (bytes(end) ^ 1).toByte)
      Files.write(local(file), bytes)
      val back = recovered(reader(use), file)
      check(back, s"$one")
      assertEquals(back.starts, (0 until 8).toList)
      assert(back.lost.map(one => one.rowGroup -> fieldOf(one.column)).distinct.size <= 2, back.lost)
    }
  }

  directory.test("many damages at once leave what they did not hit") { root =>
    val file = made(root, keys)(paged)
    val honest = Files.readAllBytes(local(file))
    val footer = framesOf(honest).map { case (at, size) => at + size }.max
    val random = new Random(1)
    val kept = (0 until (if (isWhole) 200 else 40)).map { run =>
      val bytes = honest.clone
      (0 to run % 8).foreach { _ =>
        val at = 4 + random.nextInt(footer - 4)
        val length = (1 + random.nextInt(1 + 20 * (run % 4))).min(footer - at)
        (at until at + length).foreach(place => bytes(place) = random.nextInt().toByte)
      }
      Files.write(local(file), bytes)
      val back = recovered(reader(use), file)
      check(back, s"run $run")
      back.cells.map(_.size).sum
    }
    assert(kept.distinct.size > 10, kept)
  }

  directory.test(
    "a file without its footer comes back by another file's columns, but for keys that the footer has"
  ) { root =>
    for (
      (name, options, lost) <- Seq(
        ("one key", Seq("uniformKey" -> "f"), Set.empty[String]),
        ("keys of columns", keys, Set("name", "tags.element", "pairs.element.a", "pairs.element.b"))
      )
    ) {
      val like = made(Files.createDirectories(root.resolve(s"like $name")), options)(paged)
      val file = made(Files.createDirectories(root.resolve(name)), options)(paged)
      val honest = Files.readAllBytes(local(file))
      val blind = honest.updated(honest.length - 20, (honest(honest.length - 20) ^ 1).toByte)
      Files.write(local(file), blind)
      assertEquals(condition(recovered(reader(use), file)), "PME_NOT_AUTHENTIC")
      val back = recovered(reader(use), file, like = Some(like))
      check(back, name)
      assertEquals(back.cells.size, count)
      // Nothing shows whether a list of the last row goes on.
      assertEquals(back.lost.filter(_.first < count - 1).map(_.column).toSet, lost)
      assert(back.lost.forall(one => one.first < count - 1 || one.column.contains('.')), back.lost)
      val ends = framesOf(honest).map { case (at, size) => at + size - 1 }
      val partly = ends
        .grouped(if (isWhole) 3 else 11)
        .map(_.head)
        .map { end =>
          Files.write(local(file), blind.updated(end, (blind(end) ^ 1).toByte))
          val some =
            try recovered(reader(use), file, like = Some(like))
            catch { case failed: PmeException => Back(Nil, Nil, Nil) }
          check(some, s"$name, $end")
          some.cells.map(_.size).sum
        }
        .toList
      assert(partly.distinct.size > 2 && partly.count(_ == 0) < partly.size / 4, s"$name: $partly")
    }
  }

  directory.test("without the footer, a last page that is damaged moves no row") { root =>
    val options = Seq("uniformKey" -> "f")
    // All pages are full, so that a page would fit into the place of another.
    def full(name: String) = made(Files.createDirectories(root.resolve(name)), options, rows = 7 * 17)(paged)
    val like = full("like")
    val file = full("damaged")
    val honest = Files.readAllBytes(local(file))
    val blind = honest.updated(honest.length - 20, (honest(honest.length - 20) ^ 1).toByte)
    val ends =
      framesOf(honest).map { case (at, size) => at + size - 1 }.grouped(if (isWhole) 1 else 3).map(_.last)
    val cameBack = ends.map { end =>
      Files.write(local(file), blind.updated(end, (blind(end) ^ 1).toByte))
      try {
        val back = recovered(reader(use), file, like = Some(like))
        check(back, s"byte $end")
        assertEquals(back.rebuiltBy, Some(like.toString))
        true
      } catch { case _: PmeException => false }
    }.toList
    assert(cameBack.count(identity) > cameBack.size * 3 / 4, cameBack)
  }

  directory.test("a key that is missing loses its columns and no others") { root =>
    val file = made(root, keys)(paged)
    val back = recovered(reader(kms("f", "l")), file)
    check(back, "without n")
    assertEquals(back.lost.map(_.column).distinct, Seq("name"))
    assertEquals(back.lost.map(_.count).sum, count.toLong)
  }

  directory.test("values without tags come back only if asked for") { root =>
    val file = made(root, keys :+ ("algorithm" -> "AES_GCM_CTR_V1"))(paged)
    val scope = reader(use, "algorithm" -> "AES_GCM_CTR_V1")
    val none = recovered(scope, file)
    check(none, "no tags")
    assert(none.cells.forall(_.isEmpty))
    val all = recovered(scope, file, unauthenticated = true)
    check(all, "asked for")
    assertEquals(all.lost, Nil)
  }

  directory.test("pages of another place are damage, though they open there") { root =>
    val file = made(root, keys)(paged)
    val honest = Files.readAllBytes(local(file))
    val frames = framesOf(honest)
    val pairs = for {
      ((one, size), at) <- frames.zipWithIndex
      (two, other) <- frames.drop(at + 1)
      if size == other
    } yield (one, two, size)
    pairs.take(60).foreach { case (one, two, size) =>
      val bytes = honest.clone
      System.arraycopy(honest, two, bytes, one, size)
      System.arraycopy(honest, one, bytes, two, size)
      Files.write(local(file), bytes)
      check(recovered(reader(use), file), s"$one and $two")
    }
  }
}
