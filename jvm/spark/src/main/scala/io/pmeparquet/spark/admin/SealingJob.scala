package io.pmeparquet.spark.admin

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.util.SerializableConfiguration

import io.pmeparquet.{Condition, PmeErrors, PmeException}
import io.pmeparquet.parquet.files.ListedFile
import io.pmeparquet.parquet.inspect.FileFacts
import io.pmeparquet.parquet.summary.{SummaryKind, WantedSummary}
import io.pmeparquet.snapshot.{IndexContent, NewVersion, SealedFiles, TableSnapshot, Version}
import io.pmeparquet.snapshot.manifest.IndexEntry
import io.pmeparquet.spark.admin.doctor.Connector
import io.pmeparquet.spark.admin.job.{FileJob, Progress}
import io.pmeparquet.spark.options.ConfResolver
import io.pmeparquet.spark.session.SparkAccess
import io.pmeparquet.spark.snapshots.SessionSnapshots

/**
 * Makes one version of a table: only files that the version before does not list are opened. ''Driver only.''
 *
 * @param path the table's directory
 * @param options those of a read, and who seals
 */
private[spark] final class SealingJob(
    session: SparkSession,
    path: String,
    options: Map[String, String],
    resolver: ConfResolver
) {
  private val conf = SparkAccess.hadoopConf(session, options)
  private val snapshots = resolver.snapshots(options)
  private val table = TableFiles.qualified(path, conf)
  private lazy val directory = snapshots.directory(table)
  private lazy val reader = snapshots.ownSnapshots(directory)

  private lazy val before: Option[Version] = reader.newest().map { version =>
    SessionSnapshots.of(session).seen.note(directory, version)(reader.continues)
    version
  }

  /** The version before. An overwrite removes snapshots that lie in the table, so a write asks for it first. */
  private lazy val previous: Option[TableSnapshot] = before.map(reader.files)

  /** @param indexes that the version has; none: those of the version before */
  def run(indexes: Option[Seq[WantedSummary]]): SealedSnapshot = {
    SealedGuard.requireTable(table, conf)
    sealedWith(indexes, areNamed = indexes.isDefined)
  }

  /**
   * Looks at the table before a write, which [[seal]] then seals.
   *
   * @param replacesAll whether the write replaces all files
   * @throws io.pmeparquet.PmeException if the table is not as its newest version lists it, or cannot be sealed
   */
  def prepare(replacesAll: Boolean): Unit = {
    snapshots.requireSigner()
    // A trial would leave a directory, and Spark would find that the table exists.
    if (before.isEmpty) directory.requireStep() else directory.requirePublishing()
    previous.foreach { snapshot =>
      if (!replacesAll) {
        val known = snapshot.files.iterator.map(file => file.path -> file.length).toMap
        val listed = listFiles().map(file => relative(file) -> file.length).toMap
        if (listed != known) {
          val file = (listed.toSet -- known ++ (known.toSet -- listed)).map(_._1).min
          throw PmeErrors.snapshotMismatch(
            new Path(table, file).toString,
            "the file was added, removed or replaced"
          )
        }
      }
    }
  }

  /** Seals the table after a write. */
  def seal(): SealedSnapshot = sealedWith(None, areNamed = false)

  /**
   * @param columns whose indexes the next version does not have
   * @param kind only indexes of this kind
   */
  def dropIndexes(columns: Seq[Seq[String]], kind: Option[String]): SealedSnapshot = {
    SealedGuard.requireTable(table, conf)
    val indexes = SealedGuard.requireNewest(session, reader).manifest.indexes
    val dropped = indexes.filter(index => columns.contains(index.column) && kind.forall(_ == index.kind.name))
    columns.filterNot(dropped.map(_.column).contains).foreach { path =>
      throw PmeErrors.noIndex(table.toString, path.mkString("."), indexes.map(_.label))
    }
    sealedWith(Some(indexes.filterNot(dropped.contains).map(wantedAs)), areNamed = false)
  }

  private def wantedAs(index: IndexEntry) = WantedSummary(index.column.toList, index.kind)

  /**
   * @param asked the indexes of the version; none: those of the version before
   * @param areNamed whether the caller named them, and not the manifest of the version before
   */
  private def sealedWith(asked: Option[Seq[WantedSummary]], areNamed: Boolean): SealedSnapshot = {
    // Before all files are opened.
    directory.requirePublishing()
    val indexed = before.toSeq.flatMap(_.manifest.indexes).map(wantedAs)
    // The same set of indexes needs no new files, whatever their order.
    val wanted = asked.map(IndexRequests.distinct).filter(_.toSet != indexed.toSet).getOrElse(indexed)
    // The version before knows nothing for a new index, so all files are opened for it.
    val (known, unknown) = split(listFiles(), previous.filter(_ => wanted.forall(indexed.contains)))
    if (!areNamed && unknown.nonEmpty) requireClasses(wanted)
    val facts = look(unknown, wanted)
    val policy = SealedPolicy.of(table.toString, previous.filter(_ => known.nonEmpty || facts.isEmpty), facts)
    val indexes =
      SealedIndexes.of(
        table.toString,
        wanted,
        facts.map(_._2),
        previous,
        known.nonEmpty,
        policy,
        snapshots.settings.indexKeys
      )
    val found = facts.map { case (file, one) => relative(file) -> one.summaries }.toMap
    val files =
      (known ++ facts.map { case (file, one) => SealedRows.of(relative(file), file, one) })
        .sorted(SealedFiles.byPath)
    val partitions = files.headOption.fold(Seq.empty[String])(_.partition.map(_._1))
    val version =
      new NewVersion(directory, previous, snapshots.sealer(policy.footerKey), snapshots.kmsUse, conf)
        .publish(
          files,
          policy,
          partitions,
          indexes,
          SealingJob.writer,
          SealedIndexes.summaries(wanted, found, previous, contentOf)
        )
    SessionSnapshots.of(session).seen.made(directory, version)
    val changes = SealedChanges.of(previous, files)
    new SealedSnapshot(
      version.number,
      version.digest,
      directory.path.toString,
      version.manifest.files,
      version.manifest.rows,
      version.manifest.bytes,
      facts.size.toLong,
      changes,
      version.algorithm,
      version.key
    )
  }

  private def contentOf(index: IndexEntry): IndexContent =
    try reader.content(previous.get, index)
    catch {
      case failed: PmeException
          if failed.condition == Condition.SnapshotDamaged || failed.condition == Condition.SnapshotNotAuthentic =>
        throw PmeErrors.oldIndexUnreadable(
          table.toString,
          index.label,
          failed.problem.stripSuffix("."),
          failed
        )
    }

  /** A manifest must not choose code. */
  private def requireClasses(kept: Seq[WantedSummary]): Unit = kept.map(_.kind).foreach {
    case SummaryKind.OfClass(name, _) if !snapshots.settings.indexClasses(name) =>
      throw PmeErrors.classNotAllowed(table.toString, name)
    case _ => ()
  }

  private def listFiles(): Seq[ListedFile] = {
    val found = TableFiles.list(table, conf)
    TableFiles.requireNoLinks(table, found, conf)
    found.marks.headOption.foreach(mark => throw PmeErrors.otherUnderWay(table.toString, mark.toString))
    // A read finds the table of a partition by the names of directories.
    found.files.find(file => relative(file).split('/').dropRight(1).exists(!_.contains('='))).foreach { file =>
      throw PmeErrors.unsupported(
        file.path,
        "sealing a table with directories that are no partitions",
        "a read of such a directory would not find the snapshot",
        "Move the file to the table's directory or to a partition, or seal its directory as a table."
      )
    }
    found.files
  }

  /** The files that the version before describes, as far as paths, lengths and times tell, and the others. */
  private def split(listed: Seq[ListedFile], previous: Option[TableSnapshot]) = {
    val described = listed.map { file =>
      val old = previous.flatMap(_.byPath.get(relative(file))).filter { known =>
        known.length == file.length && known.modified == file.modified
      }
      old.toLeft(file)
    }
    (described.flatMap(_.left.toOption).toVector, described.flatMap(_.toOption))
  }

  private def look(files: Seq[ListedFile], wanted: Seq[WantedSummary]): Seq[(ListedFile, FileFacts)] =
    if (files.isEmpty) Nil
    else {
      val bytes = files.map(_.length).sum
      val step = Progress.step(session, "sealing", files.size, bytes)
      step.begin()
      val shared = session.sparkContext.broadcast(new SerializableConfiguration(conf))
      val task = new SealingTask(resolver.read(options), wanted.toList, step)
      val found = session.sparkContext
        .parallelize(files, FileJob.tasksFor(session, files.size, bytes))
        .mapPartitions(task(_, shared.value.value))
        .collect()
      val ofAll = new SharedFacts
      found.map { case (file, facts) => file -> ofAll.in(facts) }.toVector
    }

  private def relative(file: ListedFile): String =
    SealedFiles
      .relative(table.toUri.getPath, new Path(file.path))
      .getOrElse(throw new IllegalStateException(s"internal error: ${file.path} is not below $table"))
}

private object SealingJob {
  def writer: String = "pme-parquet" + Connector.loaded.fold("")(connector => s" ${connector.version}")
}
