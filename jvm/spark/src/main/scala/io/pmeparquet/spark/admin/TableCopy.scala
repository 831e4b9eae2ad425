package io.pmeparquet.spark.admin

import java.io.IOException
import java.net.URI

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.SparkSession
import org.apache.spark.util.SerializableConfiguration

import io.pmeparquet.parquet.copy.{Copied, FileRewrite}
import io.pmeparquet.parquet.files.StagedTable
import io.pmeparquet.parquet.scope.{ReadScope, WriteScope}
import io.pmeparquet.spark.admin.job.{FileJob, Progress, ProgressStep}
import io.pmeparquet.spark.options.ConfResolver
import io.pmeparquet.spark.session.{FormatName, PmeSparkException, SparkAccess}
import io.pmeparquet.PmeErrors

/**
 * Makes one copy of a table. ''Driver only.''
 *
 * @param writeOptions none for a copy without encryption
 */
private[admin] final class TableCopy(
    session: SparkSession,
    source: String,
    target: String,
    readOptions: Map[String, String],
    writeOptions: Option[Map[String, String]]
) {
  private val resolver = new ConfResolver(session)
  private val readConf = SparkAccess.hadoopConf(session, readOptions)
  private val checkOptions = writeOptions.getOrElse(CopyOptions.allowingPlaintext(readOptions))
  private val writeConf = SparkAccess.hadoopConf(session, checkOptions)
  private val from = TableFiles.qualified(source, readConf)
  private val to = TableFiles.qualified(target, writeConf)

  def run(): Copied = {
    val settings = writeOptions.map(resolver.writeSettings(_, writeConf).files)
    if (isWithin(to, from))
      throw PmeErrors.badTarget(
        to.toString,
        "it is inside the table that is copied",
        "Name another directory."
      )
    StagedTable.requireFree(to, writeConf)
    val read = resolver.read(readOptions)
    val isFile = TableFiles.statusOf(from, readConf).isFile
    val listed = TableFiles.list(from, readConf)
    refuseOthersTables(listed)
    val isSealed = SealedGuard.requireAsSealed(session, readOptions, from, listed.files)
    val found = filesOf(source)
    if (isSealed) SealedGuard.requireSame(listed.files, found)
    if (found.isEmpty)
      throw PmeErrors.badSource(from.toString, "it has no files", "Name the directory of a table, or a file.")
    val directory = if (isFile) from.getParent else from
    val lengths = listed.files.map(file => new Path(file.path) -> file.length).toMap
    val files = found
      .map(file => SourceFile(relativeTo(directory, file), lengths.getOrElse(file, 0L)))
      .sortBy(_.path)
    settings.foreach(FileRewrite.requirePrefixes(_, files.map(file => StagedTable.within(to, file.path))))
    val shared = broadcast(readConf)
    settings.foreach(TableColumns.check(session, files.map(_.path), directory, read, shared, _))
    val write = writeOptions.map(resolver.write(_, writeConf, to))
    val check = resolver.read(checkOptions)
    val staged = StagedTable.begin(to, writeConf)
    val step = Progress.step(session, "copying", files.size, files.map(_.length).sum)
    step.begin()
    publish(staged, files) {
      new CopyTask(shared, read, directory, broadcast(writeConf), write, check, staged, step)
    }
  }

  /** Copies the files to the staged table, and publishes it. Discards everything if that fails. */
  private def publish(staged: StagedTable, files: Seq[SourceFile])(job: => CopyTask): Copied =
    try {
      val tasks = FileJob.tasksFor(session, files.size, files.map(_.length).sum)
      val done = parallel(files, tasks).mapPartitions(job).collect()
      val all = done.map(_.made).reduce(_ + _)
      staged.publish(done.map(_.attempt).toSeq, all.files, writeConf)
      all
    } catch {
      case failed: Throwable =>
        try staged.discard(writeConf)
        catch { case more: IOException => failed.addSuppressed(more) }
        throw failed
    }

  /**
   * The files that a query would read, from Spark's own listing. This sets a schema, because Spark has no types for
   * some columns, and a copy needs none.
   */
  private def filesOf(source: String): Seq[Path] =
    session.read
      .format(FormatName.Format)
      .options(readOptions)
      .schema(TableCopy.NoColumns)
      .load(source)
      .inputFiles
      .toSeq
      .map(url => new Path(new URI(url)))

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

  private def parallel(files: Seq[SourceFile], most: Int) =
    session.sparkContext.parallelize(files, files.size.min(most))

  private def broadcast(conf: Configuration) =
    session.sparkContext.broadcast(new SerializableConfiguration(conf))
}

private object TableCopy {
  val NoColumns: StructType = StructType(Nil)
}

/** @param path the path within the table */
private final case class SourceFile(path: String, length: Long)

/** The name of one attempt of a task, and what it wrote. */
private final case class CopiedFiles(attempt: String, made: Copied)

/** Copies some files and verifies the copies. ''Crosses the wire'', with the scopes. */
private final class CopyTask(
    readConf: Broadcast[SerializableConfiguration],
    read: ReadScope,
    from: Path,
    writeConf: Broadcast[SerializableConfiguration],
    write: Option[WriteScope],
    check: ReadScope,
    table: StagedTable,
    step: ProgressStep
) extends (Iterator[SourceFile] => Iterator[CopiedFiles])
    with Serializable {

  override def apply(files: Iterator[SourceFile]): Iterator[CopiedFiles] = PmeSparkException.translated {
    val conf = writeConf.value.value
    val rekey =
      new FileRewrite(read, readConf.value.value, write, check, conf, () => FileJob.goOn("the copying"))
    val (attempt, done) = table.attempt(conf) { directory =>
      files
        .map { file =>
          val source = StagedTable.within(from, file.path)
          val staged = table.place(directory, file.path, conf)
          val copied = rekey.write(source, staged, StagedTable.within(table.target, file.path))
          step.count(1, file.length)
          copied
        }
        .reduce(_ + _)
    }
    Iterator(CopiedFiles(attempt, done))
  }
}
