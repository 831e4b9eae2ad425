package io.pmeparquet.parquet.write

import java.io.IOException

import org.apache.parquet.ParquetRuntimeException

import io.pmeparquet.{PmeErrors, PmeException}

/** Explains what parquet-java refuses to write. Spark would name only the task that failed. */
object WriteFailures {

  /**
   * @param where the table and the file
   * @param isSparks whether Spark explains a cause itself
   * @return none for failures of others, such as storage
   */
  def explained(failed: Throwable, where: String)(isSparks: Throwable => Boolean): Option[PmeException] =
    PmeException.find(failed).orElse {
      val causes = PmeException.causes(failed)
      if (causes.exists(cause => isSparks(cause) || cause.isInstanceOf[IOException])) None
      else
        causes
          .find(isThrownByParquet)
          .map(cause => PmeErrors.notWritten(where, PmeException.firstLine(cause), failed))
    }

  private def isThrownByParquet(e: Throwable) = e match {
    case _: ParquetRuntimeException => true
    case _: RuntimeException =>
      e.getStackTrace.find(!_.getClassName.startsWith("java.")).exists(_.getClassName.startsWith(Parquet))
    case _ => false
  }

  private val Parquet = "org.apache.parquet."
}
