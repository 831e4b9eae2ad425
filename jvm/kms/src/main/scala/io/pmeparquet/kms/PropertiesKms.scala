package io.pmeparquet.kms

import java.nio.charset.CharacterCodingException
import java.nio.charset.StandardCharsets.UTF_8
import java.util

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration

import io.pmeparquet.{AesKey, PmeErrors, PmeException, Utf8}
import io.pmeparquet.keys.{AuditMode, KeyAudit, KeyPurpose, KmsSource, WrappedKey}
import io.pmeparquet.kms.client.{DriverOptionReader, ProcessSecrets}
import io.pmeparquet.options.{Level, OptionValues, PmeOptions, PrefixedOptions, Settings}

/**
 * A KMS that properties alone describe, such as those of a catalog of Iceberg: `pme-parquet.<option>`. This process calls
 * it, once for each wrapped key until the key's lifetime ends. Thread-safe. A wrapped key is the text of key material, in
 * UTF-8.
 *
 * @param where what messages call the user of the keys
 */
final class PropertiesKms private (source: KmsSource, where: String) {

  /** @param key 16, 24 or 32 bytes */
  @throws[PmeException]
  def wrap(key: Array[Byte], masterKeyId: String): Array[Byte] =
    source.wrap(AesKey.of(key, where), masterKeyId, where).getBytes(UTF_8)

  @throws[PmeException]
  def unwrap(wrapped: Array[Byte], masterKeyId: String): Array[Byte] = {
    source.sweep()
    val key = WrappedKey(masterKeyId, PropertiesKms.textOf(wrapped, where), None)
    source.unwrap(Seq(key), where).head.fold(failed => throw failed, _.key.insecureBytes)
  }
}

object PropertiesKms {

  /** Before names of settings of Hadoop, as Iceberg's catalogs for Spark have them. */
  private val HadoopPrefix = "hadoop."

  /** Where `hadoop-credential:` looks: a path, which other processes need as well. */
  private val Providers = HadoopPrefix + "hadoop.security.credential.provider.path"

  private val Supported = (PmeOptions.kmsOptions ++ Seq(
    PmeOptions.InstanceId,
    PmeOptions.InstanceUrl,
    PmeOptions.AccessToken,
    PmeOptions.CacheLifetime
  )).filterNot(_ == PmeOptions.CallFrom)

  /**
   * Looks at names and references, and at nothing that they refer to.
   *
   * @return what another process needs of the properties, with references and without secrets
   * @throws io.pmeparquet.PmeException for a name that is not ours, an option that does not concern a KMS, and a secret as
   *   a value
   */
  @throws[PmeException]
  def checked(properties: util.Map[String, String]): util.Map[String, String] = {
    valuesOf(properties)
    val own = new util.HashMap[String, String]
    ours(properties).foreach { case (name, value) => own.put(PmeOptions.FactoryPrefix + name, value) }
    Option(properties.get(Providers)).foreach(own.put(Providers, _))
    own
  }

  /**
   * Reads the secrets and files that the properties name. A reference `conf:NAME` is to another of the properties.
   * Hadoop's settings are those of its files on the class path, and properties `hadoop.<setting>`.
   */
  @throws[PmeException]
  def open(properties: util.Map[String, String], where: String): PropertiesKms = {
    val values = valuesOf(properties)
    val conf = new Configuration()
    below(properties, HadoopPrefix).foreach { case (name, value) => conf.set(name, value) }
    val secrets = new ProcessSecrets(conf, name => Option(properties.get(name)))
    val settings = KmsAccess.settings(new DriverOptionReader(values, conf, secrets, Set.empty))
    // Executors open it, too, and a record is the driver's.
    if (
      EngineRoutes.ofApplication(PmeOptions.Audit.name).exists(!_.trim.equalsIgnoreCase(AuditMode.Off.name))
    )
      throw PmeErrors.contradiction(
        PmeOptions.Audit.name,
        s"the application has uses of keys recorded, and $where opens the KMS where no record is",
        "Remove audit from the application, or use another format."
      )
    val kms = KmsAccess.open(settings, conf, KeyAudit.off(KeyPurpose.Read))
    new PropertiesKms(new KmsSource(kms, Settings.lifetimeMillis(values)), where)
  }

  private def valuesOf(properties: util.Map[String, String]): OptionValues = {
    val own = PrefixedOptions.of(ours(properties), PmeOptions.FactoryPrefix)
    val values = new OptionValues(Map(Level.SessionConf -> own))
    PmeOptions.all.filterNot(Supported.contains).find(values.find(_).isDefined).foreach { option =>
      throw PmeErrors.contradiction(
        PmeOptions.FactoryPrefix + option.name,
        "a catalog's properties describe a KMS, and this option does not concern it",
        "Remove it. What is encrypted, and with which master key, is said by properties of the table."
      )
    }
    values
  }

  private def ours(properties: util.Map[String, String]) = below(properties, PmeOptions.FactoryPrefix)

  private def below(properties: util.Map[String, String], prefix: String): Seq[(String, String)] =
    properties.asScala.toSeq.collect {
      case (name, value) if name.regionMatches(true, 0, prefix, 0, prefix.length) =>
        name.substring(prefix.length) -> value
    }

  /** Key material is text. A client of a KMS must not get another text than the one that it made. */
  private def textOf(wrapped: Array[Byte], where: String): String =
    try Utf8.strict(wrapped)
    catch {
      case failed: CharacterCodingException =>
        throw PmeErrors.keyMetadata(where, "a wrapped key is not one of this format's KMSs", failed)
    }
}
