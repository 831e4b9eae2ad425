package io.pmeparquet.orc

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.pmeparquet.material.KeyMaterial
import io.pmeparquet.orc.keys.OrcLocalKeys
import io.pmeparquet.orc.tail.{OpenedOrc, OrcLocalKey}
import io.pmeparquet.parquet.inspect.{FileUse, KeyUse}
import io.pmeparquet.PmeException

/** Which master keys protect what in an ORC file, as its tail states it. It needs no key. */
object OrcUsage {

  /** How a master key encrypts a local key itself, without key material. */
  private val Raw = "orc"

  /** Whether a file, which is no Parquet file, begins as ORC files do. One that cannot be read has failed for its caller. */
  def isOrc(path: Path, conf: Configuration): Boolean =
    try {
      val in = path.getFileSystem(conf).open(path)
      try new String(in.readNBytes(Magic.length), UTF_8) == Magic
      finally in.close()
    } catch { case failed: IOException if !PmeException.isOfCancelled(failed) => false }

  private val Magic = "ORC"

  /** @throws io.pmeparquet.PmeException if the file is damaged */
  def of(path: Path, length: Long, conf: Configuration): FileUse = {
    val (tail, local) =
      OpenedOrc.using(path, length, conf)(file =>
        file.tail -> file.end.fold(Seq.empty[OrcLocalKey])(_.localKeys)
      )
    val (encrypted, readable) = tail.protection.partition(_.keys.nonEmpty)
    val ofKey = encrypted.flatMap(one => one.keys.map(_ -> one)).groupBy(_._1)
    val uses = local.groupBy(_.variant.key).toSeq.sortBy(_._1.display).flatMap { case (key, some) =>
      val opened = ofKey(key).map(_._2)
      val columns = opened.map(_.column.leaf.display)
      // With a second key a column can be read without the first.
      val only = opened.filter(_.keys == Seq(key)).map(_.column.leaf.display)
      val raw = KeyUse(
        Some(key.name),
        Some(key.version),
        KeyUse.Column,
        Some(Raw),
        None,
        columns.toList,
        None,
        Some(tail.rows),
        only.toList,
        None,
        dataKeyBits = Some(key.algorithm.keyLength * 8)
      )
      // Parts of a merged file can be wrapped by several versions of a master key.
      some
        .map(materialOf(_, path.toString).fold(raw) { material =>
          val found = KeyUse.described(raw, material, isExternal = false)
          found.copy(version = found.version.orElse(raw.version), dataKeyBits = raw.dataKeyBits)
        })
        .distinct
    }
    val plain = readable.map(_.column.leaf.display).toList
    val kind = if (uses.isEmpty) KeyUse.Plaintext else KeyUse.PlaintextColumn
    val rest =
      if (plain.isEmpty) Nil
      else Seq(KeyUse(None, None, kind, None, None, plain, None, Some(tail.rows), Nil, None))
    FileUse((uses ++ rest).toList, isEncrypted = uses.nonEmpty, columns = None)
  }

  private def materialOf(local: OrcLocalKey, where: String): Option[KeyMaterial] =
    // Keys in ORC's own form are random, and can begin like JSON.
    if (!OrcLocalKeys.isRaw(local.encrypted) && local.encrypted.headOption.contains('{'.toByte))
      Some(KeyMaterial.parse(new String(local.encrypted, UTF_8), where))
    else None
}
