package io.pmeparquet.spark.options

import java.io.{FileNotFoundException, IOException}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Paths}
import java.util.Locale

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.hadoop.security.UserGroupInformation
import org.apache.spark.sql.execution.datasources.FileFormat
import org.apache.spark.sql.SparkSession

import io.pmeparquet.{PmeErrors, Secret, SecretReference, SecretResolver}
import io.pmeparquet.keys.{FileContent, KmsSettings}
import io.pmeparquet.kms.client.DriverValues
import io.pmeparquet.kms.KmsAccess
import io.pmeparquet.options.{Level, OptionSpec, OptionValues, PmeOptions}
import io.pmeparquet.spark.session.SparkAccess

/**
 * Resolves the settings of a KMS from values of options, files and secrets. ''Driver only.''
 *
 * @param options the user's own options: a KMS finds them in its configuration
 * @param withheld names of options from a table's definition: a KMS must not find them
 */
private[spark] final class KmsResolver(
    session: SparkSession,
    options: Map[String, String],
    withheld: Set[String]
) {
  import KmsResolver._

  /** The configuration that a KMS gets. */
  val conf: Configuration = SparkAccess.hadoopConf(session, options)
  private val secrets = new DriverSecrets(session, conf)

  def resolve(values: OptionValues): KmsSettings = KmsAccess.settings(new Lookup(values))

  /** The secret that an option refers to; none if it is not set. */
  def secret(values: OptionValues, option: OptionSpec): Option[Secret] = new Lookup(values).secret(option)

  private final class Lookup(values: OptionValues) extends DriverValues {
    override def text(option: OptionSpec): Option[String] =
      if (option.values.nonEmpty) Some(values.choice(option)) else values.text(option).orElse(option.default)
    override def isSet(option: OptionSpec): Boolean = values.find(option).isDefined
    override def secret(option: OptionSpec): Option[Secret] =
      text(option).map(KmsResolver.this.secret(option, _))
    override def file(option: OptionSpec): Option[FileContent] =
      text(option).map(path => content(path, s"option ${option.name}: file $path"))
    override def content(path: String, where: String): FileContent = contentOf(where, path)

    /** parquet-java puts the token itself into the Hadoop configuration. Only there it may stand in plain text. */
    override def accessToken: Secret = values.find(PmeOptions.AccessToken) match {
      case None => new Secret(PmeOptions.AccessToken.default.get)
      case Some(found) if found.value == PmeOptions.AccessToken.default.get => new Secret(found.value)
      case Some(found) if found.level == Level.HadoopConf && !isReference(found.value) =>
        new Secret(found.value)
      case Some(found) => KmsResolver.this.secret(PmeOptions.AccessToken, found.value)
    }

    override def identity: String = identityOf(conf)

    // A job's configuration has these options, some under lower-case names.
    override def withheld: Map[String, Option[String]] = KmsResolver.this.withheld
      .flatMap(name => Seq(name, name.toLowerCase(Locale.ROOT)))
      .map(name => name -> Option(conf.get(name)))
      .toMap
  }

  private def contentOf(where: String, path: String): FileContent = {
    val file = new Path(path)
    def unusable(why: String, cause: Throwable) = PmeErrors.kmsUnavailable(where, why, cause)
    try {
      val fs = file.getFileSystem(conf)
      val length = fs.getFileStatus(file).getLen
      if (length > MaxFileBytes)
        throw unusable(s"it is $length bytes long, too long for a file of keys or certificates", null)
      val stream = fs.open(file)
      try {
        val bytes = new Array[Byte](length.toInt)
        stream.readFully(0, bytes)
        new FileContent(bytes)
      } finally stream.close()
    } catch {
      case missing: FileNotFoundException => throw unusable("there is no such file", missing)
      case failed: IOException => throw unusable("it cannot be read", failed)
    }
  }

  private def isReference(value: String) = SecretReference.Kinds.exists(kind => value.startsWith(kind + ":"))

  private def secret(option: OptionSpec, text: String): Secret =
    secrets.resolve(option.name, SecretReference.parse(option.name, text))
}

private[spark] object KmsResolver {
  private val MaxFileBytes = 16 * 1024 * 1024

  private def identityOf(conf: Configuration): String = {
    val digest = java.security.MessageDigest.getInstance("SHA-256")
    val entries = conf.iterator()
    val lines = scala.collection.mutable.ArrayBuffer(UserGroupInformation.getCurrentUser.toString)
    while (entries.hasNext) {
      val entry = entries.next()
      // Spark's own settings change between steps of a query, and do not concern a KMS.
      if (!isSparks(entry.getKey)) lines += s"${entry.getKey}=${entry.getValue}"
    }
    lines.sorted.foreach(line => digest.update((line + "\n").getBytes(UTF_8)))
    java.util.Base64.getEncoder.encodeToString(digest.digest())
  }

  private def isSparks(name: String) =
    name.startsWith("spark.sql.") || name == FileFormat.OPTION_RETURNING_BATCH
}

/** Looks up secrets on the driver. */
private final class DriverSecrets(session: SparkSession, conf: Configuration) extends SecretResolver {

  override def resolve(option: String, reference: SecretReference): Secret = {
    def notFound(why: String, cause: Throwable = null) =
      PmeErrors.secretNotFound(option, reference.toString, why, cause)
    val value = reference.kind match {
      case "env" => Option(System.getenv(reference.name)).getOrElse(throw notFound("the variable is not set"))
      case "conf" => confValue(reference.name).getOrElse(throw notFound("Spark does not have this setting"))
      case "hadoop-credential" =>
        try
          Option(conf.getPasswordFromCredentialProviders(reference.name))
            .map(new String(_))
            .getOrElse(throw notFound("no credential provider has this alias"))
        catch { case failed: IOException => throw notFound("the credential provider cannot be read", failed) }
      case "file" =>
        try
          new String(Files.readAllBytes(Paths.get(reference.name.stripPrefix("//"))), UTF_8)
            .stripSuffix("\n")
            .stripSuffix("\r")
        catch { case failed: IOException => throw notFound("the file cannot be read", failed) }
      case other => throw new IllegalStateException(s"internal error: reference kind $other")
    }
    if (value.isEmpty) throw notFound("it is empty")
    new Secret(value)
  }

  private def confValue(name: String): Option[String] =
    session.conf.getOption(name).orElse(session.sparkContext.getConf.getOption(name))
}
