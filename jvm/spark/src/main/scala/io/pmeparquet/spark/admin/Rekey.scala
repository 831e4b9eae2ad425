package io.pmeparquet.spark.admin

import java.io.IOException
import java.net.URI

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.{TaskContext, TaskKilledException}
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.SparkSession
import org.apache.spark.util.SerializableConfiguration

import io.pmeparquet.columns.{KeyPlan, LeafColumn}
import io.pmeparquet.options.FileSettings
import io.pmeparquet.parquet.{ReadScope, WriteRules, WriteScope}
import io.pmeparquet.parquet.rekey.{FileRekey, Rekeyed, StagedTable}
import io.pmeparquet.spark.{ConfResolver, PmeDataSource, PmeSparkException, SparkAccess}
import io.pmeparquet.PmeErrors

/**
 * Copies a table under new data keys, a file per task, without decoding it: `pme.rekey`, and for Scala
 * {{{
 *   Rekey.run(spark, "old", "new", Map("kms.keystore.path" -> …).asJava, Map("footerKey" -> …).asJava)
 * }}}
 *
 * ''Driver only.''
 */
object Rekey {

  /**
   * @param target where there is nothing yet; it comes into being when all files are written and verified
   * @param readOptions of the format, to read the source with
   * @param writeOptions of the format, as of a write; the new files are verified with them, too
   */
  def run(
      session: SparkSession,
      source: String,
      target: String,
      readOptions: java.util.Map[String, String],
      writeOptions: java.util.Map[String, String]
  ): Rekeyed = PmeSparkException.translated {
    new RekeyJob(session, source, target, readOptions.asScala.toMap, writeOptions.asScala.toMap).run()
  }
}

private final class RekeyJob(
    session: SparkSession,
    source: String,
    target: String,
    readOptions: Map[String, String],
    writeOptions: Map[String, String]
) {
  private val resolver = new ConfResolver(session)
  private val readConf = SparkAccess.hadoopConf(session, readOptions)
  private val writeConf = SparkAccess.hadoopConf(session, writeOptions)
  private val from = qualified(source, readConf)
  private val to = qualified(target, writeConf)

  def run(): Rekeyed = {
    val settings = resolver.writeSettings(writeOptions, writeConf).files
    if (isWithin(to, from))
      throw PmeErrors.badTarget(to.toString, "it lies in the table that is copied", "Name another place.")
    StagedTable.requireFree(to, writeConf)
    val read = resolver.read(readOptions)
    val found = session.read.format(PmeDataSource.Name).options(readOptions).load(source).inputFiles
    val directory = if (from.getFileSystem(readConf).getFileStatus(from).isFile) from.getParent else from
    val files = found.toSeq.map(relativeTo(directory, _)).sorted
    val shared = broadcast(readConf)
    checkColumns(files, settings, new LeavesTask(shared, read, directory))
    val write = resolver.write(writeOptions, writeConf, to)
    val check = resolver.read(writeOptions)
    val table = StagedTable.begin(to, writeConf)
    try {
      val job = new RekeyTask(
        shared,
        read,
        directory,
        broadcast(writeConf),
        write,
        check,
        table
      )
      val done = parallel(files, RekeyJob.MaxTasks).mapPartitions(job).collect()
      val all = done.map(_.rekeyed).reduce(_ + _)
      table.publish(done.map(_.attempt).toSeq, all.files, writeConf)
      all
    } catch {
      case failed: Throwable =>
        try table.discard(writeConf)
        catch { case more: IOException => failed.addSuppressed(more) }
        throw failed
    }
  }

  private def qualified(path: String, conf: Configuration) = {
    val named = new Path(path)
    named.getFileSystem(conf).makeQualified(named)
  }

  private def isWithin(path: Path, directory: Path) =
    Iterator.iterate(path)(_.getParent).takeWhile(_ != null).contains(directory)

  /** Where a file lies in a directory. */
  private def relativeTo(directory: Path, url: String): String = {
    val file = new Path(new URI(url))
    val (path, above) = (file.toUri.getPath, directory.toUri.getPath.stripSuffix("/") + "/")
    if (!path.startsWith(above))
      throw PmeErrors.badSource(
        from.toString,
        s"it has the file $file elsewhere",
        "Name one directory or file."
      )
    path.stripPrefix(above)
  }

  /** Fails where a column key names no column of any file, or a partition column, before anything is written. */
  private def checkColumns(files: Seq[String], settings: FileSettings, leavesOf: LeavesTask): Unit = {
    val partitions = files.flatMap(file => WriteRules.partitionColumns(new Path("/t/" + file), "/t")).distinct
    KeyPlan.checkPartitions(partitions, settings.columnKeys, settings.caseSensitive)
    val slices = session.sparkContext.defaultParallelism * 4
    val leaves = parallel(files, slices).mapPartitions(leavesOf).collect().flatten.distinct
    KeyPlan.of(leaves.toSeq, settings.columnKeys, settings.unlisted, settings.caseSensitive)
    ()
  }

  private def parallel(files: Seq[String], most: Int) =
    session.sparkContext.parallelize(files, files.size.min(most))

  private def broadcast(conf: Configuration) =
    session.sparkContext.broadcast(new SerializableConfiguration(conf))
}

private object RekeyJob {

  /** More tasks than that cost the driver more than they help. */
  val MaxTasks = 10000
}

/** What one attempt of a task wrote. */
private final case class RekeyedFiles(attempt: Long, rekeyed: Rekeyed)

/** The leaf columns of some files. ''Crosses the wire'', with the scope. */
private final class LeavesTask(conf: Broadcast[SerializableConfiguration], read: ReadScope, from: Path)
    extends (Iterator[String] => Iterator[Seq[LeafColumn]])
    with Serializable {

  override def apply(files: Iterator[String]): Iterator[Seq[LeafColumn]] = PmeSparkException.translated {
    val leaves = files.map(file => FileRekey.leaves(read, conf.value.value, StagedTable.within(from, file)))
    // A list, and not a sequence: Scala 2.12's is a stream, which is not to be sent.
    Iterator(leaves.flatten.toList.distinct)
  }
}

/** Writes some files anew and verifies them. ''Crosses the wire'', with the scopes. */
private final class RekeyTask(
    readConf: Broadcast[SerializableConfiguration],
    read: ReadScope,
    from: Path,
    writeConf: Broadcast[SerializableConfiguration],
    write: WriteScope,
    check: ReadScope,
    table: StagedTable
) extends (Iterator[String] => Iterator[RekeyedFiles])
    with Serializable {

  override def apply(files: Iterator[String]): Iterator[RekeyedFiles] = PmeSparkException.translated {
    val task = TaskContext.get()
    val attempt = task.taskAttemptId()
    val conf = writeConf.value.value
    def goOn(): Unit = if (task.isInterrupted()) throw new TaskKilledException("the rekeying was ended")
    val rekey = new FileRekey(read, readConf.value.value, write, check, conf, () => goOn())
    val done = table.attempt(attempt, conf) { directory =>
      files
        .map { file =>
          val staged = StagedTable.within(directory, file)
          rekey.write(StagedTable.within(from, file), staged, StagedTable.within(table.target, file))
        }
        .reduce(_ + _)
    }
    Iterator(RekeyedFiles(attempt, done))
  }
}
