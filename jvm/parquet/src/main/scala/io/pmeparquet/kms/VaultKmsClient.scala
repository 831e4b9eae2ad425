package io.pmeparquet.kms

import java.io.IOException
import java.util.Locale

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.crypto.keytools.KmsClient

import io.pmeparquet.{AesKey, PmeErrors, Secret}
import io.pmeparquet.keys.{Kms, KmsSettings}
import io.pmeparquet.keys.vault.VaultKms
import io.pmeparquet.options.{KmsValues, OptionSpec, PmeOptions, VaultOptions}

/**
 * `kms=vault` for Spark's own `parquet` source and anything else that takes a parquet-java KMS client:
 * {{{
 * parquet.encryption.kms.client.class  io.pmeparquet.kms.VaultKmsClient
 * parquet.encryption.kms.instance.url  https://vault:8200
 * parquet.encryption.key.access.token  the token
 * }}}
 * Other settings have the names of our options behind `parquet.encryption.`, such as
 * `parquet.encryption.kms.vault.mount`; secrets may be aliases of Hadoop's credential providers.
 */
final class VaultKmsClient extends KmsClient {
  private var kms: Kms = _

  override def initialize(conf: Configuration, instanceId: String, instanceUrl: String, token: String): Unit =
    kms = ClientTerms.inItsTerms(new VaultKms(VaultOptions.settings(new ConfValues(conf, token)).at))

  override def wrapKey(keyBytes: Array[Byte], masterKeyId: String): String =
    ClientTerms.inItsTerms(kms.wrap(AesKey.of(keyBytes, "key to wrap"), masterKeyId, "key to wrap"))

  override def unwrapKey(wrappedKey: String, masterKeyId: String): Array[Byte] =
    ClientTerms.inItsTerms(kms.unwrap(wrappedKey, masterKeyId, "wrapped key").insecureBytes)
}

/**
 * The settings as parquet-java hands them to a client, but for the address: where none is configured parquet-java hands
 * over what a file says, and nothing a file says chooses where a token goes.
 */
private final class ConfValues(conf: Configuration, token: String) extends KmsValues {
  override def text(option: OptionSpec): Option[String] = option match {
    case PmeOptions.VaultUrl => set(option).orElse(set(PmeOptions.InstanceUrl))
    case _ => set(option).orElse(option.default)
  }

  override def isSet(option: OptionSpec): Boolean = set(option).isDefined

  private def set(option: OptionSpec): Option[String] =
    namesOf(option).flatMap(name => Option(conf.getTrimmed(name)).toList).find(_.nonEmpty)

  override def secret(option: OptionSpec): Option[Secret] = option match {
    case PmeOptions.VaultToken => Some(new Secret(token)).filter(_.insecureValue != Kms.Default)
    case _ =>
      namesOf(option)
        .flatMap(name => Option(conf.getPassword(name)).toList)
        .headOption
        .map(password => new Secret(new String(password)))
  }

  override def file(option: OptionSpec): Option[KmsSettings.Content] =
    text(option).map(path => new KmsSettings.Content(contentOf(path)))

  /** Spark's own source hands on the options of a read in small letters. */
  private def namesOf(option: OptionSpec): Seq[String] = {
    val name = PmeOptions.ParquetPrefix + option.name.stripPrefix(PmeOptions.ParquetPrefix)
    Seq(name, name.toLowerCase(Locale.ROOT))
  }

  private def contentOf(path: String): Array[Byte] = {
    def unusable(why: String, cause: Throwable) = PmeErrors.kmsUnavailable(s"file $path", why, cause)
    try {
      val file = new Path(path)
      val stream = file.getFileSystem(conf).open(file)
      try {
        val bytes = stream.readNBytes(ConfValues.MaxFileBytes + 1)
        if (bytes.length > ConfValues.MaxFileBytes) throw unusable("it is too long for certificates", null)
        bytes
      } finally stream.close()
    } catch { case failed: IOException => throw unusable("it cannot be read", failed) }
  }
}

private object ConfValues {
  val MaxFileBytes: Int = 1024 * 1024
}
