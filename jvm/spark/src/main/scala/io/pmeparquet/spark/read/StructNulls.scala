package io.pmeparquet.spark.read

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.schema.{GroupType, MessageType, Type, Types}
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName
import org.apache.parquet.schema.Type.Repetition
import org.apache.spark.sql.execution.datasources.parquet.ParquetReadSupport
import org.apache.spark.sql.types._

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.parquet.file.SplitReader
import io.pmeparquet.parquet.schema.SchemaColumns

/**
 * Chooses the column that shows where a struct is NULL, if a query needs no value of the struct. Every column of the
 * struct shows it. Spark chooses by size, and its choice may have a key that this reader does not get. This hides the
 * other columns of the struct in the file, so that Spark reads the chosen one.
 *
 * Spark reads such a column for a struct if the query selects only fields of it that the file does not have (since
 * Spark 4.1), and all columns of a struct that the query only tests for NULL. ''Executor only.''
 *
 * @param nullChecks the columns, and fields of structs, that the query only tests for NULL
 * @param masks whether the read goes on without columns whose keys are refused
 */
private[spark] final class StructNulls(
    file: SplitReader,
    conf: Configuration,
    required: StructType,
    nullChecks: Set[Seq[String]],
    masks: Boolean
) {
  import StructNulls._

  def choose(): Unit = if (required.exists(field => hasStruct(field.dataType))) {
    val asked = inFile(requested(AskedColumns(conf, required), file.metadata.getSchema))
    if (isDenied(file.withOwnKey(asked))) {
      val found = structs(asked)
      found.foreach(struct => settle(struct, found.filter(isWithin(_, struct)), asked))
    }
  }

  /** Whether this reader does not get a key of these columns. If it gets them all, Spark reads what it would. */
  private def isDenied(columns: Seq[Seq[String]]): Boolean =
    columns.nonEmpty && (try file.refused(columns).nonEmpty
    catch {
      // A key that the KMS does not have, for example. What is read in the end fails as it should.
      case _: PmeException => true
    })

  /** The structs, as paths of their groups, that need only one column, whichever. */
  private def structs(asked: Seq[Seq[String]]): Seq[Seq[String]] = {
    // With a field that each struct of the query and of the file has, Spark finds every struct, and no column that the
    // query does not select.
    val probed = Probe.in(required)
    val copy = new Configuration(conf)
    copy.set(ParquetReadSupport.SPARK_ROW_REQUESTED_SCHEMA, probed.json)
    val all = requested(AskedColumns(copy, probed), Probe.in(file.metadata.getSchema))
    val (probes, selected) = all.getColumns.asScala.map(_.getPath.toSeq).toSeq.partition(_.last == Probe.Name)
    val groups = probes.map(_.init).filterNot(path => isRepeated(path) || isOfVariant(path))
    val named = groups.map(path => path -> fieldsOf(path, all, probed))
    val checked = nullChecks.toSeq.flatMap(check =>
      outermost(named.collect { case (path, name) if name.startsWith(check) => path })
    )
    val others = groups.filterNot(path => checked.exists(path.startsWith(_)))
    val needed = inFile(selected)
    // Spark reads one column for such a struct, or none. Where it reads more, the field has changed what it takes the struct
    // for, as with a variant, and then it needs values of it.
    val missing =
      others.filterNot(group => needed.exists(_.startsWith(group)) || asked.count(_.startsWith(group)) > 1)
    (checked ++ missing.filterNot(group => missing.exists(isWithin(_, group)))).distinct
  }

  /** @param inner other such structs in this one: what shows where they are NULL shows it of this one, too */
  private def settle(struct: Seq[String], inner: Seq[Seq[String]], asked: Seq[Seq[String]]): Unit = {
    val read = asked.filter(_.startsWith(struct))
    val all = SchemaColumns.leaves(file.metadata.getSchema).filter(_.path.startsWith(struct))
    if (inner.nonEmpty) file.hideLeaves(all.map(_.path).filterNot(path => inner.exists(path.startsWith(_))))
    else if (file.withOwnKey(read).nonEmpty) {
      // Spark may take what is left of a list, a map or a variant for another type.
      val whole = all.map(_.path).filterNot(path => prefixes(path, struct.size).exists(isOneValue))
      val candidates = read.filter(whole.contains) ++ whole.filterNot(read.contains)
      val keyed = file.withOwnKey(candidates).toSet
      val chosen = candidates.find(!keyed(_)).orElse {
        candidates.filter(keyed).find(path => file.refused(Seq(path)).isEmpty)
      }
      chosen match {
        case Some(one) => file.hideLeaves(all.map(_.path).filter(_ != one))
        case None if masks => ()
        case None =>
          file.refused(read).headOption.foreach { column =>
            val leaf = all.find(_.path == column.path)
            val name = leaf.fold(struct)(leaf => leaf.sparkPath.dropRight(leaf.path.size - struct.size))
            throw PmeErrors.deniedStructNulls(
              s"${file.path}, column '${column.display}'",
              name.mkString("."),
              column.masterKeyId,
              column.denied
            )
          }
      }
    }
  }

  private def requested(columns: AskedColumns, schema: MessageType): MessageType =
    new ParquetReadSupport().init(columns.of(file, schema)).getRequestedSchema

  private def inFile(schema: MessageType): Seq[Seq[String]] =
    inFile(schema.getColumns.asScala.map(_.getPath.toSeq).toSeq)

  private def inFile(paths: Seq[Seq[String]]): Seq[Seq[String]] = {
    val present = file.metadata.getSchema.getColumns.asScala.map(_.getPath.toSeq).toSet
    paths.filter(present)
  }

  private def isOneValue(path: Seq[String]): Boolean = isRepeated(path) || isOfVariant(path)

  /** Whether the group is a variant, or part of one, whose columns are read together. */
  private def isOfVariant(path: Seq[String]): Boolean = prefixes(path, 0).exists { prefix =>
    val field = file.metadata.getSchema.getType(prefix: _*)
    !field.isPrimitive && isVariant(field.asGroupType)
  }

  private def isRepeated(path: Seq[String]): Boolean =
    file.metadata.getSchema.getType(path: _*).isRepetition(Repetition.REPEATED)
}

private object StructNulls {
  private def isWithin(path: Seq[String], other: Seq[String]) = path != other && path.startsWith(other)

  private def isVariant(group: GroupType) =
    group.containsField("metadata") && (group.containsField("value") || group.containsField("typed_value"))

  private def outermost(paths: Seq[Seq[String]]) = paths.filterNot(path => paths.exists(isWithin(path, _)))

  /** The names in Spark of the fields on a path, down to the first list or map. Spark asks for them in its own order. */
  private def fieldsOf(path: Seq[String], group: GroupType, struct: StructType): Seq[String] =
    if (path.isEmpty || group.getFieldCount != struct.size) Nil
    else {
      val field = struct(group.getFieldIndex(path.head))
      field.name +: (field.dataType match {
        case inner: StructType => fieldsOf(path.tail, group.getType(path.head).asGroupType, inner)
        case _ => Nil
      })
    }

  private def prefixes(path: Seq[String], from: Int) = (from + 1 to path.size).map(path.take)

  private def hasStruct(dataType: DataType): Boolean = dataType match {
    case _: StructType => true
    case array: ArrayType => hasStruct(array.elementType)
    case map: MapType => hasStruct(map.keyType) || hasStruct(map.valueType)
    case _ => false
  }

  /** A field that is added to every struct. */
  private object Probe {
    // No writer of a table has a reason for this name.
    val Name = "\u0000pme-parquet"

    def in(columns: StructType): StructType =
      StructType(columns.map(field => field.copy(dataType = in(field.dataType))))

    private def in(dataType: DataType): DataType = dataType match {
      case struct: StructType => StructType(in(struct).fields :+ StructField(Name, BooleanType))
      case array: ArrayType => array.copy(elementType = in(array.elementType))
      case map: MapType => map.copy(keyType = in(map.keyType), valueType = in(map.valueType))
      case other => other
    }

    def in(schema: MessageType): MessageType =
      new MessageType(schema.getName, schema.getFields.asScala.map(in).asJava)

    private def in(field: Type): Type =
      if (field.isPrimitive) field
      else {
        val group = field.asGroupType
        val fields = group.getFields.asScala.map(in)
        group.withNewFields((if (isStruct(group)) fields :+ probe else fields).asJava)
      }

    private def probe: Type = Types.optional(PrimitiveTypeName.BOOLEAN).named(Name)

    // With another field, a repeated group could be taken for another kind of list.
    private def isStruct(group: GroupType) =
      group.getLogicalTypeAnnotation == null && !group.isRepetition(Repetition.REPEATED)
  }
}
