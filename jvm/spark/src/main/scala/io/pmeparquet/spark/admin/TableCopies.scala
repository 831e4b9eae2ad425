package io.pmeparquet.spark.admin

import scala.collection.JavaConverters._

import org.apache.spark.sql.SparkSession

import io.pmeparquet.{Audience, PmeErrors}
import io.pmeparquet.options.{PmeOptions, Use}
import io.pmeparquet.parquet.copy.Copied
import io.pmeparquet.spark.admin.job.Progress
import io.pmeparquet.spark.session.PmeSparkException

/**
 * Copies a table with new data keys (`pme.rekey`), its first keys (`pme.encrypt`) or no keys (`pme.decrypt`). Each task
 * copies one file, without decoding it. In Scala:
 * {{{
 *   TableCopies.encrypt(spark, "old", "new", Map.empty.asJava, Map("kms.keystore.path" -> …, "footerKey" -> …).asJava)
 * }}}
 *
 * The target must not exist yet; it appears when all files are written and verified. Options are those of the format:
 * some for reading the source, the others for writing the copy. ''Driver only.''
 */
object TableCopies {
  private type Options = java.util.Map[String, String]

  def rekey(
      session: SparkSession,
      source: String,
      target: String,
      readOptions: Options,
      writeOptions: Options
  ): Copied = copy(session, source, target, readOptions.asScala.toMap, writeOptions)

  /** Encrypts plaintext files, and puts files that are encrypted already under new keys. */
  def encrypt(
      session: SparkSession,
      source: String,
      target: String,
      readOptions: Options,
      writeOptions: Options
  ): Copied =
    copy(session, source, target, TableCopy.allowingPlaintext(readOptions.asScala.toMap), writeOptions)

  /**
   * Encrypts the files of a table in place. It verifies every module of an encrypted file, and then replaces the
   * original in one step. If it stops, a second run continues. Only the result reports files that failed: they have not
   * changed.
   *
   * @param readOptions only options that a write does not use
   * @param writeOptions the options of the write and of the KMS
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
   * @param writePlaintext whether the caller confirms that the copy is readable
   * @throws io.pmeparquet.PmeException if the caller does not
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
        s"Confirm it with ${Audience.current.writePlaintext}."
      )
    new TableCopy(session, source, target, readOptions.asScala.toMap, None).run()
  }

  private def copy(
      session: SparkSession,
      source: String,
      target: String,
      read: Map[String, String],
      write: Options
  ) = watched(new TableCopy(session, source, target, read, Some(write.asScala.toMap)).run())

  private def watched[A](operation: => A): A = Progress.unwatching(PmeSparkException.translated(operation))
}
