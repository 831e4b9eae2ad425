package io.pmeparquet.parquet.bytes

import java.io.{ByteArrayInputStream, IOException}
import java.nio.charset.StandardCharsets.US_ASCII

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.format.{EncryptionAlgorithm, FileMetaData, RowGroup, Util}

import io.pmeparquet.{PmeErrors, Sha256}
import io.pmeparquet.cipher.ModuleFrame

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

/**
 * The bytes of a file's footer, read but not yet authenticated: those before the length and magic at the end of the
 * file (specification §5.3).
 *
 * @param encrypted whether the magic marks the footer as encrypted (`PARE`) or not (`PAR1`)
 * @param tail the end of the file, as much as one read returned
 */
private[parquet] final class FooterBytes(val encrypted: Boolean, val segment: Segment, val tail: Segment) {

  /** SHA-256 of the end of the file: the footer, its length and the magic. */
  def sha256: Array[Byte] = {
    val bytes = java.util.Arrays.copyOfRange(segment.array, segment.at, segment.until)
    Sha256.ofBytes(FooterBytes.framed(bytes, encrypted))
  }
}

private[parquet] object FooterBytes {
  private val MagicBytes = 4
  private val LengthBytes = 4
  private val TailBytes = LengthBytes + MagicBytes
  private val MinFileBytes = MagicBytes + TailBytes
  private val EncryptedFooter = "PARE"
  private val PlainFooter = "PAR1"

  /** The first read covers most footers. */
  private val FirstReadBytes = 64 * 1024

  /** The offset at which the first page can begin. */
  val FirstPageOffset: Int = MagicBytes

  /** The end of a file with this footer. */
  def framed(footer: Array[Byte], encrypted: Boolean): Array[Byte] =
    footer ++ ModuleFrame.lengthOf(footer.length) ++ (if (encrypted) EncryptedFooter else PlainFooter)
      .getBytes(US_ASCII)

  def read(file: FileVersion, conf: Configuration, counters: ReadCounters = new ReadCounters): FooterBytes = {
    val bytes = new FileBytes(file, conf, counters)
    try read(bytes)
    finally bytes.close()
  }

  def read(bytes: FileBytes): FooterBytes = {
    val file = bytes.file.path.toString
    val length = bytes.file.length
    if (length < MinFileBytes) throw PmeErrors.damaged(file, s"it is $length bytes long")
    val first = length.min(FirstReadBytes.toLong).toInt
    val tail = bytes.read(Range(length - first, first))
    val footerLength = ModuleFrame.lengthAt(tail.array, tail.until - TailBytes)
    val magic = new String(tail.array, tail.until - MagicBytes, MagicBytes, US_ASCII)
    if (magic != EncryptedFooter && magic != PlainFooter)
      throw PmeErrors.damaged(file, "it does not end in PAR1 or PARE")
    if (footerLength <= 0 || footerLength > length - MinFileBytes)
      throw PmeErrors.damaged(
        file,
        s"its footer cannot be $footerLength bytes long in a file of $length bytes"
      )
    if (footerLength > Limits.FooterLength)
      throw PmeErrors.damaged(
        file,
        s"the length of its footer is $footerLength bytes; with this heap size at most ${Limits.FooterLength} are parsed"
      )
    val range = Range(length - TailBytes - footerLength, footerLength)
    new FooterBytes(
      magic == EncryptedFooter,
      if (tail.holds(range)) tail.slice(range) else bytes.read(range),
      tail
    )
  }
}
