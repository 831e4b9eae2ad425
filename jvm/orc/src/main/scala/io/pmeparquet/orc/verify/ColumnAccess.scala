package io.pmeparquet.orc.verify

import javax.crypto.SecretKey

import org.apache.orc.Reader

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.orc.tail.{KeyCheck, OrcTail, OrcVariant}

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
