package io.pmeparquet.spark.admin.doctor

import org.apache.hadoop.util.VersionInfo
import org.apache.spark.sql.execution.datasources.DataSource
import org.apache.spark.sql.SparkSession

import io.pmeparquet.{Audience, ClassPathEntry}
import io.pmeparquet.spark.decode.VectorizedLink
import io.pmeparquet.spark.session.{FormatName, SparkAccess}

/**
 * Whether Spark, Scala, Java, connector and Python package are compatible, and which jars of the connector, Parquet and
 * Hadoop the driver has, each only once. ''Driver only.''
 */
private[admin] object InstallationChecks {

  /** @param wheel the version of the Python package, if Python asks */
  def all(session: SparkSession, wheel: Option[String]): Seq[Check] = {
    // Lazy, so that a failure to find it becomes a problem of each check.
    lazy val loaded = Connector.loaded
    Check.attempt("Spark")(Seq(spark(session.version, loaded))) ++
      Check.attempt("Scala")(Seq(scala(util.Properties.versionNumberString, loaded))) ++
      Check.attempt("Java")(Seq(java(System.getProperty("java.specification.version")))) ++
      wheel.toSeq.flatMap(version => Check.attempt("wheel")(Seq(this.wheel(version, loaded)))) ++
      Check.attempt("connector")(Seq(connector)) ++
      Check.attempt("format")(Seq(format(session))) ++
      parquet.flatMap { case (artifact, marker) =>
        Check.attempt(artifact)(Seq(parquetJar(session, artifact, marker)))
      } ++
      Check.attempt("Hadoop")(Seq(hadoop)) ++
      Check.attempt("reader")(Seq(reader))
  }

  /** A line of Spark versions: the connector for it, and the version of Parquet in it. */
  private final case class Line(connector: String, parquet: String)

  /** The versions that the connector was tested with. */
  private val lines = Map(
    "3.5" -> Line("3.5", "1.13.1"),
    "4.0" -> Line("4.0", "1.15.2"),
    "4.1" -> Line("4.0", "1.16.0"),
    "4.2" -> Line("4.0", "1.17.0"),
    "4.3" -> Line("4.0", "1.17.0")
  )

  private def lineOf(spark: String): Option[Line] = lines.get(spark.split('.').take(2).mkString("."))

  def spark(version: String, connector: Option[Connector]): Check = (lineOf(version), connector) match {
    case (None, _) =>
      val tested = lines.keys.toSeq.sorted.mkString(", ")
      val remedy = s"Use one of these, or run your own tests with this one before you rely on it: $tested."
      Check.warning("Spark", s"$version, with which no connector was tested", remedy)
    case (Some(line), Some(jar)) if jar.spark != line.connector =>
      val right = Connector.artifactOf(line.connector, jar.scala)
      Check.problem("Spark", s"$version, but the connector is for Spark ${jar.spark}", s"Use $right.")
    case _ => Check.ok("Spark", version)
  }

  def scala(version: String, connector: Option[Connector]): Check = connector match {
    case Some(jar) if !version.startsWith(jar.scala + ".") =>
      val right = Connector.artifactOf(jar.spark, version.split('.').take(2).mkString("."))
      Check.problem("Scala", s"$version, but the connector is for Scala ${jar.scala}", s"Use $right.")
    case _ => Check.ok("Scala", version)
  }

  /** @param specification the JVM's `java.specification.version`: `1.8`, `11`, `17` */
  def java(specification: String): Check = {
    val found = s"${System.getProperty("java.version")}, ${System.getProperty("java.vm.name")} by " +
      System.getProperty("java.vendor")
    if (specification.stripPrefix("1.").toInt >= MinJava) Check.ok("Java", found)
    else
      Check.problem(
        "Java",
        found,
        s"Run the driver and executors with Java $MinJava or later: set JAVA_HOME."
      )
  }

  def wheel(version: String, connector: Option[Connector]): Check = connector.map(_.version) match {
    case Some(`version`) => Check.ok("wheel", s"pme-parquet $version, the same as the connector")
    case Some(other) =>
      val remedy = s"Use ${Audience.current.wheelConnector}, or install the wheel of version $other."
      Check.problem("wheel", s"pme-parquet $version, but the connector is $other", remedy)
    case None =>
      val remedy = "Use the connector's own jar, not one that it was merged into."
      Check.warning("wheel", s"pme-parquet $version, but the version of the connector is not known", remedy)
  }

  private val MinJava = 17

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
    val expected = lineOf(session.version).map(_.parquet)
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

/**
 * What the properties file in a connector's jar says.
 *
 * @param spark the line of Spark versions that the jar is for
 * @param scala the Scala version that the jar is for
 */
private[admin] final case class Connector(version: String, spark: String, scala: String) {
  override def toString: String = s"${Connector.artifactOf(spark, scala)} $version"
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

  def loaded: Option[Connector] = for {
    entry <- entries.headOption
    properties <- entry.properties(Properties)
    version <- properties.get("version")
    spark <- properties.get("spark")
    scala <- properties.get("scala")
  } yield Connector(version, spark, scala)

  def artifactOf(spark: String, scala: String): String = s"pme-parquet-spark-${spark}_$scala"
}
