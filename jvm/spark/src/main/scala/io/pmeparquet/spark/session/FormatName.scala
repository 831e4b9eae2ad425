package io.pmeparquet.spark.session

/** The name of the format, and the names of the classes that Spark looks up, for code that must not depend on them. */
private[spark] object FormatName {
  val Format = "pme-parquet"

  /** The name of the format for ORC. */
  val Orc = "pme-orc"

  /** The prefix of the formats' settings in a session. */
  val SessionPrefix: String = s"spark.datasource.$Format."

  val DataSourceClass = "io.pmeparquet.spark.PmeDataSource"
  val FileFormatClass = "io.pmeparquet.spark.PmeFileFormat"
  val OrcSourceClass = "io.pmeparquet.spark.PmeOrcDataSource"
  val OrcClass = "io.pmeparquet.spark.PmeOrcFileFormat"
  val CryptoFactoryClass = "io.pmeparquet.parquet.PmeCryptoFactory"

  /** The setting of Hadoop in which parquet-java looks for the class of a crypto factory. */
  val CryptoFactorySetting = "parquet.crypto.factory.class"
  val ExtensionsClass = "io.pmeparquet.spark.PmeExtensions"

  /** Whether the provider in `USING` or `format(…)` is a source of ours: its name, or one of its classes. */
  def names(provider: String): Boolean =
    provider.equalsIgnoreCase(Format) || provider == DataSourceClass || provider == FileFormatClass || isOrc(
      provider
    )

  def isOrc(provider: String): Boolean =
    provider.equalsIgnoreCase(Orc) || provider == OrcSourceClass || provider == OrcClass

  /** The class of the format for ORC, from the same jar as this class. */
  def orcFormat: Class[_] = Class.forName(OrcClass, false, getClass.getClassLoader)

  /** The source's class, from the same jar as this class. */
  def dataSource: Class[_] = Class.forName(DataSourceClass, false, getClass.getClassLoader)
}
