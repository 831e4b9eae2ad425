package io.pmeparquet

import java.util
import java.util.concurrent.atomic.AtomicReference

/**
 * A cache of recent values with a maximum size (the least recently used entries are dropped) and a lifetime. Threads that
 * want the same value wait for one computation of it; others do not wait.
 *
 * @param lifetimeMillis how long a value is valid; 0 for not at all
 */
final class RecentValues[K, V](
    maxEntries: Int,
    lifetimeMillis: Long,
    now: () => Long = RecentValues.monotonicMillis
) {
  private final class Entry {
    @volatile var value: Option[V] = None
    @volatile var until: Long = 0
    @volatile var inMaking: Boolean = false
  }

  private val entries = new util.LinkedHashMap[K, Entry](16, 0.75f, true) {
    override def removeEldestEntry(eldest: util.Map.Entry[K, Entry]): Boolean = size() > maxEntries
  }

  /** @param make computes the value; a failure is not cached */
  def get(key: K)(make: => V): V = getFor(key)(make -> lifetimeMillis)

  /** As `get`, for a value that states its own lifetime in milliseconds, at most that of the cache. */
  def getFor(key: K)(make: => (V, Long)): V = {
    val entry = entryOf(key)
    entry.synchronized {
      live(entry).getOrElse {
        entry.inMaking = true
        try {
          val (value, millis) = make
          keep(entry, value, millis)
          value
        } finally entry.inMaking = false
      }
    }
  }

  /** The value, if it is cached and valid. */
  def find(key: K): Option[V] =
    entries.synchronized(Option(entries.get(key))).flatMap(entry => entry.synchronized(live(entry)))

  def put(key: K, value: V, millis: Long): Unit = {
    val entry = entryOf(key)
    entry.synchronized(keep(entry, value, millis))
  }

  /** Removes expired values, so that they do not stay in the memory of the process. */
  def sweep(): Unit = entries.synchronized {
    entries.values.removeIf(entry => !entry.inMaking && entry.value.isDefined && live(entry).isEmpty)
    ()
  }

  /** Removes all values. What is being computed is not kept. */
  def clear(): Unit = entries.synchronized(entries.clear())

  private def entryOf(key: K) = entries.synchronized(entries.computeIfAbsent(key, _ => new Entry))
  private def live(entry: Entry) = entry.value.filter(_ => now() < entry.until)

  private def keep(entry: Entry, value: V, millis: Long): Unit = {
    entry.value = Some(value)
    val time = now()
    val end = time + millis.min(lifetimeMillis).max(0)
    // The sum may overflow.
    entry.until = if (end < time) Long.MaxValue else end
  }
}

object RecentValues {

  /** Unlike the time of day, it is monotonic. */
  val monotonicMillis: () => Long = () => System.nanoTime() / 1000000
}

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
