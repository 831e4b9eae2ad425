package io.pmeparquet.spark.write

import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.pmeparquet.columns.{ColumnKeys, KeyDraft, KeyTemplate, KeyValues}
import io.pmeparquet.columns.ColumnNames.isSame
import io.pmeparquet.options.FileSettings
import io.pmeparquet.parquet.write.WriteRules
import io.pmeparquet.spark.session.ValueTexts
import io.pmeparquet.PmeErrors

/**
 * Columns of the data that name keys, though the table is not partitioned by them. Each file has one value of each, or one
 * bucket of values, and states it in its footer ([[KeyValues]]). ''Crosses the wire.''
 *
 * @param values what names have of their values
 */
private[spark] final case class CutColumns private (values: Seq[KeyTemplate.Value], caseSensitive: Boolean) {
  def isEmpty: Boolean = values.isEmpty

  /** The columns, in the order of [[values]]. */
  def names: Seq[String] = values.map(_.column).distinct

  /** What a name has of each value, as text: NULL where it has none. */
  def texts(columnOf: String => Expression): Seq[Expression] = values.map { value =>
    val text = ValueTexts.of(columnOf(value.column))
    value.buckets.fold(text)(BucketText(text, _))
  }

  /**
   * What a file with these values states.
   *
   * @param texts of [[values]], null where a name has none
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION` if no key has such a name
   */
  def stated(texts: Seq[UTF8String], where: String): KeyValues = {
    values.zip(texts).find(one => one._2 == null || one._2.numBytes == 0).foreach { case (value, _) =>
      throw PmeErrors.emptyKeyValue(where, s"{${value.placeholder}}", value.column)
    }
    KeyValues(values.map(_.placeholder).zip(texts.map(_.toString)).toMap)
  }

  /** @param rows the columns of the rows of one file */
  def of(rows: StructType, where: String): CutValues = {
    def column(name: String): Expression = {
      val at = CutColumns.position(rows, name, caseSensitive)
      BoundReference(at, rows(at).dataType, nullable = true)
    }
    new CutValues(this, names.map(name => ValueTexts.of(column(name))), texts(column), where)
  }
}

private[spark] object CutColumns {

  /**
   * @param open the columns of templates that are neither in the table's directory nor partition columns
   * @param data the columns of its files
   * @throws io.pmeparquet.PmeException if the files have no such column, or cannot be cut at its values
   */
  def of(settings: FileSettings, open: Seq[String], data: StructType, directory: String): CutColumns = {
    def isAmong(name: String) = open.exists(isSame(_, name, settings.caseSensitive))
    val missing = open.filter(position(data, _, settings.caseSensitive) < 0)
    if (missing.nonEmpty) throw PmeErrors.keyTemplateColumns(missing, directory)
    val columns = open.map(name => data(position(data, name, settings.caseSensitive)))
    columns.foreach(requireUsable(_, settings, directory))
    val values = settings.keyValues
      .filter(value => isAmong(value.column))
      .map { value =>
        // As the table spells it.
        value.copy(column = columns.map(_.name).find(isSame(_, value.column, settings.caseSensitive)).get)
      }
      .distinct
    // The value says which bucket it is in.
    def isWhole(column: String) = values.exists(one => one.column == column && one.buckets.isEmpty)
    CutColumns(values.filter(one => one.buckets.isEmpty || !isWhole(one.column)), settings.caseSensitive)
  }

  /** Of a write whose partition columns nobody knows: those of its data. */
  def inData(settings: FileSettings, data: StructType, directory: String): CutColumns =
    of(settings, settings.keyColumns.filter(position(data, _, settings.caseSensitive) >= 0), data, directory)

  private def requireUsable(column: StructField, settings: FileSettings, directory: String): Unit = {
    if (settings.plaintextFooter) throw WriteRules.statedInPlaintext
    if (!ValueTexts.areSame(column.dataType))
      throw PmeErrors.unsupported(
        s"$directory, column '${column.name}'",
        s"a key by a column of type ${column.dataType.simpleString}",
        "its values have no text that all readers agree on",
        "Use a column of type STRING, BOOLEAN, DATE or of whole numbers, or partition the table by it."
      )
    val keys = settings.columnKeys.toSeq.flatMap(_.entries) ++ settings.keysOfOthers
    KeyDraft
      .ofPartitions(Seq(column.name), Some(ColumnKeys(keys)), settings.caseSensitive)
      .headOption
      .foreach { case (entry, name) =>
        throw PmeErrors.keyOfStatedColumn(entry.pattern.text, name)
      }
  }

  private[write] def position(columns: StructType, name: String, caseSensitive: Boolean): Int =
    columns.indexWhere(field => isSame(field.name, name, caseSensitive))
}

/** The number of the bucket of a text, as text; NULL for NULL and for an empty text, which name no key. */
private[spark] final case class BucketText(child: Expression, buckets: Int)
    extends UnaryExpression
    with CodegenFallback {
  override def dataType: DataType = StringType
  override def nullable: Boolean = true
  override protected def nullSafeEval(text: Any): Any = {
    val value = text.toString
    if (value.isEmpty) null else UTF8String.fromString(KeyTemplate.bucketOf(value, buckets).toString)
  }
  override protected def withNewChildInternal(other: Expression): BucketText = copy(child = other)
}

/**
 * What the rows of one writer have in [[CutColumns]]. For one thread. ''Executor only.''
 *
 * @param columns makes the texts of the columns' values
 * @param texts makes what names have of them
 */
private[write] final class CutValues(
    cut: CutColumns,
    columns: Seq[Expression],
    texts: Seq[Expression],
    where: String
) {
  private var last: Seq[UTF8String] = _
  private var current: KeyValues = KeyValues.none

  /** What the file of the latest row states. */
  def stated: KeyValues = current

  /** Whether the row belongs to another file than the one before. */
  def isOther(row: InternalRow): Boolean = {
    val now = columns.map(_.eval(row).asInstanceOf[UTF8String])
    if (now == last) false
    else {
      val before = current
      current = cut.stated(texts.map(_.eval(row).asInstanceOf[UTF8String]), where)
      // Spark writes the next row to the same memory.
      last = now.map(_.copy())
      current != before
    }
  }
}
