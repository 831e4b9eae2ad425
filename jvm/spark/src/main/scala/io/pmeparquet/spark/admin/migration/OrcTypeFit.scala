package io.pmeparquet.spark.admin.migration

import java.util.Locale

import org.apache.spark.sql.catalyst.parser.{CatalystSqlParser, ParseException}
import org.apache.spark.sql.types._

import io.pmeparquet.columns.ColumnNames
import io.pmeparquet.orc.tail.OrcType

/**
 * Whether Spark's ORC reader shows all of a file in the columns of a table. It makes NULL of what a type cannot hold, and
 * says nothing of columns that the table lacks; both of a migration's reads would agree on that. So any type that is
 * neither the same nor a widening that this class knows does not fit. ''Crosses the wire.''
 *
 * @param table the columns as the catalog has them, with CHAR and VARCHAR as types
 */
private[migration] final class OrcTypeFit(table: StructType, caseSensitive: Boolean) extends Serializable {

  /**
   * @param byPosition whether the file's columns have no names
   * @return why the first column that does not fit does not: its name and a phrase
   */
  def misfit(types: IndexedSeq[OrcType], byPosition: Boolean): Option[(String, String)] = {
    val root = types.head
    val fields = root.children.zip(root.fieldNames).zipWithIndex.iterator.map { case ((id, name), at) =>
      val found = if (byPosition) table.fields.lift(at) else fieldOf(table, name)
      found.fold(lacking(name))(field => within(types, types(id), field.dataType))
    }
    fields.collectFirst { case Some(found) => found }
  }

  private def lacking(name: String): Option[(String, String)] = Some(name -> "does not exist in the table")

  private def fieldOf(struct: StructType, name: String): Option[StructField] =
    struct.fields.find(field => ColumnNames.isSame(field.name, name, caseSensitive))

  private def within(
      types: IndexedSeq[OrcType],
      column: OrcType,
      wanted: DataType
  ): Option[(String, String)] = {
    def all(parts: Seq[(Int, DataType)]) =
      parts.iterator.map { case (id, kind) => within(types, types(id), kind) }.collectFirst {
        case Some(found) => found
      }
    (column.kind, wanted) match {
      case ("STRUCT", struct: StructType) =>
        column.children
          .zip(column.fieldNames)
          .iterator
          .map { case (id, name) =>
            fieldOf(struct, name)
              .fold(lacking(types(id).leaf.display))(field => within(types, types(id), field.dataType))
          }
          .collectFirst { case Some(found) => found }
      case ("LIST", list: ArrayType) => all(column.children.zip(Seq(list.elementType)))
      case ("MAP", map: MapType) => all(column.children.zip(Seq(map.keyType, map.valueType)))
      case _ if OrcTypeFit.holds(column, wanted) => None
      case _ =>
        Some(
          column.leaf.display ->
            s"is of type ${OrcTypeFit.shown(column)} in the file and ${wanted.catalogString} in the table"
        )
    }
  }
}

private[migration] object OrcTypeFit {
  private val SparksType = "spark.sql.catalyst.type"
  private val Integers: Seq[DataType] = Seq(ByteType, ShortType, IntegerType, LongType)
  private val IntegerKinds = Seq("BYTE", "SHORT", "INT", "LONG")
  private val Same: Map[String, DataType] = Map(
    "BOOLEAN" -> BooleanType,
    "FLOAT" -> FloatType,
    "DOUBLE" -> DoubleType,
    "BINARY" -> BinaryType,
    "DATE" -> DateType,
    "TIMESTAMP" -> TimestampType,
    "TIMESTAMP_INSTANT" -> TimestampType
  )

  /** What ORC stores for a type that only Spark knows, or none for one that Spark does not note so. */
  def isStoredAs(noted: DataType, kind: String): Boolean = noted match {
    case _: DayTimeIntervalType | TimestampNTZType => kind == "LONG"
    case _: YearMonthIntervalType => kind == "INT"
    case TimestampType => kind == "TIMESTAMP" || kind == "TIMESTAMP_INSTANT"
    // The name of the class that later versions of Spark have.
    case time if time.typeName.startsWith("time(") => kind == "LONG"
    case other => holdsPlainly(kind, None, None, None, other)
  }

  /** The type that Spark noted in a file, if any. A text that is no type of Spark's is none that Spark can read. */
  def noted(column: OrcType): Option[Option[DataType]] = column.attributes.get(SparksType).map { text =>
    try Some(CatalystSqlParser.parseDataType(text))
    catch { case _: ParseException => None }
  }

  private def holds(column: OrcType, wanted: DataType): Boolean = noted(column) match {
    case Some(kind) =>
      kind.exists(one => isStoredAs(one, column.kind) && (one == wanted || isText(one, wanted)))
    case None => holdsPlainly(column.kind, column.maximumLength, column.precision, column.scale, wanted)
  }

  private def isText(one: DataType, wanted: DataType) =
    one.isInstanceOf[StringType] && wanted.isInstanceOf[StringType]

  private def holdsPlainly(
      kind: String,
      length: Option[Int],
      precision: Option[Int],
      scale: Option[Int],
      wanted: DataType
  ): Boolean = wanted match {
    // Spark writes strings for both, and reads them whole; in later versions both are strings themselves.
    case CharType(most) => kind == "STRING" || kind == "CHAR" && length.exists(_ <= most)
    case VarcharType(most) => kind == "STRING" || kind == "VARCHAR" && length.exists(_ <= most)
    case _: StringType => kind == "STRING" || kind == "VARCHAR"
    case decimal: DecimalType =>
      kind == "DECIMAL" && precision.exists { digits =>
        val after = scale.getOrElse(0)
        after <= decimal.scale && digits - after <= decimal.precision - decimal.scale
      }
    case DoubleType => kind == "DOUBLE" || kind == "FLOAT"
    case one if Integers.contains(one) =>
      IntegerKinds.take(Integers.indexOf(one) + 1).contains(kind)
    case other => Same.get(kind).contains(other)
  }

  /** As ORC writes it. */
  private def shown(column: OrcType): String = {
    val kind = column.kind.toLowerCase(Locale.ROOT)
    val size = column.precision.map(digits => s"($digits,${column.scale.getOrElse(0)})")
    val note = column.attributes.get(SparksType).map(name => s" ($name)")
    kind + size.orElse(column.maximumLength.map(most => s"($most)")).getOrElse("") + note.getOrElse("")
  }
}
