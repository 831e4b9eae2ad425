package io.pmeparquet.parquet.rotation

import java.io.ByteArrayOutputStream
import java.nio.ByteBuffer

import scala.collection.mutable
import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.format.{ColumnChunk, FileMetaData}

import io.pmeparquet.keys.WrappedKey
import io.pmeparquet.material.{KeyMaterial, KeyMetadata}
import io.pmeparquet.parquet.admission.FooterFields
import io.pmeparquet.parquet.bytes._
import io.pmeparquet.parquet.file.FileCrypto
import io.pmeparquet.parquet.scope.{FileKeys, ReadScope}

/** A file with respect to its keys. */
private[parquet] sealed trait FoundFile

private[parquet] object FoundFile {
  case object Plaintext extends FoundFile

  /** It names keys that are not wrapped, or no keys. */
  case object WithoutWrappedKeys extends FoundFile

  def open(
      scope: ReadScope,
      version: FileVersion,
      conf: Configuration,
      proven: String => Boolean
  ): FoundFile = {
    val file = version.path.toString
    val counters = new ReadCounters
    val footer = FooterBytes.read(version, conf, counters)
    FileTail.of(footer, file) match {
      case FileTail.Plaintext => Plaintext
      case tail: FileTail.Encrypted =>
        tail.footerKeyMetadata match {
          case Some(metadata) if isWrapped(metadata, file) =>
            val crypto = FileCrypto.of(scope, version, conf, tail, counters)
            KeyedFile.of(version, footer, metadata, crypto, proven, counters)
          case _ => WithoutWrappedKeys
        }
    }
  }

  /** The key that a file's footer names as its own, whether or not it is; none if it names no wrapped key. */
  def footerKey(scope: ReadScope, version: FileVersion, conf: Configuration): Option[WrappedKey] =
    FileTail.read(conf, version) match {
      case FileTail.Plaintext => None
      case tail: FileTail.Encrypted =>
        val keys = new FileKeys(version.path, conf, scope)
        tail.footerKeyMetadata.flatMap(keys.materialOf(_, None)).map(_.wrappedKey)
    }

  private def isWrapped(metadata: Array[Byte], file: String) = KeyMetadata.parse(metadata, file) match {
    case _: KeyMetadata.Wrapped => true
    case _: KeyMetadata.Direct => false
  }
}

/**
 * An encrypted file whose footer is authentic, with each wrapped key of the file. Nothing authenticates key material in
 * a file next to it, nor the footer's own key metadata: a key belongs to this file if it opens what it should.
 */
private[parquet] final class KeyedFile private (
    val version: FileVersion,
    footer: FooterBytes,
    val metadata: FileMetaData,
    crypto: FileCrypto,
    content: Segment,
    val keys: Seq[FileKey]
) extends FoundFile {

  def footerOffset: Long = footer.segment.offset

  /** SHA-256 of the end of the file, as it was opened. */
  def footerSha256: Array[Byte] = footer.sha256

  def hasReadableFooter: Boolean = !footer.encrypted
  def isInternal: Boolean = keys.forall(!_.isExternal)
  def isExternal: Boolean = keys.forall(_.isExternal)

  /** Key material next to it that its footer does not refer to: a file without rows has some for all its columns. */
  def unused: Seq[KeyMaterial] = {
    val used = keys.flatMap(_.reference).toSet
    if (used.isEmpty) Nil
    else crypto.keys.material.collect { case (reference, one) if !used.contains(reference) => one }.toSeq
  }

  /**
   * The size of a column's chunk.
   *
   * @param opens whether the column's key must open it, which a signed plaintext footer shows to everybody
   */
  def chunkBytes(one: KeyedChunk, opens: Boolean, counters: ReadCounters): Long =
    Option(one.chunk.getMeta_data)
      .filterNot(_ => opens)
      .getOrElse(KeyedFile.metadataOf(one, crypto, version.path.toString, counters))
      .getTotal_compressed_size

  /**
   * The parts of its footer with unknown meaning. They may hold older wrapped keys, which a rotation would leave there.
   */
  def unknownParts: Seq[String] = {
    val file = version.path.toString
    val ofCrypto =
      if (!footer.encrypted) Nil
      else
        FooterFields.unknownOfCrypto(footer.segment, FileTail.cryptoMetadataEnd(footer.segment, file), file)
    ofCrypto ++ FooterFields.unknown(content, file)
  }

  /** The end of the file, from its footer on, with key metadata replaced by value. */
  def end(changed: Map[ByteBuffer, Array[Byte]]): Array[Byte] = {
    val before = footer.segment
    val own = KeyMetadataFields
      .replace(content.array, content.at, content.until, KeyMetadataFields.OfFooter)(changed)
    val clear =
      if (!footer.encrypted) Array.emptyByteArray
      else {
        val until = FileTail.cryptoMetadataEnd(before, version.path.toString)
        KeyMetadataFields.replace(before.array, before.at, until, KeyMetadataFields.OfCryptoMetadata)(changed)
      }
    FooterBytes.framed(clear ++ crypto.sealFooter(own), footer.encrypted)
  }
}

/**
 * @param metadata the key metadata in the footer
 * @param column none for the footer's own key
 */
private[parquet] final case class FileKey(
    metadata: ByteBuffer,
    column: Option[String],
    reference: Option[String],
    material: KeyMaterial
) {
  def isExternal: Boolean = reference.isDefined
}

private[parquet] object KeyedFile {

  /** @param proven the master keys whose column keys must prove that they are the file's; the footer's always must */
  def of(
      version: FileVersion,
      footer: FooterBytes,
      footerKey: Array[Byte],
      crypto: FileCrypto,
      proven: String => Boolean,
      counters: ReadCounters
  ): KeyedFile = {
    val file = version.path.toString
    val content = crypto.openFooter(footer.segment, counters)
    val metadata = FileTail.metadata(content, file)
    val columns = KeyedChunk.firstOfEachKey(metadata)
    val found = columns.flatMap(one => keyOf(crypto.keys, file, one.key, Some(one.name)).map(one -> _))
    val toProve = found.collect { case (one, key) if proven(key.material.masterKeyId) => one }
    crypto.prepare(toProve.map(one => one.name -> one.chunk))
    toProve.foreach(one => metadataOf(one, crypto, file, counters))
    new KeyedFile(
      version,
      footer,
      metadata,
      crypto,
      content,
      keyOf(crypto.keys, file, footerKey, None).toSeq ++ found.map(_._2)
    )
  }

  private def metadataOf(one: KeyedChunk, crypto: FileCrypto, file: String, counters: ReadCounters) =
    crypto.columnMetadata(
      crypto.columnKey(one.chunk, one.name, counters),
      one.chunk,
      one.group,
      one.ordinal,
      s"$file, column '${one.name}'",
      counters
    )

  private def keyOf(
      keys: FileKeys,
      file: String,
      metadata: Array[Byte],
      column: Option[String]
  ): Option[FileKey] = keys.materialOf(metadata, column).map { material =>
    val reference = KeyMetadata.parse(metadata, file) match {
      case KeyMetadata.External(name) => Some(name)
      case _ => None
    }
    FileKey(ByteBuffer.wrap(metadata), column, reference, material)
  }
}

/**
 * A column chunk that is encrypted with the column's own key, and whose footer entry has key metadata.
 *
 * @param name the column's path, joined with dots
 * @param group the ordinal of its row group
 * @param ordinal the column's place in its row group
 */
private[parquet] final case class KeyedChunk(name: String, chunk: ColumnChunk, group: Int, ordinal: Int) {
  private def crypto = chunk.getCrypto_metadata.getENCRYPTION_WITH_COLUMN_KEY
  def key: Array[Byte] = crypto.getKey_metadata
  def path: Seq[String] = crypto.getPath_in_schema.asScala.toSeq
}

private[parquet] object KeyedChunk {

  /** One chunk for each distinct key metadata of a footer. */
  def firstOfEachKey(metadata: FileMetaData): Seq[KeyedChunk] = {
    val seen = mutable.Set.empty[ByteBuffer]
    all(metadata).filter(one => seen.add(ByteBuffer.wrap(one.key)))
  }

  /** All of a footer, row group by row group. */
  def all(metadata: FileMetaData): Seq[KeyedChunk] =
    for {
      (group, index) <- FileTail.rowGroups(metadata).zipWithIndex
      (chunk, ordinal) <- group.getColumns.asScala.toSeq.zipWithIndex
      crypto = chunk.getCrypto_metadata if crypto != null && crypto.isSetENCRYPTION_WITH_COLUMN_KEY
      key = crypto.getENCRYPTION_WITH_COLUMN_KEY if key.isSetKey_metadata
    } yield KeyedChunk(
      key.getPath_in_schema.asScala.mkString("."),
      chunk,
      if (group.isSetOrdinal) group.getOrdinal.toInt else index,
      ordinal
    )
}

/**
 * The places of key metadata in a footer (`parquet.thrift`), and how to replace it. Every other byte is copied, so that
 * nothing is lost that a newer writer put there.
 */
private[parquet] object KeyMetadataFields {

  /** `FileCryptoMetaData.key_metadata` */
  val OfCryptoMetadata: ThriftFields = ThriftFields.at(2)

  /**
   * `FileMetaData.footer_signing_key_metadata`, and for columns
   * `row_groups.columns.crypto_metadata.ENCRYPTION_WITH_COLUMN_KEY.key_metadata`
   */
  val OfFooter: ThriftFields = new ThriftFields(
    Map(9 -> ThriftFields.value, 4 -> ThriftFields.at(1, 8, 2, 2))
  )

  /**
   * The bytes from `from` to `until`, which begin with a struct, with some of its key metadata replaced.
   *
   * @param changed the new value for each old one; other values stay
   */
  def replace(bytes: Array[Byte], from: Int, until: Int, fields: ThriftFields)(
      changed: Map[ByteBuffer, Array[Byte]]
  ): Array[Byte] = {
    val out = new ByteArrayOutputStream(until - from)
    var at = from
    for {
      place <- ThriftBounds.binaries(bytes, from, until, fields)
      value <- changed.get(ByteBuffer.wrap(bytes, place.from, place.until - place.from))
    } {
      out.write(bytes, at, place.lengthAt - at)
      writeLength(out, value.length)
      out.write(value, 0, value.length)
      at = place.until
    }
    out.write(bytes, at, until - at)
    out.toByteArray
  }

  /** A varint of Thrift's compact protocol: seven bits at a time, the lowest first. */
  private def writeLength(out: ByteArrayOutputStream, length: Int): Unit = {
    var left = length
    while (left >= 0x80) {
      out.write(left & 0x7f | 0x80)
      left >>>= 7
    }
    out.write(left)
  }
}
