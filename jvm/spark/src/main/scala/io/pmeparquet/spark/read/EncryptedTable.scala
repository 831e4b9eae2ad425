package io.pmeparquet.spark.read

import java.util

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.FileStatus
import org.apache.spark.sql.connector.catalog.TableCapability
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.connector.write.{LogicalWriteInfo, WriteBuilder}
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetScanBuilder
import org.apache.spark.sql.execution.datasources.v2.FileTable
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.sql.SparkSession

import io.pmeparquet.parquet.PmeCryptoFactory
import io.pmeparquet.spark.options.{ConfResolver, OptionOrigin}
import io.pmeparquet.spark.session.PmeSparkException
import io.pmeparquet.spark.snapshots.{
  FileSkipping,
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
) extends FileTable(session, tableOptions, paths, userSchema) {

  private[spark] def sessionRules: SessionRules

  override def formatName: String = "PmeParquet"

  override def capabilities(): util.Set[TableCapability] = util.EnumSet.of(TableCapability.BATCH_READ)

  override def inferSchema(files: Seq[FileStatus]): Option[StructType] = PmeSparkException.translated {
    val spelled = spelledOptions(tableOptions)
    val resolver = new ConfResolver(session, origin)
    val sealOf = SealOfRead.ofFile(session, resolver, spelled) _
    SchemaInference.infer(session, spelled, files, resolver.read(spelled), sealOf)
  }

  override def newScanBuilder(scanOptions: CaseInsensitiveStringMap): ScanBuilder =
    PmeSparkException.translated {
      // Spark 3.5 passes only the scan's options, later versions also the table's. The scan's options take precedence.
      val scan = spelledOptions(scanOptions)
      val spelled = spelledOptions(tableOptions).filterNot { case (name, _) =>
        scanOptions.containsKey(name)
      } ++ scan
      val resolver = new ConfResolver(session, origin)
      val scope = resolver.scan(spelled, dataSchema)
      val ours = PmeCryptoFactory.readProperties(scope) + EncryptedTable.NothingSkipped
      val store = StoreSkipping.of(session, resolver, spelled, dataSchema, fileIndex.partitionSchema)
      val tables = sealedTables(spelled)
      val seal = SealOfRead.broadcast(session, SealState.of(tables))
      val read = if (seal.isDefined) NothingSkipped.in(spelled) else spelled
      val options = new CaseInsensitiveStringMap(
        (read.filterNot(_._1.equalsIgnoreCase(EncryptedTable.NothingSkipped._1)) ++ ours).asJava
      )
      val files = if (tables.isEmpty && store.isEmpty) fileIndex else skippedFiles(tables, store, spelled)
      val spark = new ParquetScanBuilder(session, files, schema, dataSchema, options)
      new PmeScanBuilder(spark, FileOpeningOf(session, options, scope, sessionRules, seal))
    }

  private def skippedFiles(
      tables: Seq[SealedTable],
      store: Option[StoreSkipping],
      options: Map[String, String]
  ) = {
    val masks = new ConfResolver(session).masking(options).isDefined
    val judge = FileSkipping.of(session, options, dataSchema, fileIndex.partitionSchema, masks)
    new SealedFileIndex(session, fileIndex, new Skipping(tables, fileIndex.rootPaths, judge, store))
  }

  /** The sealed tables that the files are of, compared with what Spark has listed. */
  private def sealedTables(options: Map[String, String]): Seq[SealedTable] = {
    val reads = new SnapshotReads(session, new ConfResolver(session, origin), options)
    val listed = fileIndex.allFiles()
    val files = listed.iterator.map(_.getPath).toSet
    val tables = reads.tables(fileIndex.rootPaths, files.contains)
    reads.require(tables, fileIndex.rootPaths, listed, catalog = None)
    tables
  }

  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder =
    throw new IllegalStateException("internal error: writes go through PmeFileFormat")

  private def spelledOptions(options: CaseInsensitiveStringMap) = options.asCaseSensitiveMap().asScala.toMap
}

private object EncryptedTable {

  /**
   * Spark's V2 reader can skip a file on any failure, below our code. It must not skip an altered or plaintext file.
   */
  val NothingSkipped: (String, String) = "ignoreCorruptFiles" -> "false"
}
