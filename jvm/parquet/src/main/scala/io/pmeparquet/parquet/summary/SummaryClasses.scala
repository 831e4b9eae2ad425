package io.pmeparquet.parquet.summary

import java.lang.reflect.InvocationTargetException

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

import io.pmeparquet.PmeErrors

/** Loads classes of the user's. A caller must know that whoever named the class may choose what code runs. */
object SummaryClasses {

  /** The longest summary that a class may make. */
  private[summary] val MaxBytes: Int = 128 * 1024

  /**
   * A new instance, which has the settings of its index.
   *
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION` if the class cannot be loaded or does not take the settings
   */
  def load(kind: SummaryKind.OfClass): SummaryClass = {
    val instance =
      try loaded(kind.className).getConstructor().newInstance()
      catch {
        case failed: InvocationTargetException =>
          throw PmeErrors.summaryClassFailed(
            kind.className,
            "its constructor",
            failed.getCause.toString,
            failed.getCause
          )
        case failed @ (_: ReflectiveOperationException | _: LinkageError) =>
          throw PmeErrors.badSummaryClass(kind.className, because(failed), failed)
      }
    try instance.configure(kind.settings.toMap.asJava)
    catch {
      case NonFatal(failed) =>
        throw PmeErrors.summaryClassFailed(kind.className, "its settings", failed.toString, failed)
    }
    instance
  }

  /** The class, of which nothing has run before it is known to be one. */
  private def loaded(name: String): Class[_ <: SummaryClass] = {
    val loader = Option(Thread.currentThread().getContextClassLoader).getOrElse(getClass.getClassLoader)
    val found =
      try Class.forName(name, false, loader)
      catch {
        case failed @ (_: ReflectiveOperationException | _: LinkageError) =>
          throw PmeErrors.badSummaryClass(name, because(failed), failed)
      }
    if (!classOf[SummaryClass].isAssignableFrom(found))
      throw PmeErrors.badSummaryClass(name, s"it does not implement ${classOf[SummaryClass].getName}")
    found.asSubclass(classOf[SummaryClass])
  }

  private def because(failed: Throwable) = s"${failed.getClass.getName}: ${failed.getMessage}"
}
