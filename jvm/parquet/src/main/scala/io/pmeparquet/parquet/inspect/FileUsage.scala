package io.pmeparquet.parquet.inspect

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.format.FileMetaData

import io.pmeparquet.{Condition, PmeException}
import io.pmeparquet.material.KeyMetadata
import io.pmeparquet.parquet.bytes.{FileTail, FileVersion, ReadCounters}
import io.pmeparquet.parquet.file.OpenFiles
import io.pmeparquet.parquet.files.ListedFile
import io.pmeparquet.parquet.inspect.FoundProtection.NamedChunk
import io.pmeparquet.parquet.rotation.{FoundFile, KeyedFile}
import io.pmeparquet.parquet.scope.{FileKeys, ReadScope}

/** Which master keys protect what in a file, column by column. ''Crosses the wire''. */
final class FileUsage(scope: ReadScope) extends Serializable {
  import KeyUse.{Footer, Plaintext, PlaintextColumn}

  def of(file: ListedFile, conf: Configuration): FileUse =
    // No key has to prove that it is the file's, since nothing is done with it.
    try
      FoundFile.open(scope, file.version, conf, _ => false) match {
        case FoundFile.Plaintext => ofPlaintext(file.version, conf)
        case FoundFile.WithoutWrappedKeys => withoutWrappedKeys(file.version, conf)
        case keyed: KeyedFile =>
          val chunks = FoundProtection.chunks(keyed.metadata, file.version.path)
          val keys = new FileKeys(file.version.path, conf, scope)
          val footerKey = keyed.keys.find(_.column.isEmpty).map(_.material.masterKeyId)
          FileUse(
            new KeyUses(keyed, chunks).all.toList ++ readable(PlaintextColumn, chunks, keyed.metadata),
            isEncrypted = true,
            Some(FoundProtection.of(chunks)(masterKeyOf(_, keys, footerKey)).toList)
          )
      }
    catch { case failed: PmeException => unopened(ofTail(file.version, conf, Some(failed))) }

  private def unopened(use: KeyUse) = FileUse(List(use), isEncrypted = true, columns = None)

  private def ofPlaintext(version: FileVersion, conf: Configuration): FileUse = {
    val footer = OpenFiles.read(scope, version, conf, new ReadCounters).footer
    val chunks = FoundProtection.chunks(footer, version.path)
    val none = KeyUse(None, None, Plaintext, None, None, Nil, Some(0L), Some(footer.getNum_rows), Nil, None)
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

  /** The columns without a key; none if all have one. */
  private def readable(kind: String, chunks: Seq[NamedChunk], footer: FileMetaData): Option[KeyUse] = {
    val own = chunks.filter(_.kind == FoundProtection.Plaintext)
    val names = own.map(_.column).distinct.sorted
    val bytes = own.flatMap(one => Option(one.chunk.getMeta_data)).map(_.getTotal_compressed_size).sum
    if (own.isEmpty) None
    else
      Some(KeyUse(None, None, kind, None, None, names, Some(bytes), Some(footer.getNum_rows), Nil, None))
  }

  /** What a file reveals without its footer being opened. */
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
            .fold(unknown)(KeyUses.described(unknown, _, isExternal))
      }
    }
  }
}
