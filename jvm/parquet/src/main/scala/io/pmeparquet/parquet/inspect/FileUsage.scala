package io.pmeparquet.parquet.rotation

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.format.{FileMetaData, RowGroup}

import io.pmeparquet.{Condition, PmeException}
import io.pmeparquet.keys.{KeyMaterial, KeyMetadata}
import io.pmeparquet.parquet.{FileKeys, FileTail, FileVersion, ReadScope}
import io.pmeparquet.parquet.inspect.FoundProtection
import io.pmeparquet.parquet.inspect.FoundProtection.NamedChunk
import io.pmeparquet.parquet.pages.{OpenFile, ReadCounters}

/**
 * What one master key protects in one file, or what none does. ''Crosses the wire''.
 *
 * @param masterKeyId none where the file names no key
 * @param version of the master key, where its KMS writes it into what it wraps
 * @param kind `footer`, `column`, `plaintext column` (without a key in an encrypted file) or `plaintext` (all of a file)
 * @param wrapping `double`, `single`, or `direct`
 * @param bytes of its columns' chunks; none where a key is missing that would tell
 * @param unreadable columns that cannot be read without it: without a footer's key, none can
 * @param problem the condition for which less is known of it than could be
 * @param opensFile whether the file cannot be opened at all without it
 * @param dataKeyBits the length of the data key, where that of its wrapped form tells
 * @param kekBits the same of the key encryption key
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
    opensFile: Boolean = false,
    dataKeyBits: Option[Int] = None,
    kekBits: Option[Int] = None
)

/**
 * What a file's footer tells of its keys and columns. ''Crosses the wire''.
 *
 * @param columns what protects each; none where the footer does not open
 */
final case class FileUse(uses: List[KeyUse], isEncrypted: Boolean, columns: Option[List[FoundProtection]])

/** Which master keys protect what in a file, column by column. ''Crosses the wire''. */
final class FileUsage(scope: ReadScope) extends Serializable {
  import FileUsage._

  def of(file: ListedFile, conf: Configuration): FileUse =
    // No key has to show that it is the file's: nothing is done with it.
    try
      FoundFile.open(scope, file.version, conf, _ => false) match {
        case FoundFile.Plaintext => ofPlaintext(file.version, conf)
        case FoundFile.WithoutWrappedKeys => withoutWrappedKeys(file.version, conf)
        case keyed: KeyedFile =>
          val chunks = FoundProtection.chunks(keyed.metadata, file.version.path)
          val keys = new FileKeys(file.version.path, conf, scope)
          val footerKey = keyed.keys.find(_.column.isEmpty).map(_.material.masterKeyId)
          FileUse(
            new Uses(keyed, chunks).all.toList ++ readable(PlaintextColumn, chunks, keyed.metadata),
            isEncrypted = true,
            Some(FoundProtection.of(chunks)(masterKeyOf(_, keys, footerKey)).toList)
          )
      }
    catch { case failed: PmeException => unopened(ofTail(file.version, conf, Some(failed))) }

  private def unopened(use: KeyUse) = FileUse(List(use), isEncrypted = true, columns = None)

  private def ofPlaintext(version: FileVersion, conf: Configuration): FileUse = {
    val footer = OpenFile.read(scope, version, conf, new ReadCounters).footer
    val chunks = FoundProtection.chunks(footer, version.path)
    val none = KeyUse(None, None, Plaintext, None, None, Nil, Some(0L), Some(footer.getNum_rows), Nil, None)
    FileUse(
      readable(Plaintext, chunks, footer).getOrElse(none) :: Nil,
      isEncrypted = false,
      Some(FoundProtection.of(chunks)(_ => None).toList)
    )
  }

  /** Its keys are named by the file, or by options: they are tried, since without the footer no column is seen. */
  private def withoutWrappedKeys(version: FileVersion, conf: Configuration): FileUse = {
    val use = ofTail(version, conf, None)
    try {
      val footer = OpenFile.read(scope, version, conf, new ReadCounters).footer
      val chunks = FoundProtection.chunks(footer, version.path)
      val keys = new FileKeys(version.path, conf, scope)
      val columns = FoundProtection.of(chunks)(masterKeyOf(_, keys, use.masterKeyId)).toList
      FileUse(use :: readable(PlaintextColumn, chunks, footer).toList, isEncrypted = true, Some(columns))
    } catch {
      case failed: PmeException =>
        unopened(use.copy(problem = use.problem.orElse(Some(failed.condition.name))))
    }
  }

  private def masterKeyOf(one: NamedChunk, keys: FileKeys, footerKey: Option[String]): Option[String] =
    if (one.kind == FoundProtection.FooterKey) footerKey
    else
      Option(one.chunk.getCrypto_metadata.getENCRYPTION_WITH_COLUMN_KEY.getKey_metadata)
        .map(keys.masterKeyOf(_, Some(one.column)))

  /** Columns without a key; none where all have one. */
  private def readable(kind: String, chunks: Seq[NamedChunk], footer: FileMetaData): Option[KeyUse] = {
    val own = chunks.filter(_.kind == FoundProtection.Plaintext)
    val names = own.map(_.column).distinct.sorted
    val bytes = own.flatMap(one => Option(one.chunk.getMeta_data)).map(_.getTotal_compressed_size).sum
    if (own.isEmpty) None
    else
      Some(KeyUse(None, None, kind, None, None, names, Some(bytes), Some(footer.getNum_rows), Nil, None))
  }

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

  private final class Uses(file: KeyedFile, chunks: Seq[NamedChunk]) {
    private val groups = Option(file.metadata.getRow_groups).fold(Seq.empty[RowGroup])(_.asScala.toSeq)
    private val keyed = KeyedFile.chunks(file.metadata)

    private val names = new java.util.IdentityHashMap[AnyRef, String]
    chunks.foreach(one => names.put(one.chunk, one.column))

    /** As Spark names the column, as of those that have no key of their own. */
    private def nameOf(one: KeyedFile.KeyedChunk): String = names.get(one.chunk)

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
      val own = chunks.filter(one => one.kind == FoundProtection.FooterKey && one.chunk.isSetMeta_data)
      val names = own.map(_.column).distinct
      use.copy(
        columns = names,
        bytes = Some(own.map(_.chunk.getMeta_data.getTotal_compressed_size).sum),
        opensFile = !file.hasReadableFooter,
        // A readable footer, and columns without a key, need none.
        unreadable = if (file.hasReadableFooter) names else (names ++ keyed.map(nameOf)).distinct
      )
    }

    private def ofColumns(use: KeyUse, key: FileKey): KeyUse = {
      val own = keyed.filter(one => java.nio.ByteBuffer.wrap(one.key) == key.metadata)
      val names = own.map(nameOf).distinct
      val told = use.copy(columns = names, unreadable = names)
      val counters = new ReadCounters
      try told.copy(bytes = Some(own.map(file.chunkBytes(_, counters)).sum))
      catch { case failed: PmeException => told.copy(problem = Some(failed.condition.name)) }
    }
  }
}

object FileUsage {
  val Footer = "footer"
  val Column = "column"
  val Plaintext = "plaintext"
  val PlaintextColumn = "plaintext column"
  private val VaultVersion = "vault:v(\\d{1,9}):.*".r

  private def described(use: KeyUse, material: KeyMaterial, isExternal: Boolean): KeyUse =
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
