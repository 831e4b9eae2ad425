package io.pmeparquet.kms.client

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Paths}
import java.util.Locale

import org.apache.hadoop.conf.Configuration

import io.pmeparquet.{PmeErrors, Secret, SecretReference, SecretResolver}
import io.pmeparquet.options.{Level, OptionSpec, OptionValues, PmeOptions}

/**
 * Reads the options of a KMS on the driver, with the files and secrets that they name.
 *
 * @param conf the configuration that the KMS gets
 * @param withheldNames names of options that a KMS must not find there
 */
private[pmeparquet] final class DriverOptionReader(
    values: OptionValues,
    conf: Configuration,
    secrets: SecretResolver,
    withheldNames: Set[String]
) extends KmsOptionReader(conf) {

  override def text(option: OptionSpec): Option[String] =
    if (option.values.nonEmpty) Some(values.choice(option)) else values.text(option).orElse(option.default)

  override def isSet(option: OptionSpec): Boolean = values.find(option).isDefined

  override def secret(option: OptionSpec): Option[Secret] = text(option).map(resolve(option, _))

  private def resolve(option: OptionSpec, reference: String) =
    secrets.resolve(option.name, SecretReference.parse(option.name, reference))

  /**
   * What parquet-java passes to a client as its access token. parquet-java puts the token itself into the Hadoop
   * configuration. Only there it may be plain text.
   */
  def accessToken: Secret = values.find(PmeOptions.AccessToken) match {
    case None => new Secret(PmeOptions.AccessToken.default.get)
    case Some(found) if found.value == PmeOptions.AccessToken.default.get => new Secret(found.value)
    case Some(found) if found.level == Level.HadoopConf && !isReference(found.value) =>
      new Secret(found.value)
    case Some(found) => resolve(PmeOptions.AccessToken, found.value)
  }

  private def isReference(value: String) = SecretReference.Kinds.exists(kind => value.startsWith(kind + ":"))

  /** A digest of all that a client could look at: the configuration with the options, and the user. */
  def identity: String = ConfigurationDigest.of(conf)

  /**
   * What a table's definition would put into the configuration, and the value that replaces it, if any. A job's
   * configuration has these options, some under lower-case names.
   */
  def withheld: Map[String, Option[String]] = withheldNames
    .flatMap(name => Seq(name, name.toLowerCase(Locale.ROOT)))
    .map(name => name -> Option(conf.get(name)))
    .toMap
}

/**
 * Looks up secrets in this process.
 *
 * @param conf with the credential providers
 * @param setting the value of a setting that `conf:` names
 */
private[pmeparquet] final class ProcessSecrets(conf: Configuration, setting: String => Option[String])
    extends SecretResolver {

  override def resolve(option: String, reference: SecretReference): Secret = {
    def notFound(why: String, cause: Throwable = null) =
      PmeErrors.secretNotFound(option, reference.toString, why, cause)
    val value = reference.kind match {
      case "env" => Option(System.getenv(reference.name)).getOrElse(throw notFound("the variable is not set"))
      case "conf" => setting(reference.name).getOrElse(throw notFound("there is no such setting"))
      case "hadoop-credential" =>
        try
          Option(conf.getPasswordFromCredentialProviders(reference.name))
            .map(new String(_))
            .getOrElse(throw notFound("no credential provider has this alias"))
        catch { case failed: IOException => throw notFound("the credential provider cannot be read", failed) }
      case "file" =>
        try
          new String(Files.readAllBytes(Paths.get(reference.name.stripPrefix("//"))), UTF_8)
            .stripSuffix("\n")
            .stripSuffix("\r")
        catch { case failed: IOException => throw notFound("the file cannot be read", failed) }
      case other => throw new IllegalStateException(s"internal error: reference kind $other")
    }
    if (value.isEmpty) throw notFound("it is empty")
    new Secret(value)
  }
}
