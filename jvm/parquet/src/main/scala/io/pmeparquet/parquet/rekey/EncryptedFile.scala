package io.pmeparquet.parquet.rekey

import java.io.{ByteArrayOutputStream, IOException}
import java.nio.charset.StandardCharsets.US_ASCII
import java.util.Arrays

import org.apache.hadoop.fs.FSDataOutputStream
import org.apache.parquet.bytes.BytesUtils
import org.apache.parquet.crypto.{AesCipher, InternalFileEncryptor}
import org.apache.parquet.crypto.ModuleCipherFactory.ModuleType
import org.apache.parquet.format._
import org.apache.parquet.hadoop.metadata.ColumnPath

import io.pmeparquet.cipher.{ModuleAad, ModuleFrame}
import io.pmeparquet.PmeErrors

/**
 * An encrypted Parquet file that is written module by module (specification §5). parquet-java seals the modules; what it
 * has no way to do is to write a file of modules that it did not make itself.
 *
 * @param name for messages
 */
private[rekey] final class EncryptedFile(
    out: FSDataOutputStream,
    encryptor: InternalFileEncryptor,
    name: String
) {
  import EncryptedFile._

  writeMagic()

  def position: Long = out.getPos

  def write(bytes: Array[Byte]): Unit = out.write(bytes)

  /** What seals the modules of a column chunk. */
  def column(path: Seq[String], rowGroup: Int, ordinal: Int): ColumnSeal = {
    if (rowGroup > ModuleAad.MaxOrdinal || ordinal > ModuleAad.MaxOrdinal)
      throw tooMany(s"${rowGroup + 1} row groups of ${ordinal + 1} columns")
    new ColumnSeal(path, rowGroup, ordinal)
  }

  /** @param metadata of the file; what it says of encryption is said anew */
  def writeFooter(metadata: FileMetaData): Unit = {
    metadata.unsetEncryption_algorithm()
    metadata.unsetFooter_signing_key_metadata()
    val start = position
    val aad = AesCipher.createFooterAAD(encryptor.getFileAAD)
    if (encryptor.isFooterEncrypted) {
      Util.writeFileCryptoMetaData(encryptor.getFileCryptoMetaData, out)
      write(encryptor.getFooterEncryptor.encrypt(thrift(Util.writeFileMetaData(metadata, _)), aad))
    } else {
      metadata.setEncryption_algorithm(encryptor.getEncryptionAlgorithm)
      Option(encryptor.getFooterSigningKeyMetaData).foreach(metadata.setFooter_signing_key_metadata(_))
      val footer = thrift(Util.writeFileMetaData(metadata, _))
      write(footer)
      write(signature(encryptor.getSignedFooterEncryptor.encrypt(footer, aad)))
    }
    BytesUtils.writeIntLittleEndian(out, (position - start).toInt)
    writeMagic()
  }

  /** Nonce and tag of the footer's module (specification §5.5). */
  private def signature(module: Array[Byte]) = {
    val nonce =
      Arrays.copyOfRange(module, ModuleFrame.LengthBytes, ModuleFrame.LengthBytes + ModuleFrame.NonceBytes)
    nonce ++ Arrays.copyOfRange(module, module.length - ModuleFrame.TagBytes, module.length)
  }

  private def writeMagic(): Unit = write(if (encryptor.isFooterEncrypted) EncryptedMagic else PlainMagic)

  /** @throws io.pmeparquet.PmeException where a structure has parts that were not understood when it was read */
  def thrift(write: ByteArrayOutputStream => Unit): Array[Byte] = {
    val bytes = new ByteArrayOutputStream
    try write(bytes)
    catch {
      case failed: IOException =>
        throw PmeErrors.unsupported(
          name,
          "a file with newer parts than this version of parquet-java knows",
          "they cannot be written again",
          "Use a later Spark.",
          failed
        )
    }
    bytes.toByteArray
  }

  private def tooMany(what: String) = PmeErrors.unsupported(
    name,
    what,
    s"modules of an encrypted file are numbered to ${ModuleAad.MaxOrdinal}",
    "Write the data anew, in larger pages and row groups."
  )

  /** Seals the modules of one column chunk, or leaves them as they are where the column gets no key. */
  final class ColumnSeal(path: Seq[String], rowGroup: Int, ordinal: Int) {
    private val setup =
      encryptor.getColumnSetup(ColumnPath.get(path: _*), /* createIfNull= */ true, ordinal)

    /** @param page its number among the data pages of the chunk, where the module is of one */
    def module(kind: ModuleType, content: Array[Byte], page: Int = NoPage): Array[Byte] =
      if (!setup.isEncrypted) content
      else {
        if (page > ModuleAad.MaxOrdinal) throw tooMany(s"a column chunk of ${page + 1} pages")
        val cipher = kind match {
          case ModuleType.DataPage | ModuleType.DictionaryPage => setup.getDataEncryptor
          case _ => setup.getMetaDataEncryptor
        }
        cipher.encrypt(
          content,
          AesCipher.createModuleAAD(encryptor.getFileAAD, kind, rowGroup, ordinal, page)
        )
      }

    /** Puts a chunk's metadata where readers of its key find it, and nobody else. */
    def metadata(chunk: ColumnChunk): Unit = {
      if (setup.isEncrypted) chunk.setCrypto_metadata(setup.getColumnCryptoMetaData)
      if (encryptor.encryptColumnMetaData(setup)) {
        val all = chunk.getMeta_data
        chunk.setEncrypted_column_metadata(
          module(ModuleType.ColumnMetaData, thrift(Util.writeColumnMetaData(all, _, null, null)))
        )
        if (encryptor.isFooterEncrypted) chunk.unsetMeta_data() else chunk.setMeta_data(places(all))
      }
    }
  }

  /** What a readable footer keeps of a protected column's metadata: where it lies and how long it is, but no statistics. */
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

private[rekey] object EncryptedFile {
  private val NoPage = -1
  private val EncryptedMagic = "PARE".getBytes(US_ASCII)
  private val PlainMagic = "PAR1".getBytes(US_ASCII)

}
