package io.pmeparquet.spark.admin

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex
import org.apache.spark.sql.types.{DataType, DecimalType}
import org.apache.spark.sql.SparkSession

import io.pmeparquet.snapshot.xskipper.StoredType
import io.pmeparquet.snapshot.TableSnapshot
import io.pmeparquet.PmeErrors

/** The partition columns of a table, with the types that Spark finds in the names of its directories. ''Driver only.'' */
private[admin] final class PartitionValues(
    session: SparkSession,
    table: Path,
    options: Map[String, String],
    snapshot: TableSnapshot
) {
  private val found =
    if (snapshot.version.manifest.partitionColumns.isEmpty) None
    else Some(new InMemoryFileIndex(session, Seq(table), options, None).partitionSpec())

  private val fields = found.toSeq.flatMap(_.partitionColumns.fields.toSeq)

  val columns: Seq[(String, StoredType)] = fields.map { field =>
    val of = StoredType.of(field.dataType.typeName).getOrElse {
      throw PmeErrors.unsupported(
        table.toString,
        s"exporting partition column '${field.name}'",
        s"a store has no values of type ${field.dataType.typeName}",
        "Export a table without it."
      )
    }
    field.name -> of
  }

  private val byDirectory: Map[String, InternalRow] =
    found.toSeq.flatMap(_.partitions).map(one => one.path.toUri.getPath -> one.values).toMap

  /** The values for a file, encoded as statistics are; none for null. */
  def of(file: Path): Seq[Option[Array[Byte]]] = if (columns.isEmpty) Nil
  else {
    val values = byDirectory.getOrElse(
      file.getParent.toUri.getPath,
      throw PmeErrors.changedSinceListed(file.toString)
    )
    fields.indices.map { at =>
      if (values.isNullAt(at)) None else Some(bytes(values, at, columns(at)._2, fields(at).dataType))
    }
  }

  private def bytes(values: InternalRow, at: Int, of: StoredType, as: DataType): Array[Byte] =
    (of, as) match {
      case (StoredType.Text, _) => values.getUTF8String(at).getBytes
      case (StoredType.Date, _) => StoredType.bytes(values.getInt(at))
      case (StoredType.Int, _) => StoredType.bytes(values.getInt(at))
      case (StoredType.Long, _) => StoredType.bytes(values.getLong(at))
      case (StoredType.Timestamp, _) => StoredType.bytes(values.getLong(at))
      case (StoredType.Double, _) =>
        StoredType.bytes(java.lang.Double.doubleToRawLongBits(values.getDouble(at)))
      case (decimal: StoredType.Decimal, one: DecimalType) =>
        val value = values.getDecimal(at, one.precision, one.scale).toJavaBigDecimal.setScale(decimal.scale)
        StoredType.bytes(value.unscaledValue, decimal)
      case _ => throw new IllegalStateException(s"internal error: Spark finds no partitions of type $as")
    }
}
