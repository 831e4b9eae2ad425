package io.pmeparquet.parquet.write

import java.lang.reflect.Field

import scala.util.Try

import org.apache.parquet.column.ParquetProperties
import org.apache.parquet.hadoop.ParquetRecordWriter

import io.pmeparquet.PmeErrors

/**
 * parquet-java removes the statistics of encrypted columns from a plaintext footer, but not the size statistics that it
 * writes since 1.15: total length of values, number of nulls, lengths of lists. Only its properties can turn them off,
 * and its output format, through which Spark writes, passes no setting on to those. So this changes a writer's
 * properties before its first row. If members are not as expected, the write fails: nothing is left to chance.
 */
object SizeStatistics {
  private val Property = "sizeStatistics"

  /** @param spark Spark's writer of one file, which has not written anything yet */
  def turnOff(spark: AnyRef, where: String): Unit =
    if (areMade)
      try {
        val records = valueOf[ParquetRecordWriter[_]](spark, "recordWriter")
        val writer = valueOf[AnyRef](records, "internalWriter")
        val field = open(classOf[ParquetProperties], Property)
        field.set(valueOf[ParquetProperties](writer, "props"), field.get(without))
        val restart = writer.getClass.getDeclaredMethod("initStore")
        restart.setAccessible(true)
        restart.invoke(writer)
        ()
      } catch {
        case missing @ (_: ReflectiveOperationException | _: RuntimeException) =>
          throw PmeErrors.unsupported(
            where,
            "plaintextFooter=true",
            "this version of parquet-java writes the sizes of protected values into a readable footer, and pme-parquet " +
              s"cannot turn that off (${missing.getMessage})",
            "Use plaintextFooter=false."
          )
      }

  private def areMade: Boolean =
    classOf[ParquetProperties].getMethods.exists(_.getName == "getSizeStatisticsEnabled")

  private def without: ParquetProperties = {
    val builder = ParquetProperties.builder()
    builder.getClass
      .getMethod("withSizeStatisticsEnabled", java.lang.Boolean.TYPE)
      .invoke(builder, Boolean.box(false))
    builder.build()
  }

  private def valueOf[A](of: AnyRef, name: String): A = open(of.getClass, name).get(of).asInstanceOf[A]

  private def open(of: Class[_], name: String): Field = {
    val classes = Iterator.iterate[Class[_]](of)(_.getSuperclass).takeWhile(_ != null)
    val found = classes.flatMap(one => Try(one.getDeclaredField(name)).toOption).take(1).toList.headOption
    val field = found.getOrElse(throw new NoSuchFieldException(s"${of.getName}.$name"))
    field.setAccessible(true)
    field
  }
}
