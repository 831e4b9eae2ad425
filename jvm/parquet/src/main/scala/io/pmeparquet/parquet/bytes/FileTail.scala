package io.pmeparquet.parquet.bytes

import java.io.{ByteArrayInputStream, IOException}

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.format.{EncryptionAlgorithm, FileMetaData, RowGroup, Util}

import io.pmeparquet.cipher.ModuleFrame
import io.pmeparquet.PmeErrors

/** What the tail of a file states about its encryption, before any key is used (specification §5.2 and §5.3). */
sealed trait FileTail

private[parquet] object FileTail {
  case object Plaintext extends FileTail

  /** @param footerKeyMetadata none if the file has none */
  final case class Encrypted(
      plaintextFooter: Boolean,
      ctr: Boolean,
      aadPrefix: Option[Array[Byte]],
      supplyAadPrefix: Boolean,
      aadFileUnique: Array[Byte],
      footerKeyMetadata: Option[Array[Byte]]
  ) extends FileTail

  /** The footer's metadata, from bytes that more bytes may follow. */
  def metadata(bytes: Segment, file: String): FileMetaData = {
    val end = structEnd(bytes, file)
    parse(file, "its footer")(Util.readFileMetaData(stream(bytes, end)))
  }

  def read(conf: Configuration, file: FileVersion): FileTail =
    of(FooterBytes.read(file, conf), file.path.toString)

  def of(footer: FooterBytes, file: String): FileTail = {
    val bytes = footer.segment
    if (footer.encrypted) {
      val end = cryptoMetadataEnd(bytes, file)
      val metadata = parse(file, "its crypto metadata")(Util.readFileCryptoMetaData(stream(bytes, end)))
      of(metadata.getEncryption_algorithm, metadata.getKey_metadata, plaintextFooter = false, file)
    } else
      plainFooter(
        parse(file, "its footer")(Util.readFileMetaData(stream(bytes, structEnd(bytes, file)))),
        file
      )
  }

  /**
   * The index at which the footer module begins in the bytes of an encrypted footer. Nothing authenticates the module's
   * own length, and parquet-java allocates that much (specification §5.1), so it must equal the length of the remaining
   * bytes.
   */
  def cryptoMetadataEnd(bytes: Segment, file: String): Int = {
    val until = bytes.until.min(bytes.at + Limits.CryptoMetadataBytes)
    val end = parse(file, "its crypto metadata")(ThriftBounds.end(bytes.array, bytes.at, until))
    if (bytes.until - end < ModuleFrame.GcmOverheadBytes)
      throw PmeErrors.damaged(file, "it has no footer module")
    val module = ModuleFrame.lengthAt(bytes.array, end)
    val left = bytes.until - end - ModuleFrame.LengthBytes
    if (module != left)
      throw PmeErrors.damaged(
        file,
        s"the length of its footer module is $module bytes, but $left bytes are left"
      )
    end
  }

  def structEnd(bytes: Segment, file: String): Int =
    parse(file, "its footer")(ThriftBounds.end(bytes.array, bytes.at, bytes.until))

  private def stream(bytes: Segment, end: Int) =
    new ByteArrayInputStream(bytes.array, bytes.at, end - bytes.at)

  private def plainFooter(footer: FileMetaData, file: String): FileTail =
    if (footer.isSetEncryption_algorithm)
      of(footer.getEncryption_algorithm, footer.getFooter_signing_key_metadata, plaintextFooter = true, file)
    else if (hasEncryptedColumns(footer))
      throw PmeErrors.notAuthentic(file, "its footer, which has no signature,")
    else Plaintext

  /** If a footer states no encryption but has encrypted columns, somebody removed its signature. */
  private def hasEncryptedColumns(footer: FileMetaData): Boolean =
    rowGroups(footer).exists(_.getColumns.asScala.exists { column =>
      column.isSetCrypto_metadata || column.isSetEncrypted_column_metadata
    })

  /** A file without rows may have no list of row groups. */
  def rowGroups(footer: FileMetaData): Seq[RowGroup] =
    Option(footer.getRow_groups).fold(Seq.empty[RowGroup])(_.asScala.toSeq)

  private[parquet] def parse[A](file: String, what: String)(read: => A): A =
    try read
    catch {
      case failed @ (_: IOException | _: RuntimeException | _: ThriftUnbounded) =>
        throw PmeErrors.damaged(file, s"$what is not readable", failed)
      // Not kept as the cause: Spark ends an executor if a failure contains a virtual machine error.
      case _: StackOverflowError => throw PmeErrors.damaged(file, s"$what is nested too deeply")
    }

  private def of(
      algorithm: EncryptionAlgorithm,
      key: Array[Byte],
      plaintextFooter: Boolean,
      file: String
  ): FileTail = {
    val (ctr, prefix, supply, unique) =
      if (algorithm.isSetAES_GCM_V1) {
        val gcm = algorithm.getAES_GCM_V1
        (false, gcm.getAad_prefix, gcm.isSupply_aad_prefix, gcm.getAad_file_unique)
      } else if (algorithm.isSetAES_GCM_CTR_V1) {
        val ctr = algorithm.getAES_GCM_CTR_V1
        (true, ctr.getAad_prefix, ctr.isSupply_aad_prefix, ctr.getAad_file_unique)
      } else throw PmeErrors.damaged(file, "it names an unknown encryption algorithm")
    Encrypted(
      plaintextFooter,
      ctr,
      Option(prefix),
      supply,
      Option(unique).getOrElse(Array.emptyByteArray),
      Option(key)
    )
  }
}

/** Whether files state that they are encrypted, without any key. */
private[pmeparquet] object EncryptedFiles {

  /**
   * Whether the file has an encrypted footer, or a signed one that names an algorithm (specification §5.2 and §5.3).
   *
   * @param length of the file, in bytes
   * @throws io.pmeparquet.PmeException if it is no Parquet file
   */
  def isEncrypted(conf: Configuration, path: Path, length: Long): Boolean =
    FileTail.read(conf, FileVersion(path, length, modified = 0)()) != FileTail.Plaintext
}
