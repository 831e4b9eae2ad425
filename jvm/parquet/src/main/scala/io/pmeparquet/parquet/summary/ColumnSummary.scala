package io.pmeparquet.parquet.summary

/**
 * What one file can contain of one column, so that a query can leave the file out. Values are encoded as in `Statistics`
 * of the Parquet format: plain, without the length of a byte array. ''Crosses the wire.''
 */
sealed trait ColumnSummary extends Serializable

object ColumnSummary {

  /** @param bounds of all values that are not null; none if there are no such values, or nothing bounds them */
  final case class Range(bounds: Option[(Array[Byte], Array[Byte])], nulls: Long) extends ColumnSummary

  /** @param values all distinct values that are not null */
  final case class ValueList(values: List[Array[Byte]], nulls: Long) extends ColumnSummary

  /** @param bits of a split-block Bloom filter of all values that are not null (`BloomFilter.md` of the Parquet format) */
  final case class Bloom(bits: Array[Byte], nulls: Long) extends ColumnSummary

  /** @param content made by a class of the user's */
  final case class OfClass(content: Array[Byte]) extends ColumnSummary
}
