package io.pmeparquet

import java.util.Locale

/** Finds the names that a misspelt name most likely means. Case is ignored. */
object Spelling {

  /** All names, the nearest first. */
  def nearest(name: String, names: Seq[String]): Seq[String] =
    names.map(one => one -> distance(name, one)).sortBy(_._2).map(_._1)

  /** The Levenshtein distance, with two rows in memory. */
  def distance(one: String, other: String): Int = {
    val (a, b) = (one.toLowerCase(Locale.ROOT), other.toLowerCase(Locale.ROOT))
    var above = Array.range(0, b.length + 1)
    var row = new Array[Int](b.length + 1)
    a.indices.foreach { i =>
      row(0) = i + 1
      b.indices.foreach { j =>
        val substitution = above(j) + (if (a(i) == b(j)) 0 else 1)
        row(j + 1) = math.min(substitution, math.min(row(j), above(j + 1)) + 1)
      }
      val free = above
      above = row
      row = free
    }
    above(b.length)
  }
}
