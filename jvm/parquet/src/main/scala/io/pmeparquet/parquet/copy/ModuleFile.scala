package io.pmeparquet.parquet.copy

import java.io.{ByteArrayOutputStream, IOException}
import java.nio.charset.StandardCharsets.US_ASCII
import java.util.zip.{CRC32, CheckedOutputStream}

import org.apache.hadoop.fs.FSDataOutputStream
import org.apache.parquet.bytes.BytesUtils
import org.apache.parquet.crypto.{AesCipher, InternalColumnEncryptionSetup}
import org.apache.parquet.crypto.ModuleCipherFactory.ModuleType
import org.apache.parquet.format._
import org.apache.parquet.hadoop.metadata.ColumnPath

import io.pmeparquet.cipher.{ModuleAad, ModuleFrame}
import io.pmeparquet.parquet.write.FileSealer
import io.pmeparquet.PmeErrors

/**
 * A Parquet file that is written module by module (specification §5): parquet-java cannot write a file from modules that
 * it did not make itself.
 *
 * @param encryptor none for a plaintext file
 * @param name the file's name in messages
 */
private[parquet] final class ModuleFile(
    stream: FSDataOutputStream,
    encryptor: Option[FileSealer],
    name: String
) {
  import ModuleFile._

  private val sum = new CRC32
  private val out = new CheckedOutputStream(stream, sum)

  writeMagic()

  def position: Long = stream.getPos

  /** The checksum of all bytes written. */
  def checksum: Long = sum.getValue

  def write(bytes: Array[Byte]): Unit = out.write(bytes)

  /** The seal for the modules of a column chunk. */
  def column(path: Seq[String], rowGroup: Int, ordinal: Int): ColumnSeal = {
    val key = for {
      file <- encryptor
      setup = file.getColumnSetup(ColumnPath.get(path: _*), /* createIfNull= */ true, ordinal)
      if setup.isEncrypted
    } yield file -> setup
    if (key.isDefined && (rowGroup > ModuleAad.MaxOrdinal || ordinal > ModuleAad.MaxOrdinal))
      throw tooMany(s"${rowGroup + 1} row groups of ${ordinal + 1} columns")
    new ColumnSeal(key, rowGroup, ordinal)
  }

  /**
   * @param metadata the file's metadata; what it states about encryption is replaced
   * @param carried the fields that take the place of the metadata's
   */
  def writeFooter(metadata: FileMetaData, carried: CarriedFields): Unit = {
    metadata.unsetEncryption_algorithm()
    metadata.unsetFooter_signing_key_metadata()
    def footer = carried.replacing(metadata)(made => thrift(Util.writeFileMetaData(made, _)))
    val start = position
    encryptor match {
      case None => write(footer)
      case Some(file) if file.isFooterEncrypted => writeEncrypted(footer, file)
      case Some(file) =>
        metadata.setEncryption_algorithm(file.getEncryptionAlgorithm)
        Option(file.getFooterSigningKeyMetaData).foreach(metadata.setFooter_signing_key_metadata(_))
        writeSigned(footer, file)
    }
    BytesUtils.writeIntLittleEndian(out, (position - start).toInt)
    writeMagic()
  }

  private def writeEncrypted(footer: Array[Byte], file: FileSealer): Unit = {
    Util.writeFileCryptoMetaData(file.getFileCryptoMetaData, out)
    write(file.getFooterEncryptor.encrypt(footer, AesCipher.createFooterAAD(file.getFileAAD)))
  }

  private def writeSigned(footer: Array[Byte], file: FileSealer): Unit = {
    write(footer)
    val module = file.getSignedFooterEncryptor.encrypt(footer, AesCipher.createFooterAAD(file.getFileAAD))
    write(ModuleFrame.signatureOf(module))
  }

  private def writeMagic(): Unit = write(
    if (encryptor.exists(_.isFooterEncrypted)) EncryptedMagic else PlainMagic
  )

  /** @throws io.pmeparquet.PmeException if a structure has parts that the reader of it did not understand */
  def thrift(write: ByteArrayOutputStream => Unit): Array[Byte] = {
    val bytes = new ByteArrayOutputStream
    try write(bytes)
    catch {
      case failed: IOException =>
        throw PmeErrors.unsupported(
          name,
          "a file with newer parts than this version of parquet-java knows",
          "this version cannot write them",
          "Use a later Spark.",
          failed
        )
    }
    bytes.toByteArray
  }

  private def tooMany(what: String) = PmeErrors.unsupported(
    name,
    what,
    s"an encrypted file numbers its modules up to ${ModuleAad.MaxOrdinal}",
    "Write the data again, in larger pages and row groups."
  )

  /**
   * Seals the modules of one column chunk, or leaves them plaintext if the column has no key.
   *
   * @param key the encryption setup of the file and of the column
   */
  final class ColumnSeal private[ModuleFile] (
      key: Option[(FileSealer, InternalColumnEncryptionSetup)],
      rowGroup: Int,
      ordinal: Int
  ) {

    /** @param page for a data page module, its number among the data pages of the chunk */
    def module(kind: ModuleType, content: Array[Byte], page: Int = NoPage): Array[Byte] =
      key.fold(content) { case (file, setup) =>
        if (page > ModuleAad.MaxOrdinal) throw tooMany(s"a column chunk of ${page + 1} pages")
        val cipher = kind match {
          case ModuleType.DataPage | ModuleType.DictionaryPage => setup.getDataEncryptor
          case _ => setup.getMetaDataEncryptor
        }
        cipher.encrypt(
          content,
          AesCipher.createModuleAAD(file.getFileAAD, kind, rowGroup, ordinal, page)
        )
      }

    /** Puts a chunk's metadata where readers with its key find it, and nobody else. */
    def metadata(chunk: ColumnChunk): Unit = key.foreach { case (file, setup) =>
      chunk.setCrypto_metadata(setup.getColumnCryptoMetaData)
      if (file.encryptColumnMetaData(setup)) {
        val all = chunk.getMeta_data
        chunk.setEncrypted_column_metadata(
          module(ModuleType.ColumnMetaData, thrift(Util.writeColumnMetaData(all, _, null, null)))
        )
        if (file.isFooterEncrypted) chunk.unsetMeta_data() else chunk.setMeta_data(places(all))
      }
    }
  }

  /** What a readable footer keeps of a protected column's metadata: its place and length, but no statistics. */
  private def places(all: ColumnMetaData): ColumnMetaData = {
    val kept = new ColumnMetaData(
      all.getType,
      all.getEncodings,
      all.getPath_in_schema,
      all.getCodec,
      all.getNum_values,
      all.getTotal_uncompressed_size,
      all.getTotal_compressed_size,
      all.getData_page_offset
    )
    if (all.isSetDictionary_page_offset) kept.setDictionary_page_offset(all.getDictionary_page_offset)
    kept
  }
}

private[parquet] object ModuleFile {
  private val NoPage = -1
  private val EncryptedMagic = "PARE".getBytes(US_ASCII)
  private val PlainMagic = "PAR1".getBytes(US_ASCII)

}
