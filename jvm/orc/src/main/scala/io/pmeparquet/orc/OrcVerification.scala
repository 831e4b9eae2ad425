package io.pmeparquet.orc

import javax.crypto.SecretKey

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.orc.{ColumnStatistics, OrcFile, Reader}
import org.apache.orc.impl.KeyProvider

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.orc.tail.{KeyCheck, OpenedOrc, OrcTail, OrcVariant}

/**
 * What was found wrong in a file.
 *
 * @param stripe its number, from 0; none for the file
 * @param column its name; none if all are concerned
 */
final case class OrcFinding(
    stripe: Option[Int],
    column: Option[String],
    condition: String,
    problem: String
)

/**
 * @param stripes of the file
 * @param rows those that were read
 * @param masked columns that were read as masks, because their keys are missing: their encrypted copies are not checked
 */
final case class OrcVerified(stripes: Int, rows: Long, masked: Seq[String], findings: Seq[OrcFinding])

/**
 * Reads all of a file with ORC's own reader, and compares what it states with what it holds: the rows of each stripe, and
 * for each column of each stripe and of the file how many values there are, the smallest, the largest and the sum.
 *
 * '''It authenticates nothing.''' ORC encrypts with AES-CTR, so whoever can change a file can change values to others of
 * his choice if he knows them, and statistics with them. This finds damage, wrong keys and careless changes.
 *
 * Of timestamps it compares the number only, since their statistics depend on the time zone of the reader; of lists and
 * maps likewise, since ORC's writer does not state their lengths. In a file without compression it leaves out encrypted
 * statistics of stripes, which ORC's reader cannot read there.
 */
object OrcVerification {

  /**
   * @param keys gives the local keys; null for the key provider of the configuration
   * @param goOn called often; throws if the work is no longer wanted
   */
  def of(path: Path, length: Long, conf: Configuration, keys: KeyProvider, goOn: () => Unit): OrcVerified = {
    val findings = new OrcFindings(path.toString)
    val tail = findings.attempt(None) {
      OpenedOrc.using(path, length, conf) { file =>
        file.checkStripes(0, length)
        file.checkStripeStatistics()
        file.tail
      }
    }
    tail
      .flatMap { opened =>
        val options = OrcFile.readerOptions(conf).maxLength(length).setKeyProvider(keys)
        findings.attempt(None)(OrcFile.createReader(path, options)).map { reader =>
          try read(opened, reader, findings, goOn)
          finally reader.close()
        }
      }
      .getOrElse(OrcVerified(0, 0, Nil, findings.all))
  }

  private def read(tail: OrcTail, reader: Reader, findings: OrcFindings, goOn: () => Unit): OrcVerified = {
    val access = ColumnAccess.of(tail, reader, findings)
    val stated = findings.attempt(None)(statistics(tail, reader)).getOrElse(Map.empty)
    val file = new ColumnFacts(tail, reader.getSchema, access.closed)
    var whole = true
    var rows = 0L
    tail.stripes.foreach { stripe =>
      val found = new ColumnFacts(tail, reader.getSchema, access.closed)
      val read = findings.attempt(Some(stripe.id))(found.read(reader, stripe, goOn))
      whole = whole && read.isDefined
      read.foreach { count =>
        rows += count
        if (count != stripe.rows)
          findings.add(
            Some(stripe.id),
            None,
            s"stripe ${stripe.id} states ${stripe.rows} rows, but has $count"
          )
        stated.get(stripe.id).foreach(findings.compare(Some(stripe.id), found, _, encrypted(tail)))
        file.add(found)
      }
    }
    // Those of a part of the values would be others.
    if (whole) findings.attempt(None)(findings.compare(None, file, reader.getStatistics, Set.empty))
    OrcVerified(tail.stripes.size, rows, access.masked, findings.all)
  }

  private def statistics(tail: OrcTail, reader: Reader): Map[Int, Array[ColumnStatistics]] = {
    val all =
      if (encrypted(tail).isEmpty) reader.getStripeStatistics
      else reader.getVariantStripeStatistics(null)
    all.asScala.map(_.getColumnStatistics).zipWithIndex.map(_.swap).toMap
  }

  /** ORC's reader does not read encrypted statistics of stripes if a file is not compressed: it fails. */
  private def encrypted(tail: OrcTail): Set[Int] =
    if (tail.compression.kind != "NONE") Set.empty
    else tail.types.map(_.id).filter(tail.variantsOf(_).nonEmpty).toSet
}

/** The findings in a file, as they come up. */
private final class OrcFindings(file: String) {
  private val found = Seq.newBuilder[OrcFinding]

  def all: Seq[OrcFinding] = found.result()

  /** A failure becomes a finding; ORC's reader has no exception type for damage. */
  def attempt[A](stripe: Option[Int])(work: => A): Option[A] =
    try Some(work)
    catch {
      case failed if PmeException.isOfCancelled(failed) => throw failed
      case ours: PmeException =>
        found += OrcFinding(stripe, None, ours.getCondition(), ours.problem)
        None
      case NonFatal(failed) =>
        val place = stripe.fold("ORC's reader cannot read it")(id => s"ORC's reader cannot read stripe $id")
        val why = PmeException.causes(failed).flatMap(cause => Option(cause.getMessage)).lastOption
        add(stripe, None, why.fold(place)(text => s"$place: ${text.take(OrcFindings.MaxChars)}"))
        None
    }

  def add(stripe: Option[Int], column: Option[String], why: String): Unit = {
    val failed = PmeErrors.orcDamaged(file, why)
    found += OrcFinding(stripe, column, failed.getCondition(), failed.problem)
  }

  def add(column: String, failed: PmeException): Unit =
    found += OrcFinding(None, Some(column), failed.getCondition(), failed.problem)

  /** @param without columns whose statistics are not known */
  def compare(
      stripe: Option[Int],
      values: ColumnFacts,
      stated: Array[ColumnStatistics],
      without: Set[Int]
  ): Unit =
    values.differences(stated, without).foreach { case (column, why) =>
      add(stripe, Some(column), s"the statistics of ${stripe.fold("the file")(id => s"stripe $id")} say $why")
    }
}

private object OrcFindings {
  val MaxChars = 300
}

/**
 * How ORC's reader sees the encrypted columns.
 *
 * @param masked the names of leaf columns whose masks it shows
 * @param closed the ids of columns that its key does not open: it would read random bytes, which can take hours
 */
private final case class ColumnAccess(masked: Seq[String], closed: Set[Int])

private object ColumnAccess {
  def of(tail: OrcTail, reader: Reader, findings: OrcFindings): ColumnAccess = {
    val keys = reader.getEncryptionVariants.toIndexedSeq.map { variant =>
      // ORC's reader takes a failure for a missing key, and shows the mask.
      findings.attempt(None)(Option(variant.getFileFooterKey)).flatten
    }
    val closed = tail.variants.filter { variant =>
      val failed = keys(variant.id).flatMap(mismatch(tail, variant, _))
      failed.foreach(findings.add(tail.types(variant.root).leaf.display, _))
      failed.isDefined
    }
    val masked = tail.types.filter(_.isLeaf).filter { column =>
      val variants = tail.variantsOf(column.id)
      variants.nonEmpty && variants.forall(variant => keys(variant.id).isEmpty)
    }
    val ids = closed.flatMap(variant => variant.root to tail.types(variant.root).maximumId)
    ColumnAccess(masked.map(_.leaf.display), ids.toSet)
  }

  private def mismatch(tail: OrcTail, variant: OrcVariant, key: java.security.Key): Option[PmeException] =
    try {
      key match {
        case secret: SecretKey => KeyCheck.require(tail, variant, secret)
        case other =>
          throw PmeErrors.orcUnknown(tail.file, s"its key provider gave a ${other.getClass.getName}")
      }
      None
    } catch { case failed: PmeException => Some(failed) }
}
