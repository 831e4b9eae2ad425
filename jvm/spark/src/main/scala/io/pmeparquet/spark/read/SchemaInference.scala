package io.pmeparquet.spark.read

import java.util.Collections

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.parquet.hadoop.metadata.{BlockMetaData, FileMetaData, ParquetMetadata}
import org.apache.parquet.hadoop.Footer
import org.apache.spark.sql.execution.datasources.parquet.{
  ParquetFileFormat,
  ParquetOptions,
  ParquetToSparkSchemaConverter
}
import org.apache.spark.sql.types.{DataType, StructType}
import org.apache.spark.sql.SparkSession
import org.apache.spark.util.SerializableConfiguration

import io.pmeparquet.parquet.file.{FileSeal, FooterKeyRefused, SplitReader}
import io.pmeparquet.parquet.scope.ReadScope
import io.pmeparquet.spark.options.ResolvedOptions
import io.pmeparquet.spark.session.{PmeSparkException, SparkAccess}
import io.pmeparquet.spark.snapshot.SealState
import io.pmeparquet.PmeErrors

/**
 * Infers the schema of files from their footers. Spark's own inference would lose the scope on its way to executors,
 * and would trust summary files, which nothing authenticates. This one ignores summary files if there are data files,
 * and otherwise accepts them only if the options allow plaintext files.
 */
private[spark] object SchemaInference {

  def infer(read: ResolvedOptions, files: Seq[FileStatus]): Option[StructType] = {
    val scope = read.readScope
    val session = read.session
    val sqlConf = SparkAccess.sqlConf(session)
    val merge = new ParquetOptions(read.spelled, sqlConf).mergeSchema
    val (summaries, others) =
      files.map(_.getPath).sortBy(_.toString).partition(path => SummaryFiles.contains(path.getName))
    val data = if (others.isEmpty) admitted(summaries, scope) else others
    val conf = this.conf(read)
    // Before a rule can evaluate the read.
    val seal = SealState.ofFiles(read, data)
    val looked =
      if (merge && data.size > 1) readOnExecutors(session, data, conf, scope, seal)
      else firstOf(data.iterator.map(file => file -> inferred(file, conf, scope, seal)))
    val footers = looked.flatMap(_._2)
    // A reader of some files needs one of them to know the columns.
    if (footers.isEmpty) looked.headOption.foreach { case (file, _) => readSchema(file, conf, scope, seal) }
    val leftOut = footers.flatMap(_.leftOut)
    if (leftOut.nonEmpty)
      scope.settings.masking.foreach(masking =>
        MaskedReport.warn(masking.option, "left out of the schema", leftOut)
      )
    if (footers.isEmpty) None else Some(merged(session, footers.map(_.schema)))
  }

  /** The configuration with which executors find a file's schema. ''Driver only.'' */
  def conf(read: ResolvedOptions): Configuration = {
    val conf = read.newHadoopConf()
    SparkAccess.setSchemaFlags(conf, SparkAccess.sqlConf(read.session))
    conf
  }

  /** The schema of a file in Spark, of what its footer says. */
  def of(file: Path, metadata: FileMetaData, conf: Configuration): StructType = {
    val footer = new Footer(file, new ParquetMetadata(metadata, Collections.emptyList[BlockMetaData]))
    ParquetFileFormat.readSchemaFromFooter(footer, new ParquetToSparkSchemaConverter(conf))
  }

  /** One schema for files with these. */
  def merged(session: SparkSession, schemas: Seq[StructType]): StructType =
    schemas.distinct.reduce(SchemaMerge.merge(_, _, SparkAccess.sqlConf(session).caseSensitiveAnalysis))

  /** @param leftOut columns that are not in the schema, because the KMS refuses their keys */
  private final case class Inferred(schema: StructType, leftOut: Seq[MaskedReport.Entry])

  /** In Spark's order of preference. */
  private val SummaryFiles = Seq("_common_metadata", "_metadata")

  private def admitted(summaries: Seq[Path], scope: ReadScope): Seq[Path] = {
    if (summaries.nonEmpty && !scope.settings.allowPlaintextFiles)
      throw PmeErrors.summaryFilesAlone(
        summaries.head.getParent.toString,
        summaries.map(_.getName).distinct
      )
    summaries.sortBy(path => SummaryFiles.indexOf(path.getName))
  }

  private def readOnExecutors(
      session: SparkSession,
      files: Seq[Path],
      conf: Configuration,
      scope: ReadScope,
      seal: Option[FileSeal]
  ): Seq[(Path, Option[Inferred])] = {
    val broadcast = session.sparkContext.broadcast(new SerializableConfiguration(conf))
    val slices = files.size.min(session.sparkContext.defaultParallelism)
    val read = new ReadSchemas(broadcast.value, scope, seal)
    session.sparkContext
      .parallelize(files.map(_.toString), slices)
      .map { file =>
        file -> read(new Path(file)).map(inferred => inferred.schema.json -> inferred.leftOut)
      }
      .collect()
      .toSeq
      .map { case (file, found) =>
        new Path(file) -> found.map { case (json, leftOut) =>
          Inferred(DataType.fromJson(json).asInstanceOf[StructType], leftOut)
        }
      }
  }

  /** ''Crosses the wire'', with the scope. */
  private final class ReadSchemas(conf: SerializableConfiguration, scope: ReadScope, seal: Option[FileSeal])
      extends (Path => Option[Inferred])
      with Serializable {
    override def apply(file: Path): Option[Inferred] = PmeSparkException.translated {
      inferred(file, conf.value, scope, seal)
    }
  }

  /** The files up to the first that is read. */
  private def firstOf(files: Iterator[(Path, Option[Inferred])]): Seq[(Path, Option[Inferred])] = {
    val first = files.take(1).toList
    if (first.forall(_._2.isDefined)) first else first ++ files.find(_._2.isDefined)
  }

  /** None for a file that a query leaves out, because the KMS refuses the key of its footer. */
  private def inferred(
      file: Path,
      conf: Configuration,
      scope: ReadScope,
      seal: Option[FileSeal]
  ): Option[Inferred] =
    try Some(readSchema(file, conf, scope, seal))
    catch { case _: FooterKeyRefused => None }

  private def readSchema(
      file: Path,
      conf: Configuration,
      scope: ReadScope,
      seal: Option[FileSeal]
  ): Inferred = {
    val opened = new SplitReader(scope, file, conf, seal)
    try {
      val schema = of(file, opened.metadata, conf)
      val refused = scope.settings.masking.filter(_.leavesOutSome).toSeq.flatMap { masking =>
        opened.refused(opened.metadata.getSchema).filter(column => masking.leavesOut(column.denied.condition))
      }
      Inferred(
        without(schema, refused.map(_.path)),
        refused.map(column => (null, column.path.head, column.display, column.masterKeyId, file.toString))
      )
    } finally opened.close()
  }

  /** A schema without some leaves. A struct loses only these fields; any other column with such a leaf is left out. */
  private def without(schema: StructType, leaves: Seq[Seq[String]]): StructType =
    StructType(schema.fields.flatMap { field =>
      val below = leaves.filter(_.head == field.name).map(_.tail)
      field.dataType match {
        case _ if below.isEmpty => Some(field)
        case struct: StructType =>
          Some(without(struct, below)).filter(_.nonEmpty).map(left => field.copy(dataType = left))
        case _ => None
      }
    })
}
