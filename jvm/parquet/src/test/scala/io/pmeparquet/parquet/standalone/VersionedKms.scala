package io.pmeparquet.parquet.standalone

import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.ConcurrentHashMap

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.crypto.keytools.{KeyToolkit, KmsClient}
import org.apache.parquet.crypto.KeyAccessDeniedException

/** A KMS whose master keys have versions: it wraps with the newest, and refuses those that are retired. */
final class VersionedKms extends KmsClient {
  private var versions: VersionedKms.Versions = _

  override def initialize(conf: Configuration, instanceId: String, instanceUrl: String, token: String): Unit =
    versions = VersionedKms.named(conf.get("test.kms"))

  override def wrapKey(key: Array[Byte], masterKeyId: String): String = {
    val version = versions.newest.get
    s"$version ${KeyToolkit.encryptKeyLocally(key, master(masterKeyId, version), masterKeyId.getBytes("UTF-8"))}"
  }

  override def unwrapKey(wrapped: String, masterKeyId: String): Array[Byte] = {
    val version = VersionedKms.versionOf(wrapped)
    if (version < versions.oldest.get) throw new KeyAccessDeniedException(s"version $version is retired")
    val text = wrapped.substring(wrapped.indexOf(' ') + 1)
    KeyToolkit.decryptKeyLocally(text, master(masterKeyId, version), masterKeyId.getBytes("UTF-8"))
  }

  private def master(id: String, version: Int) =
    java.util.Arrays.copyOf(s"$version$id".getBytes("UTF-8"), 16)
}

object VersionedKms {
  final class Versions {
    val newest, oldest = new AtomicInteger(1)
  }

  private val all = new ConcurrentHashMap[String, Versions]

  def named(name: String): Versions = all.computeIfAbsent(name, _ => new Versions)

  def versionOf(wrapped: String): Int = wrapped.takeWhile(_ != ' ').toInt

  def settings(name: String): Seq[(String, String)] =
    Seq("pme-parquet.kms" -> classOf[VersionedKms].getName, "test.kms" -> name)
}
