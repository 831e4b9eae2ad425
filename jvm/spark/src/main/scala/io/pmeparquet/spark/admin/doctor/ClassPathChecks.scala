package io.pmeparquet.spark.admin.doctor

import org.apache.hadoop.util.VersionInfo
import org.apache.spark.sql.execution.datasources.DataSource
import org.apache.spark.sql.SparkSession

import io.pmeparquet.spark.{PmeDataSource, SparkAccess}
import io.pmeparquet.spark.pages.VectorizedLink
import io.pmeparquet.ClassPathEntry

/** Which jars the driver has of what we are made of and stand on, and whether any is there twice. ''Driver only.'' */
private[admin] object ClassPathChecks {

  def all(session: SparkSession): Seq[Check] =
    Check.attempt("connector")(Seq(connector)) ++
      Check.attempt("format")(Seq(format(session))) ++
      parquet.flatMap { case (artifact, marker) =>
        Check.attempt(artifact)(Seq(parquetJar(session, artifact, marker)))
      } ++
      Check.attempt("Hadoop")(Seq(hadoop)) ++
      Check.attempt("reader")(Seq(reader))

  private def connector = {
    val entries = Connector.entries
    val told = Connector.loaded.fold("version not known")(_.toString)
    duplicates("connector", told, entries)
  }

  /** What the name of the format leads to. */
  private def format(session: SparkSession) = {
    val found = DataSource.lookupDataSource(PmeDataSource.Name, SparkAccess.sqlConf(session))
    val told = s"""format("${PmeDataSource.Name}") is ${found.getName}"""
    if (found == classOf[PmeDataSource]) Check.ok("format", told)
    else {
      val from = ClassPathEntry.of(found).fold("the JVM")(_.shown)
      Check.problem("format", s"$told of $from", "Take that jar off the class path.")
    }
  }

  private val parquet = Seq(
    "parquet-hadoop" -> "org.apache.parquet.hadoop.ParquetFileReader",
    "parquet-column" -> "org.apache.parquet.column.ColumnDescriptor",
    "parquet-format-structures" -> "org.apache.parquet.format.FileMetaData"
  )

  private def parquetJar(session: SparkSession, artifact: String, marker: String) = {
    val entries = holding(marker)
    val version = entries.headOption.flatMap(versionOf(_, artifact))
    val expected = VersionChecks.lineOf(session.version).map(_.parquet)
    duplicates(artifact, version.getOrElse("version not known"), entries, of = versionOf(_, artifact)) match {
      case fine if fine.isOk && expected.exists(wanted => !version.contains(wanted)) =>
        val remedy =
          s"Spark ${session.version} brings ${expected.get}: take other Parquet jars off the class path. " +
            "Where this Spark is a vendor's own, run your own tests before you trust it."
        Check.warning(artifact, fine.found, remedy)
      case other => other
    }
  }

  private def versionOf(entry: ClassPathEntry, artifact: String): Option[String] =
    entry
      .properties(s"META-INF/maven/org.apache.parquet/$artifact/pom.properties")
      .flatMap(_.get("version"))

  private def hadoop =
    duplicates("Hadoop", VersionInfo.getVersion, holding("org.apache.hadoop.conf.Configuration"))

  private def holding(className: String) =
    ClassPathEntry.holding(ClassPathEntry.resourceOf(className), Connector.loaders: _*)

  /** Whether there is one of a jar; of several, equal bytes do no harm as long as they stay equal. */
  private[doctor] def duplicates(
      name: String,
      version: String,
      entries: Seq[ClassPathEntry],
      of: ClassPathEntry => Option[String] = _ => None
  ): Check = entries.toList match {
    case first :: others if others.nonEmpty =>
      val alike = others.forall(other => first.digest.isDefined && other.digest == first.digest)
      val listed = others.map(other => of(other).fold(other.shown)(version => s"$other ($version)"))
      val found = s"$version, from $first; on the class path as well: ${listed.mkString(", ")}"
      val remedy =
        "Keep one: look at spark.jars, spark.jars.packages, --jars, extraClassPath and Spark's jars folder."
      if (alike) Check.warning(name, s"$found, the same bytes", remedy)
      else Check.problem(name, found, remedy)
    case one => Check.ok(name, (version :: one.map(entry => s"from $entry")).mkString(", "))
  }

  /** Whether this Spark has what the page pipeline needs. */
  private def reader = VectorizedLink.failure match {
    case None => Check.ok("reader", "the page pipeline fits this Spark")
    case Some(why) =>
      val remedy = "Use a Spark that the connector was tested with; until then reads are slower."
      Check.warning("reader", s"Spark's own readers are used, since this Spark was changed: $why", remedy)
  }
}
