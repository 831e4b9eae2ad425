package io.pmeparquet

import java.lang.ref.SoftReference

/**
 * Keeps the value of the key that was asked for last, for keys that are slow to compute with, quick to compare, and rarely
 * change. It holds this key, which may contain secrets, until it is asked for another one or memory is short. Threads may
 * compute a value at the same time.
 */
private[pmeparquet] final class LastValue[K, V] {
  @volatile private var last = new SoftReference(Option.empty[(K, V)])

  /** @param make computes the value; a failure is not kept */
  def get(key: K)(make: => V): V = Option(last.get).flatten match {
    case Some((same, value)) if same == key => value
    case _ =>
      val value = make
      last = new SoftReference(Some(key -> value))
      value
  }
}
