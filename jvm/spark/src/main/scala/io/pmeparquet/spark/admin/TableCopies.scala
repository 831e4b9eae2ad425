package io.pmeparquet.spark.admin

import scala.collection.JavaConverters._

import org.apache.spark.sql.SparkSession

import io.pmeparquet.options.{PmeOptions, Use}
import io.pmeparquet.parquet.copy.Copied
import io.pmeparquet.spark.admin.job.Progress
import io.pmeparquet.spark.session.PmeSparkException
import io.pmeparquet.PmeErrors

/**
 * Copies a table under new data keys, under the first, or under none, a file per task, without decoding it:
 * `pme.rekey`, `pme.encrypt`, `pme.decrypt`, and for Scala
 * {{{
 *   TableCopies.encrypt(spark, "old", "new", Map.empty.asJava, Map("kms.keystore.path" -> …, "footerKey" -> …).asJava)
 * }}}
 *
 * The target is where there is nothing yet; it comes into being when all files are written and verified. Options are
 * those of the format: the source is read with some, the others are as of a write. ''Driver only.''
 */
object TableCopies {
  private type Options = java.util.Map[String, String]

  def rekey(
      session: SparkSession,
      source: String,
      target: String,
      readOptions: Options,
      writeOptions: Options
  ): Copied = run(session, source, target, readOptions.asScala.toMap, Some(writeOptions.asScala.toMap))

  /** Plaintext files are encrypted, and files that are encrypted already are put under new keys. */
  def encrypt(
      session: SparkSession,
      source: String,
      target: String,
      readOptions: Options,
      writeOptions: Options
  ): Copied = {
    val read = CopyOptions.allowingPlaintext(readOptions.asScala.toMap)
    run(session, source, target, read, Some(writeOptions.asScala.toMap))
  }

  /**
   * Encrypts the files of a table in their places, each in one step after every module of it was opened. Run again, it
   * goes on. What fails for one file is told, and nowhere else: that file is as it was.
   *
   * @param readOptions none that a write would go by, too
   * @param writeOptions of the write, and of the KMS
   */
  def encryptInPlace(
      session: SparkSession,
      path: String,
      readOptions: Options,
      writeOptions: Options
  ): EncryptedInPlace = watched {
    val written = PmeOptions.all.filter(_.use != Use.Read)
    readOptions.asScala.keys.foreach { name =>
      written.find(_.name.equalsIgnoreCase(name)).foreach(option => throw PmeErrors.bothInPlace(option.name))
    }
    new TableInPlace(session, path, (writeOptions.asScala ++ readOptions.asScala).toMap).run()
  }

  /**
   * @param writePlaintext whether the caller knows what it does
   * @throws io.pmeparquet.PmeException where it does not
   */
  def decrypt(
      session: SparkSession,
      source: String,
      target: String,
      readOptions: Options,
      writePlaintext: Boolean
  ): Copied = watched {
    if (!writePlaintext)
      throw PmeErrors.badTarget(
        target,
        "everybody with access to the storage could read all columns of the copy",
        "Confirm it with write_plaintext=True."
      )
    new TableCopy(session, source, target, readOptions.asScala.toMap, None).run()
  }

  private def run(
      session: SparkSession,
      source: String,
      target: String,
      read: Map[String, String],
      write: Option[Map[String, String]]
  ) = watched(new TableCopy(session, source, target, read, write).run())

  private def watched[A](operation: => A): A = Progress.unwatching(PmeSparkException.translated(operation))
}
