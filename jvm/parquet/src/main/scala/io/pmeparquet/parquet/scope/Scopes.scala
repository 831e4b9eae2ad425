package io.pmeparquet.parquet.scope

import java.lang.ref.WeakReference
import java.util.concurrent.ConcurrentHashMap
import java.util.UUID

import scala.collection.mutable
import scala.reflect.ClassTag
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration

import io.pmeparquet.{PmeErrors, RecentValues}
import io.pmeparquet.columns.{ColumnKeys, KeyPlan, LeafColumn}
import io.pmeparquet.keys.{KeyDesks, KeyGrants, KeyRoute, KeySource, KmsSource, KmsUse}
import io.pmeparquet.kms.KmsAccess
import io.pmeparquet.material.{
  DataKeyUnwrapper,
  DataKeyWrapper,
  DoubleWrapper,
  JobKeks,
  KeyMaterial,
  SingleWrapper
}
import io.pmeparquet.options.{FileSettings, ReadSettings, WriteSettings}
import io.pmeparquet.parquet.bytes.ReadCounters

/**
 * One reader's or one write job's configuration, identity and caches. Nothing is cached outside a scope.
 *
 * parquet-java makes our crypto factory by class name from a Hadoop configuration, so the configuration must lead to
 * the scope: it holds the scope's random id and nothing else. The scope itself travels inside the functions that Spark
 * serialises for tasks. ''Crosses the wire.'' It prints no more than its id.
 */
sealed abstract class Scope(val id: String) extends Serializable {

  /** Forgets keys whose time is over. */
  private[parquet] def sweep(): Unit
  override def toString: String = s"${getClass.getSimpleName}($id)"
}

/** @param access how executors come by keys */
final class ReadScope private[parquet] (
    id: String,
    val settings: ReadSettings,
    access: KeyAccess,
    @transient private[parquet] val opening: ScopeOpening
) extends Scope(id) {
  @transient private var opened: DataKeyUnwrapper = _
  @transient private lazy val caches: ScopeCaches = new ScopeCaches(settings)

  /** What this scope keeps of that kind in this JVM. */
  private[parquet] def cache[K, V](kind: ScopeCache[K, V]): RecentValues[K, V] = caches.of(kind)

  @transient lazy val counters: ReadCounters = new ReadCounters

  /** What data keys are unwrapped with, in this JVM. */
  def unwrapper(conf: Configuration): DataKeyUnwrapper = synchronized {
    if (opened == null) {
      val source = Option(opening).fold(access.open(conf, settings.kekLifetimeMillis))(_.source)
      opened = new DataKeyUnwrapper(source, settings.kekLifetimeMillis)
    }
    opened
  }

  override private[parquet] def sweep(): Unit = {
    caches.sweep()
    Option(opening).foreach(_.source.sweep())
    synchronized(Option(opened)).foreach(_.sweep())
  }

  private def readResolve(): AnyRef = Scopes.intern(this)
}

/**
 * @param keks with double wrapping, made on the driver: executors then need no KMS, and the scope holds no way to it
 * @param access otherwise, how executors have data keys wrapped
 * @param tableDirectory path of the table's directory, for `aadPrefix`
 */
final class WriteScope private[parquet] (
    id: String,
    val settings: FileSettings,
    keks: Option[JobKeks],
    access: Option[KeyAccess],
    @transient private[parquet] val opening: ScopeOpening,
    val tableDirectory: String
) extends Scope(id) {
  @transient private var opened: KeySource = _
  @transient @volatile private var lastPlan: WriteScope.Planned = _

  /** The key of each column of a file. The files of a job have the same columns, so this is computed once in a JVM. */
  private[parquet] def plan(leaves: Seq[LeafColumn], columnKeys: Option[ColumnKeys]): KeyPlan = {
    val last = lastPlan
    if (last != null && last.leaves == leaves && last.columnKeys == columnKeys) last.plan
    else {
      val plan = KeyPlan.of(leaves, columnKeys, settings.unlisted, settings.caseSensitive)
      lastPlan = new WriteScope.Planned(leaves, columnKeys, plan)
      plan
    }
  }

  /** Of the KMS: its id and url. ''Driver only.'' */
  private[parquet] def instance: (String, String) = keks.fold(opening.source.instance)(_.instance)

  def wrapper(conf: Configuration): DataKeyWrapper = keks match {
    case Some(made) => new DoubleWrapper(made)
    case None => new SingleWrapper(open(conf))
  }

  def open(conf: Configuration): KeySource = synchronized {
    if (opened == null)
      opened = Option(opening).map(_.source).getOrElse {
        access
          .getOrElse(throw new IllegalStateException("internal error: no KMS in scope"))
          .open(conf, lifetimeMillis = 0)
      }
    opened
  }

  // What it holds, it needs until the job is done.
  override private[parquet] def sweep(): Unit = ()

  private def readResolve(): AnyRef = Scopes.intern(this)
}

private object WriteScope {

  /** A key plan, and what it was made of. */
  final class Planned(val leaves: Seq[LeafColumn], val columnKeys: Option[ColumnKeys], val plan: KeyPlan)
}

/** What a scope has where it was made, and never elsewhere: the KMS itself, and what it was made of. */
private[parquet] final class ScopeOpening(val source: KmsSource, val use: Option[KmsUse])

/** What holds keys for a time, and forgets them when it is swept after that. */
trait Expiring {
  def sweep(): Unit
}

object Scopes {
  val ReadId = "pme.parquet.read.scope"
  val WriteId = "pme.parquet.write.scope"

  /** Scopes stay reachable while a task, plan or writer holds them; those of readers longer, for their caches. */
  private val known = new ConcurrentHashMap[String, WeakReference[Scope]]
  private val recent = mutable.LinkedHashMap.empty[String, ReadScope]
  private val MaxRecent = 64

  /**
   * The scope of equal settings, if this driver has one: its caches are for the same user and the same keys.
   *
   * @throws io.pmeparquet.PmeException where the KMS cannot be opened
   */
  def forRead(use: KmsUse, settings: ReadSettings, conf: Configuration): ReadScope = {
    def existing = recent.synchronized(recent.values.find(isOf(_, use, settings)).map(touch))
    existing.getOrElse {
      val opening = open(use, conf, settings.kekLifetimeMillis)
      recent.synchronized(
        existing.getOrElse(register {
          val access = accessOf(opening, use, KeyGrants.toRead(settings.givesOut))
          new ReadScope(newId(), settings, access, opening)
        })
      )
    }
  }

  private def isOf(scope: ReadScope, use: KmsUse, settings: ReadSettings) =
    scope.settings == settings && scope.opening != null && scope.opening.use.contains(use)

  /** A scope that is nobody else's, for a KMS that this driver has opened and that no executor calls. */
  private[parquet] def alone(source: KmsSource, route: KeyRoute, settings: ReadSettings): ReadScope = {
    val access = KeyAccess.AtDriver(KeyDesks.open(source, route, KeyGrants.toRead(settings.givesOut)))
    recent.synchronized(register(new ReadScope(newId(), settings, access, new ScopeOpening(source, None))))
  }

  private[parquet] def open(use: KmsUse, conf: Configuration, lifetimeMillis: Long): ScopeOpening = {
    val kms = KmsAccess.open(use.settings, conf)
    val source = new KmsSource(kms, lifetimeMillis, noticed = SingleWrapping.noticed(use.settings, kms))
    new ScopeOpening(source, Some(use))
  }

  /** @param grants what executors may ask the driver for; what may call the KMS asks it what it likes */
  private[parquet] def accessOf(opening: ScopeOpening, use: KmsUse, grants: KeyGrants): KeyAccess =
    use.route match {
      case Some(route) => KeyAccess.AtDriver(KeyDesks.open(opening.source, route, grants))
      case None => KeyAccess.AtKms(use.settings)
    }

  /**
   * The scope of one write job. The KMS is asked here, on the driver, before any file is touched.
   *
   * @throws io.pmeparquet.PmeException what the KMS says of a key it does not have or does not give
   */
  def forWrite(settings: WriteSettings, tableDirectory: String, conf: Configuration): WriteScope = {
    val where = s"write to $tableDirectory"
    val files = settings.files
    if (!files.masterKeys.forall(KeyMaterial.isKeyName))
      throw PmeErrors.contradiction(
        "footerKey, columnKeys and uniformKey",
        "a key id has control characters, which readers refuse",
        "Use another id."
      )
    // Where files of a directory differ, each is looked at before it is written: names that Spark makes are long.
    if (!files.aadPrefix.exists(_.differsByFile)) {
      files.prefixToWrite(tableDirectory, "", where)
      ()
    }
    val opening = open(settings.use, conf, lifetimeMillis = 0)
    if (files.directKeys) files.masterKeys.foreach(DirectKeys.of(opening.source, _, files.dataKeyBits, where))
    // With single wrapping made and thrown away: a key that cannot wrap is found here and not in a task.
    val keks =
      if (files.directKeys) None
      else Some(JobKeks.make(opening.source, files.masterKeys, files.kekBits, where))
    val scope = new WriteScope(
      newId(),
      files,
      keks.filter(_ => files.wrapsTwice),
      if (files.wrapsTwice) None
      else Some(accessOf(opening, settings.use, KeyGrants.toWrite(files.masterKeys, files.directKeys))),
      if (files.wrapsTwice) null else opening,
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

  /** Keys whose time is over are forgotten also where nobody asks for them again. */
  private lazy val sweeper: Thread = {
    val thread = new Thread(() => while (true) sweepAll(), "pme-parquet-sweeper")
    thread.setDaemon(true)
    thread.start()
    thread
  }
  private val SweepMillis = 10000L

  private val expiring = ConcurrentHashMap.newKeySet[WeakReference[Expiring]]()

  /** Sweeps something as scopes are swept, for as long as somebody holds it. */
  def sweepAlso(one: Expiring): Unit = {
    sweeper
    expiring.removeIf(_.get() == null)
    expiring.add(new WeakReference(one))
    ()
  }

  private def sweepAll(): Unit =
    try {
      Thread.sleep(SweepMillis)
      known.values.forEach(reference => Option(reference.get()).foreach(_.sweep()))
      expiring.forEach(reference => Option(reference.get()).foreach(_.sweep()))
    } catch {
      // Nobody stops this thread, and the next round finds what this one left.
      case _: InterruptedException | NonFatal(_) => ()
    }

  private def register[S <: Scope](scope: S): S = {
    sweeper
    known.put(scope.id, new WeakReference[Scope](scope))
    known.values.removeIf(_.get() == null)
    touch(scope)
  }

  private def touch[S <: Scope](scope: S): S = {
    scope match {
      case reader: ReadScope =>
        recent.remove(scope.id)
        recent.put(scope.id, reader)
        if (recent.size > MaxRecent) recent.remove(recent.head._1)
      case _ => ()
    }
    scope
  }
}
