package io.pmeparquet.orc.tail

import scala.collection.JavaConverters._

import org.apache.orc.OrcProto

import io.pmeparquet.columns.LeafColumn

/**
 * A column of an ORC file. All columns of nested types are columns: a list's elements, a struct's fields.
 *
 * @param id its number; children follow their parent
 * @param kind as ORC names it: `STRUCT`, `TIMESTAMP_INSTANT`
 * @param fieldNames of the children of a struct
 * @param maximumId the last column in it, or `id`
 * @param name its path as Spark names columns: `tags.element`, `m.key`; of a union's children the position
 * @param orcName its path as ORC names columns: `tags._elem`, `m._key`
 * @param repeated whether it is below a list or map, so that its values are not as many as the rows
 * @param attributes what writers note: `spark.sql.catalyst.type`
 */
final case class OrcType private[tail] (
    id: Int,
    kind: String,
    children: IndexedSeq[Int],
    fieldNames: IndexedSeq[String],
    maximumId: Int,
    name: Seq[String],
    orcName: Seq[String],
    repeated: Boolean,
    maximumLength: Option[Int],
    precision: Option[Int],
    scale: Option[Int],
    attributes: Map[String, String]
) {
  def isLeaf: Boolean = children.isEmpty

  /** Whether a column is this one or in it. */
  def holds(column: Int): Boolean = id <= column && column <= maximumId

  /** Its names, for patterns and messages. */
  def leaf: LeafColumn = LeafColumn(orcName, name)
}

private[tail] object OrcTypes {

  /** The number of children, where the kind says it; the others but STRUCT and UNION have none. */
  private val Children = Map("LIST" -> 1, "MAP" -> 2)
  private val Groups = Set("STRUCT", "UNION")

  /** The type of a file of 0 bytes, with which Hive means a table without rows. */
  def empty: IndexedSeq[OrcType] =
    of(IndexedSeq(OrcProto.Type.newBuilder.setKind(OrcProto.Type.Kind.STRUCT).build()))

  /** The columns with what follows from their place. Each is a child of exactly one, and follows it. */
  def of(stated: IndexedSeq[OrcProto.Type]): IndexedSeq[OrcType] = {
    Damage.require(stated.nonEmpty, "it has no columns")
    Damage.require(stated.size <= OrcLimits.Columns, s"it has more than ${OrcLimits.Columns} columns")
    val tree = new OrcTree(stated.zipWithIndex.map { case (one, id) => column(one, id) })
    tree.walk()
    tree.columns
  }

  /** A column without what follows from its place. */
  private def column(one: OrcProto.Type, id: Int): OrcType = {
    OrcMessages.unknownValue(one, OrcProto.Type.KIND_FIELD_NUMBER).foreach { number =>
      throw Damage.unknown(s"column $id has an unknown type, number $number")
    }
    Damage.require(one.hasKind, s"column $id has no type")
    val kind = one.getKind.name
    val children = vector(one.getSubtypesCount)(one.getSubtypes)
    val names = vector(one.getFieldNamesCount)(at => OrcMessages.text(one.getFieldNamesBytes(at)))
    requireChildren(id, kind, children.size, names)
    OrcType(
      id,
      kind,
      children,
      names,
      id,
      Nil,
      Nil,
      repeated = false,
      if (one.hasMaximumLength) Some(one.getMaximumLength) else None,
      if (one.hasPrecision) Some(one.getPrecision) else None,
      if (one.hasScale) Some(one.getScale) else None,
      one.getAttributesList.asScala.map(attribute).toMap
    )
  }

  // Scala makes room for 32 elements, even for none: most columns have no children, and a file may have many.
  private def vector[A](count: Int)(one: Int => A): Vector[A] =
    if (count == 0) Vector.empty else Vector.tabulate(count)(one)

  private def attribute(one: OrcProto.StringPair): (String, String) = {
    val (key, value) = (OrcMessages.text(one.getKeyBytes), OrcMessages.text(one.getValueBytes))
    Damage.require(
      key != "spark.sql.catalyst.type" || value.length <= OrcLimits.SparkTypeChars,
      s"the name of a Spark type has ${value.length} characters"
    )
    key -> value
  }

  private def requireChildren(id: Int, kind: String, count: Int, names: Seq[String]): Unit = {
    val fits = Children.get(kind).fold(count == 0 || Groups(kind))(_ == count)
    Damage.require(fits, s"column $id of type $kind has $count children")
    Damage.require(
      names.size == (if (kind == "STRUCT") count else 0),
      s"column $id of type $kind has $count children, but ${names.size} names of fields"
    )
    // Java's set stays fast with names that an attacker chose to have the same hash.
    val seen = new java.util.HashSet[String]
    Damage.require(names.forall(seen.add), s"column $id has two fields of the same name")
  }
}

/** One walk over the types of a file, in their order and without recursion: the file decides how deep they are. */
private final class OrcTree(stated: IndexedSeq[OrcType]) {

  /** A column whose children follow, the innermost first. */
  private final class Open(
      val id: Int,
      val name: Vector[String],
      val orcName: Vector[String],
      val repeated: Boolean
  ) {
    var next = 0
  }

  private var open = List.empty[Open]
  private var depth = 0
  private val last = new Array[Int](stated.size)
  private val places = new Array[Open](stated.size)

  def walk(): Unit = stated.indices.foreach { id =>
    val place = open match {
      case parent :: _ => child(parent, id)
      case Nil =>
        Damage.require(id == 0, s"column $id belongs to no other")
        new Open(id, Vector.empty, Vector.empty, repeated = false)
    }
    places(id) = place
    open = place :: open
    depth += 1
    Damage.require(
      depth <= OrcLimits.TypeDepth,
      s"its types are nested more than ${OrcLimits.TypeDepth} levels deep"
    )
    close(id)
  }

  /** Ends the columns whose last child is this one. */
  private def close(id: Int): Unit =
    while (open.headOption.exists(one => one.next == stated(one.id).children.size)) {
      last(open.head.id) = id
      open = open.tail
      depth -= 1
    }

  private def child(parent: Open, id: Int): Open = {
    val of = stated(parent.id)
    val index = parent.next
    Damage.require(
      of.children(index) == id,
      s"the child of column ${parent.id} is column ${of.children(index)}, where column $id was expected"
    )
    parent.next += 1
    val (spark, orc) = of.kind match {
      case "STRUCT" => (of.fieldNames(index), of.fieldNames(index))
      case "LIST" => ("element", "_elem")
      case "MAP" => if (index == 0) ("key", "_key") else ("value", "_value")
      case _ => (index.toString, index.toString)
    }
    val repeated = parent.repeated || of.kind == "LIST" || of.kind == "MAP"
    new Open(id, parent.name :+ spark, parent.orcName :+ orc, repeated)
  }

  def columns: IndexedSeq[OrcType] = {
    Damage.require(open.isEmpty, s"column ${open.head.id} has a child that does not exist")
    stated.map { column =>
      val place = places(column.id)
      column.copy(
        maximumId = last(column.id),
        name = place.name,
        orcName = place.orcName,
        repeated = place.repeated
      )
    }
  }
}
