package io.pmeparquet.snapshot.xskipper

import java.io.IOException

import scala.collection.mutable

import org.apache.parquet.column.{ColumnDescriptor, ColumnReader}
import org.apache.parquet.column.impl.ColumnReadStoreImpl
import org.apache.parquet.column.page.PageReadStore
import org.apache.parquet.io.api.{Converter, GroupConverter, PrimitiveConverter}
import org.apache.parquet.schema.{GroupType, MessageType}

/**
 * One leaf column of a row group, row by row, so that a store needs no more memory than its widest row.
 *
 * @param read reads the value at which a reader is
 */
private[xskipper] final class LeafRows[A](
    pages: PageReadStore,
    schema: MessageType,
    leaf: ColumnDescriptor,
    createdBy: String
)(read: ColumnReader => A) {
  private val column =
    new ColumnReadStoreImpl(pages, new LeafRows.Ignored(schema), schema, createdBy).getColumnReader(leaf)
  private var left = pages.getPageReader(leaf).getTotalValueCount

  /** @throws IOException if there is no further row */
  def next(): LeafRows.Row[A] = {
    if (left == 0) throw new IOException("a column has fewer rows than its row group")
    val values = mutable.ArrayBuffer.empty[A]
    var highest = 0
    var count = 0
    do {
      val level = column.getCurrentDefinitionLevel
      highest = highest.max(level)
      if (level == leaf.getMaxDefinitionLevel) {
        if (count < LeafRows.MostValues) values += read(column)
        count += 1
      }
      column.consume()
      left -= 1
    } while (left > 0 && column.getCurrentRepetitionLevel > 0)
    LeafRows.Row(values.toVector, highest, count <= LeafRows.MostValues)
  }
}

private[xskipper] object LeafRows {

  /** A list with more values tells files apart too seldom to be worth the time. */
  val MostValues = 10000

  /**
   * @param level the highest definition level
   * @param isWhole whether these are all values
   */
  final case class Row[A](values: Vector[A], level: Int, isWhole: Boolean)

  /** Values are taken from the column's reader. */
  private final class Ignored(of: GroupType) extends GroupConverter {
    override def getConverter(field: Int): Converter = of.getType(field) match {
      case group if !group.isPrimitive => new Ignored(group.asGroupType)
      case _ => new PrimitiveConverter {}
    }
    override def start(): Unit = ()
    override def end(): Unit = ()
  }
}
