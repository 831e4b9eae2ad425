package io.pmeparquet.spark.read

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.FileStatus
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetScanBuilder
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.sql.SparkSession

import io.pmeparquet.parquet.PmeCryptoFactory
import io.pmeparquet.spark.options.{ConfResolver, OptionOrigin}
import io.pmeparquet.spark.session.SparkAccess
import io.pmeparquet.spark.snapshots.{
  NothingSkipped,
  SealState,
  SealedFileIndex,
  SealedTable,
  Skipping,
  SnapshotReads,
  StoreSkipping
}

/** The V2 side of the format, as rules know it. It only reads. ''Driver only.'' */
abstract class EncryptedTable private[spark] (
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
  ): Option[StructType] = {
    val resolver = new ConfResolver(session, origin)
    val sealOf = SealState.ofFile(session, resolver, options) _
    SchemaInference.infer(session, options, files, resolver.read(options), sealOf)
  }

  private[spark] override def scans(options: Map[String, String]): ScanBuilder = {
    val resolver = new ConfResolver(session, origin)
    val scope = resolver.scan(options, dataSchema)
    val store = StoreSkipping.of(session, resolver, options, dataSchema, fileIndex.partitionSchema)
    val tables = sealedTables(options)
    val seal = SealState.of(tables).broadcast(session)
    val read = if (seal.isDefined) NothingSkipped.in(options) else options
    val sparks = new CaseInsensitiveStringMap(
      (EncryptedFileTable
        .skippingNothing(read) ++ SparkReadRules.ofRowReader(SparkAccess.sqlConf(session), schema) ++
        PmeCryptoFactory.readProperties(scope)).asJava
    )
    val files = if (tables.isEmpty && store.isEmpty) fileIndex else skippedFiles(tables, store, options)
    def builder() = new ParquetScanBuilder(session, files, schema, dataSchema, sparks)
    new PmeScanBuilder(builder(), () => builder(), ScanContext(session, sparks, scope, sessionRules, seal))
  }

  private def skippedFiles(
      tables: Seq[SealedTable],
      store: Option[StoreSkipping],
      options: Map[String, String]
  ) = {
    val skipping =
      Skipping.of(session, options, dataSchema, fileIndex.partitionSchema, tables, fileIndex.rootPaths, store)
    new SealedFileIndex(session, fileIndex, skipping)
  }

  /** The sealed tables that the files are of, compared with what Spark has listed. */
  private def sealedTables(options: Map[String, String]): Seq[SealedTable] = {
    val reads = new SnapshotReads(session, new ConfResolver(session, origin), options)
    val listed = fileIndex.allFiles()
    val files = listed.iterator.map(_.getPath).toSet
    val tables = reads.tables(fileIndex.rootPaths, files.contains, files)
    reads.require(tables, fileIndex, catalog = None, isStream = false)
    tables
  }
}
