package io.pmeparquet.spark.admin

import scala.collection.mutable

import io.pmeparquet.columns.{ColumnKeys, LeafColumn}
import io.pmeparquet.parquet.inspect.FileFacts
import io.pmeparquet.parquet.summary.{ColumnSummary, FoundSummary, WantedSummary}
import io.pmeparquet.snapshot.{IndexContent, TableSnapshot}
import io.pmeparquet.snapshot.manifest.{IndexEntry, TablePolicy}
import io.pmeparquet.snapshot.parts.SealedFile
import io.pmeparquet.PmeErrors

/** The indexes of a new version: their types and keys, and what they say of each file. ''Driver only.'' */
private[admin] object SealedIndexes {

  /**
   * @param facts of the files that were opened
   * @param previous the version before
   * @param hasOld whether the table still has files of that version
   * @param keys option `indexKeys`
   * @throws io.pmeparquet.PmeException `PME_UNKNOWN_COLUMN` if the table has no such column, or `indexKeys` names none of
   *   an index
   */
  def of(
      table: String,
      wanted: Seq[WantedSummary],
      facts: Seq[FileFacts],
      previous: Option[TableSnapshot],
      hasOld: Boolean,
      policy: TablePolicy,
      keys: Option[ColumnKeys]
  ): Seq[IndexEntry] = {
    val before = previous.filter(_ => hasOld || facts.isEmpty).toSeq.flatMap(_.version.manifest.indexes)
    val types: Map[Seq[String], String] = (facts.map(_.types).distinct.reverseIterator.flatten ++
      before.iterator.map(index => index.column.toList -> index.columnType)).map { case (path, of) =>
      (path: Seq[String]) -> of
    }.toMap
    val keyOf = keysOf(table, wanted, policy, previous, keys)
    wanted.zipWithIndex.map { case (one, number) =>
      val columnType = types.getOrElse(
        one.column,
        throw PmeErrors.unknownIndexColumn(
          table,
          one.column.mkString("."),
          types.keys.map(_.mkString(".")).toSeq.sorted
        )
      )
      IndexEntry(one.kind, one.column, s"index_$number", columnType, keyOf(one))
    }
  }

  /** The key of each index: that of `indexKeys`, or a key of its own in the version before, or its data column's. */
  private def keysOf(
      table: String,
      wanted: Seq[WantedSummary],
      policy: TablePolicy,
      previous: Option[TableSnapshot],
      keys: Option[ColumnKeys]
  ): WantedSummary => Option[String] = {
    val columns = wanted.map(one => LeafColumn(one.column, one.column)).distinct
    val entries = keys.toSeq.flatMap(_.entries)
    entries.find(entry => !columns.exists(entry.pattern.covers(_, caseSensitive = true))).foreach { entry =>
      throw PmeErrors.noIndexOfKey(table, entry.pattern.text, columns.map(_.display))
    }
    if (entries.nonEmpty && policy.footerKey.isEmpty)
      throw PmeErrors.contradiction(
        "indexKeys",
        s"the table at $table is not encrypted, and neither are its indexes",
        "Remove the option, or encrypt the table."
      )
    def asked(one: WantedSummary) = {
      val found = entries.filter(_.pattern.covers(LeafColumn(one.column, one.column), caseSensitive = true))
      found.map(_.masterKeyId).distinct match {
        case Seq() => None
        case Seq(key) => Some(key)
        case several =>
          throw PmeErrors.contradiction(
            "indexKeys",
            s"column '${one.column.mkString(".")}' has the keys ${several.map(key => s"'$key'").mkString(" and ")}",
            "Give it one."
          )
      }
    }
    one => {
      val ofData = dataKey(one, policy)
      asked(one).orElse(ownKey(table, one, previous, ofData)).orElse(ofData)
    }
  }

  private def dataKey(one: WantedSummary, policy: TablePolicy): Option[String] =
    policy.footerKey.flatMap(footer => policy.columns.toMap.get(one.column).flatten.orElse(Some(footer)))

  /**
   * The key of the index in the version before, if it was not its data column's.
   *
   * @throws io.pmeparquet.PmeException if an HMAC sealed that version: whoever has the footer's master key can have
   *   written the key, to get an index of a column that he cannot read
   */
  private def ownKey(
      table: String,
      one: WantedSummary,
      previous: Option[TableSnapshot],
      now: Option[String]
  ) = for {
    before <- previous
    index <- before.version.manifest.indexes
      .find(index => index.column == one.column && index.kind.name == one.kind.name)
    key <- index.key
    old <- dataKey(one, before.version.manifest.policy)
    if key != old
  } yield {
    if (!before.version.isSigned)
      throw PmeErrors.indexKeyNotNamed(table, index.label, key, now.getOrElse(old))
    key
  }

  /**
   * What the indexes say of a file: what was found in it, or what the version before knows.
   *
   * @param found by the file's path, in the order of `wanted`
   * @param content of an index of the version before, which is read when it is asked for
   */
  def summaries(
      wanted: Seq[WantedSummary],
      found: Map[String, Seq[Option[FoundSummary]]],
      previous: Option[TableSnapshot],
      content: IndexEntry => IndexContent
  ): (IndexEntry, SealedFile) => Option[ColumnSummary] = {
    val read = mutable.HashMap.empty[IndexEntry, IndexContent]
    val before = previous.toSeq.flatMap(_.version.manifest.indexes)
    (index, file) =>
      found.get(file.path) match {
        case Some(some) =>
          // A summary of another type says nothing.
          some(wanted.indexWhere(one => one.column == index.column && one.kind == index.kind))
            .filter(_.columnType == index.columnType)
            .map(_.summary)
        case None =>
          before
            .find(old => old.copy(field = index.field, key = index.key) == index)
            .flatMap(old => read.getOrElseUpdate(old, content(old)).of(file.path))
      }
  }
}
