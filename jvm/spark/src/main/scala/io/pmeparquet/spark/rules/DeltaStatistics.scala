package io.pmeparquet.spark.rules

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute
import org.apache.spark.sql.types.{DataType, StructType}

/**
 * The columns of which Delta would write minimum and maximum into the log of a table that does not exist yet, or with other
 * properties than it has. Delta itself says it of an existing table. Names are in lower case. ''Driver only.''
 */
private[rules] object DeltaStatistics {
  private val Columns = "delta.dataskippingstatscolumns"
  private val Count = "delta.dataskippingnumindexedcols"
  private val DefaultCount = "32"

  def of(properties: Map[String, String], schema: StructType, partitionColumns: Seq[String]): Set[String] = {
    val named = properties.map { case (name, value) => DeltaTable.lower(name) -> value }
    val all = schema.fieldNames.map(DeltaTable.lower).toSet
    // Anything that cannot be understood counts as all columns.
    try
      named.get(Columns) match {
        case Some(list) => list.split(",").toSeq.map(_.trim).filter(_.nonEmpty).map(topOf).toSet
        case None => first(named.getOrElse(Count, DefaultCount).trim.toInt, schema, partitionColumns)
      }
    catch { case NonFatal(_) => all }
  }

  private def topOf(name: String) =
    DeltaTable.lower(UnresolvedAttribute.parseAttributeName(name).head)

  /** Delta counts leaves. A negative number means all of them. */
  private def first(count: Int, schema: StructType, partitionColumns: Seq[String]): Set[String] = {
    val partitions = partitionColumns.map(DeltaTable.lower).toSet
    val counted = schema.fields.filterNot(field => partitions.contains(DeltaTable.lower(field.name)))
    val before = counted.scanLeft(0L)((sum, field) => sum + leavesOf(field.dataType))
    counted
      .zip(before)
      .collect { case (field, leaves) if count < 0 || leaves < count => DeltaTable.lower(field.name) }
      .toSet
  }

  private def leavesOf(kind: DataType): Long = kind match {
    case struct: StructType => struct.fields.map(field => leavesOf(field.dataType)).sum
    case _ => 1
  }
}
