package io.pmeparquet.spark.admin.recovery

import java.time.ZoneId
import java.util.{BitSet, Collections}

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.column.page.PageReadStore
import org.apache.parquet.hadoop.api.InitContext
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.{DataSourceUtils, FileFormat}
import org.apache.spark.sql.execution.datasources.parquet.{ParquetFileFormat, ParquetReadSupport}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.SparkSession
import org.apache.spark.util.SerializableConfiguration

import io.pmeparquet.parquet.recover.{FileRecovery, RecoveredFile, RecoveredGroup}
import io.pmeparquet.parquet.storage.ListedFile
import io.pmeparquet.spark.decode.{RowGroupSource, RowPages}
import io.pmeparquet.spark.read.SparkReadRules
import io.pmeparquet.spark.session.SparkAccess
import io.pmeparquet.PmeErrors

/**
 * The rows of a damaged file, assembled one by one by Spark's own read support. ''Crosses the wire'', with the scope.
 *
 * @param conf prepared by Spark for its own reader
 * @param schema the columns to read
 */
private[recovery] final class RecoveredRows private (
    conf: Broadcast[SerializableConfiguration],
    recovery: FileRecovery,
    rules: SparkReadRules,
    schema: StructType
) extends Serializable {

  /**
   * Opens a file. ''Executor only.''
   *
   * @param goOn called often; throws if the work is no longer wanted
   * @throws io.pmeparquet.PmeException if nothing of it opens
   */
  def open(file: ListedFile, goOn: () => Unit): RecoveredFile = recovery.open(file, conf.value.value, goOn)

  /** @throws io.pmeparquet.PmeException if the file is not as it was listed */
  def requireUnchanged(file: ListedFile): Unit = {
    val path = new Path(file.path)
    val now = path.getFileSystem(conf.value.value).getFileStatus(path)
    if (now.getLen != file.length || now.getModificationTime != file.modified)
      throw PmeErrors.changedMeanwhile(file.path)
  }

  /**
   * All rows of a row group, in order, and which of them have lost each field of the schema. A row is valid until the
   * next. Cells that are lost have any value.
   */
  def of(path: Path, file: RecoveredFile, group: RecoveredGroup): (Iterator[InternalRow], Seq[BitSet]) = {
    val hadoop = conf.value.value
    val metadata = file.metadata.getKeyValueMetaData
    val datetime = DataSourceUtils.datetimeRebaseSpec(metadata.get(_), rules.datetimeRebaseMode)
    val int96 = DataSourceUtils.int96RebaseSpec(metadata.get(_), rules.int96RebaseMode)
    val convertTz: Option[ZoneId] = rules.int96Conversion
      .filterNot(_ => String.valueOf(file.metadata.getCreatedBy).startsWith("parquet-mr"))
      .map(DateTimeUtils.getZoneId)
    val support = new ParquetReadSupport(convertTz, enableVectorizedReader = false, datetime, int96)
    val sets = metadata.asScala.map { case (key, value) => key -> Collections.singleton(value) }.toMap.asJava
    val requested = support.init(new InitContext(hadoop, sets, file.metadata.getSchema))
    val rows =
      new RowPages(path, new OneGroup(group), file.metadata, support, requested, hadoop, None, schema)
        .rows(new StructType, InternalRow.empty)
    // Spark finds a column by its id, or by its name in the session's way. It asks for them in the order of the schema,
    // and a column that the file lacks is lost in no row.
    val asked = requested.getRequestedSchema
    val lost = (0 until asked.getFieldCount).map { field =>
      val name = asked.getFieldName(field)
      if (file.metadata.getSchema.containsField(name)) group.lostRows(name) else new BitSet
    }
    if (lost.size != schema.size)
      throw new IllegalStateException(
        s"internal error: Spark asks for ${lost.size} of ${schema.size} columns"
      )
    rows -> lost
  }

  private final class OneGroup(group: RecoveredGroup) extends RowGroupSource {
    private var isRead = false
    override def advance(): Long = if (isRead) 0
    else {
      isRead = true
      group.rowCount.toLong
    }
    override def pages(): PageReadStore = group.pages
    override def close(): Unit = ()
  }
}

private[recovery] object RecoveredRows {

  /** @param conf of a read with these options; this changes it. ''Driver only.'' */
  def apply(
      session: SparkSession,
      conf: Configuration,
      recovery: FileRecovery,
      options: Map[String, String],
      schema: StructType
  ): RecoveredRows = {
    // It sets which columns Spark's read support returns, and how.
    new ParquetFileFormat().buildReaderWithPartitionValues(
      session,
      schema,
      new StructType,
      schema,
      Nil,
      options + (FileFormat.OPTION_RETURNING_BATCH -> "false"),
      conf
    )
    val rules = SparkReadRules.of(SparkAccess.sqlConf(session), schema, options)
    val shared = session.sparkContext.broadcast(new SerializableConfiguration(conf))
    new RecoveredRows(shared, recovery, rules, schema)
  }
}
