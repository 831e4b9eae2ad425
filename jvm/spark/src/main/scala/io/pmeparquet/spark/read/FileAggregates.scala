package io.pmeparquet.spark.read

import scala.collection.JavaConverters._

import org.apache.parquet.column.statistics.Statistics
import org.apache.parquet.schema.{LogicalTypeAnnotation, PrimitiveType, Type}
import org.apache.parquet.schema.LogicalTypeAnnotation.{DateLogicalTypeAnnotation, IntLogicalTypeAnnotation}
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.util.RebaseDateTime
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.expressions.aggregate._
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}
import org.apache.spark.sql.types._

import io.pmeparquet.columns.ColumnNames
import io.pmeparquet.parquet.file.SplitReader
import io.pmeparquet.parquet.scope.ReadScope

/**
 * What Spark asks of each file in place of its rows. ''Crosses the wire.''
 *
 * @param columns the columns of files that the functions look at
 * @param partitions the columns whose values are names of directories; in rows they follow the others
 * @param groups the places among `partitions` of the columns that the answer begins with
 * @param functions follow in the answer
 * @param result the schema of the answer
 */
private[spark] final case class FileAggregates(
    columns: StructType,
    partitions: StructType,
    groups: Seq[Int],
    functions: Seq[FileAggregate],
    result: StructType
) {

  /** The columns of rows from which the functions can be computed. */
  def rows: StructType = StructType(columns.fields ++ partitions.fields)
}

/** One aggregate function. */
private[spark] sealed trait FileAggregate extends Serializable {

  /** The place in a row of the column that it looks at; none: it counts rows. */
  def column: Option[Int]
}

private[spark] object FileAggregate {
  final case class Counting(column: Option[Int]) extends FileAggregate
  final case class Extreme(at: Int, largest: Boolean) extends FileAggregate {
    override def column: Option[Int] = Some(at)

    /** The one of two values that is nearer to the end, or the only one that is not null. */
    def of(one: Any, other: Any): Any =
      if (one == null) other
      else if (other == null) one
      else if ((one.asInstanceOf[Comparable[Any]].compareTo(other) < 0) == largest) other
      else one
  }
}

private[spark] object FileAggregates {
  import FileAggregate.{Counting, Extreme}

  /**
   * ''Driver only.''
   *
   * @param aggregation which Spark has pushed into a scan, so it has no other functions
   * @param result of the scan
   */
  def of(
      aggregation: Aggregation,
      data: StructType,
      partitions: StructType,
      result: StructType,
      caseSensitive: Boolean
  ): FileAggregates = {
    def is(name: String)(other: String) = ColumnNames.isSame(name, other, caseSensitive)
    def nameOf(function: AggregateFunc) = function.references().headOption.map(_.fieldNames().head)
    val functions = aggregation.aggregateExpressions().toSeq
    val asked = functions.flatMap(nameOf(_))
    val inFiles = data.filterNot(field => partitions.fieldNames.exists(is(field.name)))
    val columns = StructType(inFiles.filter(field => asked.exists(is(field.name))))
    val names = columns.fieldNames ++ partitions.fieldNames
    def place(in: Array[String], name: String) = in.indexWhere(is(name)) match {
      case -1 => throw new IllegalStateException(s"internal error: no column $name")
      case at => at
    }
    FileAggregates(
      columns,
      partitions,
      aggregation.groupByExpressions().toSeq.map { group =>
        place(partitions.fieldNames, group.references().head.fieldNames().head)
      },
      functions.map {
        case _: CountStar => Counting(None)
        case count: Count => Counting(nameOf(count).map(place(names, _)))
        case function @ (_: Min | _: Max) =>
          Extreme(place(names, nameOf(function).get), function.isInstanceOf[Max])
        case other => throw new IllegalStateException(s"internal error: $other was pushed")
      },
      result
    )
  }
}

/** Computes the functions from rows. ''Executor only.'' */
private[read] final class RowAggregates(asked: FileAggregates) {
  import FileAggregate.{Counting, Extreme}

  private val types = asked.rows.fields.map(_.dataType)
  private val values: Array[Any] = asked.functions.map {
    case _: Counting => 0L
    case _: Extreme => null
  }.toArray

  def add(row: InternalRow): Unit = asked.functions.zipWithIndex.foreach {
    case (Counting(column), at) =>
      if (column.forall(!row.isNullAt(_))) values(at) = values(at).asInstanceOf[Long] + 1
    case (extreme: Extreme, at) =>
      if (!row.isNullAt(extreme.at))
        values(at) = extreme.of(values(at), row.get(extreme.at, types(extreme.at)))
  }

  def result: Seq[Any] = values.toSeq
}

/**
 * Answers aggregates from a file's footer, if that surely gives what the rows would. It looks for columns by their names:
 * a file may have them at other places than the table. ''Executor only.''
 */
private[read] final class FooterAggregates(
    asked: FileAggregates,
    caseSensitive: Boolean,
    file: SplitReader,
    start: Long,
    length: Long
) {
  import FileAggregate.{Counting, Extreme}

  private lazy val rowCount = file.rowCounts(start, length).sum

  /** The values of the functions; none: the rows must be read. */
  def values(partition: InternalRow): Option[Seq[Any]] = {
    val found = asked.functions.iterator.map(value(_, partition)).takeWhile(_.isDefined).flatten.toSeq
    if (found.size == asked.functions.size) Some(found) else None
  }

  // `Some(null)` is NULL.
  private def value(function: FileAggregate, partition: InternalRow): Option[Any] = function match {
    case Counting(None) => Some(rowCount)
    case Counting(Some(at)) if at >= asked.columns.size =>
      Some(if (partition.isNullAt(at - asked.columns.size)) 0L else rowCount)
    case Counting(Some(at)) => statistics(at).flatMap(counted)
    case extreme: Extreme if extreme.at < asked.columns.size =>
      statistics(extreme.at).flatMap(extremeOf(extreme, _, asked.columns(extreme.at).dataType))
    case _ => None
  }

  private def counted(groups: Column): Option[Long] =
    if (groups.statistics.forall(has(_)(_.isNumNullsSet)))
      Some(rowCount - groups.statistics.map(_.getNumNulls).sum)
    else None

  private def extremeOf(extreme: Extreme, column: Column, wanted: DataType): Option[Any] = {
    val ends = column.statistics.map { group =>
      if (!has(group)(_.hasNonNullValue)) None
      else
        for {
          low <- converted(group.genericGetMin, column.field, wanted)
          high <- converted(group.genericGetMax, column.field, wanted)
        } yield if (extreme.largest) high else low
    }
    if (ends.exists(_.isEmpty)) None else Some(ends.flatten.foldLeft[Any](null)(extreme.of))
  }

  private def has(group: Statistics[_])(known: Statistics[_] => Boolean) = group != null && known(group)

  private def statistics(at: Int): Option[Column] = {
    val name = asked.columns(at).name
    val fields = file.metadata.getSchema.getFields.asScala.filter { field =>
      ColumnNames.isSame(field.getName, name, caseSensitive)
    }
    fields.toSeq match {
      case Seq(field) if field.isPrimitive && !field.isRepetition(Type.Repetition.REPEATED) =>
        Some(Column(field.asPrimitiveType, file.statistics(start, length, field.getName)))
      case _ => None
    }
  }

  /** A value of a footer as the rows have it; none, if the rows may have it in another form. */
  private def converted(value: Any, field: PrimitiveType, wanted: DataType): Option[Any] = {
    val isInt = field.getLogicalTypeAnnotation match {
      case null => true
      case int: IntLogicalTypeAnnotation => int.isSigned
      case _: LogicalTypeAnnotation => false
    }
    (value, field.getPrimitiveTypeName, wanted) match {
      case (bool: java.lang.Boolean, PrimitiveTypeName.BOOLEAN, BooleanType) => Some(bool)
      case (int: Integer, PrimitiveTypeName.INT32, IntegerType) if isInt => Some(int)
      case (int: Integer, PrimitiveTypeName.INT32, ShortType) if isInt && int.toInt == int.toShort =>
        Some(Short.box(int.toShort))
      case (int: Integer, PrimitiveTypeName.INT32, ByteType) if isInt && int.toInt == int.toByte =>
        Some(Byte.box(int.toByte))
      case (long: java.lang.Long, PrimitiveTypeName.INT64, LongType) if isInt => Some(long)
      // Earlier days may be of another calendar.
      case (day: Integer, PrimitiveTypeName.INT32, DateType)
          if field.getLogicalTypeAnnotation.isInstanceOf[DateLogicalTypeAnnotation] &&
            day >= RebaseDateTime.lastSwitchJulianDay =>
        Some(day)
      case _ => None
    }
  }

  private case class Column(field: PrimitiveType, statistics: Seq[Statistics[_]])
}

/**
 * Answers aggregates with one row for each file: from its footer, or else from its rows. So no footer can make a query
 * fail or answer wrongly, and the plan does not depend on files. A partition without files gives one row, as for no rows.
 * ''Crosses the wire'', with the scope.
 *
 * @param rows reads the rows of a file, with the columns that the aggregates look at
 * @param byName whether columns of files are found by their names
 */
private[read] final class AggregatesReaderFactory(
    asked: FileAggregates,
    rows: PartitionReaderFactory,
    admission: ParquetSplitAdmission,
    scope: ReadScope,
    byName: Boolean,
    caseSensitive: Boolean
) extends PartitionReaderFactory {

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = {
    val files = partition.asInstanceOf[FilePartition].files
    val answers =
      if (files.isEmpty) Iterator.single[InternalRow](rowOf(new RowAggregates(asked).result))
      else files.iterator.map(answer)
    new UnsafeRowReader(new IteratorReader(answers), asked.result)
  }

  private def answer(file: PartitionedFile): InternalRow = {
    admission.check(file)
    val values =
      try ofFooter(file).getOrElse(ofRows(file))
      catch { case failed: Throwable => throw admission.translate(failed, file.toPath.toString) }
    val groups = asked.groups.map(at => file.partitionValues.get(at, asked.partitions(at).dataType))
    rowOf(groups ++ values)
  }

  private def rowOf(values: Seq[Any]): InternalRow = new GenericInternalRow(values.toArray[Any])

  private def ofFooter(file: PartitionedFile): Option[Seq[Any]] =
    if (!byName) None
    else {
      val footer = new SplitReader(scope, file.toPath, admission.conf.value.value)
      try {
        val length = footer.splitLength(file.start, file.length, file.fileSize)
        new FooterAggregates(asked, caseSensitive, footer, file.start, length).values(file.partitionValues)
      } finally footer.close()
    }

  private def ofRows(file: PartitionedFile): Seq[Any] = {
    val reader = rows.createReader(FilePartition(0, Array(file)))
    try {
      val aggregates = new RowAggregates(asked)
      while (reader.next()) aggregates.add(reader.get())
      aggregates.result
    } finally reader.close()
  }

  override def toString: String = s"AggregatesReaderFactory($rows)"
}
