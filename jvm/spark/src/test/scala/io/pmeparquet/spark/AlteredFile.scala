package io.pmeparquet.spark

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, InputStream, OutputStream}
import java.nio.{ByteBuffer, ByteOrder}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}

import org.apache.parquet.format.{AesGcmV1, FileCryptoMetaData, FileMetaData, Util}

/**
 * Alters an encrypted Parquet file: its footer's clear parts, its modules, its length. The file ends with
 * FileCryptoMetaData, the footer module, their common length and `PARE`; with a signed plaintext footer, it ends with
 * FileMetaData, nonce and tag, their common length and `PAR1` (specification §5).
 */
object AlteredFile {
  val TagBytes = 16
  val TailBytes = 8
  private val LengthBytes = 4

  /** Writes the file again, and deletes the checksum that Hadoop's local file system keeps for it. */
  def replace(file: Path, content: Array[Byte]): Unit = {
    Files.write(file, content)
    Files.deleteIfExists(file.resolveSibling(s".${file.getFileName}.crc"))
    ()
  }

  def change(file: Path)(change: Array[Byte] => Array[Byte]): Unit =
    replace(file, change(Files.readAllBytes(file)))

  /** Flips one bit of the byte at an offset; a negative one counts from the end. */
  def flip(file: Path, at: Int): Unit = change(file) { content =>
    val index = if (at < 0) content.length + at else at
    content(index) = (content(index) ^ 1).toByte
    content
  }

  /** Offset and size of each module from the first on. */
  def modules(content: Array[Byte]): Seq[(Int, Int)] =
    Iterator
      .iterate((LengthBytes, sizeAt(content, LengthBytes))) { case (at, size) =>
        (at + size, if (at + size + LengthBytes < footerStart(content)) sizeAt(content, at + size) else 0)
      }
      .takeWhile { case (_, size) => size > 0 }
      .toList

  /** Flips a bit in the ciphertext of one of the file's modules, counted in file order. */
  def flipInModule(file: Path, number: Int): Unit = {
    val (at, size) = modules(Files.readAllBytes(file))(number)
    flip(file, at + size - TagBytes - 1)
  }

  /** Writes other bytes over the beginning of a module. Everything else, above all the footer, stays what and where it is. */
  def overwrite(file: Path, number: Int)(changed: Array[Byte] => Array[Byte]): Unit = change(file) {
    content =>
      val (at, size) = modules(content)(number)
      val other = changed(content.slice(at, at + size))
      require(other.length == size && !other.sameElements(content.slice(at, at + size)))
      content.patch(at, other, size)
  }

  /** Changes the crypto metadata of a file with an encrypted footer. */
  def cryptoMetadata(file: Path)(edit: FileCryptoMetaData => Unit): Unit = footer(file, keepsRest = true) {
    (in, out) =>
      val metadata = Util.readFileCryptoMetaData(in)
      edit(metadata)
      Util.writeFileCryptoMetaData(metadata, out)
  }

  /** Changes what the crypto metadata says of the AAD. */
  def aad(file: Path)(edit: AesGcmV1 => Unit): Unit =
    cryptoMetadata(file)(metadata => edit(metadata.getEncryption_algorithm.getAES_GCM_V1))

  /** Changes a signed plaintext footer; the old signature stays or is removed. */
  def plainFooter(file: Path, isSigned: Boolean = true)(edit: FileMetaData => Unit): Unit =
    footer(file, keepsRest = isSigned) { (in, out) =>
      val metadata = Util.readFileMetaData(in)
      edit(metadata)
      Util.writeFileMetaData(metadata, out)
    }

  /** Writes the footer's structure again; the rest is the footer module, or the signature. */
  private def footer(file: Path, keepsRest: Boolean)(rewrite: (InputStream, OutputStream) => Unit): Unit =
    change(file) { content =>
      val before = footerOf(content)
      val (in, out) = (new ByteArrayInputStream(before), new ByteArrayOutputStream)
      rewrite(in, out)
      withFooter(content, out.toByteArray ++ before.takeRight(if (keepsRest) in.available else 0))
    }

  /** The file with another footer. */
  def withFooter(content: Array[Byte], footer: Array[Byte]): Array[Byte] =
    content.take(footerStart(content)) ++ footer ++ little(footer.length) ++ content.takeRight(LengthBytes)

  /** Where the module of an encrypted footer begins, after the crypto metadata. */
  def moduleOfFooter(content: Array[Byte]): Int = {
    val in = new ByteArrayInputStream(footerOf(content))
    Util.readFileCryptoMetaData(in)
    content.length - TailBytes - in.available
  }

  def footerOf(content: Array[Byte]): Array[Byte] =
    content.slice(footerStart(content), content.length - TailBytes)

  def footerStart(content: Array[Byte]): Int =
    content.length - TailBytes - intAt(content, content.length - TailBytes)

  def little(number: Int): Array[Byte] =
    ByteBuffer.allocate(LengthBytes).order(ByteOrder.LITTLE_ENDIAN).putInt(number).array

  def bytes(text: String): Array[Byte] = text.getBytes(UTF_8)

  private def sizeAt(content: Array[Byte], at: Int) = LengthBytes + intAt(content, at)

  private def intAt(content: Array[Byte], at: Int) =
    ByteBuffer.wrap(content).order(ByteOrder.LITTLE_ENDIAN).getInt(at)
}
