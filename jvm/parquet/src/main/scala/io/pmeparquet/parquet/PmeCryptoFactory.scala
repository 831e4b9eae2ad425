package io.pmeparquet.parquet

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.crypto._
import org.apache.parquet.hadoop.api.WriteSupport.WriteContext

import io.pmeparquet.parquet.admission.FileDecryption
import io.pmeparquet.parquet.scope.{ReadScope, Scopes, WriteScope}
import io.pmeparquet.parquet.write.FileEncryption

/**
 * Tells parquet-java how to encrypt and decrypt a file. parquet-java makes one by class name from the Hadoop
 * configuration for every file, so all state is in the scope that the configuration names.
 */
final class PmeCryptoFactory extends EncryptionPropertiesFactory with DecryptionPropertiesFactory {

  override def getFileEncryptionProperties(
      conf: Configuration,
      path: Path,
      context: WriteContext
  ): FileEncryptionProperties = {
    val scope = Scopes.write(conf)
    new FileEncryption(scope, path, scope.tableDirectory, conf).properties(context.getSchema)
  }

  /**
   * Null for a plaintext file that the options allow, and if no path is given: parquet-java 1.13 passes none for a
   * footer that it has already read without keys, and only an admitted plaintext file has such a footer.
   */
  override def getFileDecryptionProperties(conf: Configuration, path: Path): FileDecryptionProperties =
    if (path == null) null else FileDecryption.admit(Scopes.read(conf), path, conf).orNull
}

object PmeCryptoFactory {

  def useForRead(conf: Configuration, scope: ReadScope): Unit = readProperties(scope).foreach {
    case (name, value) =>
      conf.set(name, value)
  }

  def readProperties(scope: ReadScope): Map[String, String] =
    Map(
      EncryptionPropertiesFactory.CRYPTO_FACTORY_CLASS_PROPERTY_NAME -> classOf[PmeCryptoFactory].getName,
      Scopes.ReadId -> scope.id
    )

  def useForWrite(conf: Configuration, scope: WriteScope): Unit = {
    conf.set(
      EncryptionPropertiesFactory.CRYPTO_FACTORY_CLASS_PROPERTY_NAME,
      classOf[PmeCryptoFactory].getName
    )
    conf.set(Scopes.WriteId, scope.id)
  }
}
