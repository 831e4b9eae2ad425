package io.pmeparquet.parquet.scope

import java.lang.ref.WeakReference
import java.util
import java.util.concurrent.ConcurrentHashMap

import scala.collection.JavaConverters._
import scala.reflect.ClassTag
import scala.util.control.NonFatal

import io.pmeparquet.RecentValues

/** Holds keys for a limited time, or what leads to them. The registry sweeps it for as long as somebody holds it. */
trait Expiring {

  /** Forgets expired keys. */
  def sweep(): Unit

  /** Forgets all that can be had again. */
  def close(): Unit = ()
}

/**
 * Owns what a JVM remembers of keys, beyond the call that needs them: all scopes by id, with the keys and footers that they
 * cache, and what else must expire.
 *
 * One rule: a key goes when its lifetime ends, swept if nobody asks for it again. A scope, with its open KMS, stays as long
 * as a task, plan or writer holds it. The registry itself holds the readers used last, for the lifetime of their keys, and
 * for a minute at least. At the end of an application it closes.
 *
 * @param now in milliseconds
 */
private[pmeparquet] sealed class ScopeRegistry(now: () => Long) {
  private final class Used(val scope: Scope, val until: Long)

  private val known = new ConcurrentHashMap[String, WeakReference[Scope]]
  private val recent = new util.LinkedHashMap[String, Used]
  private val owned = ConcurrentHashMap.newKeySet[WeakReference[Expiring]]()

  /** The scope with an id, if somebody in this JVM holds it. */
  def live(id: String): Option[Scope] = Option(known.get(id)).flatMap(ref => Option(ref.get()))

  /**
   * The scope that fitting reads share, or else a new one.
   *
   * @param open outside the lock, since a KMS may be slow
   */
  def shared[S <: Scope: ClassTag, O](fits: S => Boolean)(open: => O)(make: O => S): S =
    find(fits).getOrElse {
      val opened = open
      recent.synchronized(find(fits).getOrElse(register(make(opened))))
    }

  private def find[S <: Scope: ClassTag](fits: S => Boolean): Option[S] = recent.synchronized {
    recent.values.asScala.map(_.scope).collectFirst { case one: S if fits(one) => one }.map(touch(_))
  }

  /** The known scope with the id of a deserialized one; the deserialized one if there is none. */
  def intern(scope: Scope): Scope = recent.synchronized {
    live(scope.id).map(touch(_)).getOrElse(register(scope))
  }

  def register[S <: Scope](scope: S): S = recent.synchronized {
    known.put(scope.id, new WeakReference[Scope](scope))
    known.values.removeIf(_.get() == null)
    touch(scope)
  }

  private def touch[S <: Scope](scope: S): S = {
    scope.sharedMillis.foreach { millis =>
      recent.remove(scope.id)
      recent.put(scope.id, new Used(scope, now() + millis.max(ScopeRegistry.MinMillis)))
      if (recent.size > ScopeRegistry.MaxRecent) recent.remove(recent.keySet.iterator.next())
    }
    scope
  }

  /** Sweeps something as often as scopes. */
  def own(one: Expiring): Unit = {
    owned.removeIf(_.get() == null)
    owned.add(new WeakReference(one))
    ()
  }

  /** Forgets expired keys even if nobody asks for them again, and readers that nobody has used for long. */
  def sweep(): Unit = {
    recent.synchronized(recent.values.removeIf(_.until < now()))
    known.values.forEach(reference => Option(reference.get()).foreach(_.sweep()))
    owned.forEach(reference => Option(reference.get()).foreach(_.sweep()))
  }

  /** Forgets all that nobody else holds. A later read or write opens the KMS again. */
  def close(): Unit = {
    recent.synchronized(recent.clear())
    owned.forEach(reference => Option(reference.get()).foreach(_.close()))
  }
}

/** That of this JVM. */
private[pmeparquet] object ScopeRegistry extends ScopeRegistry(RecentValues.monotonicMillis) {
  private[scope] val MaxRecent = 64
  private[scope] val MinMillis = 60000L
  private val SweepMillis = 10000L

  private val sweeper = new Thread(() => while (true) sweepLater(), "pme-parquet-sweeper")
  sweeper.setDaemon(true)
  sweeper.start()

  private def sweepLater(): Unit =
    try {
      Thread.sleep(SweepMillis)
      sweep()
    } catch {
      // Nobody stops this thread. The next round finds whatever this one left.
      case _: InterruptedException | NonFatal(_) => ()
    }
}
