package io.pmeparquet

import java.util.Locale

/** Which of some names one was most likely meant to be. Case does not count. */
object Spelling {

  /** All of them, the nearest first. */
  def nearest(name: String, names: Seq[String]): Seq[String] = names.sortBy(distance(name, _))

  /** Levenshtein's distance, two rows at a time. */
  def distance(one: String, other: String): Int = {
    val (a, b) = (one.toLowerCase(Locale.ROOT), other.toLowerCase(Locale.ROOT))
    val first = Array.range(0, b.length + 1)
    a.indices
      .foldLeft(first) { (previous, i) =>
        b.indices
          .scanLeft(i + 1) { (left, j) =>
            val substitution = previous(j) + (if (a(i) == b(j)) 0 else 1)
            math.min(substitution, math.min(left, previous(j + 1)) + 1)
          }
          .toArray
      }
      .last
  }
}
