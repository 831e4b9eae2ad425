package io.pmeparquet.snapshot.xskipper

import java.io.{ByteArrayOutputStream, DataOutputStream}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.ByteBuffer

import io.pmeparquet.snapshot.xskipper.JavaValue.{Instance, Primitive, Text}

/** The kinds of summaries that stores have as Java objects: Bloom filters, and in old stores the others. */
private[pmeparquet] sealed abstract class SerializedKind(val kind: String, val name: String)
    extends Serializable

private[pmeparquet] object SerializedKind {
  case object Bloom extends SerializedKind("bloomfilter", "BloomFilterMetaData")
  case object MinMax extends SerializedKind("minmax", "MinMaxMetaData")
  case object ValueList extends SerializedKind("valuelist", "ValueListMetaData")

  private val Types = Seq(
    "io.xskipper.metadatastore.parquet.ParquetBaseClauseTranslator$",
    "com.ibm.metaindex.metadata.metadatastore.parquet.ParquetBaseClauseTranslator$"
  )

  /**
   * @param kind Xskipper's name of the index
   * @param userType the class of the column's type in Spark
   */
  def of(kind: String, userType: String): Option[SerializedKind] =
    Seq(Bloom, MinMax, ValueList).find(one =>
      one.kind == kind && Types.exists(_ + one.name + "TypeUDT" == userType)
    )

  /** The class of the type of Bloom filters that Xskipper writes now. */
  val BloomType: String = Types.head + Bloom.name + "TypeUDT"
}

/** Summaries as Java objects ([[JavaObject]]): exactly an object of one of Xskipper's classes, or the bytes say nothing. */
private[snapshot] object SerializedSummary {
  private val Current = "io.xskipper.index.metadata."
  private val Old = "com.ibm.metaindex.metadata.index.types."
  private val Sketches = "org.apache.spark.util.sketch."
  private val HashSet = "scala.collection.mutable.HashSet"
  private val SetFactory = s"$HashSet$$DeserializationFactory"
  private val SetProxy = "scala.collection.generic.DefaultSerializationProxy"

  private def reference(to: String) = s"L${to.replace('.', '/')};"
  private val AnyObject = reference("java.lang.Object")

  private val Filter = JavaClass(
    s"${Sketches}BloomFilterImpl",
    Seq("I" -> "numHashFunctions", reference(s"${Sketches}BitArray") -> "bits"),
    hasWriteMethod = true,
    writesFields = false
  )

  private val Summaries: Seq[JavaClass] = Seq(Current, Old).flatMap { in =>
    val parent = JavaClass(s"${in}MetadataType", Nil)
    def summary(kind: SerializedKind, fields: (String, String)*) =
      JavaClass(in + kind.name, fields, Some(parent))
    Seq(
      parent,
      summary(SerializedKind.Bloom, reference(s"${Sketches}BloomFilter") -> "bloomFilter"),
      summary(SerializedKind.MinMax, AnyObject -> "max", AnyObject -> "min"),
      summary(SerializedKind.ValueList, reference(HashSet) -> "values")
    )
  }

  private val Sets = Seq(
    // Until Scala 2.12: load factor, number of elements, seed, whether there is a map of sizes; the elements.
    JavaClass(HashSet, Nil, hasWriteMethod = true),
    // Scala 2.13: the number of elements, and the elements.
    JavaClass(SetFactory, Seq("D" -> "loadFactor", "I" -> "tableLength")),
    JavaClass(
      SetProxy,
      Seq(reference("scala.collection.Factory") -> "factory"),
      hasWriteMethod = true
    )
  )

  private val Values: Seq[JavaClass] = {
    val number = JavaClass("java.lang.Number", Nil)
    val date = JavaClass("java.util.Date", Nil, hasWriteMethod = true)
    def boxed(name: String, of: String) = JavaClass(s"java.lang.$name", Seq(of -> "value"), Some(number))
    Seq(
      number,
      boxed("Byte", "B"),
      boxed("Short", "S"),
      boxed("Integer", "I"),
      boxed("Long", "J"),
      boxed("Float", "F"),
      boxed("Double", "D"),
      JavaClass("java.lang.Boolean", Seq("Z" -> "value")),
      date,
      JavaClass("java.sql.Timestamp", Seq("I" -> "nanos"), Some(date))
    )
  }

  private val Known = Summaries ++ Sets ++ Values :+ Filter

  /** None for bytes that are no such object, or that prove nothing. */
  def of(kind: SerializedKind, bytes: Array[Byte]): Option[StoredSummary] =
    JavaObject
      .parse(bytes, Known)
      .filter(one => one.of == Current + kind.name || one.of == Old + kind.name)
      .flatMap { found =>
        kind match {
          case SerializedKind.Bloom => sketch(found.fields("bloomFilter")).map(StoredSummary.Sketch(_))
          case SerializedKind.MinMax =>
            for {
              min <- value(found.fields("min"))
              max <- value(found.fields("max"))
              if min._1 == max._1
              range <- StoredSummary.range(min._1, Some(min._2), Some(max._2))
            } yield range
          case SerializedKind.ValueList => elements(found.fields("values")).flatMap(list)
        }
      }

  /** The filter as `BloomFilter.writeTo` of Spark's sketches writes it, of format version 1. */
  private def sketch(value: JavaValue): Option[Array[Byte]] = value match {
    case Instance(Filter.name, _, bytes, Seq()) if isOfVersion1(ByteBuffer.wrap(bytes)) => Some(bytes)
    case _ => None
  }

  /** Version, number of hash functions, number of words, words. */
  private def isOfVersion1(content: ByteBuffer) =
    content.remaining >= 12 && {
      val version = content.getInt()
      val functions = content.getInt()
      val words = content.getInt()
      version == 1 && functions >= 1 && functions <= MostFunctions && words >= 1 &&
      content.remaining == 8L * words
    }

  /** An empty list says of no type that all values are null, so it says nothing. */
  private def list(elements: Seq[JavaValue]): Option[StoredSummary] = {
    val values = elements.map(value)
    if (values.isEmpty || values.size > StoredSummary.MostValues || values.exists(_.isEmpty)) None
    else {
      val types = values.flatten.map(_._1).distinct
      if (types.size == 1) StoredSummary.list(types.head, values.flatten.map(_._2)) else None
    }
  }

  private def elements(set: JavaValue): Option[Seq[JavaValue]] = set match {
    case Instance(`HashSet`, _, bytes, elements) =>
      Some(elements).filter(_ => bytes.length == 13 && ByteBuffer.wrap(bytes).getInt(4) == elements.size)
    case Instance(`SetProxy`, fields, bytes, elements) =>
      Some(elements).filter { _ =>
        isFactory(fields("factory")) && bytes.length == 4 && ByteBuffer.wrap(bytes).getInt == elements.size
      }
    case _ => None
  }

  private def isFactory(value: JavaValue) = value match {
    case Instance(`SetFactory`, _, _, _) => true
    case _ => false
  }

  /**
   * A value in the encoding of statistics. Dates are none, since a `java.sql.Date` is a time of day in the time zone of
   * whoever wrote it, and decimals neither: they do not tell the precision of their column.
   */
  private def value(of: JavaValue): Option[(StoredType, Array[Byte])] = of match {
    case Text(text) =>
      // Half of a pair of surrogates has no bytes.
      Some(StoredType.Text -> text.getBytes(UTF_8)).filter(_ => UTF_8.newEncoder.canEncode(text))
    case Instance("java.sql.Timestamp", fields, bytes, Seq()) => timestamp(fields("nanos"), bytes)
    case Instance(_, fields, _, _) => fields.get("value").flatMap(primitive)
    case _ => None
  }

  private def primitive(of: JavaValue): Option[(StoredType, Array[Byte])] = of match {
    case Primitive(value) =>
      value match {
        case one: java.lang.Byte => Some(StoredType.Byte -> StoredType.bytes(one.toInt))
        case one: java.lang.Short => Some(StoredType.Short -> StoredType.bytes(one.toInt))
        case one: Integer => Some(StoredType.Int -> StoredType.bytes(one.intValue))
        case one: java.lang.Long => Some(StoredType.Long -> StoredType.bytes(one.longValue))
        case one: java.lang.Float =>
          Some(StoredType.Float -> StoredType.bytes(java.lang.Float.floatToRawIntBits(one)))
        case one: java.lang.Double =>
          Some(StoredType.Double -> StoredType.bytes(java.lang.Double.doubleToRawLongBits(one)))
        case one: java.lang.Boolean => Some(StoredType.Boolean -> Array[Byte](if (one) 1 else 0))
        case _ => None
      }
    case _ => None
  }

  private def timestamp(nanos: JavaValue, millis: Array[Byte]): Option[(StoredType, Array[Byte])] =
    nanos match {
      case Primitive(part: Integer)
          if millis.length == 8 && part >= 0 && part < 1000000000 && part % 1000 == 0 =>
        val seconds = ByteBuffer.wrap(millis).getLong
        // Beyond that, microseconds do not fit.
        if (seconds % 1000 != 0 || Math.abs(seconds / 1000) > MostSeconds) None
        else Some(StoredType.Timestamp -> StoredType.bytes(seconds * 1000 + part / 1000))
      case _ => None
    }

  /** An object of Xskipper's class for a filter in format version 1, as Java writes it. */
  def ofSketch(filter: Array[Byte]): Array[Byte] = {
    val bytes = new ByteArrayOutputStream
    val out = new JavaObject.Writer(new DataOutputStream(bytes))
    out.begin(Summaries.find(_.name == Current + SerializedKind.Bloom.name).get, NumbersOfClasses)
    out.begin(Filter, NumbersOfClasses)
    out.content(filter)
    bytes.toByteArray
  }

  /** As Xskipper 1.6 on Spark 4.0 writes them. Its reader takes any. */
  private val NumbersOfClasses: Map[String, Long] = Map(
    s"$Current${SerializedKind.Bloom.name}" -> 1L,
    s"${Current}MetadataType" -> 0x25e4f553292c5e68L,
    Filter.name -> 0x394d74921a9bcc14L
  )

  private val MostFunctions = 100
  private val MostSeconds = Long.MaxValue / 1000000
}
