package io.pmeparquet.policy

import java.nio.charset.StandardCharsets.US_ASCII
import java.security.PublicKey
import java.util.concurrent.ConcurrentHashMap
import java.util.Base64

import scala.util.Try

import io.pmeparquet.{PmeErrors, PmeException, Sha256}
import io.pmeparquet.keys.PublicKeys

/** The oldest policy that a session accepts: the value of `minPolicy`. */
final case class MinimumPolicy(name: String, number: Long) {

  /**
   * @param isSessions whether it is the session's policy, which must be this one; others must only be no older one
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION`
   */
  def require(policy: Policy, isSessions: Boolean): Unit =
    if (if (policy.name == name) policy.number < number else isSessions)
      throw PmeErrors.policyRefused(
        policy.describe,
        s"minPolicy of this session is $name:$number",
        "Find out who put it there, or change minPolicy."
      )
}

object MinimumPolicy {

  /** @throws io.pmeparquet.PmeException `PME_BAD_OPTION` */
  def parse(text: String): MinimumPolicy = text.trim.lastIndexOf(':') match {
    case at if at > 0 && text.trim.drop(at + 1).matches("[0-9]{1,18}") =>
      MinimumPolicy(text.trim.take(at), text.trim.drop(at + 1).toLong)
    case _ => throw PmeErrors.badOption("minPolicy", text, "<name of the policy>:<number>")
  }
}

/** The signature of a policy, in base64, in a file beside it. */
object PolicySignature {

  /** What the name of its file ends with. */
  val Suffix = ".sig"

  /** Neither a signature nor base64 of one is longer. */
  val MaxBytes = 1024

  /** What is signed. It is short, as the APIs of clouds ask, and no message of another use of the key. */
  def message(policy: Array[Byte]): Array[Byte] =
    s"pme-parquet policy 1\n${Sha256.hex(Sha256.ofBytes(policy))}".getBytes(US_ASCII)

  /** Whether the key has signed the policy. */
  def verifies(key: PublicKey, policy: Array[Byte], signature: Array[Byte]): Boolean =
    Try(Base64.getDecoder.decode(new String(signature, US_ASCII).trim)).toOption.exists { value =>
      // Java accepts bytes after an Ed25519 signature.
      val isWhole = !PublicKeys.algorithmOf(key).contains(PublicKeys.Ed25519) || value.length == Ed25519Bytes
      isWhole && PublicKeys.verifies(key, message(policy), value)
    }

  private val Ed25519Bytes = 64
}

/**
 * The policies that this process has seen: an older one put back is refused, and so is another one in the place of a signed
 * one. A restart forgets them; `minPolicy` does not.
 */
final class SeenPolicies {
  import SeenPolicies._

  private val newest = new ConcurrentHashMap[(String, String), Seen]
  private val names = new ConcurrentHashMap[(String, String), String]

  /**
   * @param signer the key that has signed it; none for one that only its owner can change
   * @param digest of its bytes
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION` if this process has seen a newer one
   */
  def note(policy: Policy, signer: Option[PublicKey], digest: String): Unit = {
    // Whose numbers grow: the signer's, wherever his policies are, or the place's.
    val source =
      signer.fold(s"at ${policy.where}")(key => s"by ${Sha256.hex(Sha256.ofBytes(key.getEncoded))}")
    if (signer.isDefined) {
      val known = names.putIfAbsent((source, policy.where), policy.name)
      if (known != null && known != policy.name) throw refused(policy, s"policy '$known' was there before")
    }
    newest.compute(
      (source, policy.name),
      (_, seen) =>
        if (seen == null || policy.number > seen.number) Seen(policy.number, digest)
        else if (policy.number < seen.number)
          throw refused(policy, s"this process has seen number ${seen.number}")
        else if (signer.isDefined && digest != seen.digest)
          throw refused(policy, s"this process has seen another policy with number ${seen.number}")
        else Seen(policy.number, digest)
    )
    ()
  }

  private def refused(policy: Policy, why: String): PmeException =
    PmeErrors.policyRefused(
      policy.describe,
      why,
      "Put the newest policy there. Whoever changes a policy gives it a larger number."
    )
}

object SeenPolicies {
  private final case class Seen(number: Long, digest: String)

  /** Of all sessions of this process. */
  val ofProcess: SeenPolicies = new SeenPolicies
}
