package io.pmeparquet.parquet.inspect

import scala.collection.JavaConverters._

import org.apache.parquet.format.RowGroup

import io.pmeparquet.material.KeyMaterial
import io.pmeparquet.parquet.bytes.ReadCounters
import io.pmeparquet.parquet.inspect.FoundProtection.NamedChunk
import io.pmeparquet.parquet.rotation.{FileKey, FileRotation, KeyedChunk, KeyedFile}
import io.pmeparquet.PmeException

/** What each key of a file with wrapped keys protects. */
private[inspect] final class KeyUses(file: KeyedFile, chunks: Seq[NamedChunk]) {
  import KeyUse.{Column, Footer}

  private val groups = Option(file.metadata.getRow_groups).fold(Seq.empty[RowGroup])(_.asScala.toSeq)
  private val keyed = KeyedChunk.all(file.metadata)

  private val names = new java.util.IdentityHashMap[AnyRef, String]
  chunks.foreach(one => names.put(one.chunk, one.column))

  /** The column's name in Spark, as for columns without a key of their own. */
  private def nameOf(one: KeyedChunk): String = names.get(one.chunk)

  def all: Seq[KeyUse] = file.keys.map { key =>
    val unknown = KeyUse(
      None,
      None,
      if (key.column.isEmpty) Footer else Column,
      None,
      None,
      Nil,
      None,
      Some(groups.map(_.getNum_rows).sum),
      Nil,
      None
    )
    val one = KeyUses.described(unknown, key.material, key.isExternal)
    if (key.column.isEmpty) ofFooter(one) else ofColumns(one, key)
  }

  private def ofFooter(use: KeyUse): KeyUse = {
    val own = chunks.filter(one => one.kind == FoundProtection.FooterKey && one.chunk.isSetMeta_data)
    val names = own.map(_.column).distinct
    use.copy(
      columns = names,
      bytes = Some(own.map(_.chunk.getMeta_data.getTotal_compressed_size).sum),
      opensFile = !file.hasReadableFooter,
      // A readable footer and columns without a key need none.
      unreadable = if (file.hasReadableFooter) names else (names ++ keyed.map(nameOf)).distinct
    )
  }

  private def ofColumns(use: KeyUse, key: FileKey): KeyUse = {
    val own = keyed.filter(one => java.nio.ByteBuffer.wrap(one.key) == key.metadata)
    val names = own.map(nameOf).distinct
    val known = use.copy(columns = names, unreadable = names)
    val counters = new ReadCounters
    try known.copy(bytes = Some(own.map(file.chunkBytes(_, counters)).sum))
    catch { case failed: PmeException => known.copy(problem = Some(failed.condition.name)) }
  }
}

private object KeyUses {
  private val VaultVersion = "vault:v(\\d{1,9}):.*".r

  def described(use: KeyUse, material: KeyMaterial, isExternal: Boolean): KeyUse =
    use.copy(
      masterKeyId = Some(material.masterKeyId),
      version = versionOf(material.wrappedKey.wrapped),
      wrapping = Some(if (material.kek.isDefined) "double" else "single"),
      material = Some(if (isExternal) FileRotation.External else FileRotation.Internal),
      dataKeyBits = WrappedLength.bits(material.wrappedDek),
      kekBits = material.kek.flatMap(kek => WrappedLength.bits(kek.wrapped))
    )

  private def versionOf(wrapped: String): Option[Int] = wrapped match {
    case VaultVersion(number) => Some(number.toInt)
    case _ => None
  }
}
