package io.pmeparquet.spark.admin

import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.atomic.AtomicInteger
import java.util.Base64

import scala.collection.mutable

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.crypto.keytools.{KeyToolkit, KmsClient}
import org.apache.parquet.crypto.KeyAccessDeniedException

import io.pmeparquet.Sha256

/**
 * A KMS client that records what it is asked. Its instance's id chooses among realms, whose keys of one name differ. A
 * test can take keys away from it, and act while it works.
 */
class WatchedKms extends KmsClient {
  private var realm = ""

  override def initialize(conf: Configuration, instanceId: String, url: String, token: String): Unit = {
    realm = instanceId
    WatchedKms.note(WatchedKms.addresses, s"$instanceId $url")
  }

  override def wrapKey(key: Array[Byte], id: String): String = {
    WatchedKms.check("wrap", id)
    val made = KeyToolkit.encryptKeyLocally(key, master(id), id.getBytes(UTF_8))
    WatchedKms.note(WatchedKms.keys, Base64.getEncoder.encodeToString(key))
    WatchedKms.note(WatchedKms.wrapped, made)
    made
  }

  override def unwrapKey(wrapped: String, id: String): Array[Byte] = {
    WatchedKms.check("unwrap", id)
    KeyToolkit.decryptKeyLocally(wrapped, master(id), id.getBytes(UTF_8))
  }

  private def master(id: String) = Sha256.ofBytes(s"$realm:$id".getBytes(UTF_8)).take(16)
}

object WatchedKms {

  /** What it was asked, such as `wrap pii`. */
  val calls = mutable.ArrayBuffer.empty[String]

  /** The wrapped keys that it has made, and the keys in them. */
  val wrapped = mutable.ArrayBuffer.empty[String]
  val keys = mutable.ArrayBuffer.empty[String]

  /** The id and the address that each client was made with. */
  val addresses = mutable.ArrayBuffer.empty[String]

  /** Master keys that do not exist. */
  @volatile var lacks: Set[String] = Set.empty

  /** Master keys that nobody may use. */
  @volatile var denies: Set[String] = Set.empty

  /** Runs before each call, with its text. */
  @volatile var meanwhile: String => Unit = (_: String) => ()

  private val uses = new AtomicInteger(100000)

  /** Options of it. Equal options share a cache of keys, so each use has other ones. */
  def options: Map[String, String] = Map(
    "kms" -> classOf[WatchedKms].getName,
    "parquet.encryption.cache.lifetime.seconds" -> uses.incrementAndGet().toString
  )

  /** Forgets what an earlier test did. */
  def reset(): Unit = {
    Seq(calls, wrapped, keys, addresses).foreach(_.clear())
    lacks = Set.empty
    denies = Set.empty
    meanwhile = _ => ()
  }

  /** How often it was asked to wrap, or to unwrap, by the name of the master key. */
  def count(what: String): Map[String, Int] = synchronized {
    calls.toSeq.filter(_.startsWith(s"$what ")).map(_.stripPrefix(s"$what ")).groupBy(identity).map {
      case (id, some) => id -> some.size
    }
  }

  private def note(where: mutable.ArrayBuffer[String], what: String): Unit = synchronized {
    where += what
    ()
  }

  private def check(what: String, id: String): Unit = {
    note(calls, s"$what $id")
    meanwhile(s"$what $id")
    if (denies(id)) throw new KeyAccessDeniedException(s"$id is denied")
    if (lacks(id)) throw new IllegalArgumentException("no such key")
  }
}
