package io.pmeparquet.parquet.rotation

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.format.{ColumnChunk, RowGroup}

import io.pmeparquet.{Condition, PmeException}
import io.pmeparquet.keys.{KeyMaterial, KeyMetadata}
import io.pmeparquet.parquet.{FileKeys, FileTail, FileVersion, ReadScope, SchemaColumns}
import io.pmeparquet.parquet.pages.ReadCounters

/**
 * What one master key protects in one file. ''Crosses the wire''.
 *
 * @param masterKeyId none where the file names no key
 * @param version of the master key, where its KMS writes it into what it wraps
 * @param kind `footer` or `column`
 * @param wrapping `double`, `single`, or `direct`
 * @param bytes of its columns' chunks; none where a key is missing that would tell
 * @param unreadable columns that cannot be read without it: without a footer's key, none can
 * @param problem the condition for which less is known of it than could be
 * @param opensFile whether the file cannot be opened at all without it
 */
final case class KeyUse(
    masterKeyId: Option[String],
    version: Option[Int],
    kind: String,
    wrapping: Option[String],
    material: Option[String],
    columns: Seq[String],
    bytes: Option[Long],
    rows: Option[Long],
    unreadable: Seq[String],
    problem: Option[String],
    opensFile: Boolean = false
)

/** Which master keys protect what in a file. ''Crosses the wire''. */
final class FileUsage(scope: ReadScope) extends Serializable {
  import FileUsage._

  /** @return nothing for a file that is not encrypted */
  def of(file: ListedFile, conf: Configuration): Seq[KeyUse] =
    // No key has to show that it is the file's: nothing is done with it.
    try
      FoundFile.open(scope, file.version, conf, _ => false) match {
        case FoundFile.Plaintext => Nil
        case FoundFile.WithoutWrappedKeys => Seq(ofTail(file.version, conf, None))
        case keyed: KeyedFile => new Uses(keyed).all
      }
    catch { case failed: PmeException => Seq(ofTail(file.version, conf, Some(failed))) }

  /** What can be told of a file without opening its footer. */
  private def ofTail(version: FileVersion, conf: Configuration, failed: Option[PmeException]): KeyUse = {
    val tail = FileTail.read(conf, version) match {
      case encrypted: FileTail.Encrypted => Some(encrypted)
      case FileTail.Plaintext => None
    }
    val known = tail.flatMap(_.footerKeyMetadata)
    val closed = tail.exists(!_.plaintextFooter)
    val unknown =
      KeyUse(None, None, Footer, None, None, Nil, None, None, Nil, failed.map(_.condition.name), closed)
    known.fold(unknown) { metadata =>
      KeyMetadata.parse(metadata, version.path.toString) match {
        // Which columns have direct keys of their own is not looked at, and must not be taken for none.
        case KeyMetadata.Direct(id) =>
          unknown.copy(
            masterKeyId = Some(id),
            wrapping = Some("direct"),
            problem = unknown.problem.orElse(Some(Condition.Unsupported.name))
          )
        case wrapped: KeyMetadata.Wrapped =>
          val isExternal = wrapped.isInstanceOf[KeyMetadata.External]
          new FileKeys(version.path, conf, scope)
            .materialOf(metadata, None)
            .fold(unknown)(described(unknown, _, isExternal))
      }
    }
  }

  private final class Uses(file: KeyedFile) {
    private val groups = Option(file.metadata.getRow_groups).fold(Seq.empty[RowGroup])(_.asScala.toSeq)
    private val chunks = groups.flatMap(_.getColumns.asScala)
    private val keyed = KeyedFile.chunks(file.metadata)
    private val names = SchemaColumns.namesOf(file.metadata)

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
      val one = described(unknown, key.material, key.isExternal)
      if (key.column.isEmpty) ofFooter(one) else ofColumns(one, key)
    }

    private def ofFooter(use: KeyUse): KeyUse = {
      val own = chunks.filter(chunk => withFooterKey(chunk) && chunk.isSetMeta_data)
      use.copy(
        columns = own.map(ofChunk).distinct,
        bytes = Some(own.map(_.getMeta_data.getTotal_compressed_size).sum),
        opensFile = !file.hasReadableFooter,
        // A readable footer, and columns without a key, need none.
        unreadable =
          if (file.hasReadableFooter) own.map(ofChunk).distinct
          else (own.map(ofChunk) ++ keyed.map(nameOf)).distinct
      )
    }

    private def ofColumns(use: KeyUse, key: FileKey): KeyUse = {
      val own = keyed.filter(one => java.nio.ByteBuffer.wrap(one.key) == key.metadata)
      val columns = own.map(nameOf).distinct
      val told = use.copy(columns = columns, unreadable = columns)
      val counters = new ReadCounters
      try told.copy(bytes = Some(own.map(file.chunkBytes(_, counters)).sum))
      catch { case failed: PmeException => told.copy(problem = Some(failed.condition.name)) }
    }

    private def ofChunk(chunk: ColumnChunk) = names(chunk.getMeta_data.getPath_in_schema.asScala.toSeq)
    private def nameOf(one: KeyedFile.KeyedChunk) = names(one.path)
  }
}

private object FileUsage {
  val Footer = "footer"
  val Column = "column"
  private val VaultVersion = "vault:v(\\d{1,9}):.*".r

  def described(use: KeyUse, material: KeyMaterial, isExternal: Boolean): KeyUse =
    use.copy(
      masterKeyId = Some(material.masterKeyId),
      version = versionOf(material.wrappedKey.wrapped),
      wrapping = Some(if (material.kek.isDefined) "double" else "single"),
      material = Some(if (isExternal) FileRotation.External else FileRotation.Internal)
    )

  private def versionOf(wrapped: String): Option[Int] = wrapped match {
    case VaultVersion(number) => Some(number.toInt)
    case _ => None
  }

  def withFooterKey(chunk: ColumnChunk): Boolean =
    chunk.isSetCrypto_metadata && chunk.getCrypto_metadata.isSetENCRYPTION_WITH_FOOTER_KEY
}
