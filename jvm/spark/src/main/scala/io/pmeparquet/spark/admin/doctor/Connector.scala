package io.pmeparquet.spark.admin.doctor

import io.pmeparquet.spark.session.FormatName
import io.pmeparquet.ClassPathEntry

/**
 * What a connector's jar says of itself.
 *
 * @param spark the line of Spark versions that it is for
 * @param scala the Scala version that it is for
 */
private[admin] final case class Connector(version: String, spark: String, scala: String) {
  def artifact: String = Connector.artifactOf(spark, scala)
  override def toString: String = s"$artifact $version"
}

private[admin] object Connector {
  private val Properties = "io/pmeparquet/spark/connector.properties"

  /** Every jar on the class path that has our source, the one that is loaded first. */
  def entries: Seq[ClassPathEntry] = {
    val source = FormatName.dataSource
    val found = ClassPathEntry.holding(ClassPathEntry.resourceOf(source.getName), loaders: _*)
    (ClassPathEntry.of(source) ++ found).toSeq.distinct
  }

  /** That of our own class, and that by which Spark finds sources. */
  def loaders: Seq[ClassLoader] =
    Seq(getClass.getClassLoader) ++ Option(Thread.currentThread().getContextClassLoader)

  def of(entry: ClassPathEntry): Option[Connector] = entry.properties(Properties).flatMap { told =>
    for (version <- told.get("version"); spark <- told.get("spark"); scala <- told.get("scala"))
      yield Connector(version, spark, scala)
  }

  def loaded: Option[Connector] = entries.headOption.flatMap(of)

  def artifactOf(spark: String, scala: String): String = s"pme-parquet-spark-${spark}_$scala"
}
