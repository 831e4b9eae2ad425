package io.pmeparquet.options

import java.util.Locale

/**
 * Names of options by which a read or write shows that it was meant for us, whatever format it names. Names that other
 * formats use in a sense of their own are none of them, and `Encryption.options()` never consists of those alone.
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

  // By which parquet-java is asked to encrypt, where it has a crypto factory.
  private val javas: Set[String] =
    Seq(PmeOptions.FooterKey, PmeOptions.ColumnKeys, PmeOptions.UniformKey)
      .flatMap(PmeOptions.parquetNameOf(_))
      .map(lower)
      .toSet

  /**
   * @param parquetEncrypts
   *   whether parquet-java has a crypto factory: its own names then do what they say, and a KMS that is named is its KMS
   * @return
   *   those of the names, in any case, that ask for a protection which another format would not give
   */
  def among(names: Iterable[String], parquetEncrypts: Boolean): Seq[String] =
    names.filter(name => asks(lower(name), parquetEncrypts)).toSeq.distinct.sorted

  private def asks(name: String, parquetEncrypts: Boolean) = {
    val namesKms = name == lower(PmeOptions.Kms.name) || name.startsWith(lower(PmeOptions.Kms.name) + ".")
    if (parquetEncrypts) ours.contains(name) && !namesKms
    else ours.contains(name) || namesKms || javas.contains(name)
  }

  private def lower(name: String) = name.toLowerCase(Locale.ROOT)
}
