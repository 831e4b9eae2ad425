package io.pmeparquet.orc

import java.io.{InputStream, OutputStream}
import java.security.MessageDigest

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.orc.EncryptionAlgorithm

import io.pmeparquet.{AesKey, Condition, PmeErrors}
import io.pmeparquet.columns.{ColumnProtection, KeyPlan}
import io.pmeparquet.columns.ColumnProtection.ColumnKey
import io.pmeparquet.options.OrcWriteSettings
import io.pmeparquet.orc.keys.{OrcKeyName, OrcProviders, OrcScope}
import io.pmeparquet.orc.tail.{OpenedOrc, OrcEnd, OrcKey, OrcStream, OrcTail, OrcVariant}
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
   * @throws io.pmeparquet.PmeException if something is wrong with the file or the keys, or with the new file as stored
   */
  def write(source: Path, sourceConf: Configuration, staged: Path, conf: Configuration): Rekeyed = {
    val fs = source.getFileSystem(sourceConf)
    val status = fs.getFileStatus(source)
    val (rows, written) = OpenedOrc.using(source, status.getLen, sourceConf) { file =>
      new OrcAdmission(from, Nil, settings.caseSensitive).check(file, 0, status.getLen, sourceConf)
      val end = endOf(file)
      val keys = newKeys(file, end, conf)
      val in = fs.open(source)
      try file.tail.rows -> put(staged, conf)(copy(file, end, keys, in, _), newEnd(end, keys))
      finally in.close()
    }
    requireSame(fs.getFileStatus(source), status)
    compare(source, written, staged, conf)
    Rekeyed(rows, written.streams, staged.getFileSystem(conf).getFileStatus(staged).getLen)
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
  )(body: OutputStream => Written, end: Array[Byte]): Written = {
    val out = OwnFiles.create(staged, conf)
    try {
      val done = body(out)
      out.write(end)
      done
    } finally out.close()
  }

  private def copy(
      file: OpenedOrc,
      end: OrcEnd,
      keys: NewKeys,
      in: InputStream,
      out: OutputStream
  ): Written =
    walk(file, end, in)((bytes, length) => out.write(bytes, 0, length)) { stream =>
      val own = keys(stream.variant, stream.encryptedKey)
      val (before, after) = (stream.cipher(own.before), stream.cipher(own.after))
      (bytes, length) => {
        val clear = before.update(bytes, 0, length)
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
  private def walk(file: OpenedOrc, end: OrcEnd, in: InputStream)(others: (Array[Byte], Int) => Unit)(
      opening: OrcStream => (Array[Byte], Int) => Array[Byte]
  ): Written = {
    val sum = MessageDigest.getInstance("SHA-256")
    val buffer = new Array[Byte](BufferBytes)
    var at, streams = 0L
    def each(until: Long)(part: Int => Unit): Unit =
      while (at < until) {
        goOn()
        val count = in.read(buffer, 0, (until - at).min(buffer.length.toLong).toInt)
        if (count < 0) throw PmeErrors.changedMeanwhile(file.path.toString)
        part(count)
        at += count
      }
    def readable(until: Long): Unit = each(until) { count =>
      sum.update(buffer, 0, count)
      others(buffer, count)
    }
    (file.encryptedStreams ++ end.statistics).foreach { stream =>
      readable(stream.offset)
      val open = opening(stream)
      each(stream.end)(count => sum.update(open(buffer, count)))
      streams += 1
    }
    readable(end.footerOffset)
    new Written(streams, sum.digest())
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
      val in = fs.open(staged)
      val found =
        try
          walk(file, end, in)((_, _) => ()) { stream =>
            val cipher = stream.cipher(keys(stream.variant.id -> stream.encryptedKey.toSeq))
            (bytes, length) => cipher.update(bytes, 0, length)
          }
        finally in.close()
      if (found.streams != written.streams || !MessageDigest.isEqual(found.sha256, written.sha256)) {
        val why = s"the content of $staged is not what was read."
        throw PmeErrors.badCopy(source.toString, Condition.DamagedFile, why)
      }
    }
  }

  private def requireSame(now: FileStatus, before: FileStatus): Unit =
    if (now.getLen != before.getLen || now.getModificationTime != before.getModificationTime)
      throw PmeErrors.changedMeanwhile(before.getPath.toString)
}

/** What was written for a file. */
final case class Rekeyed(rows: Long, streams: Long, bytes: Long)

private object OrcRekey {
  private val BufferBytes = 256 * 1024

  def nameOf(variant: OrcVariant): OrcKeyName = OrcKeyName(variant.key.name, variant.key.version)

  /** @param sha256 of everything before the footer, decrypted */
  final class Written(val streams: Long, val sha256: Array[Byte])

  /** @param name of the master key in the file, with the algorithm */
  final class NewKey(val before: AesKey, val after: AesKey, val encrypted: Array[Byte], val name: OrcKey)

  /** The new local key for each encrypted one of each variant. */
  final class NewKeys(known: Map[(Int, Seq[Byte]), NewKey]) {
    def apply(variant: OrcVariant, encrypted: Array[Byte]): NewKey = known(variant.id -> encrypted.toSeq)
  }
}
