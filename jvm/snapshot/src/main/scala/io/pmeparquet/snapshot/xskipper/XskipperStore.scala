package io.pmeparquet.snapshot.xskipper

import java.io.{Closeable, IOException}

import scala.collection.mutable
import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.parquet.column.page.PageReadStore
import org.apache.parquet.schema.MessageType

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.columns.ColumnProtection
import io.pmeparquet.parquet.file.{RowGroupReader, SplitReader}
import io.pmeparquet.parquet.scope.ReadScope

/**
 * START HERE. A Parquet metadata store of Xskipper: a directory of files, each with a row for each of some data files.
 * Nobody has signed it: whoever can write to it can hide rows from those who skip by it. ''Driver only.''
 *
 * @param scope opens its files
 */
private[pmeparquet] final class XskipperStore(directory: Path, scope: ReadScope, conf: Configuration) {
  import XskipperStore.reporting

  /**
   * Reads what the store says of each data file. It may say several things of one file: a refresh of Xskipper's first
   * adds rows, and then removes others.
   *
   * @param wanted which indexes to read; others need no key
   * @return what could not be read, and why
   */
  def foreach(wanted: StoreIndex => Boolean)(each: StoreRow => Unit): Seq[String] = {
    val problems = mutable.LinkedHashSet.empty[String]
    reporting(problems += _)(files()).foreach(_.foreach { file =>
      reporting(problems += _) {
        val store = new StoreFile(file, scope, conf, problems += _)
        try store.foreach(wanted)(each)
        finally store.close()
      }
    })
    problems.toVector
  }

  private def files(): Seq[Path] = {
    val all = directory.getFileSystem(conf).listStatus(directory).filter(isFile)
    val bytes = all.map(_.getLen).sum
    if (bytes > XskipperStore.MostBytes)
      throw PmeErrors.xskipperUnusable(
        directory.toString,
        s"its files are $bytes bytes long, and at most ${XskipperStore.MostBytes} bytes are read"
      )
    all.map(_.getPath).sorted.toVector
  }

  private def isFile(one: FileStatus) =
    one.isFile && !Seq("_", ".").exists(one.getPath.getName.startsWith(_))
}

private[pmeparquet] object XskipperStore {

  /** The result of a step; none, with a report, if it fails. */
  private[xskipper] def reporting[A](report: String => Any)(step: => A): Option[A] =
    try Some(step)
    catch {
      case failed @ (_: PmeException | _: IOException | _: RuntimeException) =>
        report(failed.getMessage)
        None
    }

  /** A store is read on the driver. */
  private val MostBytes = 1024L * 1024 * 1024
}

/** What a store says of one data file. */
private[pmeparquet] final case class StoreRow(id: FileId, summaries: Seq[(StoreIndex, StoredSummary)])

/**
 * A file of a store: a row for each data file, a column for each index. It is read as any file of ours, so that nothing
 * in it can take more memory or time than its size allows.
 *
 * @param report gets what cannot be used, and why
 * @throws io.pmeparquet.PmeException if the file cannot be used
 */
private[xskipper] final class StoreFile(
    path: Path,
    scope: ReadScope,
    conf: Configuration,
    report: String => Unit
) extends Closeable {
  private val reader = new SplitReader(scope, path, conf)
  private val where = path.toString
  private val schema: MessageType = reader.metadata.getSchema

  val stated: StoreSchema =
    try {
      val text = Option(reader.metadata.getKeyValueMetaData.get(StoreSchema.Key)).getOrElse {
        throw PmeErrors.xskipperUnusable(where, s"its footer has no entry ${StoreSchema.Key}")
      }
      val found = StoreSchema.parse(text, where)
      // Its columns may be encrypted in another way than it says, by who swapped its footer's text or key.
      found.encryption.foreach { encryption =>
        if (!reader.footerMasterKey.contains(encryption.footerKey))
          throw PmeErrors.xskipperUnusable(
            where,
            s"it states footer key '${encryption.footerKey}', which is not the one of its footer"
          )
      }
      found
    } catch {
      case failed: Throwable =>
        reader.close()
        throw failed
    }

  private lazy val protections = reader.protections

  /**
   * @param wanted which indexes to read; others need no key
   * @throws io.pmeparquet.PmeException if the names of data files cannot be read
   */
  def foreach(wanted: StoreIndex => Boolean)(each: StoreRow => Unit): Unit = {
    val ids = groupsOf(Seq(StoreSchema.IdField))
    val indexes = stated.indexes.filter(wanted).flatMap(opened)
    ids.indices.foreach { at =>
      val names = leaf(ids(at).pages(None), Seq(StoreSchema.IdField))(_.getBinary.toStringUsingUTF8)
      val cells = indexes.map { case (column, groups) => new Cells(column, groups(at)) }
      var left = ids(at).rowCount
      while (left > 0) {
        val name = names.next().values.headOption.flatMap(FileId.parse)
        val summaries =
          cells.flatMap(one => one.next().map(found => one.column.index -> found)).toVector
        name.foreach { id =>
          if (stated.isOfTable(id)) each(StoreRow(id, summaries))
          else report(PmeErrors.xskipperUnusable(where, s"it has a file that is not of its table").getMessage)
        }
        left -= 1
      }
    }
  }

  /** An index with its row groups; none, with a report, if it cannot be used. One missing key costs one index. */
  private def opened(index: StoreIndex): Option[(IndexColumn, Vector[RowGroupReader])] =
    reporting(index) {
      requireKey(index)
      val column = IndexColumn.of(index, schema, where)
      column -> groupsOf(Seq(index.field))
    }

  /** What a store says of its keys in two places must be how the file is encrypted. */
  private def requireKey(index: StoreIndex): Unit = {
    val own = protections.filter(_._1.head == index.field)
    index.key.foreach { label =>
      if (own.isEmpty || !own.forall(one => isUnder(one._2, Some(label))))
        throw PmeErrors.xskipperUnusable(
          where,
          s"it states key '$label' for column '${index.field}', which is not the key of that column"
        )
    }
    for (encryption <- stated.encryption; (leaf, protection) <- own)
      if (!isUnder(protection, encryption.labelOf(leaf.mkString("."))))
        throw PmeErrors.xskipperUnusable(
          where,
          s"its list of keys is not that of the file for column '${index.field}'"
        )
  }

  /** @param label none: that of the footer, or no encryption */
  private def isUnder(protection: ColumnProtection, label: Option[String]): Boolean = protection match {
    case ColumnProtection.ColumnKey(key) => label.contains(key)
    case ColumnProtection.FooterKey => label.forall(reader.footerMasterKey.contains(_))
    case ColumnProtection.Plaintext => label.isEmpty
  }

  private def reporting[A](index: StoreIndex)(step: => A): Option[A] =
    XskipperStore.reporting(why => report(s"index ${index.kind} of ${index.columns.mkString(", ")}: $why"))(
      step
    )

  private def groupsOf(fields: Seq[String]): Vector[RowGroupReader] =
    reader.rowGroups(0L, Long.MaxValue, messageOf(fields), filter = None, vectorized = false).toVector

  private def messageOf(fields: Seq[String]) =
    new MessageType(schema.getName, fields.map(field => schema.getType(Array(field): _*)).asJava)

  private def leaf[A](pages: PageReadStore, column: Seq[String])(
      read: org.apache.parquet.column.ColumnReader => A
  ): LeafRows[A] =
    new LeafRows(
      pages,
      messageOf(Seq(column.head)),
      schema.getColumnDescription(column.toArray),
      reader.metadata.getCreatedBy
    )(read)

  /** The summaries of an index in a row group. */
  private final class Cells(val column: IndexColumn, group: RowGroupReader) {
    private var rows: Option[Seq[LeafRows[Option[Array[Byte]]]]] = reporting(column.index) {
      val pages = group.pages(None)
      column.leaves.map { case (path, read) => leaf(pages, path)(read) }
    }

    /** None for a row that has no summary, and for all rows after damage. */
    def next(): Option[StoredSummary] = rows.flatMap { leaves =>
      val found = reporting(column.index)(column.summary(leaves.map(_.next())))
      if (found.isEmpty) rows = None
      found.flatten
    }
  }

  override def close(): Unit = reader.close()
}
