package io.pmeparquet.parquet.admission

import java.nio.ByteBuffer

import scala.collection.mutable
import scala.collection.JavaConverters._

import org.apache.parquet.format.{ColumnChunk, RowGroup}

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.columns.{ColumnPolicy, ColumnProtection, FilePlace, KeyTemplate, LeafColumn}
import io.pmeparquet.columns.ColumnProtection.{ColumnKey, FooterKey, Plaintext}

/**
 * Checks that the columns of a file are protected as a policy asks. It uses no key, only what the footer states of each
 * chunk (specification §5.3, `ColumnCryptoMetaData`): the key that a chunk names either opens it, or nothing does.
 *
 * @param footerKey the master key of the footer's key, if the file or the options name one
 * @param masterKeyOf the master key of a column's own key, by its key metadata and the column's name
 */
private[parquet] final class ColumnCheck(
    policy: ColumnPolicy,
    file: String,
    footerKey: Option[String],
    masterKeyOf: (Array[Byte], String) => String
) {
  private val known = mutable.HashMap.empty[ByteBuffer, String]

  /**
   * The columns that deviate from the policy in any row group, each with the first reason to refuse it.
   *
   * @param leaves in the order of the file's columns
   * @throws io.pmeparquet.PmeException if the policy contradicts itself for these columns
   */
  def columns(leaves: Seq[LeafColumn], groups: Seq[RowGroup]): Seq[(LeafColumn, PmeException)] = for {
    ((leaf, asked), ordinal) <- leaves.zip(policy.of(leaves)).zipWithIndex
    refused <- groups.iterator.zipWithIndex
      .flatMap { case (group, index) =>
        val place = if (index == 0) "" else s"row group $index, "
        deviation(leaf, asked, group.getColumns.get(ordinal), s"$file, ${place}column '${leaf.display}'")
      }
      .take(1)
      .toList
  } yield leaf -> refused

  private def deviation(
      leaf: LeafColumn,
      asked: ColumnPolicy.Asked,
      chunk: ColumnChunk,
      where: String
  ): Option[PmeException] =
    try {
      requirePath(leaf, chunk, where)
      val found = protectionOf(leaf, chunk, where)
      if (asked.isMetBy(found, footerKey)) None
      else Some(ColumnCheck.refused(where, found, footerKey, asked))
    } catch { case unclear: PmeException => Some(unclear) }

  /**
   * Requires that readers that find columns by these names, as parquet-java does, get the same column as readers that
   * find them by their order.
   */
  private def requirePath(leaf: LeafColumn, chunk: ColumnChunk, where: String): Unit = {
    val crypto = Option(chunk.getCrypto_metadata).filter(_.isSetENCRYPTION_WITH_COLUMN_KEY)
    val paths = crypto.map(_.getENCRYPTION_WITH_COLUMN_KEY.getPath_in_schema).toSeq ++
      Option(chunk.getMeta_data).map(_.getPath_in_schema)
    paths.find(path => path == null || path.asScala != leaf.path).foreach { path =>
      val other = Option(path).fold("none")(_.asScala.mkString("."))
      throw PmeErrors.damaged(where, s"its metadata belongs to column $other")
    }
  }

  private def protectionOf(leaf: LeafColumn, chunk: ColumnChunk, where: String): ColumnProtection = {
    val crypto = chunk.getCrypto_metadata
    if (crypto == null) Plaintext
    else if (crypto.isSetENCRYPTION_WITH_FOOTER_KEY) FooterKey
    else if (!crypto.isSetENCRYPTION_WITH_COLUMN_KEY)
      throw PmeErrors.damaged(where, "it does not state its encryption key")
    else {
      val metadata = crypto.getENCRYPTION_WITH_COLUMN_KEY.getKey_metadata
      if (metadata == null) throw PmeErrors.noColumnKeyMetadata(where)
      // One writer's row groups share a column's key.
      ColumnKey(known.getOrElseUpdate(ByteBuffer.wrap(metadata), masterKeyOf(metadata, leaf.display)))
    }
  }
}

private[parquet] object ColumnCheck {

  /**
   * @param footerKey the master key of the footer's key
   * @throws io.pmeparquet.PmeException if the policy asks for another one
   */
  def footer(policy: ColumnPolicy, file: String, footerKey: => Option[String]): Unit =
    require(policy.footer, file, footerKey)(_.isMetBy(FooterKey, footerKey))

  private def require(asked: Option[ColumnPolicy.Asked], file: String, footerKey: => Option[String])(
      isMet: ColumnPolicy.Asked => Boolean
  ): Unit = asked.filterNot(isMet).foreach { one =>
    throw refused(s"$file, footer", FooterKey, footerKey, one)
  }

  /**
   * The same before the footer is open, and so before any call to the KMS. If only the footer states the values that name
   * its key, the name must be one that the template can make; [[footer]] compares it once the footer is open.
   *
   * @param place of the file, as its directories show it
   */
  def beforeFooter(policy: ColumnPolicy, place: FilePlace, file: String, footerKey: => Option[String]): Unit =
    if (!policy.waitsForFooter(place)) footer(policy.at(place, file), file, footerKey)
    else if (!policy.footerWaits(place))
      require(policy.footerAt(place, file), file, footerKey)(_.isMetBy(FooterKey, footerKey))
    else require(policy.footer, file, footerKey)(asked => footerKey.exists(canBe(asked, _)))

  private def canBe(asked: ColumnPolicy.Asked, footerKey: String) = asked.accepted.exists {
    case ColumnKey(text) => KeyTemplate.of(text, asked.by).makes(footerKey)
    case _ => true
  }

  private def refused(
      where: String,
      found: ColumnProtection,
      footerKey: Option[String],
      asked: ColumnPolicy.Asked
  ): PmeException = {
    val is = found match {
      case Plaintext => "plaintext"
      case FooterKey => "encrypted with the footer's key" + footerKey.fold("")(id => s", '$id'")
      case ColumnKey(id) => s"encrypted with key '$id'"
    }
    val wanted = asked.accepted.headOption match {
      case Some(Plaintext) => "plaintext"
      case Some(FooterKey) => "the footer's key"
      case Some(ColumnKey(id)) => s"key '$id'"
      case None => "an entry in columnKeys"
    }
    PmeErrors.otherProtection(where, is, asked.by, wanted)
  }
}
