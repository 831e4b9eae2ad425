package io.pmeparquet.parquet.file

import java.io.ByteArrayInputStream
import java.nio.file.Files

import org.apache.hadoop.fs.Path
import org.apache.parquet.format.{EncryptionAlgorithm, Util}

import io.pmeparquet.parquet.verify.{FileVerification, Sample}
import io.pmeparquet.parquet.AttackedFilesSuite

/** Undamaged modules in wrong places, files that are cut, padded or lack a page, and lengths that are forged. */
class MovedModulesSuite extends AttackedFilesSuite {

  /** How far apart two modules of one kind are. */
  private def relation(one: Module, other: Module) =
    if (one.column == other.column)
      if (one.group == other.group) "within the chunk" else "between row groups"
    else if (one.column + other.column == 1) "between columns of one key"
    else "between columns of two keys"

  private val places =
    Seq("within the chunk", "between row groups", "between columns of one key", "between columns of two keys")

  /** A pair of modules of equal size for each kind and relation. */
  private def pairs(content: Array[Byte]): Map[String, (Module, Module)] = {
    val all = modules(content)
    (for {
      one <- all.reverse
      other <- all.reverse
      if one.kind == other.kind && one.size == other.size && one.at < other.at
    } yield s"${one.kind} ${relation(one, other)}" -> (one -> other)).toMap
  }

  /** Another module's content in the place of a module. */
  private def moved(kind: Seq[(String, String)], name: String, content: Array[Byte], place: Module): Attack =
    if (!place.isPage) attack(name, content, NotAuthentic).where(place.query)
    // CTR does not bind a page to its place, and under another key it is noise.
    else attack(name, content, if (isCtr(kind)) Read else NotAuthentic).inPages

  for (kind <- kinds.filterNot(isCtr))
    directory.test(s"each damaged module of all row groups is found where it is: ${title(kind)}") { root =>
      val file = attacked(root, keys ++ kind)
      val original = content(file)
      // An offset index shows where pages are whose headers do not open.
      val damaged = modules(original).filter(_.kind != "offset index")
      replace(
        file,
        damaged.foldLeft(original) { (made, one) =>
          val last = one.at + one.size - 1
          made.updated(last, (made(last) ^ 1).toByte)
        }
      )
      val names = Map("page" -> "data page", "header" -> "data page header", "column index" -> "column index")
      val expected = damaged.map { one =>
        val page = if (one.kind.endsWith("index")) None else Some(one.page)
        (Option(one.group), Option(Columns(one.column)), page, names.get(one.kind))
      }
      val found = new FileVerification(readerOf(kind), Sample()).of(version(file), conf, () => ()).findings
      val places = found.map(one => (one.rowGroup, one.column, one.page, one.module))
      assertEquals(places.map(_.toString).sorted.toList, expected.map(_.toString).sorted.toList)
    }

  for (kind <- kinds) {
    directory.test(
      s"modules that are swapped, or repeated in the place of others, do not open: ${title(kind)}"
    ) { root =>
      val file = attacked(root, keys ++ kind)
      assertEquals(outcome(readerOf(kind), file), Read)
      assertEquals(outcome(readerOf(kind), file, filtered), Read)
      val original = content(file)
      val found = pairs(original)
      val needed = Seq("page", "header").flatMap(of => places.map(place => s"$of $place")) ++
        Seq("column index", "offset index").flatMap(of => places.tail.map(place => s"$of $place"))
      assertEquals(needed.filterNot(found.contains), Nil)
      val attacks = found.toSeq.flatMap { case (name, (one, other)) =>
        val repeated = put(original, other.at, one.of(original))
        val swapped = put(repeated, one.at, other.of(original))
        Seq(moved(kind, s"$name swapped", swapped, one), moved(kind, s"$name repeated", repeated, other))
      }
      allEnd(file, readerOf(kind))(attacks: _*)
    }

    directory.test(
      s"pages that are swapped together with their headers, or removed, are noticed: ${title(kind)}"
    ) { root =>
      val file = attacked(root, keys ++ kind)
      val original = content(file)
      val chunks =
        modules(original).filterNot(_.kind.endsWith("index")).groupBy(m => (m.group, m.column)).values.toSeq
      val attacks = chunks.flatMap { chunk =>
        val (first, second, third) = (chunk.head.at, chunk(2).at, chunk(4).at)
        val swapped = put(original, first, original.slice(second, third) ++ original.slice(first, second))
        // What follows moves up, so the next header takes its place.
        val removed = original.take(first) ++ original.drop(second)
        Seq(
          attack(s"${chunk.head} swapped", swapped, NotAuthentic),
          attack(s"${chunk.head} removed", removed, NotAuthentic, Damaged)
        )
      }
      assertEquals(attacks.size, 2 * Groups * Columns.size)
      allEnd(file, readerOf(kind))(attacks: _*)
    }

    for (direct <- Seq(false, true))
      directory.test(
        s"modules and footers of another file do not open, equal data keys: $direct, ${title(kind)}"
      ) { root =>
        // With direct keys, files share their data keys, and only the AAD distinguishes them.
        val more = if (direct) Seq("keyManagement" -> "direct") else Nil
        val options = keys ++ kind ++ more
        val (file, older) = (attacked(root, options), attacked(root, options, shift = 7))
        val (original, other) = (content(file), content(older))
        val places = modules(original).zip(modules(other))
        assert(places.forall { case (one, old) => one.size == old.size })
        val replayed = places.map { case (one, old) =>
          moved(kind, s"$one", put(original, one.at, old.of(other)), one)
        }
        val data = original.take(footerAt(original)).padTo(footerAt(other), 0.toByte).take(footerAt(other))
        val footer = attack("footer", data ++ other.drop(footerAt(other)), NotAuthentic, Damaged)
        // With this file's id and keys, only the tag of the other footer differs.
        var stated: Option[EncryptionAlgorithm] = None
        crypto(original, kind)(crypto => stated = Some(crypto.algorithm))
        val claiming = crypto(other, kind)(_.algorithm = stated.get)
        val ofThisId =
          attack("footer of this id", data ++ claiming.drop(footerAt(other)), NotAuthentic, Damaged)
        // Not detected, as the threat model says: a rollback passes every check.
        val rollback = attack("rollback", other, Read)
        allEnd(file, readerOf(kind, more: _*))(replayed ++ Seq(footer, ofThisId, rollback): _*)
      }

    directory.test(
      s"a file that is cut is refused, and a padded one or its padding is not read: ${title(kind)}"
    ) { root =>
      val file = attacked(root, keys ++ kind)
      val original = content(file)
      val at = footerAt(original)
      val ends = Seq(1, 3, 4, 11, 12, original.length / 2, at, at + 50, original.length - 1) ++
        modules(original).map(module => module.at + module.size)
      val cuts = ends.map(end => attack(s"cut at $end", original.take(end), Damaged))
      val pad = new Array[Byte](16)
      val (start, tail, end) = (original.take(at), footer(original), original.takeRight(TailBytes))
      val paddings = Seq(
        attack("behind the magic", original ++ pad, Damaged),
        attack(
          "behind the footer, not counted",
          original.dropRight(TailBytes) ++ pad ++ end,
          Damaged,
          NotAuthentic
        ),
        // In a signed footer the last 28 bytes are the signature.
        attack("behind the footer, counted", withFooter(original, tail ++ pad), Damaged, NotAuthentic),
        attack("before the footer, counted", withFooter(original, pad ++ tail), Damaged, NotAuthentic),
        // Nothing reads a gap between pages and footer, and every offset counts from the file's start.
        attack("before the footer, not counted", start ++ pad ++ original.drop(at), Read)
      )
      // Nothing reads the magic at the start.
      val magic = (0 until 4).map(byte => attack(s"magic $byte", original.updated(byte, 'x'.toByte), Read))
      allEnd(file, readerOf(kind))(cuts ++ paddings ++ magic: _*)
    }

    directory.test(s"a forged length of a module or of the footer is refused: ${title(kind)}") { root =>
      val file = attacked(root, keys ++ kind)
      val original = content(file)
      val ofEach = modules(original).groupBy(_.kind).values.map(_.head).toSeq
      assertEquals(ofEach.size, 4)
      val lengths = for (one <- ofEach; length <- forged(one.size - 4)) yield {
        val altered = put(original, one.at, little(length))
        attack(s"$one: $length", altered, ofForged(length).map(Option(_)): _*).where(one.query)
      }
      // No huge length of any module is trusted.
      val huge = modules(original).map { one =>
        attack(s"$one", put(original, one.at, little(0x7ffffff0)), Damaged).where(one.query)
      }
      val size = footer(original).length
      def footerOf(length: Int) = original.dropRight(TailBytes) ++ little(length) ++ original.takeRight(4)
      val impossible = Seq(0, -1, Int.MinValue, 0x7ffffff0, Int.MaxValue, original.length)
        .map(length => attack(s"footer: $length", footerOf(length), Damaged))
      val others = Seq(1, size - 1, size + 1, original.length - 12)
        .map(length => attack(s"footer: $length", footerOf(length), Damaged, NotAuthentic))
      // Behind the crypto metadata, an encrypted footer is a module with a length of its own.
      val at = footerModuleAt(original, kind)
      val ofModule = at.toSeq.flatMap { at =>
        forged(intAt(original, at))
          .map(length => attack(s"footer's module: $length", put(original, at, little(length)), Damaged))
      }
      allEnd(file, readerOf(kind))(lengths ++ huge ++ impossible ++ others ++ ofModule: _*)
    }

    directory.test(s"a query does not read the indexes that it does not need: ${title(kind)}") { root =>
      val file = attacked(root, keys ++ kind)
      val original = content(file)
      val attacks = modules(original).filter(_.kind.endsWith("index")).flatMap { one =>
        val flipped = original.updated(one.at + 20, (original(one.at + 20) ^ 1).toByte)
        Seq(
          // Nobody knows which ones Spark's own reader will use.
          attack(s"$one", flipped, Read).firstLook(NotAuthentic),
          attack(s"$one, needed", flipped, NotAuthentic).where(filtered)
        )
      }
      allEnd(file, readerOf(kind))(attacks: _*)
    }
  }

  /** Where the module of an encrypted footer begins. */
  private def footerModuleAt(content: Array[Byte], kind: Seq[(String, String)]): Option[Int] =
    if (isPlain(kind)) None
    else {
      val in = new ByteArrayInputStream(footer(content))
      Util.readFileCryptoMetaData(in)
      Some(content.length - TailBytes - in.available)
    }

  directory.test(
    "where the AAD prefix names the file, a copy of another name does not open, and an older one does"
  ) { root =>
    val named = Seq("aadPrefix" -> "{file}", "storeAadPrefix" -> "false")
    val file = attacked(root, keys ++ named)
    def read(file: Path) = outcome(reader(use, "aadPrefix" -> "{file}"), file)
    val copy = new Path(Files.copy(local(file), local(file).resolveSibling("copy.parquet")).toUri)
    assertEquals((read(file), read(copy)), (Read, NotAuthentic))
    assertEquals(firstLook(reader(use, "aadPrefix" -> "{file}"), copy), NotAuthentic)
    val newer = content(attacked(root, keys ++ named, shift = 7))
    // Not detected, as the threat model says: a rollback passes every check.
    val versions = Seq("newer" -> newer, "older" -> content(file))
    allEnd(file, reader(use, "aadPrefix" -> "{file}"))(versions.map { case (name, bytes) =>
      attack(name, bytes, Read)
    }: _*)
  }
}
