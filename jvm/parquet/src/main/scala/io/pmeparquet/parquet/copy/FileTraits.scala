package io.pmeparquet.parquet.copy

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Arrays

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.format.ColumnChunk
import org.apache.parquet.hadoop.metadata.CompressionCodecName._
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName.INT96

import io.pmeparquet.{AesKey, PmeErrors}
import io.pmeparquet.columns.{ColumnKeys, ColumnPattern, LeafColumn, NamePattern, UnlistedColumns}
import io.pmeparquet.columns.ColumnProtection
import io.pmeparquet.material.{KeyMetadata, LocalWrap}
import io.pmeparquet.options.{AadPrefix, EncryptionAlgorithm, FileSettings}
import io.pmeparquet.parquet.bytes.FileTail
import io.pmeparquet.parquet.chunk.Chunk
import io.pmeparquet.parquet.file.{Indexes, OpenFile}
import io.pmeparquet.parquet.schema.SchemaColumns
import io.pmeparquet.parquet.scope.{FileKeys, ReadScope}
import io.pmeparquet.parquet.storage.ListedFile

/**
 * What files have in common that may become one file: all that the new file is to have as well, but for its rows.
 * ''Crosses the wire.''
 *
 * @param settings how the file is encrypted, as its footer shows it; none for plaintext
 * @param kms the id and URL of the KMS that its footer names, if it names one
 * @param schema in Parquet's own words, with field ids
 * @param entries the key-value metadata
 * @param filtered the columns that have Bloom filters
 */
final case class FileTraits(
    settings: Option[FileSettings],
    kms: Option[(String, String)],
    schema: String,
    entries: Map[String, String],
    codec: String,
    filtered: Set[List[String]]
)

object FileTraits {

  /**
   * @return why the file must stay as it is, or its traits; and the number of its rows
   * @throws io.pmeparquet.PmeException if it does not open, or has parts that nobody knows
   */
  def of(scope: ReadScope, file: ListedFile, conf: Configuration): (Either[String, FileTraits], Long) = {
    val (opened, carried) = FileRewrite.open(scope, conf, file.version.path)
    if (!opened.version.isListed(file.version)) throw PmeErrors.changedMeanwhile(file.path)
    of(scope, opened, carried, conf) -> CopyCheck.rows(opened)
  }

  private[copy] def of(
      scope: ReadScope,
      file: OpenFile,
      carried: CarriedFields,
      conf: Configuration
  ): Either[String, FileTraits] = {
    val chunks = (0 until file.rowGroupCount).flatMap(file.chunks(_, scope.counters))
    val codecs = chunks.map(_.meta.getCodec).distinct
    val filtered = chunks.filter(Indexes.hasFilter).map(_.meta.getPath.toArray.toList).toSet
    val writer = Option(file.fileMetaData.getCreatedBy).getOrElse("")
    // Readers correct such times by the name of the writer.
    val hasOldTimes = file.schema.getColumns.asScala.exists(_.getPrimitiveType.getPrimitiveTypeName == INT96)
    if (CopyCheck.rows(file) == 0) Left("it has no rows")
    else if (file.fileMetaData.getKeyValueMetaData.keySet.asScala.exists(isOfTableFormat))
      Left("it is a file of Iceberg or Hudi, whose own metadata names it")
    else if (codecs.size > 1) Left("its columns have different codecs")
    else if (!Writable(codecs.head)) Left(s"its codec is ${codecs.head}")
    else if (filtered.exists(_.exists(_.contains('.'))))
      Left("a column with a Bloom filter has a dot in its name")
    else if (hasOldTimes && !writer.startsWith("parquet-mr"))
      Left("it has INT96 timestamps of another writer than parquet-java")
    else if (!carried.areWritten(file.schema))
      Left("its schema or its column orders have parts that parquet-java would not write again")
    else if (chunks.exists(_.struct.getMeta_data.getKey_value_metadataSize > 0))
      Left("its columns have metadata of their own")
    else
      new FileProtection(scope, file, chunks, conf).settings.map { case (settings, kms) =>
        FileTraits(
          settings,
          kms,
          file.schema.toString,
          file.fileMetaData.getKeyValueMetaData.asScala.toMap,
          codecs.head.name,
          filtered
        )
      }
  }

  /** An entry that the writers of table formats leave in each file. */
  private def isOfTableFormat(key: String) =
    key == "iceberg.schema" || key.startsWith("org.apache.hudi.") || key.startsWith("hoodie_")

  /** Codecs that this writes wherever Spark runs. */
  private val Writable = Set(UNCOMPRESSED, SNAPPY, GZIP, ZSTD)
}

/** How a file's data keys are wrapped, and the KMS that its footer names. */
private final case class Wrapping(
    direct: Boolean,
    external: Boolean,
    double: Boolean,
    kekBits: Int,
    kms: Option[(String, String)]
)

/** How a file is encrypted, in the words of a write: read from its footer, its key metadata and its keys. */
private final class FileProtection(
    scope: ReadScope,
    file: OpenFile,
    chunks: Seq[Chunk],
    conf: Configuration
) {
  private val path = file.version.path
  private val keys = new FileKeys(path, conf, scope)

  /** The settings and the KMS that the file names, or why no write could make such a file. */
  def settings: Either[String, (Option[FileSettings], Option[(String, String)])] =
    FileTail.read(conf, file.version) match {
      case FileTail.Plaintext => Right(None -> None)
      case tail: FileTail.Encrypted =>
        for {
          wrapping <- wrappingOf(tail)
          columns <- columnKeys
          prefix <- prefixOf(tail)
          bits <- one(
            chunks.flatMap(_.key).map(_.bits) ++ file.footerKeyBits,
            "its keys have different lengths"
          )
        } yield {
          val (columnKeys, unlisted) = columns
          val made = FileSettings(
            file.footerMasterKey.get,
            columnKeys,
            unlisted,
            if (tail.ctr) EncryptionAlgorithm.AesGcmCtrV1 else EncryptionAlgorithm.AesGcmV1,
            tail.plaintextFooter,
            Some(bits),
            wrapping.kekBits,
            wrapping.double,
            wrapping.external,
            wrapping.direct,
            prefix,
            storeAadPrefix = !tail.supplyAadPrefix,
            caseSensitive = true,
            cryptoProvider = scope.settings.cryptoProvider
          )
          Some(made) -> wrapping.kms
        }
    }

  private def one[A](all: Seq[A], why: String): Either[String, A] = all.distinct match {
    case Seq(single) => Right(single)
    case _ => Left(why)
  }

  private def wrappingOf(tail: FileTail.Encrypted): Either[String, Wrapping] = {
    val ofColumns = file.groups.flatMap(_.getColumns.asScala).filter(hasOwnKey).map { chunk =>
      Option(chunk.getCrypto_metadata.getENCRYPTION_WITH_COLUMN_KEY.getKey_metadata)
    }
    val named = tail.footerKeyMetadata.map(_ -> true) +: ofColumns.map(_.map(_ -> false))
    if (named.exists(_.isEmpty) || file.footerMasterKey.isEmpty) Left("it does not name all its keys")
    else {
      val kms = keys.materialOf(tail.footerKeyMetadata.get, None).flatMap(_.kms)
      val all = named.flatten.map { case (metadata, ofFooter) => wrapping(metadata, ofFooter, kms) }
      one(all, "its keys are wrapped in different ways")
    }
  }

  private def wrapping(metadata: Array[Byte], ofFooter: Boolean, kms: Option[(String, String)]): Wrapping =
    KeyMetadata.parse(metadata, path.toString) match {
      case KeyMetadata.Direct(_) => Wrapping(direct = true, external = false, double = false, MostBits, kms)
      case wrapped: KeyMetadata.Wrapped =>
        val material = keys.materialOf(metadata, if (ofFooter) None else Some("column"))
        val kek = material.flatMap(_.kek)
        val external = wrapped.isInstanceOf[KeyMetadata.External]
        // What a KMS wraps does not show its length; then the new key is not shorter.
        val bits = kek.flatMap(kek => LocalWrap.bitsOf(kek.wrapped)).getOrElse(MostBits)
        Wrapping(direct = false, external, kek.isDefined, bits, kms)
    }

  private val MostBits = AesKey.AllowedBits.max

  private def hasOwnKey(chunk: ColumnChunk) =
    chunk.isSetCrypto_metadata && chunk.getCrypto_metadata.isSetENCRYPTION_WITH_COLUMN_KEY

  private def columnKeys: Either[String, (Option[ColumnKeys], UnlistedColumns)] = {
    val found = file.protections
    val byPath = found.toMap
    val leaves = SchemaColumns.leaves(file.schema)
    val entries = leaves.flatMap { leaf =>
      byPath.get(leaf.path).collect { case ColumnProtection.ColumnKey(id) =>
        ColumnKeys.Entry(id, exactly(leaf))
      }
    }
    val plain = found.exists(_._2 == ColumnProtection.Plaintext)
    val underFooter = found.exists(_._2 == ColumnProtection.FooterKey)
    if (found.size != byPath.size) Left("its row groups have different keys")
    else if (plain && (underFooter || entries.isEmpty))
      Left("it has columns under the footer key next to columns without a key, or none with a key")
    else if (plain) Right(Some(ColumnKeys(entries)) -> UnlistedColumns.Plaintext)
    else Right((if (entries.isEmpty) None else Some(ColumnKeys(entries))) -> UnlistedColumns.UseFooterKey)
  }

  private def exactly(leaf: LeafColumn) =
    ColumnPattern(leaf.display, leaf.path.map(NamePattern(_, quoted = true)))

  private def prefixOf(tail: FileTail.Encrypted): Either[String, Option[AadPrefix]] =
    if (tail.supplyAadPrefix || (tail.aadPrefix.isDefined && scope.settings.aadPrefix.isDefined))
      Right(scope.settings.aadPrefix)
    else
      tail.aadPrefix match {
        case None => Right(None)
        case Some(bytes) =>
          val text = new String(bytes, UTF_8)
          if (Arrays.equals(text.getBytes(UTF_8), bytes) && !text.exists(Braces) && text.nonEmpty)
            Right(Some(AadPrefix.parse(text)))
          else Left("its AAD prefix is no text that an option can give")
      }

  private val Braces = Set('{', '}')
}
