package io.pmeparquet.kms.client

import java.io.{FileNotFoundException, IOException}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Paths}
import java.security.MessageDigest
import java.util.{Base64, Locale}

import scala.collection.mutable

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.hadoop.security.UserGroupInformation

import io.pmeparquet.{PmeErrors, Secret, SecretReference, SecretResolver}
import io.pmeparquet.keys.FileContent
import io.pmeparquet.options.{Level, OptionSpec, OptionValues, PmeOptions}

/**
 * What options say of a KMS, with the files and secrets that they name.
 *
 * @param conf the configuration that the KMS gets
 * @param withheldNames names of options that a KMS must not find there
 */
private[pmeparquet] final class ConfiguredValues(
    values: OptionValues,
    conf: Configuration,
    secrets: SecretResolver,
    withheldNames: Set[String]
) extends DriverValues {

  override def text(option: OptionSpec): Option[String] =
    if (option.values.nonEmpty) Some(values.choice(option)) else values.text(option).orElse(option.default)

  override def isSet(option: OptionSpec): Boolean = values.find(option).isDefined

  override def secret(option: OptionSpec): Option[Secret] = text(option).map(resolve(option, _))

  private def resolve(option: OptionSpec, reference: String) =
    secrets.resolve(option.name, SecretReference.parse(option.name, reference))

  override def file(option: OptionSpec): Option[FileContent] =
    text(option).map(path => content(path, s"option ${option.name}: file $path"))

  override def content(path: String, where: String): FileContent = {
    val file = new Path(path)
    def unusable(why: String, cause: Throwable) = PmeErrors.kmsUnavailable(where, why, cause)
    try {
      val fs = file.getFileSystem(conf)
      val status = fs.getFileStatus(file)
      if (status.isDirectory) throw PmeErrors.fileIsDirectory(where)
      val length = status.getLen
      if (length > ConfiguredValues.MaxFileBytes)
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

  /** parquet-java puts the token itself into the Hadoop configuration. Only there it may be plain text. */
  override def accessToken: Secret = values.find(PmeOptions.AccessToken) match {
    case None => new Secret(PmeOptions.AccessToken.default.get)
    case Some(found) if found.value == PmeOptions.AccessToken.default.get => new Secret(found.value)
    case Some(found) if found.level == Level.HadoopConf && !isReference(found.value) =>
      new Secret(found.value)
    case Some(found) => resolve(PmeOptions.AccessToken, found.value)
  }

  private def isReference(value: String) = SecretReference.Kinds.exists(kind => value.startsWith(kind + ":"))

  override def identity: String = ConfiguredValues.identityOf(conf)

  // A job's configuration has these options, some under lower-case names.
  override def withheld: Map[String, Option[String]] = withheldNames
    .flatMap(name => Seq(name, name.toLowerCase(Locale.ROOT)))
    .map(name => name -> Option(conf.get(name)))
    .toMap
}

private[pmeparquet] object ConfiguredValues {
  private val MaxFileBytes = 16 * 1024 * 1024

  /** A digest of the user and of all settings that a KMS could look at. */
  def identityOf(conf: Configuration): String = digestOf(conf, Nil)(_ => false)

  /**
   * The same without settings that differ from task to task of one job.
   *
   * @param more names of settings that count whatever they are
   */
  def identityOfJob(conf: Configuration, more: Seq[String]): String = digestOf(conf, more)(isOfTask)

  private def digestOf(conf: Configuration, more: Seq[String])(isLeftOut: String => Boolean) = {
    val entries = mutable.ArrayBuffer.empty[(String, String)]
    val iterator = conf.iterator()
    while (iterator.hasNext) {
      val entry = iterator.next()
      if (!isSparks(entry.getKey) && !isLeftOut(entry.getKey))
        // With the settings that its value refers to in their places.
        entries += entry.getKey -> String.valueOf(conf.get(entry.getKey))
    }
    more.foreach(name => entries += name -> String.valueOf(conf.get(name)))
    val digest = MessageDigest.getInstance("SHA-256")
    // A length before each text, so that no text can look like another entry.
    def add(text: String): Unit = {
      val bytes = text.getBytes(UTF_8)
      digest.update(s"${bytes.length}:".getBytes(UTF_8))
      digest.update(bytes)
    }
    add(UserGroupInformation.getCurrentUser.toString)
    entries.sorted.foreach { case (name, value) =>
      add(name)
      add(value)
    }
    Base64.getEncoder.encodeToString(digest.digest())
  }

  // Spark's own settings change between steps of a query, and do not concern a KMS.
  private def isSparks(name: String) = name.startsWith("spark.sql.") || name == "returning_batch"

  private def isOfTask(name: String) =
    OfTasks.contains(name) || BeginningsOfTasks.exists(name.startsWith) || HiveSettings.areTables(name)

  private val OfTasks = Set(
    "mapreduce.job.id",
    "mapreduce.job.application.attempt.id",
    // Spark reads each partition of a Hive table from another directory.
    "mapreduce.input.fileinputformat.inputdir",
    "mapreduce.output.fileoutputformat.outputdir",
    "mapred.input.dir",
    "mapred.job.id",
    "mapred.output.dir",
    "mapred.tip.id",
    "parquet.read.filter",
    "parquet.private.read.filter.predicate",
    "parquet.private.read.filter.predicate.human.readable"
  )
  private val BeginningsOfTasks =
    Seq("mapreduce.task.", "mapred.task.", "org.apache.spark.sql.parquet.", "parquet.read.")
}

/**
 * Looks up secrets in this process.
 *
 * @param conf with the credential providers
 * @param setting the value of a setting that `conf:` names
 */
private[pmeparquet] final class ProcessSecrets(conf: Configuration, setting: String => Option[String])
    extends SecretResolver {

  override def resolve(option: String, reference: SecretReference): Secret = {
    def notFound(why: String, cause: Throwable = null) =
      PmeErrors.secretNotFound(option, reference.toString, why, cause)
    val value = reference.kind match {
      case "env" => Option(System.getenv(reference.name)).getOrElse(throw notFound("the variable is not set"))
      case "conf" => setting(reference.name).getOrElse(throw notFound("there is no such setting"))
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
}
