package io.pmeparquet.options

import java.util.Locale

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
