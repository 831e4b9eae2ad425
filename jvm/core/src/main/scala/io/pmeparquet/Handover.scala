package io.pmeparquet

import java.util.concurrent.atomic.AtomicReference

/**
 * A value for one taker, who must present its key in time. Then it drops value and key: both may contain secrets.
 *
 * @param lifetimeMillis how long it waits
 */
final class Handover[K, V](
    key: K,
    value: V,
    lifetimeMillis: Long,
    now: () => Long = RecentValues.monotonicMillis
) {
  private val waiting = new AtomicReference(new Handover.Waiting(key, value, now() + lifetimeMillis))

  /** Whether it waits for a taker with this key. */
  def waitsFor(other: K): Boolean = fresh.exists(_.key == other)

  /** The value. None if the key differs, or if the value was taken or has expired. */
  def take(other: K): Option[V] =
    fresh.filter(one => one.key == other && waiting.compareAndSet(one, null)).map(_.value)

  /** Drops an expired value. */
  def sweep(): Unit = {
    fresh
    ()
  }

  private def fresh: Option[Handover.Waiting[K, V]] = Option(waiting.get).filter { one =>
    val holds = now() < one.until
    if (!holds) waiting.compareAndSet(one, null)
    holds
  }
}

private object Handover {
  final class Waiting[K, V](val key: K, val value: V, val until: Long)
}
