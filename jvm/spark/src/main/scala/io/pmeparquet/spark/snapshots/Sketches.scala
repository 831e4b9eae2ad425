package io.pmeparquet.spark.snapshots

import java.io.ByteArrayInputStream

import org.apache.parquet.io.api.Binary
import org.apache.spark.util.sketch.BloomFilter

import io.pmeparquet.snapshot.xskipper.SketchLookup

/** Spark's own sketches: the code that made a filter answers for it, so a value that was put in is found. ''Driver only.'' */
private[snapshots] object Sketches extends SketchLookup {
  override def open(filter: Array[Byte]): Any => Boolean = {
    val sketch = BloomFilter.readFrom(new ByteArrayInputStream(filter))

    {
      // By their bytes in UTF-8, as of strings.
      case text: Binary => sketch.mightContainBinary(text.getBytes)
      case number: Long => sketch.mightContainLong(number)
      case _ => true
    }
  }
}
