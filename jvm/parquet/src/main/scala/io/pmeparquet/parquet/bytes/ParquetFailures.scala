package io.pmeparquet.parquet.bytes

import java.io.{EOFException, FileNotFoundException, IOException}
import java.nio.BufferUnderflowException
import javax.crypto.AEADBadTagException

import org.apache.hadoop.fs.Path
import org.apache.hadoop.security.AccessControlException
import org.apache.parquet.crypto.{ParquetCryptoRuntimeException, TagVerificationException}
import org.apache.parquet.io.ParquetDecodingException

import io.pmeparquet.{PmeErrors, PmeException}

/** Turns parquet-java's exceptions on an encrypted file into errors that a user can act on. */
object ParquetFailures {

  /** For reads of structure: a footer, a column's metadata. Any failure other than one of storage is damage. */
  def naming[A](path: Path, what: String)(read: => A): A =
    try read
    catch {
      // Not kept as the cause: Spark ends an executor if a failure contains a virtual machine error.
      case _: StackOverflowError => throw PmeErrors.damaged(path.toString, s"$what is nested too deeply")
      case failed: Throwable => throw ofStructure(failed, path.toString, what)
    }

  private def ofStructure(failed: Throwable, file: String, what: String): Throwable =
    known(failed, file, what).getOrElse(failed match {
      case storage @ (_: FileNotFoundException | _: AccessControlException) => storage
      case broken: RuntimeException => PmeErrors.damaged(file, s"$what is not readable", broken)
      case broken: IOException if isParse(broken) => PmeErrors.damaged(file, s"$what is not readable", broken)
      case other => other
    })

  /**
   * For reads of pages: failures of encryption, of truncated files, and of pages whose content no Parquet encoding
   * allows. None for failures that Spark reports itself: a schema that does not fit the file, storage.
   *
   * @param isSparks whether Spark explains a cause itself
   */
  def ofPages(failed: Throwable, file: String, what: String)(
      isSparks: Throwable => Boolean
  ): Option[PmeException] =
    known(failed, file, what).orElse {
      val causes = PmeException.causes(failed)
      if (causes.exists(cause => isSparks(cause) && !isNoDecoder(cause)) || causes.exists(isOtherType)) None
      else if (causes.exists(isOfDecoder)) Some(PmeErrors.undecodable(file, what, failed))
      else if (causes.exists(isNoDecoder))
        Some(
          PmeErrors.unsupported(
            file,
            what,
            "Spark has no decoder for its encoding",
            "Write the column with another encoding.",
            failed
          )
        )
      else None
    }

  // Record assembly puts a row into the types that the schema asks for, and each type takes only its own values.
  private def isOtherType(e: Throwable) = e match {
    case _: UnsupportedOperationException | _: ClassCastException =>
      e.getStackTrace.take(DecoderFrames).exists(_.getClassName.contains("Converter"))
    case _ => false
  }

  // Decoders have few exception types of their own, and otherwise fail with those of arrays.
  private def isOfDecoder(e: Throwable) = e match {
    case _: ParquetDecodingException => true
    case _: IndexOutOfBoundsException | _: IllegalArgumentException | _: NullPointerException =>
      isJavas(e) && isThrownByDecoder(e)
    // Storage throws it too, but from elsewhere.
    case _: IOException => e.getStackTrace.headOption.exists(_.getClassName.contains(SparkDecoders))
    case _ => false
  }

  private def isNoDecoder(e: Throwable) = e match {
    case _: UnsupportedOperationException =>
      isThrownByDecoder(e) && (String.valueOf(e.getMessage).contains("encoding") ||
        e.getStackTrace.take(DecoderFrames).exists(_.getClassName.startsWith(Encodings)))
    case _ => false
  }

  // Spark's own subclasses of these explain something to the user.
  private def isJavas(e: Throwable) = e.getClass.getName.startsWith("java.")

  // An exception that is thrown often has no stack, because the JIT compiler omits it. Otherwise the stack begins in a
  // decoder, not in a schema.
  private def isThrownByDecoder(e: Throwable) =
    e.getStackTrace.toSeq.map(_.getClassName).filterNot(_.startsWith("java.")).headOption.forall { first =>
      Decoders.exists(first.contains(_))
    }

  private val DecoderFrames = 8
  private val Encodings = "org.apache.parquet.column.Encoding"
  private val SparkDecoders = ".datasources.parquet."
  private val Decoders =
    Seq("parquet.column.", "parquet.bytes.", "parquet.format.", "parquet.io.", SparkDecoders)

  private def known(failed: Throwable, file: String, what: String): Option[PmeException] = {
    val causes = PmeException.causes(failed)
    def has(found: Throwable => Boolean) = causes.exists(found)
    PmeException.find(failed).orElse {
      if (has(e => e.isInstanceOf[TagVerificationException] || e.isInstanceOf[AEADBadTagException]))
        Some(PmeErrors.notAuthentic(file, what, failed))
      else if (has(isPlaintextRefusal)) Some(PmeErrors.plaintextFile(file))
      else if (has(e => e.isInstanceOf[ParquetCryptoRuntimeException] || isCut(e) || isOfCipher(e)))
        Some(PmeErrors.damaged(file, s"$what is not readable", failed))
      else None
    }
  }

  // parquet-java's ciphers throw a bare IOException for a module with an impossible length, which nothing
  // authenticates.
  private def isOfCipher(e: Throwable) =
    e.getStackTrace.take(3).exists(_.getClassName.startsWith("org.apache.parquet.crypto."))

  private def isCut(e: Throwable) = e match {
    case _: EOFException | _: BufferUnderflowException | _: NegativeArraySizeException => true
    case _ => false
  }

  // parquet-java has no exception type for this refusal.
  private def isPlaintextRefusal(e: Throwable) =
    e.isInstanceOf[ParquetCryptoRuntimeException] && String.valueOf(e.getMessage).contains("plaintext file")

  // parquet-java wraps Thrift's exceptions in an IOException without a type of its own.
  private def isParse(e: IOException) =
    isCut(e) || PmeException.causes(e).exists(_.getClass.getName.contains(".thrift."))
}
