package io.pmeparquet.parquet.alone

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration

import io.pmeparquet.PmeErrors

/**
 * Spark skips a file on any failure if it is told to, also one that is altered, plaintext or refused. Rules of a session
 * refuse such a read before it runs; this is for who has no rules.
 */
private[parquet] object SkippedFiles {
  private val Options = Seq("ignoreCorruptFiles", "ignoreMissingFiles")
  private val OfSession = "spark.sql.files."

  /** @throws io.pmeparquet.PmeException which Spark does not take for a corrupt file, if nothing makes it another exception */
  def refuse(conf: Configuration): Unit = find(conf).foreach { name =>
    throw PmeErrors.skippedFiles(name, "a read with parquet.crypto.factory.class")
  }

  /** An option of the read, in any letters, overrides the session's setting. */
  private def find(conf: Configuration): Option[String] = {
    val options = conf.asScala
      .map(_.getKey)
      .filter(name => Options.exists(_.equalsIgnoreCase(name)))
      .toSeq
    val on = options.filter(conf.getBoolean(_, false))
    val ofSession = Options
      .filterNot(name => options.exists(_.equalsIgnoreCase(name)))
      .map(OfSession + _)
      .filter(conf.getBoolean(_, false))
    (on ++ ofSession).headOption
  }
}
