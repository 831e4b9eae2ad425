package io.pmeparquet.options

import java.util.Locale

import io.pmeparquet.{PmeErrors, PmeException, Spelling}

/**
 * Finds misspelt options. Names that are not ours belong to Spark's `parquet` source and are accepted, except those that
 * begin with `kms` or are a typo away from one of ours.
 */
object UnknownOptions {
  private val ours: Seq[String] = ParquetNames.ofOptions

  /** Options of other sources with a name similar to ours, which generic code passes to every source. */
  private val Namesakes = Set("header")

  /** ORC's own options, such as `orc.mask`. */
  private val OfOrc = "orc."

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
    if (!ParquetNames.isOption(name) && !Namesakes.contains(text) && !text.startsWith(OfOrc)) {
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

/**
 * Names of options that show that a read or write was meant for this format, whatever format it names. Names that other
 * formats use with another meaning are not among them, and `Encryption.options()` never consists of those alone.
 */
object TellingOptions {
  private val shared = Set(PmeOptions.Algorithm, PmeOptions.Reader, PmeOptions.Scan)

  private val ours: Set[String] =
    PmeOptions.all
      .filterNot(shared.contains)
      .map(_.name)
      .filterNot(_.startsWith(PmeOptions.ParquetPrefix))
      .map(lower)
      .toSet

  // With a crypto factory, these make parquet-java encrypt.
  private val javas: Set[String] =
    Seq(PmeOptions.FooterKey, PmeOptions.ColumnKeys, PmeOptions.UniformKey)
      .flatMap(ParquetNames.of(_))
      .map(lower)
      .toSet

  /**
   * @param parquetEncrypts
   *   whether parquet-java has a crypto factory: then its own names have their effect, and a named KMS is its KMS
   * @return
   *   the names, in any case, that request a protection that another format would not give
   */
  def among(names: Iterable[String], parquetEncrypts: Boolean): Seq[String] =
    names.filter(name => asks(lower(name), parquetEncrypts)).toSeq.distinct.sorted

  /** Names of keys: in the properties of a table, which may have any names, only these show what was meant. */
  def ofKeys(names: Iterable[String]): Seq[String] = names.filter(name => keys.contains(lower(name))).toSeq

  private val keys: Set[String] =
    Seq(PmeOptions.FooterKey, PmeOptions.ColumnKeys, PmeOptions.UniformKey)
      .map(option => lower(option.name))
      .toSet

  /** Those that only our crypto factory reads, where parquet-java has it. */
  def ofFactory(names: Iterable[String]): Seq[String] =
    names.filter(name => lower(name).startsWith(PmeOptions.FactoryPrefix)).toSeq.distinct.sorted

  private def asks(name: String, parquetEncrypts: Boolean) = {
    val namesKms = name == lower(PmeOptions.Kms.name) || name.startsWith(lower(PmeOptions.Kms.name) + ".")
    if (SessionNames.optionOf(name).isDefined) true
    else if (parquetEncrypts) ours.contains(name) && !namesKms
    else ours.contains(name) || namesKms || javas.contains(name) || name.startsWith(PmeOptions.FactoryPrefix)
  }

  private def lower(name: String) = name.toLowerCase(Locale.ROOT)
}
