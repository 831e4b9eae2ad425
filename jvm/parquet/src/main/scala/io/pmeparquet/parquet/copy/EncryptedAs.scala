package io.pmeparquet.parquet.copy

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.format.{ColumnChunk, RowGroup}

import io.pmeparquet.columns.{ColumnProtection, KeyPlan}
import io.pmeparquet.columns.ColumnProtection._
import io.pmeparquet.options.{EncryptionAlgorithm, FileSettings}
import io.pmeparquet.parquet.bytes.FileTail
import io.pmeparquet.parquet.file.OpenFile
import io.pmeparquet.parquet.schema.SchemaColumns
import io.pmeparquet.parquet.scope.{FileKeys, ReadScope}

/** Checks that an encrypted file matches the settings of a write: which master key protects what, and in which mode. */
private[parquet] final class EncryptedAs(settings: FileSettings, scope: ReadScope, conf: Configuration) {

  /** The first difference, if there is one. */
  def difference(file: OpenFile, tail: FileTail.Encrypted): Option[String] = {
    val keys = new FileKeys(file.version.path, conf, scope)
    val ofFooter = tail.footerKeyMetadata.map(keys.masterKeyOf(_, None))
    val wanted = protections(file)
    def groups = Option(file.footer.getRow_groups).fold(Seq.empty[RowGroup])(_.asScala.toSeq)
    def differing = for {
      group <- groups
      ((name, expected), chunk) <- wanted.zip(group.getColumns.asScala)
      found = protection(chunk, name, keys) if found != expected
    } yield s"column '$name' has ${EncryptedAs.described(found)} instead of ${EncryptedAs.described(expected)}"
    val stored = settings.aadPrefix.isDefined && settings.storeAadPrefix
    val supplied = settings.aadPrefix.isDefined && !settings.storeAadPrefix
    Seq(
      "it has another footer key" -> !ofFooter.contains(settings.footerKey),
      "plaintextFooter is different" -> (tail.plaintextFooter != settings.plaintextFooter),
      "algorithm is different" -> (tail.ctr != (settings.algorithm == EncryptionAlgorithm.AesGcmCtrV1)),
      "aadPrefix or storeAadPrefix is different" ->
        (tail.aadPrefix.isDefined != stored || tail.supplyAadPrefix != supplied)
    ).collectFirst { case (what, true) => what }.orElse(differing.headOption)
  }

  /** The protection of each column, by the column's name. */
  private def protections(file: OpenFile): Seq[(String, ColumnProtection)] = {
    val leaves = SchemaColumns.leaves(file.schema)
    val plan = KeyPlan
      .of(
        leaves,
        settings.columnKeys.map(_.of(leaves, settings.caseSensitive)),
        settings.unlisted,
        settings.caseSensitive
      )
      .columns
    // As FileEncryption decides it.
    val all = plan.forall(_._2 == Plaintext)
    plan.map { case (leaf, protection) => leaf.display -> (if (all) FooterKey else protection) }
  }

  private def protection(chunk: ColumnChunk, name: String, keys: FileKeys): ColumnProtection =
    Option(chunk.getCrypto_metadata) match {
      case None => Plaintext
      case Some(crypto) if crypto.isSetENCRYPTION_WITH_FOOTER_KEY => FooterKey
      case Some(crypto) =>
        ColumnKey(keys.masterKeyOf(crypto.getENCRYPTION_WITH_COLUMN_KEY.getKey_metadata, Some(name)))
    }
}

private object EncryptedAs {
  def described(protection: ColumnProtection): String = protection match {
    case Plaintext => "no key"
    case FooterKey => "the footer's key"
    case ColumnKey(id) => s"key '$id'"
  }
}
