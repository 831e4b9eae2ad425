package io.pmeparquet.options

import java.util.Locale

import io.pmeparquet.{PmeErrors, PmeException, Spelling}

/**
 * Finds misspelt options. Names that are not ours belong to Spark's `parquet` source and are accepted, except those that
 * begin with `kms` or are a typo away from one of ours.
 */
object UnknownOptions {
  private val ours: Seq[String] =
    (PmeOptions.all.map(_.name) ++ PmeOptions.all.flatMap(ParquetNames.of(_))).distinct
  private val known: Set[String] = ours.map(lower).toSet

  /** Options of other sources with a name similar to ours, which generic code passes to every source. */
  private val Namesakes = Set("header")

  /** ORC's own options, such as `orc.mask`. */
  private val OfOrc = "orc."

  def isKnown(name: String): Boolean = known.contains(lower(name))

  /** For an option of a read or write. */
  def check(name: String): Unit = {
    val text = lower(name)
    // The factory's prefix means nothing to the format, which would ignore the option.
    if (text.startsWith(PmeOptions.FactoryPrefix))
      throw unknown("option", name, name.drop(PmeOptions.FactoryPrefix.length))
    // Settings are no options, with whatever prefix.
    SessionNames.optionOf(name).foreach(option => throw unknown("option", name, option))
    if (SettingNames.hasSparkPrefix(name) && SettingNames.concerns(name))
      throw PmeErrors.unknownOption("option", name, SettingNames.bare(name))
    SettingNames.check(name)
    if (!known.contains(text) && !Namesakes.contains(text) && !text.startsWith(OfOrc)) {
      val isOurs = text.startsWith("kms")
      // For speed, as every option of every query is checked: a larger difference in length is not a typo.
      val near = if (isOurs) ours else ours.filter(one => math.abs(one.length - name.length) <= MostSlips)
      Spelling
        .nearest(name, near)
        .headOption
        .filter(nearest => isOurs || Spelling.distance(name, nearest) <= tolerance(nearest))
        .foreach(nearest => throw PmeErrors.unknownOption("option", name, nearest))
    }
  }

  /** For a session setting with our own prefix, where every name must be ours. */
  def unknownSessionConf(fullName: String, name: String): PmeException =
    unknown("session conf", fullName, name)

  /**
   * For a setting with our own prefix elsewhere.
   *
   * @param where what messages call such settings
   */
  def unknown(where: String, fullName: String, name: String): PmeException =
    PmeErrors.unknownOption(where, fullName, Spelling.nearest(name, ours).head)

  // Short names are similar to too many words to allow two typos.
  private def tolerance(name: String): Int = if (name.length <= 5) 1 else MostSlips

  private val MostSlips = 2

  private def lower(name: String): String = name.toLowerCase(Locale.ROOT)
}
