package io.pmeparquet.spark.decode

import java.lang.reflect.{Field, InvocationTargetException, Method}
import java.util.concurrent.atomic.AtomicBoolean

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.schema.MessageType
import org.apache.spark.sql.catalyst.util.RebaseDateTime.RebaseSpec
import org.apache.spark.sql.execution.datasources.parquet.{
  ParquetFilters,
  ParquetToSparkSchemaConverter,
  VectorizedParquetRecordReader
}
import org.slf4j.LoggerFactory

/**
 * What the page pipeline needs from Spark beyond its public classes. It is looked up once. A vendor's Spark may lack a
 * part of it: then [[VectorizedLink.failure]] names the part, and Spark's own readers read.
 */
private[spark] final class VectorizedLink private () {
  private val base = classOf[VectorizedParquetRecordReader].getSuperclass
  private val reader: Field = field("reader")
  private val configuration: Option[Field] =
    base.getDeclaredFields.find(_.getName == "configuration").map(open)
  private val missingColumns: Method = {
    val found = classOf[VectorizedParquetRecordReader].getDeclaredMethod("initializeInternal")
    found.setAccessible(true)
    found
  }

  /** Spark's interface for row groups, which only code in Spark's package can name. */
  val readerType: Class[_] = {
    if (reader.getType.getDeclaredMethod("readNextRowGroup") == null || !reader.getType.isInterface)
      throw new NoSuchMethodException(s"${reader.getType.getName} as an interface")
    reader.getType
  }

  // VectorizedPages sets these fields by name. The compiler has checked them only for the Spark that it compiled
  // against.
  Seq(
    "fileSchema",
    "requestedSchema",
    "sparkSchema",
    "sparkRequestedSchema",
    "parquetColumn",
    "writerVersion"
  )
    .foreach(field)
  if (field("totalRowCount").getType != java.lang.Long.TYPE)
    throw new NoSuchFieldException(s"${base.getName}.totalRowCount of type long")
  classOf[ParquetToSparkSchemaConverter]
    .getMethod("convertParquetColumn", classOf[MessageType], classOf[Option[_]])

  // Spark 4.3 has one more argument, an option.
  private val filters = {
    val found = classOf[ParquetFilters].getConstructors.find(constructor =>
      Seq(8, 9).contains(constructor.getParameterCount)
    )
    found.getOrElse(
      throw new NoSuchMethodException(s"${classOf[ParquetFilters].getName} of 8 or 9 arguments")
    )
  }

  def setReader(of: VectorizedParquetRecordReader, value: AnyRef): Unit = reader.set(of, value)

  /** Spark has this field since 4.1. */
  def setConfiguration(of: VectorizedParquetRecordReader, value: Configuration): Unit =
    configuration.foreach(_.set(of, value))

  def findMissingColumns(of: VectorizedParquetRecordReader): Unit =
    try {
      missingColumns.invoke(of)
      ()
    } catch { case failed: InvocationTargetException => throw failed.getCause }

  def parquetFilters(
      schema: MessageType,
      date: Boolean,
      timestamp: Boolean,
      decimal: Boolean,
      stringPredicate: Boolean,
      inThreshold: Int,
      caseSensitive: Boolean,
      rebase: RebaseSpec
  ): ParquetFilters = {
    val known = Seq[AnyRef](
      schema,
      Boolean.box(date),
      Boolean.box(timestamp),
      Boolean.box(decimal),
      Boolean.box(stringPredicate),
      Int.box(inThreshold),
      Boolean.box(caseSensitive),
      rebase
    )
    val arguments = if (filters.getParameterCount == known.size) known else known :+ None
    filters.newInstance(arguments: _*).asInstanceOf[ParquetFilters]
  }

  private def field(name: String): Field = open(base.getDeclaredField(name))

  private def open(field: Field): Field = {
    field.setAccessible(true)
    field
  }
}

private[spark] object VectorizedLink {
  private val log = LoggerFactory.getLogger("io.pmeparquet")
  private val warned = new AtomicBoolean

  private lazy val found: Either[String, VectorizedLink] =
    try Right(new VectorizedLink)
    catch {
      case missing @ (_: ReflectiveOperationException | _: LinkageError | _: RuntimeException) =>
        Left(s"${missing.getClass.getSimpleName}: ${missing.getMessage}")
    }

  /** The class or member of this Spark that does not fit the page pipeline, if any. */
  def failure: Option[String] = found.left.toOption

  /** Whether this Spark has what the page pipeline needs. If not, this logs a warning once. ''Driver only.'' */
  def fits(): Boolean = {
    for (why <- failure if warned.compareAndSet(false, true))
      log.warn(
        "reader=spark is used instead of reader=pages, because reader=pages does not work with this Spark: {}",
        why
      )
    failure.isEmpty
  }

  def get: VectorizedLink =
    found.fold(
      why => throw new IllegalStateException(s"internal error: this Spark does not fit: $why"),
      identity
    )
}
