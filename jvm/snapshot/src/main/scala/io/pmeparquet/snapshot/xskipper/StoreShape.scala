package io.pmeparquet.snapshot.xskipper

import scala.collection.JavaConverters._

import com.fasterxml.jackson.databind.node.ObjectNode
import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.parquet.example.data.Group
import org.apache.parquet.io.api.Binary
import org.apache.parquet.schema.{
  ConversionPatterns,
  GroupType,
  LogicalTypeAnnotation,
  MessageType,
  PrimitiveType,
  Type,
  Types
}
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName

import io.pmeparquet.options.FileSettings
import io.pmeparquet.parquet.summary.ColumnSummary
import io.pmeparquet.snapshot.parts.PartKeys

/**
 * The columns of a store of version 4, and what its footer says of them.
 *
 * @param table Xskipper's id of the table: its path
 * @param partitions the partition columns
 * @param keys none for a plaintext store
 */
private[pmeparquet] final class StoreShape(
    table: String,
    partitions: Seq[(String, StoredType)],
    indexes: Seq[StoreShape.Index],
    val keys: Option[StoreKeys]
) {
  import StoreShape._

  val schema: MessageType = {
    val id = Types
      .required(PrimitiveTypeName.BINARY)
      .as(LogicalTypeAnnotation.stringType())
      .named(StoreSchema.IdField)
    val values = partitions.map { case (name, of) => of.leaf(IndexName.ofPartition(name)) }
    new MessageType("spark_schema", ((id +: values) ++ indexes.map(_.group)).toList.asJava)
  }

  /** The Spark schema, as JSON. */
  def metadata: String = {
    val mapper = new ObjectMapper
    val root = mapper.createObjectNode().put("type", "struct")
    val fields = root.putArray("fields")
    def field(name: String, isNullable: Boolean): ObjectNode =
      fields.addObject().put("name", name).put("nullable", isNullable)
    val id = field(StoreSchema.IdField, isNullable = false).put("type", "string").putObject("metadata")
    id.put("version", StoreSchema.NewestVersion.toLong).put("tableIdentifier", table)
    keys.foreach { keys =>
      val encryption = id.putObject("encryption")
      encryption.put("encryption.column.keys", keys.columnKeys(schema, indexes))
      encryption.put("encryption.footer.key", keys.footerKey)
      if (keys.plaintextFooter) encryption.put("encryption.plaintext.footer", "true")
    }
    partitions.foreach { case (name, of) =>
      field(IndexName.ofPartition(name), isNullable = true).put("type", of.spark).putObject("metadata")
    }
    indexes.foreach(index => index.describe(field(index.field, isNullable = true)))
    mapper.writeValueAsString(root)
  }

  def group(row: Row, group: Group): Group = {
    group.add(StoreSchema.IdField, row.id)
    for (((name, of), value) <- partitions.zip(row.partition); bytes <- value) {
      val field = IndexName.ofPartition(name)
      add(group, of.leaf(field), bytes)
    }
    indexes.zip(row.summaries).foreach { case (index, summary) => index.add(group, summary) }
    group
  }
}

private[pmeparquet] object StoreShape {

  /**
   * A data file.
   *
   * @param id as [[FileId.text]] makes it
   * @param partition the values of the partition columns, encoded as statistics are; none for null
   * @param summaries of all indexes: for Xskipper, an index that says nothing says that no row matches
   */
  final case class Row(id: String, partition: Seq[Option[Array[Byte]]], summaries: Seq[ColumnSummary])

  /** @param name Xskipper's */
  sealed abstract class Kind(val name: String) extends Serializable
  case object MinMax extends Kind("minmax")
  case object ValueList extends Kind("valuelist")

  /** @param parameters by Xskipper's names; it makes the filters of further files by them */
  final case class Bloom(parameters: Seq[(String, String)]) extends Kind("bloomfilter")

  object Bloom {

    /** @param ndv none: Xskipper's default */
    def apply(fpp: Double, ndv: Option[Long]): Bloom = Bloom(
      Seq("io.xskipper.index.bloom.fpp" -> fpp.toString) ++
        ndv.map(number => "io.xskipper.index.bloom.ndv" -> number.toString)
    )
  }

  /**
   * @param column in lower case, with dots between the parts of a nested one
   * @param key label of its key; none for a plaintext index
   */
  final case class Index(kind: Kind, column: String, of: StoredType, key: Option[String]) {
    val field: String = IndexName.of(StoreSchema.NewestVersion, Seq(column), kind.name)

    private[StoreShape] def group: Type = kind match {
      case MinMax => new GroupType(Type.Repetition.OPTIONAL, field, of.leaf("min"), of.leaf("max"))
      case ValueList =>
        ConversionPatterns.listOfElements(Type.Repetition.OPTIONAL, field, of.leaf("element"))
      case Bloom(_) => Types.optional(PrimitiveTypeName.BINARY).named(field)
    }

    private[StoreShape] def describe(node: ObjectNode): Unit = {
      val index = node.putObject("metadata").putObject("index").put("name", kind.name)
      index.putArray("cols").add(column)
      key.foreach(index.put("key_metadata", _))
      val content = node.putObject("type")
      kind match {
        case ValueList => content.put("type", "array").put("elementType", of.spark).put("containsNull", true)
        case MinMax =>
          val bounds = content.put("type", "struct").putArray("fields")
          Seq("min", "max").foreach { name =>
            bounds
              .addObject()
              .put("name", name)
              .put("type", of.spark)
              .put("nullable", true)
              .putObject("metadata")
          }
        case Bloom(parameters) =>
          content.put("type", "udt").put("class", SerializedKind.BloomType).putNull("pyClass")
          content.put("sqlType", "binary")
          val stated = index.putObject("params")
          parameters.foreach { case (name, value) => stated.put(name, value) }
      }
      ()
    }

    private[StoreShape] def add(row: Group, summary: ColumnSummary): Unit = summary match {
      case ColumnSummary.Range(bounds, _) =>
        val group = row.addGroup(field)
        bounds.foreach { case (min, max) =>
          StoreShape.add(group, of.leaf("min"), min)
          StoreShape.add(group, of.leaf("max"), max)
        }
      case ColumnSummary.ValueList(values, _) =>
        val group = row.addGroup(field)
        values.foreach(value => StoreShape.add(group.addGroup("list"), of.leaf("element"), value))
      // By SketchSummary.
      case ColumnSummary.OfClass(sketch) =>
        row.add(field, Binary.fromConstantByteArray(SerializedSummary.ofSketch(sketch)))
      case other => throw new IllegalStateException(s"internal error: $other has no form in a store")
    }
  }

  private def add(group: Group, leaf: PrimitiveType, value: Array[Byte]): Unit = {
    val bytes = StoredType.little(value)
    leaf.getPrimitiveTypeName match {
      case PrimitiveTypeName.INT32 => group.add(leaf.getName, bytes.getInt)
      case PrimitiveTypeName.INT64 => group.add(leaf.getName, bytes.getLong)
      case PrimitiveTypeName.FLOAT => group.add(leaf.getName, bytes.getFloat)
      case PrimitiveTypeName.DOUBLE => group.add(leaf.getName, bytes.getDouble)
      case PrimitiveTypeName.BOOLEAN => group.add(leaf.getName, value(0) != 0)
      case _ => group.add(leaf.getName, Binary.fromConstantByteArray(value))
    }
  }
}

/**
 * The keys of a store: one for each index that has one, and the footer's for everything else. What the store says of its
 * keys and what encrypts it are both made here.
 *
 * @param footerKey label, also with a plaintext footer, which it signs
 * @param ofFields labels of indexes, by their columns in the store
 */
private[pmeparquet] final class StoreKeys(
    val footerKey: String,
    val plaintextFooter: Boolean,
    ofFields: Seq[(String, String)]
) {

  /** As parquet-java's `parquet.encryption.column.keys`: labels, each with the leaf columns that are under it. */
  private[xskipper] def columnKeys(schema: MessageType, indexes: Seq[StoreShape.Index]): String = {
    val ofField = indexes.flatMap(index => index.key.map(index.field -> _)).toMap
    val leaves = schema.getPaths.asScala.map(_.toSeq).toSeq
    val labelled = leaves.map(path => ofField.getOrElse(path.head, footerKey) -> path.mkString("."))
    labelled
      .map(_._1)
      .distinct
      .map(label => s"$label:${labelled.collect { case (`label`, path) => path }.mkString(",")}")
      .mkString(";")
  }

  /** How the file is encrypted. */
  private[xskipper] def settings: FileSettings =
    PartKeys.settings(footerKey, ofFields.filter(_._2 != footerKey), plaintextFooter)
}

private[pmeparquet] object StoreKeys {

  /** Whether the list of column keys can hold a text: it has no way to quote. */
  def canBeListed(text: String): Boolean = text.nonEmpty && !text.exists(char => ":;,".indexOf(char) >= 0)
}
