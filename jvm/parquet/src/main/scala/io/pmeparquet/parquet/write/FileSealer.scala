package io.pmeparquet.parquet.write

import java.security.{GeneralSecurityException, ProviderException, SecureRandom}

import scala.collection.mutable

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.crypto.{
  AesGcmEncryptor,
  ColumnEncryptionProperties,
  FileEncryptionProperties,
  InternalColumnEncryptionSetup,
  InternalFileEncryptor,
  ParquetCryptoRuntimeException
}
import org.apache.parquet.format.BlockCipher
import org.apache.parquet.hadoop.metadata.ColumnPath

import io.pmeparquet.{AesKey, PmeErrors, PmeException}
import io.pmeparquet.cipher.{AesCtr, AesGcm, CryptoProvider, ModuleCipher}
import io.pmeparquet.material.KeyMetadata
import io.pmeparquet.parquet.scope.WriteScope

/**
 * Encrypts the modules of one new file with the ciphers of this project, and so with the provider that the settings name.
 * parquet-java asks it for all encryptors of a file, and would make its own with the first provider of the JVM.
 *
 * @param counterOf what counts the encryptions with a key, by its key metadata
 * @param name the file's name in messages
 */
private[parquet] final class FileSealer private (
    properties: FileEncryptionProperties,
    provider: CryptoProvider,
    counterOf: KeyMetadata => (String => Unit),
    name: String
) extends InternalFileEncryptor(properties) {
  import FileSealer._

  private val random = new SecureRandom
  private val setups = mutable.HashMap.empty[ColumnPath, InternalColumnEncryptionSetup]
  private lazy val ofFooterKey = new KeySeals(properties.getFooterKey, properties.getFooterKeyMetadata)

  override def getColumnSetup(
      path: ColumnPath,
      createIfNull: Boolean,
      ordinal: Int
  ): InternalColumnEncryptionSetup = {
    val made = super.getColumnSetup(path, createIfNull, ordinal)
    if (made.isEncrypted)
      setups.getOrElseUpdate(path, ownSetup(properties.getColumnProperties(path), ordinal))
    else made
  }

  private def ownSetup(column: ColumnEncryptionProperties, ordinal: Int): InternalColumnEncryptionSetup = {
    val seals =
      if (column.isEncryptedWithFooterKey) ofFooterKey
      else new KeySeals(column.getKeyBytes, column.getKeyMetaData)
    reflecting(name) {
      val made = SetupConstructor.newInstance(column, Int.box(ordinal), seals.ofPages, seals.ofMetadata)
      if ((made.getDataEncryptor ne seals.ofPages) || (made.getMetaDataEncryptor ne seals.ofMetadata))
        throw new NoSuchMethodException("InternalColumnEncryptionSetup")
      made
    }
  }

  override def getFooterEncryptor: BlockCipher.Encryptor =
    if (isFooterEncrypted) ofFooterKey.ofMetadata else null

  /** parquet-java wants its own class here, so this one gets another cipher. */
  override def getSignedFooterEncryptor: AesGcmEncryptor = {
    val signing = super.getSignedFooterEncryptor
    ofFooterKey.count(name)
    reflecting(name)(NewWriter.open(signing.getClass, "cipher").set(signing, provider.gcm()))
    signing
  }

  private final class KeySeals(bytes: Array[Byte], metadata: Array[Byte]) {
    private val key = AesKey.of(bytes, name)
    val count: String => Unit = counterOf(KeyMetadata.parse(metadata, name))
    val ofMetadata: BlockCipher.Encryptor = new Seal(new AesGcm(key, provider), count)
    val ofPages: BlockCipher.Encryptor =
      if (getEncryptionAlgorithm.isSetAES_GCM_V1) ofMetadata else new Seal(new AesCtr(key, provider), count)
  }

  private final class Seal(cipher: ModuleCipher, count: String => Unit) extends BlockCipher.Encryptor {
    override def encrypt(content: Array[Byte], aad: Array[Byte]): Array[Byte] = {
      count(name)
      try cipher.seal(content, aad, aad.length, random)
      catch {
        case failed @ (_: GeneralSecurityException | _: ProviderException) =>
          throw new ParquetCryptoRuntimeException(s"Failed to encrypt with ${provider.name}", failed)
      }
    }
  }
}

private[pmeparquet] object FileSealer {

  /** For a file that is written module by module. */
  private[parquet] def of(
      properties: FileEncryptionProperties,
      scope: WriteScope,
      conf: Configuration,
      name: String
  ): FileSealer = {
    val provider = CryptoProvider.of(scope.settings.cryptoProvider)
    new FileSealer(properties, provider, scope.counterOf(_, conf), name)
  }

  /**
   * Has it encrypt what a writer writes.
   *
   * @param writer of one file, Spark's or parquet-java's, which has not written anything yet
   * @param where the table and the file, for messages
   */
  def install(writer: AnyRef, scope: WriteScope, conf: Configuration, where: String): Unit =
    if (isDeferred(writer)) CryptoProvider.requireOfJvm(scope.settings.cryptoProvider)
    else
      NewWriter.change(writer, unsupported(where, _)) { made =>
        val parquets = made.encryptor
        if (parquets == null) throw new IllegalStateException("the writer has no encryption")
        made.encryptWith(of(parquets.getEncryptionProperties, scope, conf, where))
      }

  /**
   * Spark 4.1's writer that infers from its first rows how to shred variants. It makes its Parquet writer with the last of
   * them and goes on by itself, so nothing can reach in between: parquet-java encrypts.
   */
  private def isDeferred(spark: AnyRef): Boolean =
    spark.getClass.getSimpleName == "ParquetOutputWriterWithVariantShredding"

  private lazy val SetupConstructor = {
    val made = classOf[InternalColumnEncryptionSetup].getDeclaredConstructor(
      classOf[ColumnEncryptionProperties],
      Integer.TYPE,
      classOf[BlockCipher.Encryptor],
      classOf[BlockCipher.Encryptor]
    )
    made.setAccessible(true)
    made
  }

  private def reflecting[A](where: String)(step: => A): A =
    try step
    catch {
      case missing @ (_: ReflectiveOperationException | _: RuntimeException) =>
        throw unsupported(where, String.valueOf(missing.getMessage))
    }

  private def unsupported(where: String, why: String): PmeException = PmeErrors.unsupported(
    where,
    "an encrypted write",
    s"pme-parquet cannot have its ciphers encrypt in this version of parquet-java ($why)",
    "Use a supported version of Spark."
  )
}
