package io.pmeparquet.spark.keys

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.crypto.keytools.{KeyToolkit, KmsClient}

import io.pmeparquet.Sha256

/** A KMS client whose master keys depend on a setting of its own in the Hadoop configuration; without it, it has none. */
class RealmKms extends KmsClient {
  private var realm: Option[String] = None

  override def initialize(conf: Configuration, instanceId: String, instanceUrl: String, token: String): Unit =
    realm = Option(conf.get(RealmKms.Realm))

  override def wrapKey(key: Array[Byte], id: String): String =
    KeyToolkit.encryptKeyLocally(key, master(id), id.getBytes(UTF_8))

  override def unwrapKey(wrapped: String, id: String): Array[Byte] =
    KeyToolkit.decryptKeyLocally(wrapped, master(id), id.getBytes(UTF_8))

  private def master(id: String) = {
    val of = realm.getOrElse(throw new IllegalArgumentException("no realm, no key"))
    Sha256.ofBytes(s"$of:$id".getBytes(UTF_8)).take(16)
  }
}

object RealmKms {
  val Realm = "realm.name"
}
