package io.pmeparquet.spark.session

/**
 * The format's name, and the names of the classes that Spark looks up, for code that must not depend on these classes.
 */
private[spark] object FormatName {
  val Format = "pme-parquet"

  /** What names of settings in the session begin with. */
  val SessionPrefix: String = s"spark.datasource.$Format."

  val DataSourceClass = "io.pmeparquet.spark.PmeDataSource"
  val FileFormatClass = "io.pmeparquet.spark.PmeFileFormat"
  val ExtensionsClass = "io.pmeparquet.spark.PmeExtensions"

  /** Whether what stands after `USING` or in `format(…)` is this source: its name, or one of its classes. */
  def names(provider: String): Boolean =
    provider.equalsIgnoreCase(Format) || provider == DataSourceClass || provider == FileFormatClass

  /** The source's class in the jar that this class is of. */
  def dataSource: Class[_] = Class.forName(DataSourceClass, false, getClass.getClassLoader)
}
