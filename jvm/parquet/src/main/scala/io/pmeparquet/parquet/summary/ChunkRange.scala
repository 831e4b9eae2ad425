package io.pmeparquet.parquet.summary

import scala.util.Try

import org.apache.parquet.column.statistics.Statistics
import org.apache.parquet.schema.LogicalTypeAnnotation.DecimalLogicalTypeAnnotation
import org.apache.parquet.schema.PrimitiveType
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName.BINARY
import org.apache.parquet.VersionParser

import io.pmeparquet.parquet.chunk.Chunk

/** The range of a column's values in a file, from the statistics of its chunks. */
private[summary] object ChunkRange {

  /** Longer bounds would make the index of a large table too large. */
  private val MostBoundBytes = 1024

  /**
   * @param chunks of the column, in each row group
   * @param writer of the file (`created_by`)
   * @return none if a row group does not count its nulls; without bounds if a row group has no statistics that bound all
   *   its values
   */
  def of(chunks: Seq[Chunk], writer: String): Option[ColumnSummary.Range] =
    if (!chunks.forall(countsNulls)) None
    else {
      val leaf = chunks.head.descriptor.getPrimitiveType
      val all = merged(chunks.map(_.meta.getStatistics))
      val bounds =
        if (chunks.forall(isBounded) && boundsNaN(leaf, writer) && all.hasNonNullValue)
          shortened(leaf, all.getMinBytes, all.getMaxBytes)
        else None
      Some(ColumnSummary.Range(bounds, all.getNumNulls))
    }

  /** Bounds that are short enough: the beginning of a text is below it, and what follows the beginning is above. */
  private[summary] def shortened(
      leaf: PrimitiveType,
      min: Array[Byte],
      max: Array[Byte]
  ): Option[(Array[Byte], Array[Byte])] =
    if (min.length.max(max.length) <= MostBoundBytes) Some(min -> max)
    else if (!isOrderedByBytes(leaf)) None
    else if (max.length <= MostBoundBytes) Some(min.take(MostBoundBytes) -> max)
    else successor(max.take(MostBoundBytes)).map(min.take(MostBoundBytes) -> _)

  /** The least value after all that begin with these bytes. */
  private def successor(beginning: Array[Byte]): Option[Array[Byte]] = {
    val last = beginning.lastIndexWhere(_ != 0xff.toByte)
    if (last < 0) None
    else {
      val next = beginning.take(last + 1)
      next(last) = (next(last) + 1).toByte
      Some(next)
    }
  }

  private def isOrderedByBytes(leaf: PrimitiveType) = leaf.getPrimitiveTypeName == BINARY &&
    !leaf.getLogicalTypeAnnotation.isInstanceOf[DecimalLogicalTypeAnnotation]

  /**
   * Whether the bounds of a column that may hold NaN bound it, too. SQL has NaN for the greatest value. parquet-java 1.10
   * to 1.17 took it for the maximum, and has no bounds then. Other writers leave it out, and older versions did so if it
   * came after another value.
   */
  private[summary] def boundsNaN(leaf: PrimitiveType, writer: String): Boolean = !Leaves.isFloating(leaf) ||
    Try(VersionParser.parse(writer)).toOption.exists { version =>
      version.application == "parquet-mr" && version.hasSemanticVersion && {
        val semantic = version.getSemanticVersion
        semantic.major == 1 && semantic.minor >= 10 && semantic.minor <= 17
      }
    }

  // The element type of statistics is that of their column, which is the same in all row groups.
  private def merged(all: Seq[AnyRef]): Statistics[Integer] = {
    val statistics = all.map(_.asInstanceOf[Statistics[Integer]])
    val result = statistics.head.copy().asInstanceOf[Statistics[Integer]]
    statistics.tail.foreach(result.mergeStatistics(_))
    result
  }

  private def countsNulls(chunk: Chunk): Boolean = {
    val statistics = statisticsOf(chunk)
    statistics != null && !statistics.isEmpty && statistics.isNumNullsSet
  }

  /** Whether statistics that count nulls say of every other value of a chunk that it is between two bounds. */
  private def isBounded(chunk: Chunk): Boolean = {
    val statistics = statisticsOf(chunk)
    statistics.hasNonNullValue || statistics.getNumNulls == chunk.meta.getValueCount
  }

  private def statisticsOf(chunk: Chunk) = chunk.meta.getStatistics.asInstanceOf[Statistics[Integer]]
}
