package io.pmeparquet.spark.admin

import scala.collection.JavaConverters._
import scala.util.{Failure, Success, Try}
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.types.{LongType, StringType}
import org.apache.spark.sql.SparkSession
import org.apache.spark.util.SerializableConfiguration

import io.pmeparquet.keys.KeyPurpose
import io.pmeparquet.options.WriteSettings
import io.pmeparquet.parquet.copy.{FileMerge, FileTraits, MergedFile}
import io.pmeparquet.parquet.scope.{ReadScope, WriteScope}
import io.pmeparquet.parquet.storage.{FileReplacement, ListedFile, Replacing, TableSwap}
import io.pmeparquet.snapshot.SealedFiles
import io.pmeparquet.spark.admin.job.{FileJob, Progress, ProgressStep, ResultRows, TableFiles, TableLog}
import io.pmeparquet.spark.admin.seal.{Replaced, SealResult, SealedGuard, SealingJob}
import io.pmeparquet.spark.options.{PreparedWrite, ResolvedOptions, SnapshotResolver}
import io.pmeparquet.spark.session.{PmeSparkException, SparkAccess}
import io.pmeparquet.spark.snapshot.TableDirectories
import io.pmeparquet.PmeErrors

/**
 * Merges small files of a table: `pme.compact`. Files become one only if they lie in one directory and have the same
 * keys, settings, schema and key-value metadata ([[FileTraits]]), so no cell gets another key. In Scala
 * {{{
 * Compaction.compact(spark, "s3a://…/table", Map("kms" -> "vault"))
 * }}}
 * Tasks write the new files and compare every cell; then [[TableSwap]] puts them in the place of the old ones. ''Driver
 * only.''
 */
object Compaction {
  val TargetBytes: Long = 128L * 1024 * 1024

  /**
   * @param options those of a read, and who seals
   * @param targetBytes the length of a new file; smaller files are merged
   * @param dryRun whether to say only which files would be merged
   * @param afterKill whether the caller knows that no compaction of the table runs any more; needed after one was killed
   *   where the file system has no locks
   */
  def compact(
      session: SparkSession,
      path: String,
      options: Map[String, String],
      targetBytes: Long = TargetBytes,
      dryRun: Boolean = false,
      afterKill: Boolean = false
  ): CompactedTable = PmeSparkException.translated {
    if (targetBytes < 1) throw PmeErrors.badOption("target_size", targetBytes.toString, "a number of bytes")
    new CompactionRun(session, path, options, targetBytes, dryRun, afterKill).run()
  }

  /** For Python. */
  def compact(
      session: SparkSession,
      path: String,
      options: java.util.Map[String, String],
      targetBytes: Long,
      dryRun: Boolean,
      afterKill: Boolean
  ): CompactedTable =
    Progress.unwatching(compact(session, path, options.asScala.toMap, targetBytes, dryRun, afterKill))

  private[admin] val results: ResultRows[CompactedFile] = ResultRows
    .of[CompactedFile]
    .required("directory", StringType)(_.directory)
    .optional("file", StringType)(one => Option(one.file))
    .required("replaced", ResultRows.Names)(_.replaced.asScala.toSeq)
    .required("rows", LongType)(_.rows)
    .required("bytes_before", LongType)(_.bytesBefore)
    .optional("bytes", LongType)(one => if (one.file == null) None else Some(one.bytes))
}

/**
 * One new file in the place of several.
 *
 * @param directory where it and they are
 * @param file its name; null for a dry run
 * @param replaced their names
 * @param rows of all of them
 * @param bytes its length; 0 for a dry run
 */
final case class CompactedFile(
    directory: String,
    file: String,
    replaced: java.util.List[String],
    rows: Long,
    bytesBefore: Long,
    bytes: Long
)

/** A small file that stays as it is, and why. */
final case class LeftFile(file: String, reason: String)

/**
 * What a compaction did, or would do.
 *
 * @param left small files that stay as they are, and why
 * @param putRight whether a compaction that was killed before was undone or completed first
 * @param sealedAs the version that sealed the table again; null if it is not sealed, or nothing was merged
 */
final class CompactedTable(
    val merged: java.util.List[CompactedFile],
    val left: java.util.List[LeftFile],
    val putRight: Boolean,
    val sealedAs: SealResult
)

/**
 * Files that become one. ''Crosses the wire.''
 *
 * @param sealedAs the SHA-256 of each file of a sealed table, by its path
 */
private final case class Merge(
    number: Int,
    directory: String,
    files: List[ListedFile],
    traits: FileTraits,
    rows: Long,
    sealedAs: Option[Map[String, Array[Byte]]] = None
) {
  def bytes: Long = files.map(_.length).sum
}

/** One run. ''Driver only.'' */
private final class CompactionRun(
    session: SparkSession,
    path: String,
    options: Map[String, String],
    targetBytes: Long,
    dryRun: Boolean,
    afterKill: Boolean
) {
  import CompactionRun._

  private val resolved = ResolvedOptions.ofOperation(session, options, KeyPurpose.Copy)
  private val conf = SparkAccess.hadoopConf(session, options)
  private val from = TableFiles.qualified(path, conf)
  private lazy val table = TableFiles.tableOf(from, conf)
  private lazy val sealedTable = SealedGuard.sealedTableOf(resolved, from)

  def run(): CompactedTable = {
    if (TableFiles.statusOf(from, conf).isFile)
      throw PmeErrors.badSource(
        from.toString,
        "it is one file",
        "Name the directory of a table or of a partition."
      )
    val before = TableFiles.list(from, conf)
    refuseOthers(TableFiles.logs(from, before, conf))
    TableFiles.requireNoLinks(from, before, conf)
    val wasLeft = !dryRun && TableSwap.putRight(table, afterKill, conf)(isDecided)
    val found = TableFiles.list(from, conf)
    TableFiles.requireNoLinks(from, found, conf)
    TableFiles.requireNoOtherMark(from, found.marks, from, conf)
    refuseSealedBelow(found.files)
    refuseSummaries(found)
    val small = found.files.filter(_.length < targetBytes).sortBy(_.path)
    // A file system without a safe swap is refused before anything is written.
    small.headOption.foreach(file => FileReplacement.of(new Path(file.path), conf))
    val (merges, left) = plan(small)
    if (dryRun || merges.isEmpty) new CompactedTable(merges.map(planned).asJava, left.asJava, wasLeft, null)
    else {
      val sealing = prepareSeal(found.files, merges)
      val (done, more, version) = merged(merges, sealing)
      new CompactedTable(done.asJava, (left ++ more).sortBy(_.file).asJava, wasLeft, version.orNull)
    }
  }

  private def refuseOthers(logs: Seq[TableLog]): Unit = logs.headOption.foreach { log =>
    val remedy =
      if (log.isOfDelta)
        "Use Delta's OPTIMIZE, which keeps the keys of a table that pme_delta_encrypt has encrypted."
      else if (log.isOfHudi) "Use Hudi's clustering (run_clustering)."
      else if (log.isOfIceberg) "Use Iceberg's rewrite_data_files."
      else "The log is a stream's: copy the table, which then has none, and compact the copy."
    throw PmeErrors.unsupported(
      from.toString,
      "compacting this table",
      s"${log.path} records which files, and which of their rows, belong to the table",
      remedy
    )
  }

  /** Tables below the path would be left with files that their snapshots do not list. */
  private def refuseSealedBelow(files: Seq[ListedFile]): Unit = {
    val directories = files.map(file => new Path(file.path).getParent).distinct
    val tables = directories.flatMap(TableDirectories.of(_, isFile = false)).distinct.filterNot(_ == table)
    TableDirectories.withSnapshots(tables, conf).headOption.foreach { other =>
      throw PmeErrors.sealedTable(
        "compacting it together with others",
        other.toString,
        "Compact that table by itself."
      )
    }
  }

  /** They have the places of row groups, and some readers look only there. */
  private def refuseSummaries(found: TableFiles): Unit = {
    val above = TableInPlace.Summaries.map(new Path(table, _))
    val there = found.passedOver.map(_.getPath).filter(path => TableInPlace.Summaries.contains(path.getName))
    (there ++ above.filter(path => path.getFileSystem(conf).exists(path))).headOption.foreach { summary =>
      throw PmeErrors.unsupported(
        from.toString,
        "compacting this table",
        s"$summary describes files that would be gone",
        "Delete it, and run this again."
      )
    }
  }

  /**
   * Whether a version lists the new files of a run that was killed.
   *
   * @param snapshots where the run was about to publish one
   */
  private def isDecided(mark: Path, snapshots: Option[String]): Boolean = {
    snapshots.foreach { before =>
      val now = new SnapshotResolver(resolved).directory(table)
      if (now.path.toString != before || now.versions.isEmpty)
        throw PmeErrors.unsupported(
          from.toString,
          "completing or undoing its compaction",
          s"a version in $before decides which, and this run finds none there",
          "Set snapshotLocation as the first run did, or restore the snapshots."
        )
    }
    isSealed(mark)
  }

  private def isSealed(mark: Path): Boolean = sealedTable.exists { one =>
    new SealingJob(resolved, one.toString).lists(TableSwap.isNew(mark, _))
  }

  /** What to merge, and which small files stay for a reason of their own. */
  private def plan(files: Seq[ListedFile]): (Seq[Merge], Seq[LeftFile]) = {
    val scope = resolved.readScope
    val step = Progress.step(session, "looking at files", files.size)
    step.begin()
    val (bucketed, others) = files.partition(file => Bucketed.matcher(nameOf(file)).matches)
    val looked = FileJob.each(session, conf, others) { (file, conf) =>
      step.counting(0)(FileTraits.of(scope, file, conf))
    }
    val alike = looked.map {
      case (_, Left(failure)) => throw failure.raised
      case (file, Right(found)) => file -> found
    }
    val left = bucketed.map(file =>
      LeftFile(file.path, "its name ends with a number, as those of files of buckets")
    ) ++
      alike.collect { case (file, (Left(why), _)) => LeftFile(file.path, why) }
    val groups = alike
      .collect { case (file, (Right(traits), rows)) => (file, traits, rows) }
      .groupBy { case (file, traits, _) => new Path(file.path).getParent -> traits }
    val bins = for {
      ((directory, traits), some) <- groups.toSeq
      bin <- binsOf(some.map { case (file, _, rows) => file -> rows })
    } yield (directory.toString, traits, bin.sortBy(_._1.path))
    val merges = bins.sortBy { case (directory, _, bin) => directory -> bin.head._1.path }.zipWithIndex.map {
      case ((directory, traits, bin), number) =>
        Merge(number, directory, bin.map(_._1).toList, traits, bin.map(_._2).sum)
    }
    (merges, left.sortBy(_.file))
  }

  /** The smallest files first: what is nearly as long as it is to be stays. */
  private def binsOf(files: Seq[(ListedFile, Long)]): Seq[Seq[(ListedFile, Long)]] = {
    val bins = files
      .sortBy { case (file, _) => (file.length, file.path) }
      .foldLeft(Vector(Vector.empty[(ListedFile, Long)])) {
        case (done :+ last, next) =>
          if (last.nonEmpty && last.map(_._1.length).sum + next._1.length > targetBytes)
            done :+ last :+ Vector(next)
          else done :+ (last :+ next)
        case (_, next) => Vector(Vector(next))
      }
    bins.filter(_.size > 1)
  }

  /** What seals the table again. Its files are those that its newest version lists; tasks compare their bytes. */
  private def prepareSeal(all: Seq[ListedFile], merges: Seq[Merge]): Option[SealingJob] = sealedTable.map {
    one =>
      if (one != from)
        throw PmeErrors.sealedTable("compacting a part of it", one.toString, "Compact the whole table.")
      val chosen = merges.flatMap(_.files)
      val job = new SealingJob(resolved, one.toString)
      job.prepare(Replaced.Files(chosen.map(relative).toSet))
      new SealedGuard(resolved).requireAsSealed(from, all, Nil)
      job
  }

  private def merged(
      merges: Seq[Merge],
      sealing: Option[SealingJob]
  ): (Seq[CompactedFile], Seq[LeftFile], Option[SealResult]) = {
    val scopes = merges.map(_.traits).distinct.map(traits => traits -> traits.settings.map(writeScope)).toMap
    val swap = TableSwap.begin(table, conf)
    val all =
      try {
        // Only now other operations see the mark of this one.
        TableFiles.requireNoOtherMark(from, TableFiles.list(from, conf).marks, swap.mark, conf)
        written(merges.map(sealedAs(_, sealing)), scopes, swap)
      } catch { case failed: Throwable => throw ended(failed)(swap.end(conf)) }
    val left = all.collect { case (merge, Left(why)) =>
      merge.files.map(file => LeftFile(file.path, why))
    }.flatten
    val done = all.collect { case (merge, Right(made)) => merge -> made }
    if (done.isEmpty) {
      swap.end(conf)
      (Nil, left, None)
    } else {
      val version = replace(done, sealing, swap)
      (done.map { case (merge, (_, made)) => compacted(merge, made, swap) }, left, version)
    }
  }

  private def replace(
      done: Seq[(Merge, (String, MergedFile))],
      sealing: Option[SealingJob],
      swap: TableSwap
  ): Option[SealResult] = {
    val version =
      try {
        swap.swap(done.map { case (merge, (attempt, _)) => replacing(merge, attempt, swap) }, conf)
        sealing.map { job =>
          swap.sealing(new SnapshotResolver(resolved).directory(table).path, conf)
          val old = Replaced.Files(done.flatMap(_._1.files).map(relative).toSet)
          job.sealCompacted(footers(done, swap), old, swap.mark, texts(done, swap))
        }
      } catch { case failed: Throwable => throw ended(failed)(putBack(swap, sealing)) }
    decided(swap)
    version
  }

  private def sealedAs(merge: Merge, sealing: Option[SealingJob]): Merge =
    merge.copy(sealedAs =
      sealing.map(job => merge.files.map(file => file.path -> job.digestOf(relative(file))).toMap)
    )

  /** A version that appeared although its seal failed counts, since readers may have seen it. */
  private def putBack(swap: TableSwap, sealing: Option[SealingJob]): Unit =
    Try(sealing.isDefined && isSealed(swap.mark)) match {
      case Success(false) => orAbandoned(swap)(swap.undo(conf))
      case Success(true) => decided(swap)
      case Failure(unknown) =>
        // The next run finds out.
        swap.abandon()
        throw unknown
    }

  private def decided(swap: TableSwap): Unit = orAbandoned(swap) {
    swap.decide(conf)
    swap.complete(conf)
  }

  /** A step that fails leaves the run as one that was killed, for the next one to put right, in this JVM or another. */
  private def orAbandoned(swap: TableSwap)(step: => Unit): Unit =
    try step
    catch {
      case failed: Throwable =>
        swap.abandon()
        throw failed
    }

  private def ended(failed: Throwable)(end: => Unit): Throwable = {
    try end
    catch { case NonFatal(more) => failed.addSuppressed(more) }
    failed
  }

  private def writeScope(settings: io.pmeparquet.options.FileSettings): WriteScope =
    PreparedWrite.scope(
      WriteSettings(resolved.kmsUse(KeyPurpose.Write), settings),
      conf,
      table,
      None,
      isBatch = false
    )

  private def written(
      merges: Seq[Merge],
      scopes: Map[FileTraits, Option[WriteScope]],
      swap: TableSwap
  ): Seq[(Merge, Merged)] = {
    val step = Progress.step(session, "compacting", merges.map(_.files.size).sum, merges.map(_.bytes).sum)
    step.begin()
    val shared = session.sparkContext.broadcast(new SerializableConfiguration(conf))
    val task = new MergeTask(shared, resolved.readScope, scopes, swap, step)
    session.sparkContext.parallelize(merges, merges.size.min(MostTasks)).mapPartitions(task).collect().toSeq
  }

  private def replacing(merge: Merge, attempt: String, swap: TableSwap) =
    Replacing(new Path(merge.directory), swap.nameOf(merge.number), attempt, merge.files)

  private def footers(done: Seq[(Merge, (String, MergedFile))], swap: TableSwap) = done.map {
    case (merge, (_, made)) =>
      relative(new Path(merge.directory, swap.nameOf(merge.number))) -> made.footer
  }.toMap

  /** What replaced what, in words. */
  private def texts(done: Seq[(Merge, (String, MergedFile))], swap: TableSwap): String = {
    val named = done
      .map { case (merge, _) =>
        val file = relative(new Path(merge.directory, swap.nameOf(merge.number)))
        s"$file replaces ${merge.files.map(relative).mkString(", ")}"
      }
      .mkString("; ")
    if (named.length <= MostCharacters) named
    else s"${done.size} files replace ${done.map(_._1.files.size).sum}"
  }

  private def relative(file: ListedFile): String = relative(new Path(file.path))

  private def relative(file: Path): String = SealedFiles
    .relative(table.toUri.getPath, file)
    .getOrElse(throw new IllegalStateException(s"internal error: $file is not below $table"))

  private def planned(merge: Merge) =
    CompactedFile(merge.directory, null, merge.files.map(nameOf).asJava, merge.rows, merge.bytes, 0)

  private def compacted(merge: Merge, made: MergedFile, swap: TableSwap) = CompactedFile(
    merge.directory,
    swap.nameOf(merge.number),
    merge.files.map(nameOf).asJava,
    made.rows,
    merge.bytes,
    made.footer.length
  )
}

private object CompactionRun {

  /** Why the files stay, or the new file and the attempt that made it. */
  type Merged = Either[String, (String, MergedFile)]

  def nameOf(file: ListedFile): String = new Path(file.path).getName

  /** Spark and Hive find the rows of a bucket by the name of their file. This is Spark's own pattern. */
  private val Bucketed = """.*_(\d+)(?:\..*)?$""".r.pattern
  private val MostTasks = 10000
  private val MostCharacters = 4000
}

/** Merges some files. ''Crosses the wire'', with the scopes. */
private final class MergeTask(
    conf: Broadcast[SerializableConfiguration],
    read: ReadScope,
    scopes: Map[FileTraits, Option[WriteScope]],
    swap: TableSwap,
    step: ProgressStep
) extends (Iterator[Merge] => Iterator[(Merge, CompactionRun.Merged)])
    with Serializable {

  override def apply(merges: Iterator[Merge]): Iterator[(Merge, CompactionRun.Merged)] =
    PmeSparkException.translated(
      merges.map(merge => merge -> merged(merge, conf.value.value)).toList.iterator
    )

  private def merged(merge: Merge, conf: Configuration): CompactionRun.Merged = {
    val (attempt, done) = swap.attempt(conf) { directory =>
      val name = swap.nameOf(merge.number)
      val work =
        new FileMerge(read, scopes(merge.traits), merge.traits, conf, () => FileJob.goOn("the compaction"))
      val made =
        work.write(merge.files, merge.sealedAs, new Path(directory, name), new Path(merge.directory, name))
      step.count(merge.files.size.toLong, merge.bytes)
      made
    }
    done.map(attempt -> _)
  }
}
