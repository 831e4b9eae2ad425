package io.pmeparquet.parquet

import java.io.{ByteArrayInputStream, EOFException, IOException}
import java.nio.{ByteBuffer, ByteOrder}
import java.nio.charset.StandardCharsets.US_ASCII

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FSDataInputStream
import org.apache.parquet.format.{EncryptionAlgorithm, FileMetaData, Util}

import io.pmeparquet.PmeErrors

/** What the tail of a file says of its encryption, before any key is used (specification §5.2 and §5.3). */
sealed trait FileTail

object FileTail {
  case object Plaintext extends FileTail

  /** @param footerKeyMetadata none where the file carries none */
  final case class Encrypted(
      plaintextFooter: Boolean,
      ctr: Boolean,
      aadPrefix: Option[Array[Byte]],
      supplyAadPrefix: Boolean,
      aadFileUnique: Array[Byte],
      footerKeyMetadata: Option[Array[Byte]]
  ) extends FileTail

  private val MagicBytes = 4
  private val LengthBytes = 4
  private val TailBytes = LengthBytes + MagicBytes
  private val MinFileBytes = MagicBytes + TailBytes

  /** Magic of a file whose footer is encrypted. */
  private val EncryptedFooter = "PARE"
  private val PlainFooter = "PAR1"

  /** `FileCryptoMetaData` holds an algorithm and key metadata; more than this is no honest one. */
  private val MaxCryptoMetadataBytes = 1024 * 1024

  /** A footer of a table of ten thousand columns and a thousand row groups stays below this. */
  private val MaxFooterBytes = 512 * 1024 * 1024

  def read(conf: Configuration, version: FileVersion): FileTail = {
    val path = version.path
    val file = path.toString
    val length = version.length
    if (length < MinFileBytes) throw PmeErrors.damaged(file, s"it is $length bytes long")
    val stream = path.getFileSystem(conf).open(path)
    try read(stream, file, length)
    catch { case cut: EOFException => throw PmeErrors.damaged(file, "it ends too early", cut) }
    finally stream.close()
  }

  private def read(stream: FSDataInputStream, file: String, length: Long): FileTail = {
    val tail = readAt(stream, length - TailBytes, TailBytes)
    val footerLength = ByteBuffer.wrap(tail).order(ByteOrder.LITTLE_ENDIAN).getInt
    val magic = new String(tail, LengthBytes, MagicBytes, US_ASCII)
    if (magic != EncryptedFooter && magic != PlainFooter)
      throw PmeErrors.damaged(file, "it does not end with PAR1 or PARE")
    if (footerLength <= 0 || footerLength > length - MinFileBytes)
      throw PmeErrors.damaged(file, s"its footer cannot be $footerLength bytes long in $length bytes")
    val start = length - TailBytes - footerLength
    if (magic == EncryptedFooter)
      encrypted(readAt(stream, start, footerLength.min(MaxCryptoMetadataBytes)), footerLength, file)
    else if (footerLength > MaxFooterBytes)
      throw PmeErrors.damaged(file, s"its footer says $footerLength bytes")
    else plainFooter(readAt(stream, start, footerLength), file)
  }

  private def readAt(stream: FSDataInputStream, position: Long, length: Int): Array[Byte] = {
    val bytes = new Array[Byte](length)
    stream.readFully(position, bytes)
    bytes
  }

  private def encrypted(bytes: Array[Byte], footerLength: Int, file: String): FileTail = {
    val stream = new ByteArrayInputStream(bytes)
    val metadata = parse(file, "its crypto metadata")(Util.readFileCryptoMetaData(stream))
    // The module's own length is not authenticated, and parquet-java allocates what it says (specification §5.1).
    val consumed = bytes.length - stream.available()
    if (stream.available() < LengthBytes) throw PmeErrors.damaged(file, "it has no footer module")
    val module = ByteBuffer.wrap(bytes, consumed, LengthBytes).order(ByteOrder.LITTLE_ENDIAN).getInt
    if (module != footerLength - consumed - LengthBytes)
      throw PmeErrors.damaged(
        file,
        s"its footer module says $module bytes where another length is left for it"
      )
    of(metadata.getEncryption_algorithm, metadata.getKey_metadata, plaintextFooter = false, file)
  }

  private def plainFooter(bytes: Array[Byte], file: String): FileTail = {
    val footer = parse(file, "its footer")(Util.readFileMetaData(new ByteArrayInputStream(bytes)))
    if (footer.isSetEncryption_algorithm)
      of(footer.getEncryption_algorithm, footer.getFooter_signing_key_metadata, plaintextFooter = true, file)
    else if (hasEncryptedColumns(footer))
      throw PmeErrors.notAuthentic(file, "its footer, which has no signature,")
    else Plaintext
  }

  /** A footer that says nothing of encryption but has encrypted columns was stripped of its signature. */
  private def hasEncryptedColumns(footer: FileMetaData): Boolean =
    Option(footer.getRow_groups).exists(_.asScala.exists(_.getColumns.asScala.exists { column =>
      column.isSetCrypto_metadata || column.isSetEncrypted_column_metadata
    }))

  private def parse[A](file: String, what: String)(read: => A): A =
    try read
    catch {
      case failed @ (_: IOException | _: RuntimeException) =>
        throw PmeErrors.damaged(file, s"$what is not readable", failed)
      // Not kept as a cause: Spark ends an executor on whose failure an error of the virtual machine is found.
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
      } else throw PmeErrors.damaged(file, "it names no known encryption algorithm")
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
