package io.pmeparquet.parquet.verify

import java.io.IOException

import scala.collection.mutable

import org.apache.hadoop.fs.ChecksumException

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.parquet.bytes.ReadCounters

/** The counters of one file's verification. */
private[verify] final class Counters {
  val tagged = new ReadCounters
  val untagged = new ReadCounters
  var skippedPages = 0L

  def opened: Opened =
    Opened(1, tagged.modules.sum, untagged.modules.sum, skippedPages, tagged.bytes.sum + untagged.bytes.sum)
}

/** The findings in one file. */
private[verify] final class Findings(file: Finding) {
  private val found = mutable.ArrayBuffer.empty[Finding]

  // A List, not a Seq: in Scala 2.12 a Seq may be a Stream, which must not be serialised.
  def all: List[Finding] = found.toList

  /** The result of opening something; a failure becomes a finding. */
  def attempt[A](place: Finding => Finding)(open: => A): Option[A] = trial(open) match {
    case Right(opened) => Some(opened)
    case Left(failed) =>
      add(place, failed)
      None
  }

  /** The result of opening something, or why it does not open; a storage failure ends the verification. */
  def trial[A](open: => A): Either[PmeException, A] =
    try Right(open)
    catch {
      case failed: PmeException if !PmeException.isOfCancelled(failed) => Left(failed)
      case bad: ChecksumException =>
        Left(
          PmeErrors.damaged(file.file, "a checksum of the file system does not match", bad)
        )
    }

  def add(place: Finding => Finding, failed: PmeException, more: String = ""): Unit = {
    val one = place(file).because(failed)
    found += one.copy(message = one.message + more)
  }

  /** Adds it once for each place and reason. */
  def addOnce(place: Finding => Finding, failed: PmeException): Unit =
    if (!found.contains(place(file).because(failed))) add(place, failed)

  def ofStorage(failed: IOException): Unit =
    found += file.copy(condition = failed.getClass.getName, message = PmeException.firstLine(failed))
}
