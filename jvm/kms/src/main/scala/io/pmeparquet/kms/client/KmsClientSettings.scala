package io.pmeparquet.kms.client

import java.util.Optional

import org.apache.hadoop.conf.Configuration

import io.pmeparquet.{PmeErrors, Secret}
import io.pmeparquet.kms.http.ServerAddress
import io.pmeparquet.options.{OptionSpec, PmeOptions}

/**
 * The settings of KMS clients in jars of their own: our options, which their Hadoop configuration has behind
 * `parquet.encryption.`. Callers name options by text, and all types are Java's, so that one jar serves every Scala
 * version.
 */
final class KmsClientSettings(conf: Configuration) {
  private val values = new ConfOptionReader(conf)

  def text(name: String): Optional[String] = toJava(textOf(named(name)))

  /** @param why as part of a sentence: "because … it is needed" */
  def required(name: String, why: String): String = values.requiredText(named(name), why)

  def secret(name: String): Optional[String] =
    toJava(values.secret(named(name)).map((found: Secret) => found.insecureValue.trim).filter(_.nonEmpty))

  /** `https://HOST:PORT`, or `http://` with a loopback address. */
  def address(name: String): Optional[String] = {
    val option = named(name)
    toJava(textOf(option).map(ServerAddress.parse(option, _).toString))
  }

  /** One of the values that the option lists; by default the first. */
  def choice(name: String): String = {
    val option = named(name)
    val chosen = textOf(option).getOrElse(option.values.head)
    option.values.find(_.equalsIgnoreCase(chosen)).getOrElse {
      throw PmeErrors.badOption(name, chosen, s"one of: ${option.allowed}")
    }
  }

  def timeoutMillis: Long = values.millis(PmeOptions.KmsTimeout)

  private def textOf(option: OptionSpec) = values.text(option).filter(_.nonEmpty)

  private def named(name: String): OptionSpec =
    PmeOptions.all.find(_.name == name).getOrElse {
      throw new IllegalStateException(s"internal error: no option $name")
    }

  private def toJava[A](found: Option[A]): Optional[A] = found.fold(Optional.empty[A]())(Optional.of[A](_))
}
