package io.pmeparquet.spark.admin.migration

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.hadoop.mapreduce.{JobID, TaskAttemptID, TaskID, TaskType}
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl
import org.apache.spark.{TaskContext, TaskKilledException}
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.execution.datasources.OutputWriterFactory
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType
import org.apache.spark.util.SerializableConfiguration
import org.slf4j.LoggerFactory

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.parquet.storage.ResumableTable
import io.pmeparquet.spark.admin.job.FileJob
import io.pmeparquet.spark.session.PmeSparkException

/**
 * A file to migrate. ''Crosses the wire.''
 *
 * @param to its path in the target
 * @param rows as its footer states them
 */
private[migration] final case class WantedFile(from: OrcFile, to: String, rows: Long)

/** What was done with one. ''Crosses the wire.'' */
private[migration] final case class MigratedFile(rows: Long, bytes: Long, already: Boolean)

/**
 * Migrates one file: it writes the Parquet file, reads it and the source again, and compares them. Only then the file
 * counts. A file that an earlier run has written is compared as well, and written again if it differs.
 * ''Crosses the wire'', with the scopes.
 *
 * @param source reads the source
 * @param target reads what was written, with its new keys, and requires that each column is under its key
 * @param schema of what is written
 * @param sql the settings that Spark's writer finds
 */
private[migration] final class OrcFileCopy(
    source: FileRows,
    target: FileRows,
    writer: OutputWriterFactory,
    writeConf: Broadcast[SerializableConfiguration],
    schema: StructType,
    sql: Map[String, String],
    table: ResumableTable
) extends Serializable {

  /** @throws io.pmeparquet.PmeException if the new file differs from the source */
  def migrate(file: WantedFile, conf: Configuration): MigratedFile = PmeSparkException.translated {
    SQLConf.withExistingConf(sqlConf) {
      requireUnchanged(file, conf)
      val done = alreadyDone(file).getOrElse(written(file))
      // Before the file counts for good: the footers of another file may have been read.
      requireUnchanged(file, conf)
      done
    }
  }

  private def alreadyDone(file: WantedFile): Option[MigratedFile] =
    table.find(file.to, own).flatMap { path =>
      if (isSame(file, path)) Some(MigratedFile(file.rows, lengthOf(path), already = true))
      else {
        table.drop(file.to, own)
        None
      }
    }

  private def isSame(file: WantedFile, path: Path): Boolean =
    try differenceAt(path, checksums(file)).isEmpty
    catch {
      case failed: PmeException if !PmeException.isOfCancelled(failed) => unlike(path, failed)
      case NonFatal(failed) if !isOfCancelled(failed) => unlike(path, failed)
    }

  private def unlike(path: Path, failed: Throwable): Boolean = {
    OrcFileCopy.log.debug(s"$path is written again", failed)
    false
  }

  private def isOfCancelled(failed: Throwable) =
    failed.isInstanceOf[TaskKilledException] || PmeException.isOfCancelled(failed)

  private def written(file: WantedFile): MigratedFile = table.attempt(own) { directory =>
    val path = table.place(directory, file.to, own)
    write(file, path)
    differenceAt(path, checksums(file)).foreach { difference =>
      throw PmeErrors.migratedBadly(file.from.path, difference)
    }
    val bytes = lengthOf(path)
    // Whoever was first may not have been another attempt.
    if (!table.keep(path, file.to, own) && !table.find(file.to, own).exists(isSame(file, _)))
      throw PmeErrors.migratedBadly(file.from.path, "Another file is in its place.")
    MigratedFile(file.rows, bytes, already = false)
  }

  private def write(file: WantedFile, path: Path): Unit = {
    val out = writer.newInstance(path.toString, schema, OrcFileCopy.context(own))
    try rowsOf(file).foreach { row => goOn(); out.write(row) }
    catch {
      case failed: Throwable =>
        try out.close()
        // The attempt's directory is removed, and the first failure is the one to show.
        catch { case NonFatal(more) => failed.addSuppressed(more) }
        throw failed
    }
    out.close()
  }

  private def rowsOf(file: WantedFile) =
    source.of(new Path(file.from.path), file.from.length, file.from.modified)

  /** What the source has, by a read of its own. */
  private def checksums(file: WantedFile): RowChecksums = {
    val found = RowChecksums.of(rowsOf(file), schema)(() => goOn())
    if (found.rows != file.rows)
      throw PmeErrors.orcDamaged(
        file.from.path,
        s"it states ${file.rows} rows, but ${found.rows} can be read"
      )
    found
  }

  private def differenceAt(path: Path, expected: RowChecksums): Option[String] = {
    val status = path.getFileSystem(own).getFileStatus(path)
    val rows = target.of(path, status.getLen, status.getModificationTime)
    expected.difference(RowChecksums.of(rows, schema)(() => goOn()), schema)
  }

  private def lengthOf(path: Path) = path.getFileSystem(own).getFileStatus(path).getLen

  private def requireUnchanged(file: WantedFile, conf: Configuration): Unit = {
    val path = new Path(file.from.path)
    val now = path.getFileSystem(conf).getFileStatus(path)
    if (now.getLen != file.from.length || now.getModificationTime != file.from.modified)
      throw PmeErrors.changedMeanwhile(file.from.path)
  }

  private def own: Configuration = writeConf.value.value

  private def sqlConf: SQLConf = {
    val conf = new SQLConf
    sql.foreach { case (name, value) => conf.setConfString(name, value) }
    conf
  }

  private def goOn(): Unit = FileJob.goOn("the migration")
}

private[migration] object OrcFileCopy {
  private val log = LoggerFactory.getLogger("io.pmeparquet")

  /** The context that Spark's writer of a file wants. */
  def context(conf: Configuration): TaskAttemptContextImpl = {
    val task = Option(TaskContext.get())
    val id = new TaskID(new JobID("pme-migration", 0), TaskType.MAP, task.fold(0)(_.partitionId()))
    new TaskAttemptContextImpl(conf, new TaskAttemptID(id, task.fold(0)(_.attemptNumber())))
  }
}
