package io.pmeparquet

import java.util.Locale

/** Finds the names that a misspelt name most likely means. Case is ignored. */
object Spelling {

  /** All names, the nearest first. */
  def nearest(name: String, names: Seq[String]): Seq[String] =
    names.map(one => one -> distance(name, one)).sortBy(_._2).map(_._1)

  /** The Levenshtein distance. */
  def distance(one: String, other: String): Int = distance(one, other, Int.MaxValue)

  /** Whether so few letters are wrong. Nearly all names differ at their beginning, and then no more is compared. */
  def isNear(one: String, other: String, most: Int): Boolean =
    math.abs(one.length - other.length) <= most && distance(one, other, most) <= most

  /** With two rows in memory. If the distance is more than the bound, then some number that is more, too. */
  private def distance(one: String, other: String, bound: Int): Int = {
    val (a, b) = (one.toLowerCase(Locale.ROOT), other.toLowerCase(Locale.ROOT))
    var above = Array.range(0, b.length + 1)
    var row = new Array[Int](b.length + 1)
    var i = 0
    var least = 0
    while (i < a.length && least <= bound) {
      row(0) = i + 1
      least = row(0)
      var j = 0
      while (j < b.length) {
        val substitution = above(j) + (if (a(i) == b(j)) 0 else 1)
        row(j + 1) = math.min(substitution, math.min(row(j), above(j + 1)) + 1)
        least = math.min(least, row(j + 1))
        j += 1
      }
      val free = above
      above = row
      row = free
      i += 1
    }
    if (least > bound) least else above(b.length)
  }
}
