package io.pmeparquet.parquet

import java.security.SecureRandom
import java.util.Base64

import org.apache.hadoop.conf.Configuration

import io.pmeparquet.{AesKey, PmeErrors}
import io.pmeparquet.keys.{JobKeks, KeySource, WrappedKey}
import io.pmeparquet.options.{FileSettings, WriteSettings}

/** How long each call for a master key took, by what was asked for. ''Crosses the wire.'' */
final case class KeyCalls(millis: List[(String, Long)])

/**
 * Tries the master keys of a write out by the ways that writes and reads take: a random key is wrapped and unwrapped, or
 * with `keyManagement=direct` the named key is asked for. No file is touched. ''Driver only.''
 *
 * @throws io.pmeparquet.PmeException where the KMS cannot be opened; each trial, what the KMS says of the key
 */
final class KmsTrial(settings: WriteSettings, conf: Configuration) {
  private val opening = Scopes.open(settings.use, conf, lifetimeMillis = 0)

  /** What messages call the KMS. */
  def describe: String = opening.source.describe

  /** As the driver does before a write: all that a task needs with double wrapping. */
  def onDriver(masterKeyId: String): KeyCalls = {
    val where = KmsTrial.where("the driver")
    KmsTrial.of(opening.source, settings.files, masterKeyId, where) { bits =>
      val made = JobKeks.make(opening.source, Seq(masterKeyId), bits, where).of(masterKeyId)
      made.key -> WrappedKey(masterKeyId, made.wrapped, Some(Base64.getEncoder.encodeToString(made.id)))
    }
  }

  /** For tasks, which come by keys as `kms.callFrom` says. */
  def forExecutors: ExecutorTrial =
    new ExecutorTrial(Scopes.accessOf(opening, settings.use), settings.files, opening)
}

/**
 * The part of a trial that a task does. No key leaves the JVM that the task runs in. ''Crosses the wire'', with what a
 * scope has.
 *
 * @param opening kept on the driver while there are tasks that may ask it
 */
final class ExecutorTrial private[parquet] (
    access: KeyAccess,
    files: FileSettings,
    @transient private val opening: ScopeOpening
) extends Serializable {

  def of(masterKeyId: String, conf: Configuration): KeyCalls = {
    val where = KmsTrial.where("an executor")
    val source = access.open(conf, lifetimeMillis = 0)
    KmsTrial.of(source, files, masterKeyId, where) { bits =>
      val key = AesKey.random(bits, new SecureRandom)
      key -> WrappedKey(masterKeyId, source.wrap(key, masterKeyId, where), None)
    }
  }
}

private object KmsTrial {
  def where(caller: String): String = s"trial from $caller"

  def of(source: KeySource, files: FileSettings, masterKeyId: String, where: String)(
      wrap: Int => (AesKey, WrappedKey)
  ): KeyCalls =
    if (files.directKeys) {
      val (_, fetch) = timed(DirectKeys.of(source, masterKeyId, files.dataKeyBits, where))
      KeyCalls(List("fetched" -> fetch))
    } else {
      val ((key, wrapped), wrapping) = timed(wrap(files.kekBits))
      val (answer, unwrapping) = timed(source.unwrap(Seq(wrapped), where).head)
      val found = answer.fold(failed => throw failed, _.key)
      if (found != key)
        throw PmeErrors.wrappedKeyRefused(
          where,
          masterKeyId,
          "it unwraps to another key than was wrapped",
          null
        )
      KeyCalls(List("wrapped" -> wrapping, "unwrapped" -> unwrapping))
    }

  private def timed[A](call: => A): (A, Long) = {
    val began = System.nanoTime()
    val done = call
    done -> (System.nanoTime() - began) / 1000000
  }
}
