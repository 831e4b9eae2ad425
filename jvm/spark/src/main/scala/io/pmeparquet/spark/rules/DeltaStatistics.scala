package io.pmeparquet.spark.rules

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute
import org.apache.spark.sql.types.{DataType, StructType}

/**
 * The columns of which Delta would write minimum and maximum into the log of a table that does not exist yet, or with other
 * properties than it has. Delta itself says it of an existing table. Names are in lower case. ''Driver only.''
 */
private[rules] object DeltaStatistics {
  private val Columns = "delta.dataSkippingStatsColumns"
  private val Count = "delta.dataSkippingNumIndexedCols"
  private val DefaultCount = "32"

  def of(properties: Map[String, String], schema: StructType, partitionColumns: Seq[String]): Set[String] = {
    // In any letters, and of several values Delta takes one.
    def valuesOf(wanted: String) = properties.collect {
      case (name, value) if name.equalsIgnoreCase(wanted) => value
    }.toSeq
    val named = valuesOf(Columns)
    // Anything that cannot be understood counts as all columns.
    try
      if (named.nonEmpty) named.flatMap(columnsIn).toSet
      else {
        val counts = valuesOf(Count)
        (if (counts.isEmpty) Seq(DefaultCount) else counts)
          .flatMap(count => first(count.trim.toInt, schema, partitionColumns))
          .toSet
      }
    catch { case NonFatal(_) => schema.fieldNames.map(DeltaTable.lower).toSet }
  }

  /** Whether the name is in the letters in which Delta looks for a default. */
  def isExact(name: String): Boolean = name == Columns || name == Count

  private def columnsIn(list: String) =
    list.split(",").toSeq.map(_.trim).filter(_.nonEmpty).map(topOf)

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
