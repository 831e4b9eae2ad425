package io.pmeparquet.parquet.write

import java.lang.reflect.Field

import scala.util.Try

import org.apache.parquet.column.ParquetProperties
import org.apache.parquet.crypto.InternalFileEncryptor
import org.apache.parquet.hadoop.{ParquetFileWriter, ParquetRecordWriter, ParquetWriter}

import io.pmeparquet.PmeException

/**
 * parquet-java's writer of one file, by itself or inside Spark's, before its first row. Spark and parquet-java make it from a Hadoop
 * configuration, and let nobody say which statistics it makes or what encrypts its modules
 * ([[https://github.com/pme-parquet/pme-parquet/blob/main/docs/decisions/0073-our-cipher-encrypts-pages.md 0073]]). So this
 * reaches for private members. If one is not as expected, the write fails: nothing is left to chance.
 */
private[write] final class NewWriter private (internal: AnyRef) {
  import NewWriter._

  def properties: ParquetProperties = valueOf[ParquetProperties](internal, "props")

  /** Null for a plaintext file. */
  def encryptor: InternalFileEncryptor = file.getEncryptor

  /** What encrypts from now on. */
  def encryptWith(encryptor: InternalFileEncryptor): Unit = {
    open(classOf[ParquetFileWriter], "fileEncryptor").set(file, encryptor)
    open(internal.getClass, "fileEncryptor").set(internal, encryptor)
    if (file.getEncryptor ne encryptor) throw new NoSuchFieldException("the writer keeps its encryptor")
  }

  private def file = valueOf[ParquetFileWriter](internal, "parquetFileWriter")

  /** Has the writer begin again: the writers of its columns keep what they were made with. */
  private def restart(): Unit = {
    val restart = internal.getClass.getDeclaredMethod("initStore")
    restart.setAccessible(true)
    restart.invoke(internal)
    ()
  }
}

private[write] object NewWriter {

  /**
   * @param writer of one file, Spark's or parquet-java's, which has not written anything yet
   * @param unsupported what to throw if a member is not as expected
   */
  def change(writer: AnyRef, unsupported: String => PmeException)(change: NewWriter => Unit): Unit =
    try {
      val internal = writer match {
        case parquets: ParquetWriter[_] => valueOf[AnyRef](parquets, "writer")
        case sparks =>
          valueOf[AnyRef](valueOf[ParquetRecordWriter[_]](sparks, "recordWriter"), "internalWriter")
      }
      val made = new NewWriter(internal)
      change(made)
      made.restart()
    } catch {
      case ours: PmeException => throw ours
      case missing @ (_: ReflectiveOperationException | _: RuntimeException) =>
        throw unsupported(String.valueOf(missing.getMessage))
    }

  private def valueOf[A](of: AnyRef, name: String): A = open(of.getClass, name).get(of).asInstanceOf[A]

  /** A member of a class, or of one that it extends. */
  def open(of: Class[_], name: String): Field = {
    val classes = Iterator.iterate[Class[_]](of)(_.getSuperclass).takeWhile(_ != null)
    val found = classes.flatMap(one => Try(one.getDeclaredField(name)).toOption).take(1).toList.headOption
    val field = found.getOrElse(throw new NoSuchFieldException(s"${of.getName}.$name"))
    field.setAccessible(true)
    field
  }
}
