package io.pmeparquet.parquet

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.crypto._
import org.apache.parquet.hadoop.api.WriteSupport.WriteContext

import io.pmeparquet.parquet.admission.FileDecryption
import io.pmeparquet.parquet.scope.{ReadScope, Scopes, WriteScope}
import io.pmeparquet.parquet.standalone.{ConfigurationScopes, SkippedFiles}
import io.pmeparquet.parquet.write.FileEncryption
import io.pmeparquet.PmeException

/**
 * Shows parquet-java how to encrypt and decrypt a file. parquet-java makes one by class name from the Hadoop
 * configuration for every file, so all state is in the scope that the configuration names.
 *
 * Without such a name, users have set `parquet.crypto.factory.class` themselves, and the rest of the configuration says
 * what to do ([[ConfigurationScopes]]).
 */
final class PmeCryptoFactory extends EncryptionPropertiesFactory with DecryptionPropertiesFactory {
  import PmeCryptoFactory._

  override def getFileEncryptionProperties(
      conf: Configuration,
      path: Path,
      context: WriteContext
  ): FileEncryptionProperties =
    // Spark's source of this format lets a FileSealer encrypt.
    if (conf.get(Scopes.WriteId) != null)
      FileEncryption.toSeal(
        Scopes.write(conf),
        path,
        context.getSchema,
        conf,
        key => Option(context.getExtraMetaData.get(key))
      )
    else
      unchecked {
        val scope = ConfigurationScopes.write(conf, Option(path), context.getSchema)
        FileEncryption.of(scope, Option(path).getOrElse(Unnamed), context.getSchema, conf)
      }

  /**
   * Null for a plaintext file that the options allow, and if no path is given: parquet-java 1.13 passes none for a
   * footer that it has already read without keys, and only an admitted plaintext file has such a footer. Without a scope
   * of Spark's source, other callers may have opened a file without its path, so plaintext files must be allowed.
   */
  override def getFileDecryptionProperties(conf: Configuration, path: Path): FileDecryptionProperties =
    if (conf.get(Scopes.ReadId) != null)
      if (path == null) null else FileDecryption.admit(Scopes.read(conf), path, conf).orNull
    else {
      // As it is: Spark would skip a file for an unchecked exception.
      SkippedFiles.refuse(conf)
      unchecked(ConfigurationScopes.admit(conf, Option(path)).orNull)
    }
}

object PmeCryptoFactory {

  /**
   * What messages call a new file that parquet-java was given without its path, as Flink does. Nothing else depends on the
   * path there, because a configuration by itself can have no `keyMaterial=external` and no prefix with the file's name.
   */
  private val Unnamed = new Path("a new file")

  /** parquet-java's callers expect its unchecked exceptions. */
  private def unchecked[A](step: => A): A =
    try step
    catch { case ours: PmeException => throw new ParquetCryptoRuntimeException(ours.getMessage, ours) }

  private[pmeparquet] def useForRead(conf: Configuration, scope: ReadScope): Unit =
    readProperties(scope).foreach { case (name, value) =>
      conf.set(name, value)
    }

  private[pmeparquet] def readProperties(scope: ReadScope): Map[String, String] =
    Map(
      EncryptionPropertiesFactory.CRYPTO_FACTORY_CLASS_PROPERTY_NAME -> classOf[PmeCryptoFactory].getName,
      Scopes.ReadId -> scope.id
    )

  private[pmeparquet] def useForWrite(conf: Configuration, scope: WriteScope): Unit = {
    conf.set(
      EncryptionPropertiesFactory.CRYPTO_FACTORY_CLASS_PROPERTY_NAME,
      classOf[PmeCryptoFactory].getName
    )
    conf.set(Scopes.WriteId, scope.id)
  }
}
