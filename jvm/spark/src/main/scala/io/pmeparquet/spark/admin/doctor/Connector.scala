package io.pmeparquet.spark.admin.doctor

import io.pmeparquet.spark.session.FormatName
import io.pmeparquet.ClassPathEntry

/**
 * What the properties file in a connector's jar says.
 *
 * @param spark the line of Spark versions that the jar is for
 * @param scala the Scala version that the jar is for
 */
private[admin] final case class Connector(version: String, spark: String, scala: String) {
  def artifact: String = Connector.artifactOf(spark, scala)
  override def toString: String = s"$artifact $version"
}

private[admin] object Connector {
  private val Properties = "io/pmeparquet/spark/connector.properties"

  /** Every jar on the class path that has our source, first the one that the JVM has loaded. */
  def entries: Seq[ClassPathEntry] = {
    val source = FormatName.dataSource
    val found = ClassPathEntry.holding(ClassPathEntry.resourceOf(source.getName), loaders: _*)
    (ClassPathEntry.of(source) ++ found).toSeq.distinct
  }

  /** The loader of our own class, and the loader with which Spark finds sources. */
  def loaders: Seq[ClassLoader] =
    Seq(getClass.getClassLoader) ++ Option(Thread.currentThread().getContextClassLoader)

  def of(entry: ClassPathEntry): Option[Connector] = entry.properties(Properties).flatMap { properties =>
    for (
      version <- properties.get("version"); spark <- properties.get("spark"); scala <- properties.get("scala")
    )
      yield Connector(version, spark, scala)
  }

  def loaded: Option[Connector] = entries.headOption.flatMap(of)

  def artifactOf(spark: String, scala: String): String = s"pme-parquet-spark-${spark}_$scala"
}
