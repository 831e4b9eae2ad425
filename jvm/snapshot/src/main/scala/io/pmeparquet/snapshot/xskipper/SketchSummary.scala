package io.pmeparquet.snapshot.xskipper

import java.util.{Iterator => JavaIterator, Map => JavaMap}

import org.apache.parquet.filter2.predicate.FilterPredicate

import io.pmeparquet.parquet.summary.{DistinctHashes, SummaryClass}

/**
 * A Bloom filter of Spark's sketches, in format version 1, of a column of whole numbers or texts: what Xskipper keeps of a
 * file. A seal keeps none, since queries have better ones, so an export asks each data file for it as for an index of a
 * class of the user's. ''Executor only.''
 */
final class SketchSummary extends SummaryClass {
  private var fpp = 0.0
  private var ndv: Option[Long] = None

  override def configure(settings: JavaMap[String, String]): Unit = {
    fpp = settings.get("fpp").toDouble
    ndv = Option(settings.get("ndv")).map(_.toLong)
  }

  /** Null if a text is not UTF-8, in whose place Xskipper keeps another one, or if the filter would be too long. */
  override def summarize(values: JavaIterator[Object]): Array[Byte] = {
    val made = ndv.map(new SparkSketch(_, fpp))
    val counted = new DistinctHashes
    val most = SparkSketch.mostValues(fpp)
    var isWhole = true
    while (isWhole && values.hasNext)
      SparkSketch.hash(values.next()) match {
        case Some(hash) if made.isDefined => made.foreach(_.put(hash))
        case Some(hash) =>
          counted.add(hash)
          isWhole = counted.size <= most
        case None => isWhole = false
      }
    if (!isWhole) null
    else
      made.getOrElse {
        val sketch = new SparkSketch(counted.size.toLong max 1L, fpp)
        counted.foreach(sketch.put)
        sketch
      }.bytes
  }

  override def holdsNone(summary: Array[Byte], comparison: FilterPredicate): Boolean = false
}
