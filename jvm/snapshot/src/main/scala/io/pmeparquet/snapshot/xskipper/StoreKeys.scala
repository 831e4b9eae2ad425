package io.pmeparquet.snapshot.xskipper

import scala.collection.JavaConverters._

import org.apache.parquet.schema.MessageType

import io.pmeparquet.options.FileSettings
import io.pmeparquet.snapshot.parts.PartKeys

/**
 * The keys of a store: one for each index that has one, and the footer's for everything else. What the store says of its
 * keys and what encrypts it are both made here.
 *
 * @param footerKey label, also with a plaintext footer, which it signs
 * @param ofFields labels of indexes, by their columns in the store
 */
private[pmeparquet] final class StoreKeys(
    val footerKey: String,
    val plaintextFooter: Boolean,
    ofFields: Seq[(String, String)]
) {

  /** As parquet-java's `parquet.encryption.column.keys`: labels, each with the leaf columns that are under it. */
  private[xskipper] def columnKeys(schema: MessageType, indexes: Seq[StoreShape.Index]): String = {
    val ofField = indexes.flatMap(index => index.key.map(index.field -> _)).toMap
    val leaves = schema.getPaths.asScala.map(_.toSeq).toSeq
    val labelled = leaves.map(path => ofField.getOrElse(path.head, footerKey) -> path.mkString("."))
    labelled
      .map(_._1)
      .distinct
      .map(label => s"$label:${labelled.collect { case (`label`, path) => path }.mkString(",")}")
      .mkString(";")
  }

  /** How the file is encrypted. */
  private[xskipper] def settings: FileSettings =
    PartKeys.settings(footerKey, ofFields.filter(_._2 != footerKey), plaintextFooter)
}

private[pmeparquet] object StoreKeys {

  /** Whether a text can stand in the list of column keys, which has no way to quote. */
  def canBeListed(text: String): Boolean = text.nonEmpty && !text.exists(char => ":;,".indexOf(char) >= 0)
}
