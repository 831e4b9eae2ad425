package io.pmeparquet.parquet.scope

import java.lang.ref.WeakReference
import java.util.concurrent.ConcurrentHashMap

import scala.collection.mutable
import scala.reflect.ClassTag
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration

import io.pmeparquet.keys.{KeyBroker, KeySource, KmsSettings, KmsSource, KmsUse}
import io.pmeparquet.kms.KmsAccess

/**
 * The configuration, identity and caches of one reader or one write job. Nothing is cached outside a scope.
 *
 * parquet-java makes our crypto factory by class name from a Hadoop configuration, so the configuration must lead to
 * the scope: it holds the scope's random id and nothing else. The functions that Spark serialises for tasks carry the
 * scope itself. Its `toString` prints only the id. ''Crosses the wire.''
 */
abstract class Scope private[pmeparquet] (val id: String) extends Serializable {

  /** Whether reads share it, so that its caches are worth keeping. */
  private[pmeparquet] def isShared: Boolean

  /** Forgets expired keys. */
  private[pmeparquet] def sweep(): Unit
  override def toString: String = s"${getClass.getSimpleName}($id)"
}

/** What a scope has only in the JVM that made it: the KMS, and the options that opened it. */
private[parquet] final class ScopeOpening(val source: KmsSource, val use: Option[KmsUse])

/** How a scope gets keys in a JVM other than the one that made it. ''Crosses the wire'' with it. */
private[parquet] sealed trait KeyAccess extends Serializable {
  def open(conf: Configuration, lifetimeMillis: Long): KeySource
}

private[parquet] object KeyAccess {

  /** `kms.callFrom=driver` */
  final case class AtDriver(broker: KeyBroker) extends KeyAccess {
    override def open(conf: Configuration, lifetimeMillis: Long): KeySource = broker
  }

  /** `kms.callFrom=executor` */
  final case class AtKms(settings: KmsSettings) extends KeyAccess {
    override def open(conf: Configuration, lifetimeMillis: Long): KeySource =
      new KmsSource(KmsAccess.open(settings, conf), lifetimeMillis)
  }
}

/** Holds keys for a limited time, and forgets the expired ones when it is swept. */
trait Expiring {
  def sweep(): Unit
}

/**
 * The register of this JVM's scopes, by id, which also sweeps them. A scope stays here while a task, plan or writer
 * holds it. The register itself holds the readers used last, since their caches are worth keeping.
 */
private[scope] object KnownScopes {
  private val known = new ConcurrentHashMap[String, WeakReference[Scope]]
  private val recent = mutable.LinkedHashMap.empty[String, Scope]
  private val MaxRecent = 64

  def live(id: String): Option[Scope] = Option(known.get(id)).flatMap(ref => Option(ref.get()))

  /** A recent scope of this kind that fits. */
  def recentScope[S <: Scope: ClassTag](fits: S => Boolean): Option[S] = recent.synchronized {
    recent.values.collectFirst { case one: S if fits(one) => one }.map(touch(_))
  }

  /** A recent scope of this kind that fits, or else a new one. */
  def recentOr[S <: Scope: ClassTag](fits: S => Boolean)(make: => S): S =
    recent.synchronized(recentScope(fits).getOrElse(register(make)))

  /** The known scope with the id of a deserialised one; the deserialised one if there is none. */
  def intern(scope: Scope): Scope = recent.synchronized {
    live(scope.id).map(touch(_)).getOrElse(register(scope))
  }

  def register[S <: Scope](scope: S): S = recent.synchronized {
    sweeper
    known.put(scope.id, new WeakReference[Scope](scope))
    known.values.removeIf(_.get() == null)
    touch(scope)
  }

  private def touch[S <: Scope](scope: S): S = {
    if (scope.isShared) {
      recent.remove(scope.id)
      recent.put(scope.id, scope)
      if (recent.size > MaxRecent) recent.remove(recent.head._1)
    }
    scope
  }

  /** Forgets expired keys even if nobody asks for them again. */
  private lazy val sweeper: Thread = {
    val thread = new Thread(() => while (true) sweepAll(), "pme-parquet-sweeper")
    thread.setDaemon(true)
    thread.start()
    thread
  }
  private val SweepMillis = 10000L

  private val expiring = ConcurrentHashMap.newKeySet[WeakReference[Expiring]]()

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
      // Nobody stops this thread. The next round finds whatever this one left.
      case _: InterruptedException | NonFatal(_) => ()
    }
}
