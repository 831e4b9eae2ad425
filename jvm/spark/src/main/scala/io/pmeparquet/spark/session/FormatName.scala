package io.pmeparquet.spark.session

/** The name of the format, and the names of the classes that Spark looks up, for code that must not depend on them. */
private[spark] object FormatName {
  val Format = "pme-parquet"

  /** The prefix of the format's settings in a session. */
  val SessionPrefix: String = s"spark.datasource.$Format."

  val DataSourceClass = "io.pmeparquet.spark.PmeDataSource"
  val FileFormatClass = "io.pmeparquet.spark.PmeFileFormat"
  val ExtensionsClass = "io.pmeparquet.spark.PmeExtensions"

  /** Whether the provider in `USING` or `format(…)` is this source: its name, or one of its classes. */
  def names(provider: String): Boolean =
    provider.equalsIgnoreCase(Format) || provider == DataSourceClass || provider == FileFormatClass

  /** The source's class, from the same jar as this class. */
  def dataSource: Class[_] = Class.forName(DataSourceClass, false, getClass.getClassLoader)
}
