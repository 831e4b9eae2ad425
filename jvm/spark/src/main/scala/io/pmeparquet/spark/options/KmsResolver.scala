package io.pmeparquet.spark

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
import io.pmeparquet.keys.KmsSettings
import io.pmeparquet.options._

/**
 * Makes KMS settings of options: reads the keystore and resolves secrets. ''Driver only.''
 *
 * @param options the user's own, which a KMS may find in its configuration
 * @param withheld names of options that come out of a table's definition, which it may not
 */
private[spark] final class KmsResolver(
    session: SparkSession,
    options: Map[String, String],
    withheld: Set[String]
) {

  /** What a KMS is opened with. */
  val conf: Configuration = SparkAccess.hadoopConf(session, options)
  private val secrets = new DriverSecrets(session, conf)

  def resolve(values: OptionValues): KmsSettings = {
    val kms = values.text(PmeOptions.Kms).orElse(PmeOptions.Kms.default).get.trim
    kms.toLowerCase(Locale.ROOT) match {
      case "keystore" => keystore(values)
      case "static" => KmsSettings.Static(requiredSecret(values, PmeOptions.StaticKeys, "kms=static"))
      case "vault" =>
        VaultOptions.settings(lookup(values))
      case _ =>
        ClientKind.named(kms) match {
          case Some(kind) =>
            kind.addresses.foreach(option => values.text(option).foreach(KmsAddress.parse(option, _)))
            lookup(values).millis(PmeOptions.KmsTimeout)
            clientClass(kind.className, values, kind.options :+ PmeOptions.KmsTimeout)
          case None if kms.contains('.') =>
            clientClass(kms, values, Seq(PmeOptions.ClientProperties))
          case None =>
            val known = (Seq("keystore", "static", "vault") ++ ClientKind.all.map(_.name)).mkString(", ")
            throw PmeErrors.badOption(
              PmeOptions.Kms.name,
              kms,
              s"$known, or the full name of a KmsClient class"
            )
        }
    }
  }

  private def keystore(values: OptionValues): KmsSettings = {
    val storeType = values.text(PmeOptions.KeystoreType).orElse(PmeOptions.KeystoreType.default).get
    val path = values.text(PmeOptions.KeystorePath)
    if (path.isEmpty && !storeType.equalsIgnoreCase(KmsResolver.Pkcs11))
      throw PmeErrors.missingOption(PmeOptions.KeystorePath.name, "with kms=keystore (the default)")
    val password = requiredSecret(values, PmeOptions.KeystorePassword, "with kms=keystore")
    KmsSettings.Keystore(
      path.getOrElse(storeType),
      storeType,
      path.map(file => contentOf(s"keystore $file", file)),
      password,
      lookup(values).millis(PmeOptions.KmsTimeout)
    )
  }

  private def lookup(values: OptionValues): KmsValues = new KmsValues {
    override def text(option: OptionSpec): Option[String] =
      if (option.values.nonEmpty) Some(values.choice(option)) else values.text(option).orElse(option.default)
    override def isSet(option: OptionSpec): Boolean = values.find(option).isDefined
    override def secret(option: OptionSpec): Option[Secret] =
      text(option).map(KmsResolver.this.secret(option, _))
    override def file(option: OptionSpec): Option[KmsSettings.Content] =
      text(option).map(path => contentOf(s"option ${option.name}: file $path", path))
  }

  private def contentOf(where: String, path: String): KmsSettings.Content = {
    val file = new Path(path)
    def unusable(why: String, cause: Throwable) = PmeErrors.kmsUnavailable(where, why, cause)
    try {
      val fs = file.getFileSystem(conf)
      val length = fs.getFileStatus(file).getLen
      if (length > KmsResolver.MaxFileBytes)
        throw unusable(s"it is $length bytes long, which is too long for keys or certificates", null)
      val stream = fs.open(file)
      try {
        val bytes = new Array[Byte](length.toInt)
        stream.readFully(0, bytes)
        new KmsSettings.Content(bytes)
      } finally stream.close()
    } catch {
      case missing: FileNotFoundException => throw unusable("there is no such file", missing)
      case failed: IOException => throw unusable("it cannot be read", failed)
    }
  }

  /** @param handed options that the client is to find in its configuration */
  private def clientClass(name: String, values: OptionValues, handed: Seq[OptionSpec]): KmsSettings = {
    def text(option: OptionSpec) = values.text(option).orElse(option.default).get
    KmsSettings.ClientClass(
      name,
      text(PmeOptions.InstanceId),
      text(PmeOptions.InstanceUrl),
      token(values),
      identity,
      handed
        .flatMap(option => handedOn(option, values).map(PmeOptions.ParquetPrefix + option.name -> _))
        .toMap,
      // A job's configuration has them, some under names in small letters.
      withheld
        .flatMap(name => Seq(name, name.toLowerCase(Locale.ROOT)))
        .map(name => name -> Option(conf.get(name)))
        .toMap
    )
  }

  private def handedOn(option: OptionSpec, values: OptionValues): Option[Secret] =
    values.text(option).map { text =>
      if (option.secret) secret(option, text)
      else new Secret(if (option.values.nonEmpty) values.choice(option) else text.trim)
    }

  /** A digest of all that a client could look at: the configuration with the options, and the user. */
  private def identity: String = {
    val digest = java.security.MessageDigest.getInstance("SHA-256")
    val entries = conf.iterator()
    val lines = scala.collection.mutable.ArrayBuffer(UserGroupInformation.getCurrentUser.toString)
    while (entries.hasNext) {
      val entry = entries.next()
      // Spark's own settings differ from one step of a query to the next, and say nothing to a KMS.
      if (!KmsResolver.isSparks(entry.getKey)) lines += s"${entry.getKey}=${entry.getValue}"
    }
    lines.sorted.foreach(line => digest.update((line + "\n").getBytes(UTF_8)))
    java.util.Base64.getEncoder.encodeToString(digest.digest())
  }

  /** parquet-java has the token itself in the Hadoop configuration; there, and only there, it may stand. */
  private def token(values: OptionValues): Secret = values.find(PmeOptions.AccessToken) match {
    case None => new Secret(PmeOptions.AccessToken.default.get)
    case Some(found) if found.value == PmeOptions.AccessToken.default.get => new Secret(found.value)
    case Some(found) if found.level == Level.HadoopConf && !isReference(found.value) =>
      new Secret(found.value)
    case Some(found) => secret(PmeOptions.AccessToken, found.value)
  }

  private def isReference(value: String) = SecretReference.Kinds.exists(kind => value.startsWith(kind + ":"))

  private def requiredSecret(values: OptionValues, option: OptionSpec, why: String): Secret =
    secret(option, values.text(option).getOrElse(throw PmeErrors.missingOption(option.name, why)))

  private def secret(option: OptionSpec, text: String): Secret =
    secrets.resolve(option.name, SecretReference.parse(option.name, text))
}

private[spark] object KmsResolver {
  private val MaxFileBytes = 16 * 1024 * 1024
  private val Pkcs11 = "PKCS11"

  private def isSparks(name: String) =
    name.startsWith("spark.sql.") || name == FileFormat.OPTION_RETURNING_BATCH
}

/** Looks up secrets where the driver runs. */
private final class DriverSecrets(session: SparkSession, conf: Configuration) extends SecretResolver {

  override def resolve(option: String, reference: SecretReference): Secret = {
    def notFound(why: String, cause: Throwable = null) =
      PmeErrors.secretNotFound(option, reference.toString, why, cause)
    val value = reference.kind match {
      case "env" => Option(System.getenv(reference.name)).getOrElse(throw notFound("the variable is not set"))
      case "conf" => confValue(reference.name).getOrElse(throw notFound("Spark has no such setting"))
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
