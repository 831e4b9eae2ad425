package io.pmeparquet.orc

import java.io.OutputStream
import java.security.MessageDigest

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.orc.EncryptionAlgorithm

import io.pmeparquet.{AesKey, BlockDigests, Condition, PmeErrors, Sha256}
import io.pmeparquet.columns.{ColumnProtection, KeyPlan}
import io.pmeparquet.columns.ColumnProtection.ColumnKey
import io.pmeparquet.options.OrcWriteSettings
import io.pmeparquet.orc.blocks.VerifiedFile
import io.pmeparquet.orc.keys.{OrcKeyName, OrcProviders, OrcScope}
import io.pmeparquet.orc.tail.{OpenedOrc, OrcEnd, OrcKey, OrcStream, OrcTail, OrcVariant}
import io.pmeparquet.parquet.bytes.FileVersion
import io.pmeparquet.parquet.storage.OwnFiles

/**
 * Gives an ORC file new local keys, under the same or other master keys. It decrypts and encrypts each encrypted stream, and
 * never decompresses or decodes it; with AES-CTR no length changes, so that only the footer has another one. Which columns are
 * encrypted, masks, stripes and the order of everything stay the same.
 *
 * A stream's initialization vector depends on its column, kind and stripe, and stays. So each old local key gets a new one of
 * its own: no key meets a vector twice that did not before.
 *
 * @param from how to read the file
 * @param to the keys of the new file
 * @param settings which column is under which key
 * @param check how readers will read the new file
 * @param goOn called often; throws if the work is no longer wanted
 */
final class OrcRekey(
    from: OrcScope,
    to: OrcScope,
    settings: OrcWriteSettings,
    check: OrcScope,
    goOn: () => Unit
) {
  import OrcRekey._

  /**
   * @param staged where to write the new file: a free name in an existing directory
   * @param listed what a snapshot says of the file, which is then all that is read of it
   * @throws io.pmeparquet.PmeException if something is wrong with the file or the keys, or with the new file as stored
   */
  def write(
      source: Path,
      sourceConf: Configuration,
      staged: Path,
      conf: Configuration,
      listed: Option[BlockDigests] = None
  ): Rekeyed = {
    val version = FileVersion.of(source, sourceConf)
    val compared = listed.map(new VerifiedFile(source, _, sourceConf))
    val length = compared.fold(version.length)(_.length)
    val made =
      if (length == 0) {
        // Hive has such files for tables without rows. It has neither keys nor columns.
        OwnFiles.create(staged, conf).close()
        Rekeyed(0, 0, 0)
      } else
        // Opened once: tail, keys and streams are of one file.
        OpenedOrc.using(source, length, () => compared.fold(version.open(sourceConf))(_.open())) { file =>
          new OrcAdmission(from, Nil, settings.caseSensitive).check(file, 0, length, sourceConf)
          val end = endOf(file)
          val keys = newKeys(file, end, conf)
          val written = put(staged, conf)(copy(file, end, keys, _), newEnd(end, keys))
          compare(source, written, staged, conf)
          Rekeyed(file.tail.rows, written.streams, staged.getFileSystem(conf).getFileStatus(staged).getLen)
        }
    if (FileVersion.of(source, sourceConf) != version) throw PmeErrors.changedMeanwhile(source.toString)
    made
  }

  private def endOf(file: OpenedOrc): OrcEnd = {
    val end = file.end.getOrElse(throw PmeErrors.orcDamaged(file.path.toString, "it is empty"))
    end.requireKnown()
    end
  }

  private def newEnd(end: OrcEnd, keys: NewKeys): Array[Byte] = {
    def statistics(variant: OrcVariant) = {
      val own = keys(variant, variant.encryptedKey)
      val clear = OrcStream.ofStatistics(end.tail, variant, own.before).doFinal(variant.fileStatistics)
      OrcStream.ofStatistics(end.tail, variant, own.after).doFinal(clear)
    }
    end
      .withKeys(
        variant => keys(variant, variant.encryptedKey).name,
        (variant, encrypted) => keys(variant, encrypted).encrypted,
        statistics
      )
      ._1
  }

  private def newKeys(file: OpenedOrc, end: OrcEnd, conf: Configuration): NewKeys = {
    val where = file.path.toString
    val masters = plan(end.tail)
    OrcProviders.prepare(to, conf)
    new NewKeys(end.localKeys.map { one =>
      val before = from.localKey(nameOf(one.variant), one.encrypted, where)
      file.checkKey(one, before.toSecretKey)
      val (name, after, encrypted) = to.newKeyOf(masters(one.variant.id), where)
      val algorithm = EncryptionAlgorithm.values.find(_.keyLength * 8 == after.bits).get
      (one.variant.id, one.encrypted.toSeq) ->
        new NewKey(before, after, encrypted, OrcKey(name.name, name.version, algorithm))
    }.toMap)
  }

  /** The master key of each variant, as `columnKeys` names it. */
  private def plan(tail: OrcTail): Map[Int, String] = {
    val columns = tail.protection.map(_.column)
    val keys =
      KeyPlan.of(columns.map(_.leaf), Some(settings.columns), settings.unlisted, settings.caseSensitive)
    val asked = columns.zip(keys.columns.map(_._2)).flatMap { case (column, protection) =>
      (protection, tail.variantsOf(column.id)) match {
        case (ColumnKey(key), Seq(one)) => Some(one.id -> key)
        case (ColumnProtection.Plaintext, Seq()) => None
        case (_, found) =>
          val is =
            if (found.isEmpty) PmeErrors.OrcPlaintext
            else s"under ${found.map(_.key.display).mkString(" and ")}"
          throw PmeErrors.orcOtherColumns(tail.file, column.leaf.display, textOf(protection), is)
      }
    }
    val found = asked.groupBy(_._1).map { case (id, some) => id -> some.map(_._2).distinct }
    tail.variants.map { variant =>
      variant.id -> (found.getOrElse(variant.id, Nil) match {
        case Seq(key) => key
        case several =>
          val root = tail.types(variant.root).leaf.display
          throw PmeErrors.orcOtherColumns(
            tail.file,
            root,
            s"under ${several.size} keys",
            "encrypted as a whole"
          )
      })
    }.toMap
  }

  private def textOf(protection: ColumnProtection) = protection match {
    case ColumnKey(key) => s"under key '$key'"
    case _ => PmeErrors.OrcPlaintext
  }

  private def put(
      staged: Path,
      conf: Configuration
  )(body: OutputStream => Body, end: Array[Byte]): Written = {
    val out = OwnFiles.create(staged, conf)
    try {
      val done = body(out)
      out.write(end)
      Written(done, Sha256.ofBytes(end))
    } finally out.close()
  }

  private def copy(file: OpenedOrc, end: OrcEnd, keys: NewKeys, out: OutputStream): Body =
    walk(file, end)(out.write(_)) { stream =>
      val own = keys(stream.variant, stream.encryptedKey)
      val (before, after) = (stream.cipher(own.before), stream.cipher(own.after))
      bytes => {
        val clear = before.update(bytes)
        out.write(after.update(clear))
        clear
      }
    }

  /**
   * Goes over all bytes before the footer.
   *
   * @param others called with those that are not encrypted
   * @param opening makes what decrypts a stream, part by part
   */
  private def walk(file: OpenedOrc, end: OrcEnd)(others: Array[Byte] => Unit)(
      opening: OrcStream => Array[Byte] => Array[Byte]
  ): Body = {
    val sum = MessageDigest.getInstance("SHA-256")
    var at, streams = 0L
    def each(until: Long)(part: Array[Byte] => Unit): Unit =
      while (at < until) {
        goOn()
        val bytes = file.read(at, (until - at).min(PartBytes).toInt)
        part(bytes)
        at += bytes.length
      }
    def readable(until: Long): Unit = each(until) { bytes =>
      sum.update(bytes)
      others(bytes)
    }
    (file.encryptedStreams ++ end.statistics).foreach { stream =>
      readable(stream.offset)
      val open = opening(stream)
      each(stream.end)(bytes => sum.update(open(bytes)))
      streams += 1
    }
    readable(end.footerOffset)
    Body(streams, sum.digest())
  }

  /** Opens the new file as readers will, and compares all of its content with what was read. */
  private def compare(source: Path, written: Written, staged: Path, conf: Configuration): Unit = {
    val fs = staged.getFileSystem(conf)
    val length = fs.getFileStatus(staged).getLen
    OpenedOrc.using(staged, length, conf) { file =>
      new OrcAdmission(check, Nil, settings.caseSensitive).check(file, 0, length, conf)
      val end = endOf(file)
      val keys = end.localKeys.map { one =>
        val key = check.localKey(nameOf(one.variant), one.encrypted, staged.toString)
        file.checkKey(one, key.toSecretKey)
        (one.variant.id, one.encrypted.toSeq) -> key
      }.toMap
      val found = walk(file, end)(_ => ()) { stream =>
        val cipher = stream.cipher(keys(stream.variant.id -> stream.encryptedKey.toSeq))
        cipher.update(_: Array[Byte])
      }
      if (!Written(found, end.sha256).isSame(written)) {
        val why = s"the content of $staged is not what was read."
        throw PmeErrors.badCopy(source.toString, Condition.DamagedFile, why)
      }
    }
  }
}

/** What was written for a file. */
final case class Rekeyed(rows: Long, streams: Long, bytes: Long)

private object OrcRekey {
  private val PartBytes = 256L * 1024

  def nameOf(variant: OrcVariant): OrcKeyName = OrcKeyName(variant.key.name, variant.key.version)

  /** @param sha256 of everything before the footer, decrypted */
  final case class Body(streams: Long, sha256: Array[Byte])

  /** @param end SHA-256 of the footer and the postscript, as they were written */
  final case class Written(body: Body, end: Array[Byte]) {
    def streams: Long = body.streams
    def isSame(other: Written): Boolean = streams == other.streams &&
      MessageDigest.isEqual(body.sha256, other.body.sha256) && MessageDigest.isEqual(end, other.end)
  }

  /** @param name of the master key in the file, with the algorithm */
  final class NewKey(val before: AesKey, val after: AesKey, val encrypted: Array[Byte], val name: OrcKey)

  /** The new local key for each encrypted one of each variant. */
  final class NewKeys(known: Map[(Int, Seq[Byte]), NewKey]) {
    def apply(variant: OrcVariant, encrypted: Array[Byte]): NewKey = known(variant.id -> encrypted.toSeq)
  }
}
