package io.pmeparquet

import java.util

/**
 * What was found out lately, by what it was found out of: at most so many entries, the least used of which give way, and
 * none older than its lifetime. Two threads that want one value wait for one making of it; others do not wait.
 *
 * @param lifetimeMillis how long a value holds; 0 for not at all
 */
final class RecentValues[K, V](
    maxEntries: Int,
    lifetimeMillis: Long,
    now: () => Long = RecentValues.monotonicMillis
) {
  private final class Entry {
    var value: Option[V] = None
    var made: Long = 0
  }

  private val entries = new util.LinkedHashMap[K, Entry](16, 0.75f, true) {
    override def removeEldestEntry(eldest: util.Map.Entry[K, Entry]): Boolean = size() > maxEntries
  }

  /** @param make not kept where it fails */
  def get(key: K)(make: => V): V = {
    val entry = entries.synchronized(entries.computeIfAbsent(key, _ => new Entry))
    entry.synchronized {
      entry.value.filter(_ => now() - entry.made < lifetimeMillis).getOrElse {
        val value = make
        entry.value = Some(value)
        entry.made = now()
        value
      }
    }
  }
}

object RecentValues {

  /** Unlike the time of day, it is not set back. */
  val monotonicMillis: () => Long = () => System.nanoTime() / 1000000
}
