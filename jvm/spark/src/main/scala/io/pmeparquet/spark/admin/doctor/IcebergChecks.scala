package io.pmeparquet.spark.admin.doctor

import scala.util.control.NonFatal

import org.apache.spark.sql.SparkSession

import io.pmeparquet.spark.session.SparkAccess
import io.pmeparquet.Audience

/** Which Iceberg catalogs of a session encrypt a table that names a key. No catalog is opened. ''Driver only.'' */
private[admin] object IcebergChecks {

  def all(session: SparkSession): Seq[Check] = Check.attempt("Iceberg") {
    val settings = SparkAccess.sqlConf(session).getAllConfs
    lazy val version = versionOfIceberg
    settings.toSeq.sorted.collect { case (Catalog(name), value) if value.startsWith(Icebergs) => name }.map {
      name =>
        val prefix = s"spark.sql.catalog.$name."
        val properties = settings.collect {
          case (key, value) if key.startsWith(prefix) => key.drop(prefix.length) -> value
        }
        of(name, properties, version, loads)
    }
  }

  /**
   * @param properties of the catalog
   * @param version of Iceberg, if it is on the class path
   * @param loads whether a class is on the class path
   */
  def of(
      catalog: String,
      properties: Map[String, String],
      version: Option[String],
      loads: String => Boolean
  ): Check = {
    val name = s"Iceberg catalog '$catalog'"
    val kind = properties.get("catalog-impl").orElse(properties.get("type")).getOrElse("hive")
    val ignores =
      if (!kind.equalsIgnoreCase("hive") && kind != HiveClass)
        Some(s"$kind: this catalog ignores encryption.key-id")
      else version.filter(isOld).map(old => s"hive, and Iceberg $old ignores encryption.key-id")
    (ignores, properties.get(KmsImpl)) match {
      case (Some(why), Some(_)) =>
        Check.problem(
          name,
          s"$why, and $KmsImpl has no effect: tables are plaintext, without an error",
          UseHive
        )
      case (Some(why), None) =>
        Check.warning(name, s"$why: a table with this property is plaintext, without an error", UseHive)
      case (None, Some(client)) if !loads(client) =>
        val remedy =
          "Put pme-parquet-iceberg-….jar beside Iceberg's runtime, in the same class loader, or correct the name."
        Check.problem(name, s"$KmsImpl names $client, which is not on the class path", remedy)
      case (None, Some(client)) =>
        val covers =
          "a table with encryption.key-id has keys of files, not of columns, and metadata.json is readable"
        Check.ok(name, s"hive, $KmsImpl=$client: $covers")
      case (None, None) =>
        val remedy = s"To encrypt tables, set spark.sql.catalog.$catalog.$KmsImpl, as docs/iceberg.md says."
        Check.warning(name, s"hive, without $KmsImpl: it encrypts no table", remedy)
    }
  }

  /** Before 1.11 no catalog makes a key management client. */
  private def isOld(version: String) = version.split('.').take(2).map(_.filter(_.isDigit)) match {
    case Array(major, minor) if major.nonEmpty && minor.nonEmpty =>
      major.toInt < 1 || (major.toInt == 1 && minor.toInt < FirstMinor)
    case _ => false
  }

  private def versionOfIceberg: Option[String] =
    try Option(load("org.apache.iceberg.IcebergBuild").getMethod("version").invoke(null)).map(_.toString)
    catch { case NonFatal(_) | _: LinkageError => None }

  private def loads(name: String) =
    try { load(name); true }
    catch { case NonFatal(_) | _: LinkageError => false }

  private def load(name: String) =
    Class.forName(
      name,
      false,
      Option(Thread.currentThread().getContextClassLoader).getOrElse(getClass.getClassLoader)
    )

  private val Catalog = """spark\.sql\.catalog\.([^.]+)""".r
  private val Icebergs = "org.apache.iceberg.spark."
  private val HiveClass = "org.apache.iceberg.hive.HiveCatalog"
  private val KmsImpl = "encryption.kms-impl"
  private val FirstMinor = 11
  private def UseHive =
    s"Use a Hive catalog with Iceberg 1.11 or later. ${Audience.current.icebergCheck} finds tables that are plaintext."
}
