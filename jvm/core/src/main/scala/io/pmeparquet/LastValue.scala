package io.pmeparquet

/**
 * Keeps the value of the key that was asked for last, for keys that are slow to compute with, quick to compare, and rarely
 * change. It holds this key until it is asked for another one. Threads may compute a value at the same time.
 */
private[pmeparquet] final class LastValue[K, V] {
  @volatile private var last: Option[(K, V)] = None

  /** @param make computes the value; a failure is not kept */
  def get(key: K)(make: => V): V = last match {
    case Some((same, value)) if same == key => value
    case _ =>
      val value = make
      last = Some(key -> value)
      value
  }
}
