package io.pmeparquet.parquet.bytes

import java.io.{EOFException, FileNotFoundException, IOException}
import java.nio.BufferUnderflowException
import javax.crypto.AEADBadTagException

import org.apache.hadoop.fs.Path
import org.apache.hadoop.security.AccessControlException
import org.apache.parquet.crypto.{ParquetCryptoRuntimeException, TagVerificationException}
import org.apache.parquet.io.ParquetDecodingException

import io.pmeparquet.{PmeErrors, PmeException}

/** Turns what parquet-java throws on an encrypted file into what a user can act on. */
object ParquetFailures {

  /** For reading structure: a footer, a column's metadata. What is not a matter of storage is damage. */
  def naming[A](path: Path, what: String)(read: => A): A =
    try read
    catch {
      // Not kept as a cause: Spark ends an executor on whose failure an error of the virtual machine is found.
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
   * For reading pages: what comes from encryption or a cut file, and pages whose content is not what Parquet's encodings
   * can be. None for what is Spark's to tell: a schema that the file does not have, storage.
   *
   * @param isSparks whether a cause is one that Spark explains itself
   */
  def ofPages(failed: Throwable, file: String, what: String)(
      isSparks: Throwable => Boolean
  ): Option[PmeException] =
    known(failed, file, what).orElse {
      val causes = PmeException.causes(failed)
      if (causes.exists(cause => isSparks(cause) && !isNoDecoder(cause)) || causes.exists(isOtherType)) None
      else if (causes.exists(isOfDecoder)) Some(PmeErrors.damaged(file, s"$what cannot be decoded", failed))
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

  // A row is assembled into what the schema asks for, of which each type takes only its own values.
  private def isOtherType(e: Throwable) = e match {
    case _: UnsupportedOperationException | _: ClassCastException =>
      e.getStackTrace.take(DecoderFrames).exists(_.getClassName.contains("Converter"))
    case _ => false
  }

  // Decoders have few types of failure of their own, and otherwise fail as their arrays do.
  private def isOfDecoder(e: Throwable) = e match {
    case _: ParquetDecodingException => true
    case _: IndexOutOfBoundsException | _: IllegalArgumentException | _: NullPointerException =>
      isJavas(e) && isThrownByDecoder(e)
    // Storage fails with it, too, but elsewhere.
    case _: IOException => e.getStackTrace.headOption.exists(_.getClassName.contains(SparkDecoders))
    case _ => false
  }

  private def isNoDecoder(e: Throwable) = e match {
    case _: UnsupportedOperationException =>
      isThrownByDecoder(e) && (String.valueOf(e.getMessage).contains("encoding") ||
        e.getStackTrace.take(DecoderFrames).exists(_.getClassName.startsWith(Encodings)))
    case _ => false
  }

  // Spark's own subclasses of these tell a user something.
  private def isJavas(e: Throwable) = e.getClass.getName.startsWith("java.")

  // What is thrown often has no stack: the JIT compiler leaves it out. Else it begins in a decoder, not in a schema.
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

  // parquet-java's ciphers throw a bare IOException for a module whose length, which nothing authenticates, cannot be.
  private def isOfCipher(e: Throwable) =
    e.getStackTrace.take(3).exists(_.getClassName.startsWith("org.apache.parquet.crypto."))

  private def isCut(e: Throwable) = e match {
    case _: EOFException | _: BufferUnderflowException | _: NegativeArraySizeException => true
    case _ => false
  }

  // parquet-java has no type of its own for this refusal.
  private def isPlaintextRefusal(e: Throwable) =
    e.isInstanceOf[ParquetCryptoRuntimeException] && String.valueOf(e.getMessage).contains("plaintext file")

  // parquet-java wraps what Thrift says of a structure in an IOException without a type of its own.
  private def isParse(e: IOException) =
    isCut(e) || PmeException.causes(e).exists(_.getClass.getName.contains(".thrift."))
}
