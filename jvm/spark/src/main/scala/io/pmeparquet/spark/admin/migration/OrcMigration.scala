package io.pmeparquet.spark.admin.migration

import java.util.Base64

import scala.collection.JavaConverters._

import org.apache.spark.sql.SparkSession

import io.pmeparquet.{AesKey, PmeErrors}
import io.pmeparquet.keys.KeyPurpose
import io.pmeparquet.orc.keys.{OrcKeyName, WrappedMasterKey}
import io.pmeparquet.spark.admin.job.Progress
import io.pmeparquet.spark.options.ResolvedOptions
import io.pmeparquet.spark.session.PmeSparkException

/**
 * Moves a table of encrypted ORC files to encrypted Parquet: `pme.migrate_orc`, and in Scala
 * {{{
 *   OrcMigration.migrate(spark, "old", "new", Map("kms" -> "hadoop", …), Map("kms" -> "vault", "footerKey" -> …))
 * }}}
 * The target appears when all files are written and verified. If a run stops, a second one continues. ''Driver only.''
 */
object OrcMigration {

  /**
   * @param source a path, or the name of a table in the session's catalog
   * @param target a new directory
   * @param readOptions those of a read with `format("pme-orc")`
   * @param writeOptions those of a write with `format("pme-parquet")`; without `columnKeys` or `uniformKey`, encrypted
   *   columns of the source keep the names of their keys
   * @param bloomFilters whether columns with Bloom filters get them again
   * @throws io.pmeparquet.PmeException if a column of a file does not open, or something cannot be carried over: then
   *   nothing was written; or if the target differs from the source
   */
  def migrate(
      session: SparkSession,
      source: String,
      target: String,
      readOptions: Map[String, String],
      writeOptions: Map[String, String],
      bloomFilters: Boolean = true
  ): MigratedTable = PmeSparkException.translated {
    new OrcMigrationRun(session, source, target, readOptions, writeOptions, bloomFilters).run()
  }

  /** What [[migrate]] would do. It opens the footers of all files with their keys, and writes nothing. */
  def plan(
      session: SparkSession,
      source: String,
      target: String,
      readOptions: Map[String, String],
      writeOptions: Map[String, String],
      bloomFilters: Boolean = true
  ): MigrationPlan = PmeSparkException.translated {
    new OrcMigrationRun(session, source, target, readOptions, writeOptions, bloomFilters).plan()
  }

  /** For Python. */
  def migrate(
      session: SparkSession,
      source: String,
      target: String,
      readOptions: java.util.Map[String, String],
      writeOptions: java.util.Map[String, String],
      bloomFilters: Boolean
  ): MigratedTable = Progress.unwatching {
    migrate(session, source, target, readOptions.asScala.toMap, writeOptions.asScala.toMap, bloomFilters)
  }

  /** For Python. */
  def plan(
      session: SparkSession,
      source: String,
      target: String,
      readOptions: java.util.Map[String, String],
      writeOptions: java.util.Map[String, String],
      bloomFilters: Boolean
  ): MigrationPlan = Progress.unwatching {
    plan(session, source, target, readOptions.asScala.toMap, writeOptions.asScala.toMap, bloomFilters)
  }

  /**
   * Wraps an ORC master key with a key of the KMS: the value of `orcMasterKeys`, and of a table's property.
   *
   * @param options where the KMS is
   * @param key the name of the master key in ORC files
   * @param kmsKey the key of the KMS
   */
  def wrapKey(
      session: SparkSession,
      options: java.util.Map[String, String],
      masterKey: Array[Byte],
      key: String,
      kmsKey: String
  ): String = PmeSparkException.translated {
    val bits = masterKey.length * 8
    if (bits != 128 && bits != 256) throw PmeErrors.orcMasterKeySize(bits)
    val kms = ResolvedOptions.ofFrame(session, options.asScala.toMap).openKms(KeyPurpose.Copy)
    WrappedMasterKey.wrap(kms, AesKey.of(masterKey, "master_key"), OrcKeyName.parse(key), kmsKey)
  }

  /** As [[wrapKey]], with a reference to the master key in Base64. */
  def wrapReferredKey(
      session: SparkSession,
      options: java.util.Map[String, String],
      reference: String,
      key: String,
      kmsKey: String
  ): String = PmeSparkException.translated {
    val text = ResolvedOptions.ofFrame(session, Map.empty).secret("master_key", reference)
    val bytes =
      try Base64.getDecoder.decode(text.insecureValue.trim)
      // The cause has a part of the text.
      catch { case _: IllegalArgumentException => throw PmeErrors.orcMasterKeyText(reference) }
    wrapKey(session, options, bytes, key, kmsKey)
  }
}
