package io.pmeparquet.options

import java.util.Locale

import io.pmeparquet.{PmeErrors, PmeException}

/**
 * Finds misspelt options. Names that are not ours belong to Spark's `parquet` source and are left alone, but for those
 * that begin with `kms` or are a slip of the finger away from one of ours.
 */
object UnknownOptions {
  private val ours: Seq[String] =
    (PmeOptions.all.map(_.name) ++ PmeOptions.all.flatMap(PmeOptions.parquetNameOf(_))).distinct
  private val known: Set[String] = ours.map(lower).toSet

  /** Options of other sources that happen to lie near a name of ours, and that generic code hands to every source. */
  private val Namesakes = Set("header")

  def isKnown(name: String): Boolean = known.contains(lower(name))

  /** For an option of a read or write. */
  def check(name: String): Unit = {
    val text = lower(name)
    if (!known.contains(text) && !Namesakes.contains(text)) {
      val nearest = UnknownOptions.nearest(name, ours)
      val slips = distance(text, lower(nearest))
      if (text.startsWith("kms") || slips <= tolerance(nearest))
        throw PmeErrors.unknownOption("option", name, nearest)
    }
  }

  /** For a name below our own prefix of the session configuration: there, nothing is anybody else's. */
  def unknownSessionConf(fullName: String, name: String): PmeException =
    PmeErrors.unknownOption("session conf", fullName, nearest(name, ours))

  /** Which of some names one was most likely meant to be. */
  def nearest(name: String, names: Seq[String]): String =
    names.minBy(candidate => distance(lower(name), lower(candidate)))

  // Short names lie near too many words for two slips to be telling.
  private def tolerance(name: String): Int = if (name.length <= 5) 1 else 2

  private def lower(name: String): String = name.toLowerCase(Locale.ROOT)

  /** Levenshtein's distance, two rows at a time. */
  private[options] def distance(a: String, b: String): Int = {
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
