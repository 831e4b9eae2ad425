package io.pmeparquet.parquet.schema

import java.util.Locale

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

import org.apache.parquet.format.converter.ParquetMetadataConverter
import org.apache.parquet.format.FileMetaData
import org.apache.parquet.schema.{GroupType, LogicalTypeAnnotation, MessageType, Type}

import io.pmeparquet.columns.LeafColumn

/** The leaf columns of a Parquet schema, each with its path in the file and its path in Spark. */
object SchemaColumns {
  def leaves(schema: MessageType): Seq[LeafColumn] = {
    val asMaps = MapNames.of(schema)
    schema.getFields.asScala.toList.flatMap(field => named(field, Nil, Nil)).map { leaf =>
      leaf.copy(asMap = asMaps.get(leaf.path).filter(_ != leaf.sparkPath))
    }
  }

  /**
   * The names of a footer's leaves, in order. If parquet-java rejects the schema because of a type newer than itself,
   * the names are the paths: code that only reports columns need not understand them.
   */
  private[parquet] def namesOf(footer: FileMetaData): Seq[String] = {
    val bare = new FileMetaData(footer.getVersion, footer.getSchema, 0L, new java.util.ArrayList)
    bare.setColumn_orders(footer.getColumn_orders)
    val schema =
      try Some(new ParquetMetadataConverter().fromParquetMetadata(bare).getFileMetaData.getSchema)
      catch { case NonFatal(_) => None }
    schema.fold(pathsOf(footer).map(path => LeafColumn(path, path)))(leaves).map(_.display)
  }

  /**
   * The paths of the leaves of a schema, which the format stores as a list, depth first (`SchemaElement.num_children`).
   */
  private def pathsOf(footer: FileMetaData): Seq[Seq[String]] = {
    val paths = Seq.newBuilder[Seq[String]]
    // Groups with fields still to come, the innermost first, and how many.
    var open = List.empty[(Seq[String], Int)]
    footer.getSchema.asScala.drop(1).foreach { element =>
      val path = open.headOption.fold(Seq.empty[String])(_._1) :+ element.getName
      open = open match {
        case (group, missing) :: outer => (group, missing - 1) :: outer
        case Nil => Nil
      }
      if (element.getNum_children > 0) open = (path, element.getNum_children) :: open else paths += path
      open = open.dropWhile(_._2 <= 0)
    }
    paths.result()
  }

  /** A schema without some of its leaves: a struct loses only those leaves, a list or a map is omitted whole. */
  def without(schema: MessageType, leaves: Seq[Seq[String]]): MessageType =
    new MessageType(schema.getName, kept(schema, Nil, leaves).asJava)

  private def kept(group: GroupType, path: Seq[String], leaves: Seq[Seq[String]]): Seq[Type] =
    group.getFields.asScala.toList.flatMap { field =>
      val here = path :+ field.getName
      if (!leaves.exists(_.startsWith(here))) Some(field)
      else if (!isStruct(field)) None
      else
        Some(kept(field.asGroupType, here, leaves)).filter(_.nonEmpty).map { left =>
          field.asGroupType.withNewFields(left.asJava)
        }
    }

  /** A schema without exactly these leaves, and without groups that have no others. */
  def withoutLeaves(schema: MessageType, leaves: Seq[Seq[String]]): MessageType = {
    val lost = leaves.toSet
    def left(group: GroupType, path: Seq[String]): Seq[Type] =
      group.getFields.asScala.toList.flatMap { field =>
        val here = path :+ field.getName
        if (field.isPrimitive) Some(field).filterNot(_ => lost(here))
        else
          Some(left(field.asGroupType, here))
            .filter(_.nonEmpty)
            .map(all => field.asGroupType.withNewFields(all.asJava))
      }
    new MessageType(schema.getName, left(schema, Nil).asJava)
  }

  private def isStruct(field: Type) =
    !field.isPrimitive && !field.isRepetition(
      Type.Repetition.REPEATED
    ) && field.getLogicalTypeAnnotation == null

  /** A repeated field outside lists and maps is a list of its own, as protobuf's converters write it. */
  private def named(field: Type, path: Seq[String], sparkPath: Seq[String]): Seq[LeafColumn] = {
    val name = sparkPath :+ field.getName
    below(
      field,
      path :+ field.getName,
      if (field.isRepetition(Type.Repetition.REPEATED)) name :+ "element" else name
    )
  }

  private def below(field: Type, path: Seq[String], sparkPath: Seq[String]): Seq[LeafColumn] =
    if (field.isPrimitive) Seq(LeafColumn(path, sparkPath))
    else {
      val group = field.asGroupType()
      group.getLogicalTypeAnnotation match {
        case _: LogicalTypeAnnotation.ListLogicalTypeAnnotation if single(group) =>
          element(group, path, sparkPath)
        case _: LogicalTypeAnnotation.MapLogicalTypeAnnotation if single(group) =>
          keyAndValue(group, path, sparkPath)
        case _: LogicalTypeAnnotation.MapKeyValueTypeAnnotation if single(group) =>
          keyAndValue(group, path, sparkPath)
        case _ => children(group, path, sparkPath)
      }
    }

  private def single(group: GroupType) =
    group.getFieldCount == 1 && group.getType(0).isRepetition(Type.Repetition.REPEATED)

  private def children(group: GroupType, path: Seq[String], sparkPath: Seq[String]): Seq[LeafColumn] =
    group.getFields.asScala.toList.flatMap(child => named(child, path, sparkPath))

  /** The Parquet format's rules for lists: the repeated field is the element, or holds it. */
  private def element(group: GroupType, path: Seq[String], sparkPath: Seq[String]): Seq[LeafColumn] = {
    val repeated = group.getType(0)
    val inner = path :+ repeated.getName
    val isElement = repeated.isPrimitive || repeated.asGroupType().getFieldCount != 1 ||
      repeated.getName == "array" || repeated.getName == group.getName + "_tuple"
    if (isElement) below(repeated, inner, sparkPath :+ "element")
    else {
      val only = repeated.asGroupType().getType(0)
      below(only, inner :+ only.getName, sparkPath :+ "element")
    }
  }

  private def keyAndValue(group: GroupType, path: Seq[String], sparkPath: Seq[String]): Seq[LeafColumn] = {
    val repeated = group.getType(0)
    if (repeated.isPrimitive) Seq(LeafColumn(path :+ repeated.getName, sparkPath))
    else {
      val inner = path :+ repeated.getName
      repeated.asGroupType().getFields.asScala.toList.zip(Seq("key", "value")).flatMap { case (child, name) =>
        below(child, inner :+ child.getName, sparkPath :+ name)
      }
    }
  }
}

/**
 * The names of leaf columns if each group that may be read as a map is one. If the reader's schema has a map, Spark's
 * row reader takes the first two fields in it for keys and values, and does not check that the file has one: whoever
 * removes the annotation must not thereby give values another name than `m.value`.
 */
private[parquet] object MapNames {

  /** The names of columns in such a group, by their paths. */
  def of(schema: MessageType): Map[Seq[String], Seq[String]] =
    schema.getFields.asScala
      .flatMap(field => below(field, Seq(field.getName), Seq(field.getName), inMap = false))
      .toMap

  private def below(
      field: Type,
      path: Seq[String],
      name: Seq[String],
      inMap: Boolean
  ): Seq[(Seq[String], Seq[String])] =
    if (field.isPrimitive) { if (inMap) Seq(path -> name) else Nil }
    else {
      val group = field.asGroupType
      val entries = entriesOf(group)
      group.getFields.asScala.toList.flatMap { child =>
        val inner = path :+ child.getName
        if (!entries.contains(child)) below(child, inner, name :+ child.getName, inMap)
        else
          child.asGroupType.getFields.asScala.toList.zipWithIndex.flatMap { case (part, index) =>
            val called = if (index == 0) "key" else if (index == 1) "value" else part.getName
            below(part, inner :+ part.getName, name :+ called, inMap = true)
          }
      }
    }

  private def entriesOf(group: GroupType): Option[Type] = {
    val isMap = group.getLogicalTypeAnnotation match {
      case _: LogicalTypeAnnotation.MapLogicalTypeAnnotation => true
      case _: LogicalTypeAnnotation.MapKeyValueTypeAnnotation => true
      case _ => false
    }
    group.getFields.asScala.headOption
      .filter(first => isMap || first.isRepetition(Type.Repetition.REPEATED))
      .filter(first => !first.isPrimitive && first.asGroupType.getFieldCount >= 2)
  }
}

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
