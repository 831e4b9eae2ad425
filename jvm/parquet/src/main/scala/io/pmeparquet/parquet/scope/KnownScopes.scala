package io.pmeparquet.parquet.scope

import java.lang.ref.WeakReference
import java.util.concurrent.ConcurrentHashMap

import scala.collection.mutable
import scala.util.control.NonFatal

/**
 * The register of this JVM's scopes, by id, which also sweeps them. A scope stays here while a task, plan or writer
 * holds it. The register itself holds the readers used last, since their caches are worth keeping.
 */
private[scope] object KnownScopes {
  private val known = new ConcurrentHashMap[String, WeakReference[Scope]]
  private val recent = mutable.LinkedHashMap.empty[String, Scope]
  private val MaxRecent = 64

  def live(id: String): Option[Scope] = Option(known.get(id)).flatMap(ref => Option(ref.get()))

  /** A recent reader that fits. */
  def reader(fits: ReadScope => Boolean): Option[ReadScope] =
    recentScope { case one: ReadScope => fits(one); case _ => false }.collect { case one: ReadScope => one }

  /** A recent scope that fits. */
  def recentScope(fits: Scope => Boolean): Option[Scope] =
    recent.synchronized(recent.values.find(fits).map(touch))

  /** A recent reader that fits, or else a new one. */
  def readerOr(fits: ReadScope => Boolean)(make: => ReadScope): ReadScope =
    recent.synchronized(reader(fits).getOrElse(register(make)))

  /** The known scope with the id of a deserialised one; the deserialised one if there is none. */
  def intern(scope: Scope): Scope = recent.synchronized {
    live(scope.id).map(touch).getOrElse(register(scope))
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
