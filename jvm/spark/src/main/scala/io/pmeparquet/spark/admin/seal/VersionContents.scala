package io.pmeparquet.spark.admin.seal

import scala.collection.mutable

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils

import io.pmeparquet.columns.{ColumnKeys, KeyTemplate, LeafColumn}
import io.pmeparquet.orc.{OrcFileFacts, OrcUsage}
import io.pmeparquet.parquet.inspect.FileFacts
import io.pmeparquet.parquet.scope.ReadScope
import io.pmeparquet.parquet.storage.ListedFile
import io.pmeparquet.parquet.summary.{ColumnSummary, FoundSummary, WantedSummary}
import io.pmeparquet.snapshot.{IndexContent, TableSnapshot}
import io.pmeparquet.snapshot.manifest.{DataFormat, IndexEntry, TablePolicy}
import io.pmeparquet.snapshot.parts.SealedFile
import io.pmeparquet.spark.admin.job.ProgressStep
import io.pmeparquet.spark.session.PmeSparkException
import io.pmeparquet.PmeErrors

/**
 * What a new version says of its table, made from what tasks found in files: what protects its columns, and its indexes.
 * ''Driver only.''
 *
 * @param wanted the indexes that it has
 * @param previous the version before
 * @param opened the files that were opened
 * @param hasOld whether the table still has files of that version
 * @param keys option `indexKeys`
 * @param templates that may name the keys of new files
 * @param writes the format of a table without files
 * @param relative the path of a file in the table
 * @param listed the paths of all files of the version
 */
private[admin] final class VersionContents(
    table: String,
    wanted: Seq[WantedSummary],
    previous: Option[TableSnapshot],
    opened: Seq[(ListedFile, FileFacts)],
    hasOld: Boolean,
    keys: Option[ColumnKeys],
    templates: Seq[KeyTemplate],
    writes: DataFormat,
    relative: ListedFile => String,
    listed: Seq[String]
) {
  private val continued = previous.filter(_ => hasOld || opened.isEmpty)

  /**
   * The format of all files.
   *
   * @throws io.pmeparquet.PmeException if two files have different formats, or one that has no indexes is to have some
   */
  val format: DataFormat = {
    val found = continued.filter(_.files.nonEmpty).map(_.version.manifest.format).toSeq ++
      opened.map { case (_, facts) => formatOf(facts) }
    val format = found.distinct match {
      case Seq() => writes
      case Seq(one) => one
      case _ =>
        val others = opened.groupBy { case (_, facts) => formatOf(facts) }.toSeq.map { case (one, files) =>
          s"${files.head._1.path} is ${one.name}"
        }
        throw PmeErrors.unsupported(
          table,
          "sealing a table of ORC and Parquet files",
          s"a reader reads one format, and ${others.sorted.mkString(", ")}",
          "Move the files of one format to a table of their own."
        )
    }
    if (format == DataFormat.Orc && wanted.nonEmpty)
      throw PmeErrors.unsupported(
        table,
        "an index of ORC files",
        "indexes are made of Parquet files only",
        "Seal the table without indexes."
      )
    format
  }

  private def formatOf(facts: FileFacts): DataFormat =
    if (facts.blocks.isDefined) DataFormat.Orc else DataFormat.Parquet

  /**
   * What protects the columns, which must be the same in all files.
   *
   * @throws io.pmeparquet.PmeException if two files protect a column in different ways
   */
  val policy: TablePolicy =
    new VersionPolicy(table, continued, templates, relative, listed).of(opened)

  /**
   * The indexes, with their types and keys.
   *
   * @throws io.pmeparquet.PmeException `PME_UNKNOWN_COLUMN` if the table has no such column, or `indexKeys` names none of
   *   an index
   */
  val indexes: Seq[IndexEntry] = {
    val before = continued.toSeq.flatMap(_.version.manifest.indexes)
    val types: Map[Seq[String], String] = (opened.map(_._2.types).distinct.reverseIterator.flatten ++
      before.iterator.map(index => index.column.toList -> index.columnType)).map { case (path, of) =>
      (path: Seq[String]) -> of
    }.toMap
    val keyOf = keysOf
    wanted.find(one => policy.hasFooterTemplate || dataKey(one, policy).exists(policy.isTemplate)).foreach {
      one =>
        throw PmeErrors.unsupported(
          table,
          s"an index of column '${one.column.mkString(".")}', whose key partitions name",
          "an index has one key, and would have values of all partitions under it",
          "Seal the table without this index."
        )
    }
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
  private def keysOf: WantedSummary => Option[String] = {
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
      asked(one).orElse(ownKey(one, ofData)).orElse(ofData)
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
  private def ownKey(one: WantedSummary, now: Option[String]) = for {
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
   * @param found by the file's path, in the order of the indexes that are wanted
   * @param content of an index of the version before, which is read when it is asked for
   */
  def summaries(
      found: Map[String, Seq[Option[FoundSummary]]],
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

private[admin] object VersionContents {

  /**
   * The row of a file.
   *
   * @param path relative to the table's directory
   */
  def file(path: String, file: ListedFile, facts: FileFacts): SealedFile = SealedFile(
    path,
    facts.length,
    file.modified,
    facts.footerSha256,
    facts.aadFileUnique,
    facts.sha256,
    facts.rows,
    partition(path),
    facts.blocks
  )

  /** The values of partition columns, from the directories of a path. */
  def partition(path: String): Seq[(String, Option[String])] =
    path.split('/').toSeq.dropRight(1).filter(_.contains('=')).map { directory =>
      val value = ExternalCatalogUtils.unescapePathName(directory.substring(directory.indexOf('=') + 1))
      ExternalCatalogUtils.unescapePathName(directory.takeWhile(_ != '=')) ->
        Some(value).filter(_ != ExternalCatalogUtils.DEFAULT_PARTITION_NAME)
    }
}

/** Looks at files. ''Crosses the wire'', with the scope. */
private[admin] final class SealingTask(scope: ReadScope, wanted: List[WantedSummary], step: ProgressStep)
    extends Serializable {

  /** What is found in each file. */
  def apply(files: Iterator[ListedFile], conf: Configuration): Iterator[(ListedFile, FileFacts)] = {
    val shared = new SharedFacts
    files.map(file => file -> shared.in(of(file, conf)))
  }

  private def of(file: ListedFile, conf: Configuration): FileFacts = PmeSparkException.translated {
    step.counting(file.length) {
      // What is no ORC file fails as a Parquet file would.
      if (OrcUsage.isOrc(new Path(file.path), conf)) OrcFileFacts.of(file, conf)
      else FileFacts.of(scope, file, wanted, conf)
    }
  }
}

/**
 * Makes equal descriptions of columns one object: a table of many files has few, and they are most of what is known of a
 * file. They stay one object on their way to the driver.
 */
private[admin] final class SharedFacts {
  private val known = mutable.HashMap.empty[AnyRef, AnyRef]

  def in(facts: FileFacts): FileFacts = facts.copy(types = one(facts.types), columns = one(facts.columns))

  private def one[A <: AnyRef](value: A): A = known.getOrElseUpdate(value, value).asInstanceOf[A]
}
