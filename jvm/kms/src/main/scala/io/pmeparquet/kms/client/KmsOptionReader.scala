package io.pmeparquet.kms.client

import java.io.{FileNotFoundException, IOException}
import java.util.Locale

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.pmeparquet.{PmeErrors, Secret}
import io.pmeparquet.keys.FileContent
import io.pmeparquet.options.{OptionSpec, PmeOptions}

/** Reads the options of a KMS: on the driver, or from the Hadoop configuration that a client gets. */
abstract class KmsOptionReader(conf: Configuration) {

  /** The value, or the option's default. */
  def text(option: OptionSpec): Option[String]

  /** Whether it is set. */
  def isSet(option: OptionSpec): Boolean

  /** The secret that the option refers to; none if it is not set and has no default. */
  def secret(option: OptionSpec): Option[Secret]

  /** The content of the file that the option names. */
  final def file(option: OptionSpec): Option[FileContent] =
    text(option).map(path => content(path, s"option ${option.name}: file $path"))

  /**
   * The content of a file.
   *
   * @param where what messages call it
   */
  final def content(path: String, where: String): FileContent = {
    val file = new Path(path)
    def unusable(why: String, cause: Throwable) = PmeErrors.kmsUnavailable(where, why, cause)
    try {
      val fs = file.getFileSystem(conf)
      if (fs.getFileStatus(file).isDirectory) throw PmeErrors.fileIsDirectory(where)
      val stream = fs.open(file)
      // Some file systems do not know how long it is.
      val bytes =
        try stream.readNBytes(KmsOptionReader.MaxFileBytes + 1)
        finally stream.close()
      if (bytes.length > KmsOptionReader.MaxFileBytes)
        throw unusable(
          s"it is longer than ${KmsOptionReader.MaxFileBytes} bytes, too long for a file of keys or certificates",
          null
        )
      new FileContent(bytes)
    } catch {
      case missing: FileNotFoundException => throw unusable("there is no such file", missing)
      case failed: IOException => throw unusable("it cannot be read", failed)
    }
  }

  def requiredText(option: OptionSpec, why: String): String =
    text(option).map(_.trim).filter(_.nonEmpty).getOrElse(throw PmeErrors.missingOption(option.name, why))

  def requiredSecret(option: OptionSpec, why: String): Secret =
    secret(option).getOrElse(throw PmeErrors.missingOption(option.name, why))

  /** A secret that is sent in a header or field, without the trailing line end of files and variables. */
  def requiredToken(option: OptionSpec, why: String): Secret = {
    val text = requiredSecret(option, why).insecureValue.trim
    if (text.isEmpty || !text.forall(character => character > ' ' && character < 0x7f.toChar))
      throw PmeErrors.badOption(
        option.name,
        "…",
        "a reference to a token of letters, digits and signs only"
      )
    new Secret(text)
  }

  /** A number of seconds, as milliseconds. */
  def millis(option: OptionSpec): Long = {
    val value = requiredText(option, "for every KMS")
    val seconds =
      try value.toInt
      catch { case _: NumberFormatException => 0 }
    if (seconds < 1 || seconds > KmsOptionReader.MaxSeconds)
      throw PmeErrors.badOption(
        option.name,
        value,
        s"a number of seconds from 1 to ${KmsOptionReader.MaxSeconds}"
      )
    seconds * 1000L
  }
}

private object KmsOptionReader {
  val MaxFileBytes: Int = 16 * 1024 * 1024
  val MaxSeconds = 3600
}

/**
 * Reads options from the configuration that parquet-java gives to a client, the address included. If none is configured,
 * parquet-java passes the one that a file names, and nothing in a file chooses where a token goes.
 */
private[kms] class ConfOptionReader(conf: Configuration) extends KmsOptionReader(conf) {
  override def text(option: OptionSpec): Option[String] = set(option).orElse(option.default)

  override def isSet(option: OptionSpec): Boolean = set(option).isDefined

  protected final def set(option: OptionSpec): Option[String] =
    namesOf(option).flatMap(name => Option(conf.getTrimmed(name)).toList).find(_.nonEmpty)

  override def secret(option: OptionSpec): Option[Secret] =
    namesOf(option)
      .flatMap(name => Option(conf.getPassword(name)).toList)
      .headOption
      .map(password => new Secret(new String(password)))

  /** Spark's own source hands on the options of a read in small letters. */
  private def namesOf(option: OptionSpec): Seq[String] = {
    val name = PmeOptions.ParquetPrefix + option.name.stripPrefix(PmeOptions.ParquetPrefix)
    Seq(name, name.toLowerCase(Locale.ROOT))
  }
}
