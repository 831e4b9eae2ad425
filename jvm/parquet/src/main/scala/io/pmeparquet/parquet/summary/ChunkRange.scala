package io.pmeparquet.parquet.summary

import scala.util.Try

import org.apache.parquet.column.statistics.Statistics
import org.apache.parquet.schema.PrimitiveType
import org.apache.parquet.VersionParser

import io.pmeparquet.parquet.chunk.Chunk

/** The range of a column's values in a file, from the statistics of its chunks. */
private[summary] object ChunkRange {

  /** Longer values would make the list of a large table too large. */
  private val MostBoundBytes = 1024

  /**
   * @param chunks of the column, in each row group
   * @param writer of the file (`created_by`)
   * @return none if a row group has no statistics that bound all its values
   */
  def of(chunks: Seq[Chunk], writer: String): Option[ColumnSummary.Range] =
    if (!chunks.forall(isBounded) || !boundsNaN(chunks.head.descriptor.getPrimitiveType, writer)) None
    else {
      val all = merged(chunks.map(_.meta.getStatistics))
      val bounds = if (all.hasNonNullValue) Some(all.getMinBytes -> all.getMaxBytes) else None
      val isLong = bounds.exists { case (min, max) => min.length.max(max.length) > MostBoundBytes }
      if (isLong) None else Some(ColumnSummary.Range(bounds, all.getNumNulls))
    }

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

  /** Whether statistics say of every value of a chunk that it is null, or between two bounds. */
  private def isBounded(chunk: Chunk): Boolean = {
    val statistics = chunk.meta.getStatistics.asInstanceOf[Statistics[Integer]]
    statistics != null && !statistics.isEmpty && statistics.isNumNullsSet &&
    (statistics.hasNonNullValue || statistics.getNumNulls == chunk.meta.getValueCount)
  }
}
