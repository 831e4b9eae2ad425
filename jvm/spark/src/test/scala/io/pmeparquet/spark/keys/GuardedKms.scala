package io.pmeparquet.spark.keys

import java.io.{IOException, UncheckedIOException}
import java.net.{ConnectException, SocketTimeoutException}
import java.util.UUID

import scala.collection.concurrent.TrieMap

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.crypto.KeyAccessDeniedException

import io.pmeparquet.testkit.TestKms

/** The tests' KMS as one test wants it: it fails for some keys, or goes, and counts what it is asked. */
class GuardedKms extends TestKms {
  private var guard: Option[KeyGuard] = None

  override def initialize(conf: Configuration, instanceId: String, instanceUrl: String, token: String): Unit =
    guard = Some(KeyGuard.of(instanceId))

  override def wrapKey(key: Array[Byte], masterKeyId: String): String = {
    guard.get.asked("wrap", masterKeyId, "")
    super.wrapKey(key, masterKeyId)
  }

  override def unwrapKey(wrapped: String, masterKeyId: String): Array[Byte] = {
    guard.get.asked("unwrap", masterKeyId, wrapped)
    val key = super.unwrapKey(wrapped, masterKeyId)
    if (guard.get.altered.contains(masterKeyId)) key.reverse else key
  }
}

/** What a [[GuardedKms]] does. Another one has other options, so no test finds what another has cached. */
final class KeyGuard private {
  private val id = UUID.randomUUID().toString
  private var calls = Seq.empty[(String, String, String)]

  /** The keys that cannot be had, each with the reason. */
  @volatile var failing: Map[String, () => RuntimeException] = Map.empty

  /** The keys for which the KMS returns another key. */
  @volatile var altered: Set[String] = Set.empty

  /** After so many more calls, the KMS is gone. */
  @volatile var left: Int = Int.MaxValue

  /** What whoever calls a KMS that is gone notices. */
  @volatile var gone: () => IOException = KeyGuard.refuses

  def deny(keys: String*): this.type = {
    failing = keys.map(key => key -> (() => new KeyAccessDeniedException(s"test: $key is denied"))).toMap
    this
  }

  def options: Map[String, String] =
    Map("kms" -> classOf[GuardedKms].getName, "parquet.encryption.kms.instance.id" -> id)

  /** How often the KMS has been asked to unwrap with each key. */
  def unwraps: Map[String, Int] = count("unwrap")

  /** How often the KMS has been asked to wrap with each key. */
  def wraps: Map[String, Int] = count("wrap")

  /** The wrapped keys that the KMS has been asked to unwrap. */
  def sent: Seq[String] = synchronized(calls).collect { case ("unwrap", _, wrapped) => wrapped }

  def clear(): Unit = synchronized { calls = Nil }

  private def count(what: String): Map[String, Int] =
    synchronized(calls).collect { case (`what`, key, _) => key }.groupBy(identity).map { case (key, all) =>
      key -> all.size
    }

  private[keys] def asked(what: String, key: String, wrapped: String): Unit = {
    val isGone = synchronized {
      calls :+= ((what, key, wrapped))
      left -= 1
      left < 0
    }
    if (isGone) throw new UncheckedIOException(gone())
    failing.get(key).foreach(failure => throw failure())
  }
}

object KeyGuard {
  private val all = TrieMap.empty[String, KeyGuard]

  val refuses: () => IOException = () => new ConnectException("test: refused")
  val timesOut: () => IOException = () => new SocketTimeoutException("test: Read timed out")

  def apply(): KeyGuard = {
    val made = new KeyGuard
    all.update(made.id, made)
    made
  }

  private[keys] def of(id: String): KeyGuard = all(id)
}
