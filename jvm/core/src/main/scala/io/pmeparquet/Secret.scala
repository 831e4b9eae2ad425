package io.pmeparquet

import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest

/** A password, token or list of keys, resolved on the driver. It does not print its text. */
final class Secret(value: String) extends Serializable {

  /** The text itself, for code that must pass it on. */
  def insecureValue: String = value

  override def equals(other: Any): Boolean = other match {
    case that: Secret => MessageDigest.isEqual(value.getBytes(UTF_8), that.insecureValue.getBytes(UTF_8))
    case _ => false
  }
  override def hashCode(): Int = 1
  override def toString: String = "Secret(…)"
}

/**
 * A reference to a secret: `env:NAME`, `file:PATH`, `conf:SPARK_CONF_KEY` or `hadoop-credential:ALIAS`.
 * Resolved on the driver only.
 */
final case class SecretReference(kind: String, name: String) {
  override def toString: String = s"$kind:$name"
}

object SecretReference {
  val Kinds: Seq[String] = Seq("env", "file", "conf", "hadoop-credential")

  /** Parses a reference. Anything else may be a secret itself, which is refused and not repeated. */
  def parse(option: String, text: String): SecretReference =
    find(text).getOrElse(throw PmeErrors.secretInOption(option))

  /** The reference that a text is, if it is one. */
  def find(text: String): Option[SecretReference] = {
    val separator = text.indexOf(':')
    val kind = if (separator > 0) text.substring(0, separator).trim else ""
    val name = text.substring(separator + 1).trim
    if (!Kinds.contains(kind) || name.isEmpty) None else Some(SecretReference(kind, name))
  }
}

/** Resolves a [[SecretReference]]. `conf` and `hadoop-credential` need Spark and Hadoop. */
trait SecretResolver {
  def resolve(option: String, reference: SecretReference): Secret
}
