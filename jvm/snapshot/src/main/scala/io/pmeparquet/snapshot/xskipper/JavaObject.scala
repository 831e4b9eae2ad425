package io.pmeparquet.snapshot.xskipper

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, DataInputStream, DataOutputStream, IOException}

import scala.collection.mutable

/**
 * A value in Java's serialization (Java Object Serialization Specification, "Object Serialization Stream Protocol").
 * Nothing is deserialized and no class is loaded, whatever a stream names: an object must be of a class that the caller
 * describes, field for field.
 */
private[xskipper] sealed trait JavaValue

private[xskipper] object JavaValue {
  case object Null extends JavaValue
  final case class Text(value: String) extends JavaValue

  /** A number, a truth value or a character, boxed; in a field, or by itself if `Integer` and its like were described. */
  final case class Primitive(value: AnyRef) extends JavaValue

  /**
   * @param fields with those of superclasses
   * @param bytes that the write methods of its classes have written
   * @param objects that they have written
   */
  final case class Instance(
      of: String,
      fields: Map[String, JavaValue],
      bytes: Array[Byte],
      objects: Vector[JavaValue]
  ) extends JavaValue
}

/**
 * A class as a stream describes it. Its version number does not count: Spark has changed one, and not the content.
 *
 * @param fields in the order of the stream: a letter for a primitive type, or the type of an object, such as
 *   `Ljava/lang/Object;`, with the name
 * @param parent the superclass, if it is serializable
 * @param hasWriteMethod whether it writes more than its fields
 * @param writesFields whether it writes its fields at all, which the stream does not say
 */
private[xskipper] final case class JavaClass(
    name: String,
    fields: Seq[(String, String)],
    parent: Option[JavaClass] = None,
    hasWriteMethod: Boolean = false,
    writesFields: Boolean = true
) {

  /** From the uppermost class to this one. */
  def line: Seq[JavaClass] = parent.fold(Seq.empty[JavaClass])(_.line) :+ this
}

private[xskipper] object JavaObject {
  import JavaValue._

  /** Longer summaries are of more than a million values. */
  val MostBytes: Int = 2 * 1024 * 1024

  /** As deep as an object with a set with a time in it, and some more. */
  private val MostDeep = 8

  private val Header = 0xaced0005
  private val FirstHandle = 0x7e0000
  private val Primitives = "BCDFIJSZ"

  private object Tag {
    val Null = 0x70
    val Reference = 0x71
    val ClassDescription = 0x72
    val Object = 0x73
    val String = 0x74
    val Block = 0x77
    val EndBlock = 0x78
    val LongBlock = 0x7a
  }

  private object Flag {
    val WriteMethod = 1
    val Serializable = 2
  }

  /**
   * The one object of a stream; none if the bytes are anything else.
   *
   * @param classes that objects may have
   */
  def parse(bytes: Array[Byte], classes: Seq[JavaClass]): Option[Instance] =
    if (bytes.length > MostBytes) None
    else
      try new Reader(bytes, classes.map(one => one.name -> one).toMap).whole()
      catch { case _: IOException | _: NotKnown => None }

  private final class NotKnown extends RuntimeException(null, null, false, false)

  private final class Reader(bytes: Array[Byte], classes: Map[String, JavaClass]) {
    private val in = new DataInputStream(new ByteArrayInputStream(bytes))

    /** What a reference can mean. An object that is not complete is none: there are no circles. */
    private val handles = mutable.ArrayBuffer.empty[Option[Any]]

    def whole(): Option[Instance] = {
      require(in.readInt() == Header)
      val found = value(in.readUnsignedByte(), 0)
      require(in.available == 0)
      Some(found).collect { case one: Instance => one }
    }

    private def require(condition: Boolean): Unit = if (!condition) throw new NotKnown

    private def value(tag: Int, depth: Int): JavaValue = {
      require(depth <= MostDeep)
      tag match {
        case Tag.Null => Null
        case Tag.String => text()
        case Tag.Object => instance(depth)
        case Tag.Reference =>
          referred() match {
            case found: JavaValue => found
            case _ => throw new NotKnown
          }
        case _ => throw new NotKnown
      }
    }

    private def text(): Text = {
      val found = Text(in.readUTF())
      handles += Some(found)
      found
    }

    private def referred(): Any = {
      val at = in.readInt() - FirstHandle
      require(at >= 0 && at < handles.size)
      handles(at).getOrElse(throw new NotKnown)
    }

    private def instance(depth: Int): Instance = {
      val of = description().getOrElse(throw new NotKnown)
      val handle = handles.size
      handles += None
      val fields = mutable.Map.empty[String, JavaValue]
      val written = new ByteArrayOutputStream
      val objects = Vector.newBuilder[JavaValue]
      of.line.foreach { one =>
        if (one.writesFields) one.fields.foreach { case (kind, name) => fields(name) = field(kind, depth) }
        if (one.hasWriteMethod) content(written, objects, depth)
      }
      val found = Instance(of.name, fields.toMap, written.toByteArray, objects.result())
      handles(handle) = Some(found)
      found
    }

    /** What a write method has written. */
    private def content(
        into: ByteArrayOutputStream,
        objects: mutable.Builder[JavaValue, Vector[JavaValue]],
        depth: Int
    ): Unit = {
      var tag = in.readUnsignedByte()
      while (tag != Tag.EndBlock) {
        if (tag == Tag.Block || tag == Tag.LongBlock) {
          val length = if (tag == Tag.Block) in.readUnsignedByte() else in.readInt()
          require(length >= 0 && length <= in.available)
          into.write(bytes, bytes.length - in.available, length)
          require(in.skipBytes(length) == length)
        } else objects += value(tag, depth + 1)
        tag = in.readUnsignedByte()
      }
    }

    private def field(kind: String, depth: Int): JavaValue = kind match {
      case "B" => Primitive(Byte.box(in.readByte()))
      case "C" => Primitive(Char.box(in.readChar()))
      case "D" => Primitive(Double.box(in.readDouble()))
      case "F" => Primitive(Float.box(in.readFloat()))
      case "I" => Primitive(Int.box(in.readInt()))
      case "J" => Primitive(Long.box(in.readLong()))
      case "S" => Primitive(Short.box(in.readShort()))
      case "Z" =>
        val truth = in.readByte()
        require(truth == 0 || truth == 1)
        Primitive(Boolean.box(truth == 1))
      case _ => value(in.readUnsignedByte(), depth + 1)
    }

    /** The class that is described next; none for no class. */
    private def description(): Option[JavaClass] = in.readUnsignedByte() match {
      case Tag.Null => None
      case Tag.Reference =>
        referred() match {
          case known: JavaClass => Some(known)
          case _ => throw new NotKnown
        }
      case Tag.ClassDescription =>
        val of = classes.getOrElse(in.readUTF(), throw new NotKnown)
        in.readLong()
        handles += Some(of)
        val flags = Flag.Serializable | (if (of.hasWriteMethod) Flag.WriteMethod else 0)
        require(in.readUnsignedByte() == flags && in.readUnsignedShort() == of.fields.size)
        of.fields.foreach { case (kind, name) =>
          require(in.readUnsignedByte() == kind.charAt(0).toInt && in.readUTF() == name)
          if (!Primitives.contains(kind)) require(value(in.readUnsignedByte(), 0) == Text(kind))
        }
        require(in.readUnsignedByte() == Tag.EndBlock)
        require(description() == of.parent)
        Some(of)
      case _ => throw new NotKnown
    }
  }

  /** Writes a stream whose classes and their fields' types are each named once. */
  final class Writer(out: DataOutputStream) {
    out.writeInt(Header)

    /**
     * An object, whose fields, or content, come next.
     *
     * @param numbers the version numbers of classes, by their names
     */
    def begin(of: JavaClass, numbers: Map[String, Long]): Unit = {
      out.writeByte(Tag.Object)
      of.line.reverse.foreach { one =>
        out.writeByte(Tag.ClassDescription)
        out.writeUTF(one.name)
        out.writeLong(numbers(one.name))
        out.writeByte(Flag.Serializable | (if (one.hasWriteMethod) Flag.WriteMethod else 0))
        out.writeShort(one.fields.size)
        one.fields.foreach { case (kind, name) =>
          out.writeByte(kind.charAt(0).toInt)
          out.writeUTF(name)
          if (!Primitives.contains(kind)) {
            out.writeByte(Tag.String)
            out.writeUTF(kind)
          }
        }
        out.writeByte(Tag.EndBlock)
      }
      out.writeByte(Tag.Null)
    }

    /** What a write method has written. */
    def content(bytes: Array[Byte]): Unit = {
      bytes.grouped(BlockBytes).foreach { block =>
        if (block.length <= MostShort) {
          out.writeByte(Tag.Block)
          out.writeByte(block.length)
        } else {
          out.writeByte(Tag.LongBlock)
          out.writeInt(block.length)
        }
        out.write(block)
      }
      out.writeByte(Tag.EndBlock)
    }
  }

  /** As Java divides what it writes. */
  private val BlockBytes = 1024
  private val MostShort = 255
}
