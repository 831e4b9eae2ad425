package io.pmeparquet.spark.admin.doctor

import org.apache.hadoop.util.VersionInfo
import org.apache.spark.sql.execution.datasources.DataSource
import org.apache.spark.sql.SparkSession

import io.pmeparquet.spark.decode.VectorizedLink
import io.pmeparquet.spark.session.{FormatName, SparkAccess}
import io.pmeparquet.ClassPathEntry

/** Which jars of the connector, Parquet and Hadoop the driver has, and whether any is there twice. ''Driver only.'' */
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
    val version = Connector.loaded.fold("version not known")(_.toString)
    duplicates("connector", version, entries)
  }

  /** Which class Spark finds for the name of the format. */
  private def format(session: SparkSession) = {
    val found = DataSource.lookupDataSource(FormatName.Format, SparkAccess.sqlConf(session))
    val shown = s"""format("${FormatName.Format}") is ${found.getName}"""
    if (found == FormatName.dataSource) Check.ok("format", shown)
    else {
      val from = ClassPathEntry.of(found).fold("the JVM")(_.shown)
      Check.problem("format", s"$shown, from $from", "Remove that jar from the class path.")
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
          s"Spark ${session.version} comes with ${expected.get}: remove other Parquet jars from the class path. " +
            "If this is the Spark of a vendor, run your own tests before you rely on it."
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

  /** Whether a jar is there only once. Several jars with equal bytes do no harm as long as they stay equal. */
  private[doctor] def duplicates(
      name: String,
      version: String,
      entries: Seq[ClassPathEntry],
      of: ClassPathEntry => Option[String] = _ => None
  ): Check = entries.toList match {
    case first :: others if others.nonEmpty =>
      val alike = others.forall(other => first.digest.isDefined && other.digest == first.digest)
      val listed = others.map(other => of(other).fold(other.shown)(version => s"$other ($version)"))
      val found = s"$version, from $first; also on the class path: ${listed.mkString(", ")}"
      val remedy =
        "Keep one: check spark.jars, spark.jars.packages, --jars, extraClassPath and the jars folder of Spark."
      if (alike) Check.warning(name, s"$found (identical files)", remedy)
      else Check.problem(name, found, remedy)
    case one => Check.ok(name, (version :: one.map(entry => s"from $entry")).mkString(", "))
  }

  /** Whether this Spark has what the page pipeline needs. */
  private def reader = VectorizedLink.failure match {
    case None => Check.ok("reader", "the page pipeline works with this Spark")
    case Some(why) =>
      val remedy = "Use a Spark version that the connector was tested with. Until then reads are slower."
      Check.warning(
        "reader",
        s"Spark's own readers are used, because the page pipeline does not work with this Spark: $why",
        remedy
      )
  }
}
