package io.pmeparquet.snapshot.xskipper

import org.apache.parquet.column.ColumnReader
import org.apache.parquet.schema.{GroupType, MessageType, PrimitiveType, Type}
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName.BINARY

import io.pmeparquet.{PmeErrors, PmeException}

/**
 * How the column of an index is read from a file.
 *
 * @param leaves the paths of its leaf columns, and what reads their values
 * @param summary makes a summary of a row of each leaf; none where that proves nothing
 */
private[xskipper] final class IndexColumn(
    val index: StoreIndex,
    val leaves: Seq[(Seq[String], ColumnReader => Option[Array[Byte]])],
    val summary: Seq[LeafRows.Row[Option[Array[Byte]]]] => Option[StoredSummary]
)

private[xskipper] object IndexColumn {

  /** @throws io.pmeparquet.PmeException if the column has not the type that its index states */
  def of(index: StoreIndex, schema: MessageType, where: String): IndexColumn = {
    def unusable(why: String): PmeException =
      PmeErrors.xskipperUnusable(where, s"column '${index.field}' $why")
    if (!schema.containsField(index.field)) throw unusable("is missing")
    val column = schema.getType(Array(index.field): _*)
    def otherType = unusable("has not the type that its index states")
    def reader(of: StoredType, leaf: Type) =
      if (!leaf.isPrimitive) throw otherType
      else StoredValues.reader(of, leaf.asPrimitiveType).getOrElse(throw otherType)
    index.content match {
      case StoreContent.Unknown(why) => throw unusable(s"is not used: $why")
      case StoreContent.MinMax(of) =>
        val bounds = group(column).filter(_.getFieldCount == 2).getOrElse(throw otherType)
        if (!isSingle(bounds) || !Seq("min", "max").forall(bounds.containsField)) throw otherType
        val leaves = Seq("min", "max").map { name =>
          if (!isSingle(bounds.getType(name))) throw otherType
          Seq(index.field, name) -> reader(of, bounds.getType(name))
        }
        new IndexColumn(
          index,
          leaves,
          rows =>
            StoredSummary.range(of, rows.head.values.headOption.flatten, rows(1).values.headOption.flatten)
        )
      case StoreContent.ValueList(of) =>
        val (path, levelOfList, element) = listOf(column).getOrElse(throw otherType)
        new IndexColumn(
          index,
          Seq((index.field +: path) -> reader(of, element)),
          rows => list(of, rows.head, levelOfList)
        )
      case StoreContent.Bloom =>
        val isBinary = column.isPrimitive && isSingle(column) &&
          column.asPrimitiveType.getPrimitiveTypeName == BINARY
        if (!isBinary) throw otherType
        new IndexColumn(
          index,
          Seq(Seq(index.field) -> (column => Some(column.getBinary.getBytes))),
          _.head.values.headOption.flatten.flatMap(SerializedBloom.sketch).map(StoredSummary.Sketch(_))
        )
    }
  }

  /** An empty list says that all values are null; no list says nothing. Xskipper puts no null into a list. */
  private def list(of: StoredType, row: LeafRows.Row[Option[Array[Byte]]], level: Int) =
    if (row.level < level || !row.isWhole || row.values.exists(_.isEmpty)) None
    else StoredSummary.list(of, row.values.flatten)

  /** The path below a list's column, the definition level at which there is a list, and the type of its elements. */
  private def listOf(column: Type): Option[(Seq[String], Int, PrimitiveType)] = for {
    list <- group(column)
    if isSingle(list) && list.getFieldCount == 1
    entries <- group(list.getType(0))
    if entries.isRepetition(Type.Repetition.REPEATED) && entries.getFieldCount == 1
    element = entries.getType(0)
    if element.isPrimitive && isSingle(element)
  } yield {
    val level = if (list.isRepetition(Type.Repetition.OPTIONAL)) 1 else 0
    (Seq(entries.getName, element.getName), level, element.asPrimitiveType)
  }

  private def group(of: Type): Option[GroupType] = if (of.isPrimitive) None else Some(of.asGroupType)
  private def isSingle(of: Type) = !of.isRepetition(Type.Repetition.REPEATED)
}
