package io.pmeparquet.orc.tail

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

/** What one message of the footer says of a type. */
private[tail] final case class RawType(
    kind: String,
    children: IndexedSeq[Int],
    fieldNames: IndexedSeq[String],
    maximumLength: Option[Int],
    precision: Option[Int],
    scale: Option[Int],
    attributes: Map[String, String]
)

private[tail] object OrcTypes {

  /** As the format numbers them. */
  private val Kinds = IndexedSeq(
    "BOOLEAN",
    "BYTE",
    "SHORT",
    "INT",
    "LONG",
    "FLOAT",
    "DOUBLE",
    "STRING",
    "BINARY",
    "TIMESTAMP",
    "LIST",
    "MAP",
    "STRUCT",
    "UNION",
    "DECIMAL",
    "DATE",
    "VARCHAR",
    "CHAR",
    "TIMESTAMP_INSTANT",
    "GEOMETRY",
    "GEOGRAPHY"
  )

  /** The number of children, where the kind says it; the others but STRUCT and UNION have none. */
  private val Children = Map("LIST" -> 1, "MAP" -> 2)
  private val Groups = Set("STRUCT", "UNION")

  /** The type of a file of 0 bytes, with which Hive means a table without rows. */
  val empty: IndexedSeq[OrcType] =
    tree(IndexedSeq(RawType("STRUCT", IndexedSeq.empty, IndexedSeq.empty, None, None, None, Map.empty)))

  def parse(wire: Wire, id: Int): RawType = {
    Damage.require(id < OrcLimits.Columns, tooMany)
    var kind = Option.empty[Int]
    val children = IndexedSeq.newBuilder[Int]
    val names = IndexedSeq.newBuilder[String]
    var length, precision, scale = Option.empty[Int]
    var attributes = Map.empty[String, String]
    wire.fields {
      case 1 => kind = Some(wire.once.int())
      case 2 => wire.ints(children += _)
      case 3 => names += wire.text()
      case 4 => length = Some(wire.once.int())
      case 5 => precision = Some(wire.once.int())
      case 6 => scale = Some(wire.once.int())
      case 7 => attributes += attribute(wire.message("an attribute of a type"))
    }
    val number = kind.getOrElse(throw Damage(s"column $id has no type"))
    val name =
      Kinds.lift(number).getOrElse(throw Damage.unknown(s"column $id has an unknown type, number $number"))
    checked(RawType(name, children.result(), names.result(), length, precision, scale, attributes), id)
  }

  private def tooMany = s"it has more than ${OrcLimits.Columns} columns"

  private def attribute(wire: Wire): (String, String) = {
    var key, value = ""
    wire.fields {
      case 1 => key = wire.once.text()
      case 2 => value = wire.once.text()
    }
    Damage.require(
      key != "spark.sql.catalyst.type" || value.length <= OrcLimits.SparkTypeChars,
      s"the name of a Spark type has ${value.length} characters"
    )
    key -> value
  }

  private def checked(raw: RawType, id: Int): RawType = {
    val count = raw.children.size
    val fits = Children.get(raw.kind).fold(count == 0 || Groups(raw.kind))(_ == count)
    Damage.require(fits, s"column $id of type ${raw.kind} has $count children")
    Damage.require(
      raw.fieldNames.size == (if (raw.kind == "STRUCT") count else 0),
      s"column $id of type ${raw.kind} has $count children, but ${raw.fieldNames.size} names of fields"
    )
    // Java's set stays fast with names that an attacker chose to have the same hash.
    val names = new java.util.HashSet[String]
    Damage.require(
      raw.fieldNames.forall(names.add),
      s"column $id has two fields of the same name"
    )
    raw
  }

  /** The columns with what follows from their place. Each is a child of exactly one, and follows it. */
  def tree(raw: IndexedSeq[RawType]): IndexedSeq[OrcType] = {
    Damage.require(raw.nonEmpty, "it has no columns")
    Damage.require(raw.size <= OrcLimits.Columns, tooMany)
    val built = new OrcTree(raw)
    built.walk()
    built.columns
  }
}

/** One walk over the types of a file, in their order and without recursion: the file decides how deep they are. */
private final class OrcTree(raw: IndexedSeq[RawType]) {

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
  private val last = new Array[Int](raw.size)
  private val places = new Array[Open](raw.size)

  def walk(): Unit = raw.indices.foreach { id =>
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
    while (open.headOption.exists(one => one.next == raw(one.id).children.size)) {
      last(open.head.id) = id
      open = open.tail
      depth -= 1
    }

  private def child(parent: Open, id: Int): Open = {
    val of = raw(parent.id)
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
    raw.indices.map { id =>
      val (of, place) = (raw(id), places(id))
      OrcType(
        id,
        of.kind,
        of.children,
        of.fieldNames,
        last(id),
        place.name,
        place.orcName,
        place.repeated,
        of.maximumLength,
        of.precision,
        of.scale,
        of.attributes
      )
    }
  }
}
