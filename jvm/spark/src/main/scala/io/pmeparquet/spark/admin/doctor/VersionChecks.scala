package io.pmeparquet.spark.admin.doctor

import org.apache.spark.sql.SparkSession

import io.pmeparquet.Audience

/** Whether Spark, Scala, Java, connector and Python package are compatible. ''Driver only.'' */
private[admin] object VersionChecks {

  /** A line of Spark versions: the connector for it, and the version of Parquet in it. */
  final case class Line(connector: String, parquet: String)

  /** The versions that the connector was tested with. */
  private val lines = Map(
    "3.5" -> Line("3.5", "1.13.1"),
    "4.0" -> Line("4.0", "1.15.2"),
    "4.1" -> Line("4.0", "1.16.0"),
    "4.2" -> Line("4.0", "1.17.0"),
    "4.3" -> Line("4.0", "1.17.0")
  )

  def lineOf(spark: String): Option[Line] = lines.get(spark.split('.').take(2).mkString("."))

  /** @param wheel the version of the Python package, if Python asks */
  def all(session: SparkSession, wheel: Option[String]): Seq[Check] = {
    // Lazy, so that a failure to find it becomes a problem of each check.
    lazy val connector = Connector.loaded
    Check.attempt("Spark")(Seq(spark(session.version, connector))) ++
      Check.attempt("Scala")(Seq(scala(util.Properties.versionNumberString, connector))) ++
      Check.attempt("Java")(Seq(java(System.getProperty("java.specification.version")))) ++
      wheel.toSeq.flatMap(version => Check.attempt("wheel")(Seq(this.wheel(version, connector))))
  }

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
}
