package io.pmeparquet.spark.admin.doctor

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

import org.apache.spark.sql.internal.StaticSQLConf
import org.apache.spark.sql.SparkSession

import io.pmeparquet.options.PmeOptions
import io.pmeparquet.spark.keys.{DriverRoute, RpcProtection}
import io.pmeparquet.spark.options.ResolvedOptions
import io.pmeparquet.spark.session.{FormatName, SparkAccess}
import io.pmeparquet.Audience

/**
 * What Spark's settings mean for the format, and which Iceberg catalogs of the session encrypt a table that names a key.
 * Results have names of settings, and only values that cannot be secrets. ''Driver only.''
 */
private[admin] object SettingChecks {

  def all(session: SparkSession, options: Map[String, String]): Seq[Check] =
    Check.attempt("options")(Seq(optionNames(session, options))) ++
      Check.attempt("Hadoop settings")(Seq(hadoop(session))) ++
      Check.attempt("extensions")(Seq(extensions(session))) ++
      Check.attempt("RPC")(Seq(rpc(session))) ++
      Check.attempt("spill")(Seq(spill(session))) ++
      Check.attempt("Iceberg")(iceberg(session))

  /** Throws if a name is unknown or a value is a secret, like every read and write. */
  private def optionNames(session: SparkSession, options: Map[String, String]) = {
    ResolvedOptions.ofFrame(session, options).readSettings
    val prefix = FormatName.SessionPrefix
    val set = SparkAccess.sqlConf(session).getAllConfs.keys.filter(_.toLowerCase.startsWith(prefix)).toSeq
    val names = if (set.isEmpty) "the session sets none" else s"the session sets ${set.sorted.mkString(", ")}"
    Check.ok("options", names)
  }

  /** Spark's own source also uses these settings. It may then encrypt files, or fail, though nobody meant it to. */
  private def hadoop(session: SparkSession) = {
    val conf = SparkAccess.hadoopConf(session, Map.empty)
    val prefixes = Seq(PmeOptions.ParquetPrefix, CryptoPrefix)
    val set =
      prefixes.flatMap(prefix => conf.getPropsWithPrefix(prefix).keySet.asScala.map(prefix + _)).sorted
    if (set.isEmpty) Check.ok("Hadoop settings", "none of Parquet encryption")
    else {
      val remedy = "Remove them from the Hadoop configuration (spark.hadoop.…) if they are not meant for " +
        """format("parquet") as well, and name keys as options of pme-parquet."""
      Check.warning("Hadoop settings", s"Spark's own parquet source uses ${set.mkString(", ")}", remedy)
    }
  }

  private def extensions(session: SparkSession) = {
    val name = FormatName.ExtensionsClass
    val set = session.sparkContext.getConf.get(StaticSQLConf.SPARK_SESSION_EXTENSIONS.key, "")
    if (set.split(',').map(_.trim).contains(name))
      Check.ok("extensions", "PmeExtensions: every session has the format's rules from its first statement")
    else {
      val found =
        "without PmeExtensions: a session gets the format's rules when it first uses the format. That is enough for one " +
          s"session. With several (newSession), set spark.sql.extensions=$name"
      Check.ok("extensions", found)
    }
  }

  private def rpc(session: SparkSession) =
    if (session.sparkContext.isLocal) Check.ok("RPC", "not used: tasks run in the driver")
    else rpcOf(DriverRoute.protection(session), RpcProtection.knowsGcm)

  private[doctor] def rpcOf(protection: RpcProtection, knowsGcm: Boolean): Check = protection match {
    case RpcProtection.Authenticated => Check.ok("RPC", "encrypted and authenticated")
    case RpcProtection.Unauthenticated =>
      val cipher = s"${RpcProtection.CipherKey}=${RpcProtection.Gcm}"
      Check.warning(
        "RPC",
        "encrypted, not authenticated: AES runs in CTR mode, so anyone who can change packets between driver and executors " +
          "can change the keys and rows in them",
        if (knowsGcm) s"Set $cipher." else s"Use Spark 3.5.2, 4.0 or later, and set $cipher."
      )
    case RpcProtection.None =>
      Check.warning(
        "RPC",
        "not encrypted: the driver sends keys to executors, and anyone on the network can read them",
        DriverRoute.Remedy
      )
  }

  private def spill(session: SparkSession) = {
    val context = session.sparkContext
    if (context.getConf.getBoolean(SpillKey, defaultValue = false)) Check.ok("spill", "encrypted")
    else if (context.isLocal) Check.ok("spill", s"not encrypted, on disks of this machine ($SpillKey=false)")
    else
      Check.warning(
        "spill",
        "not encrypted: shuffles, spills and disk caches write decrypted rows to the disks of executors",
        s"If others can read those disks, set $SpillKey=true."
      )
  }

  private val SpillKey = "spark.io.encryption.enabled"
  private val CryptoPrefix = "parquet.crypto."

  /** No catalog is opened. */
  private def iceberg(session: SparkSession): Seq[Check] = {
    val settings = SparkAccess.sqlConf(session).getAllConfs
    lazy val version = versionOfIceberg
    settings.toSeq.sorted.collect { case (Catalog(name), value) if value.startsWith(Icebergs) => name }.map {
      name =>
        val prefix = s"spark.sql.catalog.$name."
        val properties = settings.collect {
          case (key, value) if key.startsWith(prefix) => key.drop(prefix.length) -> value
        }
        icebergCatalog(name, properties, version, loads)
    }
  }

  /**
   * @param properties of the catalog
   * @param version of Iceberg, if it is on the class path
   * @param loads whether a class is on the class path
   */
  private[doctor] def icebergCatalog(
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
