package io.pmeparquet.spark.admin

import java.net.URI
import java.util.Locale

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.types.{LongType, StructType}
import org.apache.spark.sql.SparkSession
import org.apache.spark.util.SerializableConfiguration

import io.pmeparquet.{Audience, PmeErrors, PmeException}
import io.pmeparquet.columns.LeafColumn
import io.pmeparquet.keys.KeyPurpose
import io.pmeparquet.options.{FileSettings, PmeOptions, Use}
import io.pmeparquet.orc.OrcUsage
import io.pmeparquet.parquet.copy.{Copied, FileRewrite}
import io.pmeparquet.parquet.file.FileSeal
import io.pmeparquet.parquet.scope.ReadScope
import io.pmeparquet.parquet.storage.{CopiedTable, ListedFile, StagedTable}
import io.pmeparquet.spark.admin.job.{FileJob, Progress, ProgressStep, ResultRows, TableFiles}
import io.pmeparquet.spark.admin.seal.SealedGuard
import io.pmeparquet.spark.options.{OrcResolver, ResolvedOptions}
import io.pmeparquet.spark.session.{FormatName, PmeSparkException, SparkAccess}
import io.pmeparquet.spark.snapshot.{SealState, SnapshotReads}

/**
 * Copies a table with new data keys (`pme.rekey`), its first keys (`pme.encrypt`) or no keys (`pme.decrypt`). Each task
 * copies one file, without decoding it. In Scala:
 * {{{
 *   TableCopies.encrypt(spark, "old", "new", Map.empty.asJava, Map("kms.keystore.path" -> …, "footerKey" -> …).asJava)
 * }}}
 *
 * The target must not exist yet; it appears when all files are written and verified. Options are those of the format:
 * some for reading the source, the others for writing the copy. ''Driver only.''
 */
object TableCopies {
  private type Options = java.util.Map[String, String]

  def rekey(
      session: SparkSession,
      source: String,
      target: String,
      readOptions: Options,
      writeOptions: Options
  ): Copied = copy(session, source, target, readOptions.asScala.toMap, writeOptions)

  /** Encrypts plaintext files, and puts files that are encrypted already under new keys. */
  def encrypt(
      session: SparkSession,
      source: String,
      target: String,
      readOptions: Options,
      writeOptions: Options
  ): Copied =
    copy(session, source, target, TableInPlace.allowingPlaintext(readOptions.asScala.toMap), writeOptions)

  /**
   * Encrypts the files of a table in place. It verifies every module of an encrypted file, and then replaces the
   * original in one step. If it stops, a second run continues. Only the result reports files that failed: they have not
   * changed.
   *
   * @param readOptions only options that a write does not use
   * @param writeOptions the options of the write and of the KMS
   */
  def encryptInPlace(
      session: SparkSession,
      path: String,
      readOptions: Options,
      writeOptions: Options
  ): EncryptedInPlace = watched {
    val written = PmeOptions.all.filter(_.use != Use.Read)
    readOptions.asScala.keys.foreach { name =>
      written.find(_.name.equalsIgnoreCase(name)).foreach(option => throw PmeErrors.bothInPlace(option.name))
    }
    new TableInPlace(session, path, (writeOptions.asScala ++ readOptions.asScala).toMap).run()
  }

  /** The same, for who has no use for a result if a file failed. */
  private[admin] def encryptAllInPlace(
      session: SparkSession,
      path: String,
      readOptions: Map[String, String],
      writeOptions: Map[String, String]
  ): EncryptedInPlace = {
    val done = encryptInPlace(session, path, readOptions.asJava, writeOptions.asJava)
    done.requireAll()
    done
  }

  private[admin] val results: ResultRows[Copied] = ResultRows
    .of[Copied]
    .required("files", LongType)(_.files)
    .required("rows", LongType)(_.rows)
    .required("pages", LongType)(_.pages)
    .required("bytes", LongType)(_.bytes)

  /**
   * @param writePlaintext whether the caller confirms that the copy is readable
   * @throws io.pmeparquet.PmeException if the caller does not
   */
  def decrypt(
      session: SparkSession,
      source: String,
      target: String,
      readOptions: Options,
      writePlaintext: Boolean
  ): Copied = watched {
    if (!writePlaintext)
      throw PmeErrors.badTarget(
        target,
        "everybody with access to the storage could read all columns of the copy",
        s"Confirm it with ${Audience.current.writePlaintext}."
      )
    ResolvedOptions
      .ofFrame(session, readOptions.asScala.toMap)
      .requireNoPolicy(target, "a copy without encryption")
    new TableCopy(session, source, target, readOptions.asScala.toMap, None).run()
  }

  private def copy(
      session: SparkSession,
      source: String,
      target: String,
      read: Map[String, String],
      write: Options
  ) = watched(new TableCopy(session, source, target, read, Some(write.asScala.toMap)).run())

  private def watched[A](operation: => A): A = Progress.unwatching(PmeSparkException.translated(operation))
}

/**
 * Makes one copy of a table. ''Driver only.''
 *
 * @param writeOptions none for a copy without encryption
 */
private final class TableCopy(
    session: SparkSession,
    source: String,
    target: String,
    readOptions: Map[String, String],
    writeOptions: Option[Map[String, String]]
) {
  private val reading = ResolvedOptions.ofSource(session, readOptions, KeyPurpose.Copy)
  private val readConf = SparkAccess.hadoopConf(session, readOptions)
  private val checkOptions = writeOptions.getOrElse(TableInPlace.allowingPlaintext(readOptions))
  private val checking = ResolvedOptions.ofOperation(session, checkOptions, KeyPurpose.Copy)
  private val writing = writeOptions.map(_ => checking)
  private val writeConf = SparkAccess.hadoopConf(session, checkOptions)
  private val from = TableFiles.qualified(source, readConf)
  private val to = TableFiles.qualified(target, writeConf)

  /** The write, for a source of ORC files. */
  private lazy val orc = writing.filter(_ => isOrc)

  /** Whether the first file is one. Others of another format are refused later, and so is a source that cannot be listed. */
  private def isOrc: Boolean =
    try
      TableFiles
        .list(from, readConf)
        .files
        .sortBy(_.path)
        .find(_.length > 0)
        .exists(file => OrcUsage.isOrc(new Path(file.path), readConf))
    catch { case _: PmeException => false }

  def run(): Copied = {
    val settings = if (orc.isDefined) None else writing.map(_.writeSettings.files)
    if (isWithin(to, from))
      throw PmeErrors.badTarget(
        to.toString,
        "it is inside the table that is copied",
        "Name another directory."
      )
    StagedTable.requireFree(to, writeConf)
    val isFile = TableFiles.statusOf(from, readConf).isFile
    val listed = TableFiles.list(from, readConf)
    refuseOthersTables(listed)
    val isSealed = new SealedGuard(reading).requireAsSealed(from, listed.files, listed.files)
    val found = filesOf(source)
    if (isSealed) requireSame(listed.files, found)
    if (found.isEmpty)
      throw PmeErrors.badSource(from.toString, "it has no files", "Name the directory of a table, or a file.")
    val directory = if (isFile) from.getParent else from
    val lengths = listed.files.map(file => new Path(file.path) -> file.length).toMap
    val files = found
      .map(file => SourceFile(relativeTo(directory, file), lengths.getOrElse(file, 0L)))
      .sortBy(_.path)
    settings.foreach(FileRewrite.requirePrefixes(_, files.map(file => StagedTable.within(to, file.path))))
    val shared = broadcast(readConf)
    val copying = orc.fold[FileCopying] {
      val read = reading.readScope
      val leaves = settings.fold(Seq.empty[LeafColumn])(
        checkedColumns(files.map(_.path), directory, read, shared, _)
      )
      val places = files.map(file => StagedTable.within(to, file.path))
      new ParquetCopying(read, writing.map(_.writeScope(writeConf, to, places, leaves)), checking.readScope)
    }(orcCopying(_, files.map(_.path), sealOf(found, isFile, isSealed)))
    val staged = CopiedTable.begin(to, writeConf)
    val step = Progress.step(session, "copying", files.size, files.map(_.length).sum)
    step.begin()
    publish(staged, files) {
      new CopyTask(shared, directory, broadcast(writeConf), copying, staged, step)
    }
  }

  /**
   * What snapshots say of the files, also of tables below the source. Tasks copy what they compare with it: whoever can
   * change an ORC file between a comparison and the copy changes values.
   *
   * @param isSealed whether the source is, or is of, a table that was just compared
   */
  private def sealOf(found: Seq[Path], isFile: Boolean, isSealed: Boolean): Option[Broadcast[FileSeal]] = {
    val tables = new SnapshotReads(reading).tables(Seq(from), _ => isFile, found)
    if (isSealed && tables.isEmpty) throw PmeErrors.changedMeanwhile(from.toString)
    val state = if (tables.isEmpty) SealState.Unsealed else SealState.Sealed(tables, isWhole = isSealed)
    state.broadcast(session)
  }

  private def orcCopying(
      write: ResolvedOptions,
      files: Seq[String],
      seal: Option[Broadcast[FileSeal]]
  ): FileCopying = {
    checkOptions.keys.find(_.toLowerCase(Locale.ROOT).startsWith("orc.")).foreach { name =>
      throw PmeErrors.notInOrc(
        name,
        "a copy with new keys leaves masks, compression and stripes as they are",
        "Remove it, or read the table and write it again."
      )
    }
    val target = new OrcResolver(write, None)
    val settings = target.writeSettings
    TableInPlace.checkPartitions(files, Some(settings.columns), settings.caseSensitive)
    new OrcCopying(
      new OrcResolver(reading, None).read(isSparks = false),
      target.write(settings.masterKeys, settings.dataKeyBits),
      settings,
      target.read(isSparks = false),
      seal
    )
  }

  /** The columns of the files, with which column keys fit: this fails before anything is written. */
  private def checkedColumns(
      files: Seq[String],
      directory: Path,
      read: ReadScope,
      conf: Broadcast[SerializableConfiguration],
      settings: FileSettings
  ): Seq[LeafColumn] = {
    TableInPlace.checkPartitions(files, settings)
    val leaves = session.sparkContext
      .parallelize(files, files.size.min(session.sparkContext.defaultParallelism * 4))
      .mapPartitions(new LeavesTask(conf, read, directory))
      .collect()
    val all = leaves.toSeq.flatten.distinct
    TableInPlace.checkLeaves(all, settings)
    all
  }

  /** Copies the files to the staged table, and publishes it. Discards everything if that fails. */
  private def publish(staged: CopiedTable, files: Seq[SourceFile])(job: => CopyTask): Copied =
    staged.ending(writeConf) {
      val tasks = FileJob.tasksFor(session, files.size, files.map(_.length).sum)
      val done =
        session.sparkContext.parallelize(files, files.size.min(tasks)).mapPartitions(job).collect()
      val all = done.map(_.made).reduce(_ + _)
      staged.publish(done.map(_.attempt).toSeq, all.files, writeConf)
      all
    }

  /**
   * The files that a query would read, from Spark's own listing. This sets a schema, because Spark has no types for
   * some columns, and a copy needs none.
   */
  private def filesOf(source: String): Seq[Path] =
    session.read
      .format(FormatName.Format)
      .options(readOptions)
      .schema(new StructType)
      .load(source)
      .inputFiles
      .toSeq
      .map(url => new Path(new URI(url)))

  /** Requires that this listing has no other files than those that were compared with the snapshot. */
  private def requireSame(compared: Seq[ListedFile], found: Seq[Path]): Unit = {
    val known = compared.map(file => new Path(file.path)).toSet
    found.find(!known.contains(_)).foreach(file => throw PmeErrors.changedMeanwhile(file.toString))
  }

  private def refuseOthersTables(listed: TableFiles): Unit =
    TableFiles.logs(from, listed, readConf).find(!_.isOfSpark).foreach { log =>
      throw PmeErrors.unsupported(
        from.toString,
        "copying this table",
        s"${log.path} records which files, and which of their rows, still belong to the table",
        "Copy it with the tools of its table format."
      )
    }

  private def isWithin(path: Path, directory: Path) =
    Iterator.iterate(path)(_.getParent).takeWhile(_ != null).contains(directory)

  /** The path of a file within a directory. */
  private def relativeTo(directory: Path, file: Path): String = {
    val (path, above) = (file.toUri.getPath, directory.toUri.getPath.stripSuffix("/") + "/")
    if (!path.startsWith(above))
      throw PmeErrors.badSource(
        from.toString,
        s"its file $file is in another directory",
        "Name one directory or file."
      )
    path.stripPrefix(above)
  }

  private def broadcast(conf: Configuration) =
    session.sparkContext.broadcast(new SerializableConfiguration(conf))
}

/** @param path the path within the table */
private final case class SourceFile(path: String, length: Long)

/** The name of one attempt of a task, and what it wrote. */
private final case class CopiedFiles(attempt: String, made: Copied)

/** Copies some files and verifies the copies. ''Crosses the wire'', with the scopes. */
private final class CopyTask(
    readConf: Broadcast[SerializableConfiguration],
    from: Path,
    writeConf: Broadcast[SerializableConfiguration],
    copying: FileCopying,
    table: CopiedTable,
    step: ProgressStep
) extends (Iterator[SourceFile] => Iterator[CopiedFiles])
    with Serializable {

  override def apply(files: Iterator[SourceFile]): Iterator[CopiedFiles] = PmeSparkException.translated {
    val conf = writeConf.value.value
    val (attempt, done) = table.attempt(conf) { directory =>
      files
        .map { file =>
          val source = StagedTable.within(from, file.path)
          val staged = table.place(directory, file.path, conf)
          val destination = StagedTable.within(table.target, file.path)
          val copied = copying.write(source, readConf.value.value, staged, destination, conf)
          step.count(1, file.length)
          copied
        }
        .reduce(_ + _)
    }
    Iterator(CopiedFiles(attempt, done))
  }
}

/** The leaf columns of some files. ''Crosses the wire'', with the scope. */
private final class LeavesTask(conf: Broadcast[SerializableConfiguration], read: ReadScope, from: Path)
    extends (Iterator[String] => Iterator[Seq[LeafColumn]])
    with Serializable {

  override def apply(files: Iterator[String]): Iterator[Seq[LeafColumn]] = PmeSparkException.translated {
    val leaves = files.map { file =>
      val source = StagedTable.within(from, file)
      ByFormat.onlyParquet(source, conf.value.value)(FileRewrite.leaves(read, conf.value.value, source))
    }
    // A list, because this crosses the wire: Scala 2.12 makes a lazy stream for a sequence.
    Iterator(leaves.flatten.toList.distinct)
  }
}
