package io.pmeparquet.parquet

import java.lang.ref.WeakReference
import java.util.concurrent.ConcurrentHashMap
import java.util.UUID

import scala.collection.mutable
import scala.reflect.ClassTag

import org.apache.hadoop.conf.Configuration

import io.pmeparquet.{AesKey, PmeErrors, RecentValues}
import io.pmeparquet.keys._
import io.pmeparquet.options.{FileSettings, ReadSettings, WriteSettings}
import io.pmeparquet.parquet.pages.{OpenFile, ReadCounters}

/**
 * One reader's or one write job's configuration, identity and caches. Nothing is cached outside a scope.
 *
 * parquet-java makes our crypto factory by class name from a Hadoop configuration, so the configuration must lead to
 * the scope: it holds the scope's random id and nothing else. The scope itself travels inside the functions that Spark
 * serialises for tasks. ''Crosses the wire.'' It prints no more than its id.
 */
sealed abstract class Scope(val id: String) extends Serializable {
  override def toString: String = s"${getClass.getSimpleName}($id)"
}

final class ReadScope private[parquet] (id: String, val settings: ReadSettings) extends Scope(id) {
  @transient private var opened: DataKeyUnwrapper = _
  @transient private[parquet] lazy val admissions: Admissions = new Admissions

  /** The files whose footers this scope has opened in this JVM, for as long as it may use keys without the KMS. */
  @transient private[parquet] lazy val files: RecentValues[FileVersion, OpenFile] =
    new RecentValues(OpenFile.MaxFiles, settings.kekLifetimeMillis)

  @transient lazy val counters: ReadCounters = new ReadCounters

  /** Opens the KMS at first use in this JVM. */
  def unwrapper(conf: Configuration): DataKeyUnwrapper = synchronized {
    if (opened == null)
      opened = new DataKeyUnwrapper(KmsAccess.open(settings.kms, conf), settings.kekLifetimeMillis)
    opened
  }

  private def readResolve(): AnyRef = Scopes.intern(this)
}

/**
 * @param keks with double wrapping, made on the driver: executors then need no KMS, and the scope holds no way to it
 * @param kms otherwise, the KMS that executors call
 * @param tableDirectory path of the table's directory, for `aadPrefix`
 */
final class WriteScope private[parquet] (
    id: String,
    val settings: FileSettings,
    keks: Option[JobKeks],
    kms: Option[KmsSettings],
    val tableDirectory: String
) extends Scope(id) {
  @transient private var opened: Kms = _

  def wrapper(conf: Configuration): DataKeyWrapper = keks match {
    case Some(made) => new DoubleWrapper(made)
    case None => new SingleWrapper(open(conf))
  }

  def open(conf: Configuration): Kms = synchronized {
    if (opened == null)
      opened = KmsAccess.open(
        kms.getOrElse(throw new IllegalStateException("internal error: no KMS in scope")),
        conf
      )
    opened
  }

  private def readResolve(): AnyRef = Scopes.intern(this)
}

object Scopes {
  val ReadId = "pme.parquet.read.scope"
  val WriteId = "pme.parquet.write.scope"

  /** Scopes stay reachable while a task, plan or writer holds them, and some time longer for their caches. */
  private val known = new ConcurrentHashMap[String, WeakReference[Scope]]
  private val recent = mutable.LinkedHashMap.empty[String, Scope]
  private val MaxRecent = 64

  /** The scope of equal settings, if this driver has one: its caches are for the same user and the same keys. */
  def forRead(settings: ReadSettings): ReadScope = recent.synchronized {
    recent.values
      .collectFirst { case scope: ReadScope if scope.settings == settings => scope }
      .map(touch)
      .getOrElse(register(new ReadScope(newId(), settings)))
  }

  /**
   * The scope of one write job. The KMS is asked here, on the driver, before any file is touched.
   *
   * @throws io.pmeparquet.PmeException what the KMS says of a key it does not have or does not give
   */
  def forWrite(settings: WriteSettings, tableDirectory: String, conf: Configuration): WriteScope =
    recent
      .synchronized(prepared.remove(settings -> tableDirectory))
      .getOrElse(make(settings, tableDirectory, conf))

  /** Makes a scope ahead of the job that will take it, once: the KMS is not asked again. */
  def prepareWrite(settings: WriteSettings, tableDirectory: String, conf: Configuration): Unit = {
    val key = settings -> tableDirectory
    if (!recent.synchronized(prepared.contains(key))) {
      val scope = make(settings, tableDirectory, conf)
      recent.synchronized {
        prepared.put(key, scope)
        if (prepared.size > MaxPrepared) prepared.remove(prepared.head._1)
      }
    }
  }

  private val prepared = mutable.LinkedHashMap.empty[(WriteSettings, String), WriteScope]
  private val MaxPrepared = 16

  private def make(settings: WriteSettings, tableDirectory: String, conf: Configuration): WriteScope = {
    val where = s"write to $tableDirectory"
    val files = settings.files
    val kms = KmsAccess.open(settings.kms, conf)
    val doubleWrapped = files.doubleWrapping && !files.directKeys
    if (files.directKeys) files.masterKeys.foreach(DirectKeys.of(kms, _, files.dataKeyBits, where))
    // With single wrapping made and thrown away: a key that cannot wrap is found here and not in a task.
    val keks = if (files.directKeys) None else Some(JobKeks.make(kms, files.masterKeys, files.kekBits, where))
    val scope = new WriteScope(
      newId(),
      files,
      keks.filter(_ => doubleWrapped),
      if (doubleWrapped) None else Some(settings.kms),
      tableDirectory
    )
    recent.synchronized(register(scope))
  }

  private[parquet] def intern(scope: Scope): Scope = recent.synchronized {
    live(scope.id).map(touch).getOrElse(register(scope))
  }

  def read(conf: Configuration): ReadScope = of[ReadScope](conf.get(ReadId))
  def write(conf: Configuration): WriteScope = of[WriteScope](conf.get(WriteId))

  private def of[S <: Scope](id: String)(implicit kind: ClassTag[S]): S =
    Option(id).flatMap(live).collect { case scope: S => scope }.getOrElse {
      throw new IllegalStateException(
        "internal error: this JVM was not handed the encryption settings of this read or write"
      )
    }

  private def live(id: String): Option[Scope] = Option(known.get(id)).flatMap(ref => Option(ref.get()))

  private def newId(): String = UUID.randomUUID().toString

  private def register[S <: Scope](scope: S): S = {
    known.put(scope.id, new WeakReference[Scope](scope))
    known.values.removeIf(_.get() == null)
    touch(scope)
  }

  private def touch[S <: Scope](scope: S): S = {
    recent.remove(scope.id)
    recent.put(scope.id, scope)
    if (recent.size > MaxRecent) recent.remove(recent.head._1)
    scope
  }
}

/** `keyManagement=direct`: the named key of the KMS is the data key. */
private[parquet] object DirectKeys {
  def of(kms: Kms, keyId: String, bits: Option[Int], where: String): AesKey = {
    val key = kms.directKey(keyId, where).getOrElse {
      throw PmeErrors.unsupported(
        where,
        "keyManagement=direct",
        s"keys do not leave ${kms.describe}",
        "Use keyManagement=envelope."
      )
    }
    bits.filter(_ != key.bits).foreach { wanted =>
      throw PmeErrors.contradiction(
        "keyManagement and dataKeyBits",
        s"key '$keyId' has ${key.bits} bits and dataKeyBits is $wanted",
        "Leave out dataKeyBits, or name another key."
      )
    }
    key
  }
}
