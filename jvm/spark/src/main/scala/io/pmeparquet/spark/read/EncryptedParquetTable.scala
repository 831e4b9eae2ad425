package io.pmeparquet.spark.read

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.FileStatus
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetScanBuilder
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.sql.SparkSession

import io.pmeparquet.parquet.PmeCryptoFactory
import io.pmeparquet.spark.options.{OptionOrigin, ResolvedOptions}
import io.pmeparquet.spark.session.SparkAccess
import io.pmeparquet.spark.snapshot.{
  NothingSkipped,
  SealState,
  SealedFileIndex,
  SealedTable,
  Skipping,
  StoreSkipping
}

/** The V2 side of the format, as rules know it. It only reads. ''Driver only.'' */
abstract class EncryptedParquetTable private[spark] (
    session: SparkSession,
    tableOptions: CaseInsensitiveStringMap,
    paths: Seq[String],
    userSchema: Option[StructType],
    origin: OptionOrigin
) extends EncryptedFileTable(session, tableOptions, paths, userSchema) {

  private[spark] def sessionRules: SessionRules

  override def formatName: String = "PmeParquet"

  private[spark] override def schemaOf(
      files: Seq[FileStatus],
      options: Map[String, String]
  ): Option[StructType] = SchemaInference.infer(ResolvedOptions.of(session, origin, options), files)

  private[spark] override def scans(options: Map[String, String]): ScanBuilder = {
    val resolved = ResolvedOptions.of(session, origin, options)
    val scope = resolved.scanScope(dataSchema)
    val store = StoreSkipping.of(resolved, dataSchema, fileIndex.partitionSchema)
    val tables = sealedTables(resolved)
    val seal = SealState.of(tables).broadcast(session)
    val read = if (seal.isDefined) NothingSkipped.in(options) else options
    val sparks = new CaseInsensitiveStringMap(
      (EncryptedFileTable
        .skippingNothing(read) ++ SparkReadRules.ofRowReader(SparkAccess.sqlConf(session), schema) ++
        PmeCryptoFactory.readProperties(scope)).asJava
    )
    val files = if (tables.isEmpty && store.isEmpty) fileIndex else skippedFiles(tables, store, resolved)
    def builder() = new ParquetScanBuilder(session, files, schema, dataSchema, sparks)
    val usesPages = resolved.usesPages || SealState.needsPages(seal.isDefined)
    val context = ScanContext(session, sparks, scope, sessionRules, seal, usesPages)
    new PmeScanBuilder(builder(), () => builder(), context)
  }

  private def skippedFiles(
      tables: Seq[SealedTable],
      store: Option[StoreSkipping],
      resolved: ResolvedOptions
  ) = {
    val skipping =
      Skipping.of(resolved, dataSchema, fileIndex.partitionSchema, tables, fileIndex.rootPaths, store)
    new SealedFileIndex(session, fileIndex, skipping)
  }
}
