package io.pmeparquet.parquet.schema

import java.util.Locale

import org.apache.parquet.schema.{MessageType, Type}

import io.pmeparquet.columns.LeafColumn

/**
 * A leaf column that a query reads.
 *
 * @param path its path in Spark
 * @param fieldId the field id of its top-level column, if Spark matches that by id and not by name
 * @param byNestedIds whether Spark matches fields within the column by id
 * @param inCollection whether the column is in a list or map, which Parquet spells in several ways
 */
final case class WantedColumn(
    path: Seq[String],
    fieldId: Option[Int] = None,
    byNestedIds: Boolean = false,
    inCollection: Boolean = false
) {
  def display: String = path.mkString(".")
}

/** The leaf columns that a query reads. Finds them among those of a file as Spark does. */
final case class WantedColumns(columns: Seq[WantedColumn], caseSensitive: Boolean) {

  def in(schema: MessageType): Seq[LeafColumn] = {
    val below = SchemaColumns.leaves(schema).groupBy(_.path.head)
    val chosen = columns.flatMap { column =>
      topLevel(column, schema).flatMap(field => leaves(column, below.getOrElse(field.getName, Nil)))
    }
    chosen.distinct
  }

  private def topLevel(column: WantedColumn, schema: MessageType): Seq[Type] = {
    val fields = (0 until schema.getFieldCount).map(schema.getType)
    column.fieldId match {
      case Some(id) => fields.filter(field => field.getId != null && field.getId.intValue == id)
      case None => fields.filter(field => name(field.getName) == name(column.path.head))
    }
  }

  private def leaves(column: WantedColumn, candidates: Seq[LeafColumn]): Seq[LeafColumn] = {
    // Under a field id the top-level names differ, and the names below it decide.
    val wanted = column.path.tail.map(name)
    val named = candidates.filter { leaf =>
      val path = leaf.sparkPath.tail.map(name)
      wanted.startsWith(path) || path.startsWith(wanted)
    }
    // One column too many costs a key that the query could do without; one too few would evade the check.
    if (column.byNestedIds || (named.isEmpty && column.inCollection)) candidates else named
  }

  private def name(text: String) = if (caseSensitive) text else text.toLowerCase(Locale.ROOT)
}
