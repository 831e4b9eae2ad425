package io.pmeparquet.parquet.inspect

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.format.FileMetaData

import io.pmeparquet.{Condition, PmeException}
import io.pmeparquet.columns.KeyValues
import io.pmeparquet.material.{KeyMaterial, KeyMetadata, LocalWrap}
import io.pmeparquet.parquet.bytes.{FileTail, FileVersion, ReadCounters}
import io.pmeparquet.parquet.file.{FooterShape, OpenFiles}
import io.pmeparquet.parquet.inspect.FoundProtection.NamedChunk
import io.pmeparquet.parquet.rotation.{FileKey, FileRotation, FoundFile, KeyedChunk, KeyedFile}
import io.pmeparquet.parquet.scope.{FileKeys, ReadScope}
import io.pmeparquet.parquet.storage.ListedFile

/**
 * Which master keys protect what in a file, column by column. ''Crosses the wire''.
 *
 * @param opensColumns whether keys of columns must open metadata of their columns, also where a readable footer shows it
 */
final class FileUsage(scope: ReadScope, opensColumns: Boolean = false) extends Serializable {
  import KeyUse.{Footer, Plaintext, PlaintextColumn}

  def of(file: ListedFile, conf: Configuration): FileUse =
    // A key that is not the file's concerns only its own columns.
    try
      FoundFile.open(scope, file.version, conf, _ => false) match {
        case FoundFile.Plaintext => ofPlaintext(file.version, conf)
        case FoundFile.WithoutWrappedKeys => withoutWrappedKeys(file.version, conf)
        case keyed: KeyedFile =>
          val chunks = FoundProtection.chunks(keyed.metadata, file.version.path)
          val keys = new FileKeys(file.version.path, conf, scope)
          val footerKey = keyed.keys.find(_.column.isEmpty).map(_.material.masterKeyId)
          FileUse(
            new KeyUses(keyed, chunks, opensColumns).all.toList ++ readable(
              PlaintextColumn,
              chunks,
              keyed.metadata
            ),
            isEncrypted = true,
            Some(FoundProtection.of(chunks)(masterKeyOf(_, keys, footerKey)).toList),
            FooterShape.statedBy(keyed.metadata, file.path)
          )
      }
    catch { case failed: PmeException => unopened(ofTail(file.version, conf, Some(failed))) }

  private def unopened(use: KeyUse) = FileUse(List(use), isEncrypted = true, columns = None)

  private def ofPlaintext(version: FileVersion, conf: Configuration): FileUse = {
    val footer = OpenFiles.read(scope, version, conf, new ReadCounters).footer
    val chunks = FoundProtection.chunks(footer, version.path)
    val none = KeyUse(kind = Plaintext, bytes = Some(0L), rows = Some(footer.getNum_rows))
    FileUse(
      readable(Plaintext, chunks, footer).getOrElse(none) :: Nil,
      isEncrypted = false,
      Some(FoundProtection.of(chunks)(_ => None).toList)
    )
  }

  /**
   * A file whose keys are named by the file or by options. It tries them, since without the footer it sees no column.
   */
  private def withoutWrappedKeys(version: FileVersion, conf: Configuration): FileUse = {
    val use = ofTail(version, conf, None)
    try {
      val footer = OpenFiles.read(scope, version, conf, new ReadCounters).footer
      val chunks = FoundProtection.chunks(footer, version.path)
      val keys = new FileKeys(version.path, conf, scope)
      val columns = FoundProtection.of(chunks)(masterKeyOf(_, keys, use.masterKeyId)).toList
      val stated = FooterShape.statedBy(footer, version.path.toString)
      FileUse(
        use :: readable(PlaintextColumn, chunks, footer).toList,
        isEncrypted = true,
        Some(columns),
        stated
      )
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

  /** The columns without a key; none if all have one. */
  private def readable(kind: String, chunks: Seq[NamedChunk], footer: FileMetaData): Option[KeyUse] = {
    val own = chunks.filter(_.kind == FoundProtection.Plaintext)
    val names = own.map(_.column).distinct.sorted
    val bytes = own.flatMap(one => Option(one.chunk.getMeta_data)).map(_.getTotal_compressed_size).sum
    if (own.isEmpty) None
    else
      Some(KeyUse(kind = kind, columns = names, bytes = Some(bytes), rows = Some(footer.getNum_rows)))
  }

  /** What a file reveals without its footer being opened. */
  private def ofTail(version: FileVersion, conf: Configuration, failed: Option[PmeException]): KeyUse = {
    val tail = FileTail.read(conf, version) match {
      case encrypted: FileTail.Encrypted => Some(encrypted)
      case FileTail.Plaintext => None
    }
    val known = tail.flatMap(_.footerKeyMetadata)
    val closed = tail.exists(!_.plaintextFooter)
    val unknown = KeyUse(kind = Footer, problem = failed.map(_.condition.name), opensFile = closed)
    known.fold(unknown) { metadata =>
      KeyMetadata.parse(metadata, version.path.toString) match {
        // Columns with direct keys of their own are not looked up, and the result must not claim that there are none.
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
            .fold(unknown)(KeyUse.described(unknown, _, isExternal))
      }
    }
  }
}

/**
 * What one master key, or none, protects in one file. ''Crosses the wire''.
 *
 * @param masterKeyId none if the file names no key
 * @param version the version of the master key, if its KMS writes it into what it wraps
 * @param kind `footer`, `column`, `plaintext column` (without a key in an encrypted file) or `plaintext` (all of a
 *   file)
 * @param wrapping `double`, `single`, or `direct`
 * @param bytes the size of its columns' chunks; none if the key that would show it is missing
 * @param unreadable columns that cannot be read without it: all of them without the key of an encrypted footer
 * @param problem the condition that keeps this from being complete
 * @param opensFile whether the file does not open at all without it
 * @param dataKeyBits the length of the data key, if that of its wrapped form reveals it
 * @param kekBits likewise, the length of the key encryption key
 */
final case class KeyUse(
    masterKeyId: Option[String] = None,
    version: Option[Int] = None,
    kind: String,
    wrapping: Option[String] = None,
    material: Option[String] = None,
    columns: Seq[String] = Nil,
    bytes: Option[Long] = None,
    rows: Option[Long] = None,
    unreadable: Seq[String] = Nil,
    problem: Option[String] = None,
    opensFile: Boolean = false,
    dataKeyBits: Option[Int] = None,
    kekBits: Option[Int] = None
)

object KeyUse {
  val Footer = "footer"
  val Column = "column"
  val Plaintext = "plaintext"
  val PlaintextColumn = "plaintext column"

  private val VaultVersion = "vault:v(\\d{1,9}):.*".r

  /** With what key material says of the key. */
  private[pmeparquet] def described(use: KeyUse, material: KeyMaterial, isExternal: Boolean): KeyUse =
    use.copy(
      masterKeyId = Some(material.masterKeyId),
      version = versionOf(material.wrappedKey.wrapped),
      wrapping = Some(if (material.kek.isDefined) "double" else "single"),
      material = Some(if (isExternal) FileRotation.External else FileRotation.Internal),
      dataKeyBits = LocalWrap.bitsOf(material.wrappedDek),
      kekBits = material.kek.flatMap(kek => LocalWrap.bitsOf(kek.wrapped))
    )

  private def versionOf(wrapped: String): Option[Int] = wrapped match {
    case VaultVersion(number) => Some(number.toInt)
    case _ => None
  }
}

/**
 * What a file's footer states about its keys and columns. ''Crosses the wire''.
 *
 * @param columns the protection of each column; none if the footer does not open
 * @param stated what an encrypted footer states of values that name its keys
 */
final case class FileUse(
    uses: List[KeyUse],
    isEncrypted: Boolean,
    columns: Option[List[FoundProtection]],
    stated: KeyValues = KeyValues.none
)

/** What each key of a file with wrapped keys protects. */
private[inspect] final class KeyUses(file: KeyedFile, chunks: Seq[NamedChunk], opensColumns: Boolean) {
  import KeyUse.{Column, Footer}

  private val groups = FileTail.rowGroups(file.metadata)
  private val keyed = KeyedChunk.all(file.metadata)

  private val names = new java.util.IdentityHashMap[AnyRef, String]
  chunks.foreach(one => names.put(one.chunk, one.column))

  /** The column's name in Spark, as for columns without a key of their own. */
  private def nameOf(one: KeyedChunk): String = names.get(one.chunk)

  def all: Seq[KeyUse] = file.keys.map { key =>
    val kind = if (key.column.isEmpty) Footer else Column
    val unknown = KeyUse(kind = kind, rows = Some(groups.map(_.getNum_rows).sum))
    val one = KeyUse.described(unknown, key.material, key.isExternal)
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
    try known.copy(bytes = Some(own.map(file.chunkBytes(_, opensColumns, counters)).sum))
    catch { case failed: PmeException => known.copy(problem = Some(failed.condition.name)) }
  }
}
