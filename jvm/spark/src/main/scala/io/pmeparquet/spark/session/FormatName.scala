package io.pmeparquet.spark.session

/** The name of the format, and the names of the classes that Spark looks up, for code that must not depend on them. */
private[pmeparquet] object FormatName {
  val Format = "pme-parquet"

  /** The name of the format for ORC. */
  val Orc = "pme-orc"

  /** The names that SQL reads without backquotes. */
  val FormatInSql = "pme_parquet"
  val OrcInSql = "pme_orc"

  /** The prefix of the formats' settings in a session. */
  val SessionPrefix: String = s"spark.datasource.$Format."

  val DataSourceClass = "io.pmeparquet.spark.PmeDataSource"
  val FileFormatClass = "io.pmeparquet.spark.PmeFileFormat"
  val OrcSourceClass = "io.pmeparquet.spark.PmeOrcDataSource"
  val OrcClass = "io.pmeparquet.spark.PmeOrcFileFormat"
  val SqlSourceClass = "io.pmeparquet.spark.PmeParquetInSql"
  val SqlOrcSourceClass = "io.pmeparquet.spark.PmeOrcInSql"
  val CryptoFactoryClass = "io.pmeparquet.parquet.PmeCryptoFactory"

  /** The setting of Hadoop in which parquet-java looks for the class of a crypto factory. */
  val CryptoFactorySetting = "parquet.crypto.factory.class"
  val ExtensionsClass = "io.pmeparquet.spark.PmeExtensions"

  /** The store that guards Delta's commits, by its name, because it links only where Delta is. */
  val LogStoreClass = "io.pmeparquet.delta.PmeLogStore"

  /** Whether the provider in `USING` or `format(…)` is a source of ours: a name of it, or one of its classes. */
  def names(provider: String): Boolean = inSql(provider).isDefined

  def isOrc(provider: String): Boolean = inSql(provider).contains(OrcInSql)

  /** The name that SQL reads without backquotes, if the provider is a source of ours. */
  def inSql(provider: String): Option[String] = provider match {
    case DataSourceClass | FileFormatClass | SqlSourceClass => Some(FormatInSql)
    case OrcSourceClass | OrcClass | SqlOrcSourceClass => Some(OrcInSql)
    case name => Seq(FormatInSql, OrcInSql).find(_.equalsIgnoreCase(name.replace('-', '_')))
  }

  /** The class of the format for ORC, from the same jar as this class. */
  def orcFormat: Class[_] = Class.forName(OrcClass, false, getClass.getClassLoader)

  /** The source's class, from the same jar as this class. */
  def dataSource: Class[_] = Class.forName(DataSourceClass, false, getClass.getClassLoader)
}
