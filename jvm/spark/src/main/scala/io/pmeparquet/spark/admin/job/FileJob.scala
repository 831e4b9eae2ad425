package io.pmeparquet.spark.admin.job

import java.io.IOException

import scala.reflect.ClassTag
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.spark.{TaskContext, TaskKilledException}
import org.apache.spark.sql.SparkSession
import org.apache.spark.util.SerializableConfiguration
import org.slf4j.LoggerFactory

import io.pmeparquet.PmeException

/** Why the work on a file failed: a condition of ours, or the class of the exception. ''Crosses the wire.'' */
private[pmeparquet] final case class FileFailure(condition: String, message: String) {

  /** The failure, to throw. */
  def raised: Throwable =
    PmeException.named(condition, message).getOrElse(new IOException(s"$condition: $message"))
}

private[pmeparquet] object FileFailure {
  def of(failed: Throwable): FileFailure = PmeException.find(failed) match {
    case Some(ours) => FileFailure(ours.condition.name, ours.getMessage)
    case None => FileFailure(failed.getClass.getName, PmeException.firstLine(failed))
  }
}

/** Runs a job over many files, on executors. It reports the failure of a file, and continues with the others. */
private[spark] object FileJob {
  private val log = LoggerFactory.getLogger("io.pmeparquet")

  def each[A: ClassTag, B](session: SparkSession, conf: Configuration, items: Seq[A])(
      work: (A, Configuration) => B
  ): Seq[(A, Either[FileFailure, B])] =
    each(session, conf, items, session.sparkContext.defaultParallelism * TasksPerCore)(work)

  /**
   * For work that reads whole files.
   *
   * @param length of an item, in bytes
   */
  def eachWhole[A: ClassTag, B](session: SparkSession, conf: Configuration, items: Seq[A])(length: A => Long)(
      work: (A, Configuration) => B
  ): Seq[(A, Either[FileFailure, B])] =
    each(session, conf, items, tasksFor(session, items.size, items.map(length).sum))(work)

  /** @param mostTasks the most tasks to start; if there are more items, they share tasks */
  def each[A: ClassTag, B](session: SparkSession, conf: Configuration, items: Seq[A], mostTasks: Int)(
      work: (A, Configuration) => B
  ): Seq[(A, Either[FileFailure, B])] =
    if (items.isEmpty) Nil
    else {
      val shared = session.sparkContext.broadcast(new SerializableConfiguration(conf))
      session.sparkContext
        .parallelize(items, items.size.min(mostTasks))
        .map(item => item -> attempt(work(item, shared.value.value)))
        .collect()
        .toSeq
    }

  private def attempt[B](work: => B): Either[FileFailure, B] =
    try Right(work)
    catch {
      case NonFatal(failed) if !isOfCancelled(failed) =>
        log.debug("A file failed. The report has the message.", failed)
        Left(FileFailure.of(failed))
    }

  private def isOfCancelled(failed: Throwable) =
    failed.isInstanceOf[TaskKilledException] || PmeException.isOfCancelled(failed)

  /** Ends a task that nobody wants any more. Code that reads a whole file calls this often. */
  def goOn(what: String): Unit =
    if (TaskContext.get().isInterrupted()) throw new TaskKilledException(s"$what was stopped")

  /**
   * The number of tasks for work that reads whole files. A task of its own for each small file would take longer than the
   * file.
   *
   * @param bytes of all files
   */
  def tasksFor(session: SparkSession, files: Int, bytes: Long): Int = {
    val forCores = session.sparkContext.defaultParallelism.toLong * TasksPerCoreForFiles
    files.toLong.min((bytes / BytesPerTask).max(forCores)).min(MaxTasks).toInt
  }

  private val MaxTasks = 10000L
  private val BytesPerTask = 16L * 1024 * 1024

  /** Progress is counted when a task ends. */
  private val TasksPerCoreForFiles = 32

  /** Files differ in size, so a core that finishes early takes more tasks. */
  private val TasksPerCore = 4
}
