package io.pmeparquet.parquet.rotation

import java.nio.ByteBuffer

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.format.{ColumnChunk, FileMetaData, RowGroup}

import io.pmeparquet.keys.WrappedKey
import io.pmeparquet.material.{KeyMaterial, KeyMetadata}
import io.pmeparquet.parquet.admission.FooterFields
import io.pmeparquet.parquet.bytes.{FileBytes, FileTail, FileVersion, FooterBytes, ReadCounters, Segment}
import io.pmeparquet.parquet.file.FileCrypto
import io.pmeparquet.parquet.scope.{FileKeys, ReadScope}

/** A file as an operation on its keys sees it. */
private[parquet] sealed trait FoundFile

private[parquet] object FoundFile {
  case object Plaintext extends FoundFile

  /** Its keys are named and not wrapped, or it names none. */
  case object WithoutWrappedKeys extends FoundFile

  def open(
      scope: ReadScope,
      version: FileVersion,
      conf: Configuration,
      proven: String => Boolean
  ): FoundFile = {
    val file = version.path.toString
    val counters = new ReadCounters
    val bytes = new FileBytes(version, conf, counters)
    try {
      val footer = FooterBytes.read(bytes)
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
    } finally bytes.close()
  }

  /** The key that a footer names as its own, whether or not it is; none if it names no wrapped key. */
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
 * An encrypted file with an authentic footer and its wrapped keys. Nothing authenticates separate key material, nor the
 * footer's own key metadata: a key belongs to this file if it opens what it should.
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

  def hasReadableFooter: Boolean = !footer.encrypted
  def isInternal: Boolean = keys.forall(!_.isExternal)
  def isExternal: Boolean = keys.forall(_.isExternal)

  /** Separate key material that nothing in the footer refers to: a file without rows has it for all its columns. */
  def unused: Seq[KeyMaterial] = {
    val used = keys.flatMap(_.reference).toSet
    if (used.isEmpty) Nil
    else crypto.keys.material.collect { case (reference, one) if !used.contains(reference) => one }.toSeq
  }

  /** The size of a column's chunk: a signed plaintext footer shows it to everybody. */
  def chunkBytes(one: KeyedFile.KeyedChunk, counters: ReadCounters): Long =
    Option(one.chunk.getMeta_data)
      .getOrElse(KeyedFile.metadataOf(one, crypto, version.path.toString, counters))
      .getTotal_compressed_size

  /** Parts of the footer with unknown content. They may contain wrapped keys, which would stay. */
  def unknownParts: Seq[String] = {
    val file = version.path.toString
    val ofCrypto =
      if (!footer.encrypted) Nil
      else
        FooterFields.unknownOfCrypto(footer.segment, FileTail.cryptoMetadataEnd(footer.segment, file), file)
    ofCrypto ++ FooterFields.unknown(content, file)
  }

  /** The file from its footer on, with key metadata replaced by value. */
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
    FooterBytes.framed(clear ++ crypto.sealedFooter(own), footer.encrypted)
  }
}

/**
 * @param metadata the footer's metadata of the key
 * @param column none for the footer's own
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

  /**
   * @param proven the master keys whose columns must prove that their keys belong to the file; the footer always must
   */
  def of(
      version: FileVersion,
      footer: FooterBytes,
      footerKey: Array[Byte],
      crypto: FileCrypto,
      proven: String => Boolean,
      counters: ReadCounters
  ): KeyedFile = {
    val file = version.path.toString
    val content = crypto.footerContent(footer.segment, counters)
    val metadata = FileTail.metadata(content, file)
    val columns = firstOfEachKey(metadata)
    val keys = FileKeyOf(crypto.keys, file)
    val found = columns.flatMap(one => keys(one.key, Some(one.name)).map(one -> _))
    val toProve = found.collect { case (one, key) if proven(key.material.masterKeyId) => one }
    crypto.prepare(toProve.map(one => one.name -> one.chunk))
    toProve.foreach(one => metadataOf(one, crypto, file, counters))
    new KeyedFile(version, footer, metadata, crypto, content, keys(footerKey, None).toSeq ++ found.map(_._2))
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

  private final case class FileKeyOf(keys: FileKeys, file: String) {
    def apply(metadata: Array[Byte], column: Option[String]): Option[FileKey] =
      keys.materialOf(metadata, column).map { material =>
        val reference = KeyMetadata.parse(metadata, file) match {
          case KeyMetadata.External(name) => Some(name)
          case _ => None
        }
        FileKey(ByteBuffer.wrap(metadata), column, reference, material)
      }
  }

  /** A chunk whose column has a key of its own. */
  final case class KeyedChunk(name: String, chunk: ColumnChunk, group: Int, ordinal: Int) {
    private def crypto = chunk.getCrypto_metadata.getENCRYPTION_WITH_COLUMN_KEY
    def key: Array[Byte] = crypto.getKey_metadata
    def path: Seq[String] = crypto.getPath_in_schema.asScala.toSeq
  }

  private def firstOfEachKey(metadata: FileMetaData): Seq[KeyedChunk] = {
    val seen = scala.collection.mutable.Set.empty[ByteBuffer]
    chunks(metadata).filter(one => seen.add(ByteBuffer.wrap(one.key)))
  }

  def chunks(metadata: FileMetaData): Seq[KeyedChunk] =
    for {
      (group, index) <- Option(metadata.getRow_groups).fold(Seq.empty[RowGroup])(_.asScala.toSeq).zipWithIndex
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
