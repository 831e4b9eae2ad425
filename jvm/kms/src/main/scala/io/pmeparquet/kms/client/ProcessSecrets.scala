package io.pmeparquet.kms.client

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Paths}

import org.apache.hadoop.conf.Configuration

import io.pmeparquet.{PmeErrors, Secret, SecretReference, SecretResolver}

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
