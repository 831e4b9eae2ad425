package io.pmeparquet.parquet.scope

import java.lang.ref.WeakReference
import java.util.concurrent.ConcurrentHashMap

import scala.util.control.NonFatal

/** Holds keys for a limited time, and drops them when it is swept after that. */
trait Expiring {
  def sweep(): Unit
}

/** Makes this JVM forget expired keys even if nobody asks for them again. */
private[scope] object Sweeper {
  private val SweepMillis = 10000L
  private val expiring = ConcurrentHashMap.newKeySet[WeakReference[Expiring]]()

  private lazy val thread: Thread = {
    val thread = new Thread(() => while (true) sweepAll(), "pme-parquet-sweeper")
    thread.setDaemon(true)
    thread.start()
    thread
  }

  /** Sweeps something for as long as somebody holds it. */
  def add(one: Expiring): Unit = {
    thread
    expiring.removeIf(_.get() == null)
    expiring.add(new WeakReference(one))
    ()
  }

  private def sweepAll(): Unit =
    try {
      Thread.sleep(SweepMillis)
      expiring.forEach(reference => Option(reference.get()).foreach(_.sweep()))
    } catch {
      // Nobody stops this thread, and the next round finds what this one left.
      case _: InterruptedException | NonFatal(_) => ()
    }
}
