package io.pmeparquet.kms.client

import java.io.IOException
import java.util.Locale

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.pmeparquet.{PmeErrors, Secret}
import io.pmeparquet.keys.FileContent
import io.pmeparquet.options.{OptionSpec, PmeOptions}

/**
 * The settings as parquet-java hands them to a client, but for the address: where none is configured parquet-java hands
 * over what a file says, and nothing a file says chooses where a token goes.
 */
private[kms] class ConfValues(conf: Configuration) extends ClientValues {
  override def text(option: OptionSpec): Option[String] = set(option).orElse(option.default)

  override def isSet(option: OptionSpec): Boolean = set(option).isDefined

  protected final def set(option: OptionSpec): Option[String] =
    namesOf(option).flatMap(name => Option(conf.getTrimmed(name)).toList).find(_.nonEmpty)

  override def secret(option: OptionSpec): Option[Secret] =
    namesOf(option)
      .flatMap(name => Option(conf.getPassword(name)).toList)
      .headOption
      .map(password => new Secret(new String(password)))

  override def file(option: OptionSpec): Option[FileContent] =
    text(option).map(path => content(path, s"file $path"))

  /** Spark's own source hands on the options of a read in small letters. */
  private def namesOf(option: OptionSpec): Seq[String] = {
    val name = PmeOptions.ParquetPrefix + option.name.stripPrefix(PmeOptions.ParquetPrefix)
    Seq(name, name.toLowerCase(Locale.ROOT))
  }

  override def content(path: String, where: String): FileContent = {
    def unusable(why: String, cause: Throwable) = PmeErrors.kmsUnavailable(where, why, cause)
    try {
      val file = new Path(path)
      val stream = file.getFileSystem(conf).open(file)
      try {
        val bytes = stream.readNBytes(ConfValues.MaxFileBytes + 1)
        if (bytes.length > ConfValues.MaxFileBytes)
          throw unusable("it is too long for a file of certificates", null)
        new FileContent(bytes)
      } finally stream.close()
    } catch { case failed: IOException => throw unusable("it cannot be read", failed) }
  }
}

private object ConfValues {
  val MaxFileBytes: Int = 1024 * 1024
}
