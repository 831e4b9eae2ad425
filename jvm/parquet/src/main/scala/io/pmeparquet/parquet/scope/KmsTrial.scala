package io.pmeparquet.parquet.scope

import java.security.SecureRandom
import java.util.Base64

import scala.collection.mutable

import org.apache.hadoop.conf.Configuration

import io.pmeparquet.{AesKey, PmeErrors}
import io.pmeparquet.keys.{KeyGrants, KeySource, WrappedKey}
import io.pmeparquet.material.{JobKeks, KeyMaterial}
import io.pmeparquet.options.{FileSettings, WriteSettings}

/** The duration of each call for a master key, by the kind of call. ''Crosses the wire.'' */
private[pmeparquet] final case class KeyCalls(millis: List[(String, Long)])

/**
 * Tries out the master keys of a write with the calls that writes and reads make: it wraps and unwraps a random key, or
 * with `keyManagement=direct` asks for the named key. It touches no file. ''Driver only.''
 *
 * @throws io.pmeparquet.PmeException if the KMS cannot be opened; in each trial, if it refuses the key
 */
private[pmeparquet] final class KmsTrial(settings: WriteSettings, conf: Configuration) {
  import KmsTrial._

  private val opening = Scopes.open(settings.use, conf, lifetimeMillis = 0)
  private val files = settings.files
  private val made = mutable.Map.empty[String, TrialKey]

  /** The name of the KMS in messages. */
  def describe: String = opening.source.describe

  /** Does what the driver does before a write: with double wrapping, all that a task needs. */
  def onDriver(masterKeyId: String): KeyCalls = {
    val where = KmsTrial.where("the driver")
    if (files.directKeys) fetched(opening.source, files, masterKeyId, where)
    else {
      val (trial, wrapping) = timed(wrapped(masterKeyId, where))
      val calls = List(Wrapped -> wrapping, unwrapped(opening.source, trial, where))
      made += masterKeyId -> trial
      KeyCalls(calls)
    }
  }

  private def wrapped(masterKeyId: String, where: String) = {
    val kek = JobKeks.make(opening.source, Seq(masterKeyId), files.kekBits, where).of(masterKeyId)
    val id = Base64.getEncoder.encodeToString(kek.id)
    new TrialKey(kek.key, WrappedKey(masterKeyId, kek.wrapped, Some(id)))
  }

  /** The grants of a write and a read together. */
  private def grants =
    KeyGrants.toWrite(files.masterKeys.toSet, files.directKeys).copy(unwraps = !files.directKeys)

  /**
   * The trial for tasks, which get keys as `kms.callFrom` states. With double wrapping: the keys that the driver got.
   */
  def forExecutors: ExecutorTrial =
    new ExecutorTrial(Scopes.accessOf(opening, settings.use, grants), files, made.toMap, opening)
}

/** A random key that protects nothing, and its wrapped form. ''Crosses the wire.'' */
private final class TrialKey(val key: AesKey, val wrapped: WrappedKey) extends Serializable

/**
 * The part of a trial that a task does. ''Crosses the wire'', with what a scope has.
 *
 * @param made the driver's trial keys: with double wrapping tasks wrap nothing, and may not be allowed to
 * @param opening kept on the driver while there are tasks that may ask it
 */
private[pmeparquet] final class ExecutorTrial private[parquet] (
    access: KeyAccess,
    files: FileSettings,
    made: Map[String, TrialKey],
    @transient private val opening: ScopeOpening
) extends Serializable {
  import KmsTrial._

  def of(masterKeyId: String, conf: Configuration): KeyCalls = {
    val where = KmsTrial.where("an executor")
    val source = access.open(conf, lifetimeMillis = 0)
    if (files.wrapsTwice) KeyCalls(List(unwrapped(source, made(masterKeyId), where)))
    else calls(source, files, masterKeyId, where)
  }
}

private[parquet] object KmsTrial {
  val Wrapped = "wrapped"

  /** Tries out one master key with all calls, for who writes without another's help. */
  def calls(source: KeySource, files: FileSettings, masterKeyId: String, where: String): KeyCalls =
    if (files.directKeys) fetched(source, files, masterKeyId, where)
    else {
      val random = new SecureRandom
      val key = AesKey.random(if (files.wrapsTwice) files.kekBits else files.drawnKeyBits, random)
      val (text, wrapping) = timed(source.wrap(key, masterKeyId, where))
      val trial = new TrialKey(key, WrappedKey(masterKeyId, text, kekId(files, random)))
      KeyCalls(List(Wrapped -> wrapping, unwrapped(source, trial, where)))
    }

  private def kekId(files: FileSettings, random: SecureRandom) =
    if (!files.wrapsTwice) None
    else {
      val id = new Array[Byte](KeyMaterial.KekIdBytes)
      random.nextBytes(id)
      Some(Base64.getEncoder.encodeToString(id))
    }

  def where(caller: String): String = s"trial from $caller"

  def fetched(source: KeySource, files: FileSettings, masterKeyId: String, where: String): KeyCalls = {
    val (_, fetching) = timed(DirectKeys.of(source, masterKeyId, files.dataKeyBits, where))
    KeyCalls(List("fetched" -> fetching))
  }

  def unwrapped(source: KeySource, trial: TrialKey, where: String): (String, Long) = {
    val (answer, unwrapping) = timed(source.unwrap(Seq(trial.wrapped), where).head)
    if (answer.fold(failed => throw failed, _.key) != trial.key)
      throw PmeErrors.wrappedKeyRefused(
        where,
        trial.wrapped.masterKeyId,
        "the KMS unwraps it to a different key",
        null
      )
    "unwrapped" -> unwrapping
  }

  def timed[A](call: => A): (A, Long) = {
    val began = System.nanoTime()
    val done = call
    done -> (System.nanoTime() - began) / 1000000
  }
}
