package io.pmeparquet.spark.admin.job

import org.apache.spark.sql.SparkSession
import org.apache.spark.util.LongAccumulator

/**
 * The progress of a long operation. To watch one, call [[Progress.watch]] in the thread that then calls the operation,
 * and [[snapshot]] in any other thread. The methods for Python call [[Progress.unwatch]] at their end; other callers
 * must do so themselves. ''Driver only.''
 *
 * @param before the thread's active session before
 */
final class Progress private (private val before: Option[SparkSession]) {
  @volatile private var step: Option[ProgressStep] = None

  /**
   * The name of the current step, files done, all files, bytes done and all bytes, separated by tabs; empty before the
   * first step.
   */
  def snapshot: String = step.fold("")(_.snapshot)

  private[spark] def show(current: ProgressStep): Unit = step = Some(current)
}

object Progress {
  private val ofThread = new ThreadLocal[Progress]

  /** Watches what this thread does from now on. The thread may be new and have no active session, so this sets it. */
  def watch(session: SparkSession): Progress = {
    val progress = new Progress(SparkSession.getActiveSession)
    SparkSession.setActiveSession(session)
    ofThread.set(progress)
    progress
  }

  /** Stops watching this thread, which may serve others next. */
  def unwatch(): Unit = Option(ofThread.get).foreach { progress =>
    ofThread.remove()
    progress.before.fold(SparkSession.clearActiveSession())(SparkSession.setActiveSession(_))
  }

  /** Runs an operation, and then stops watching. */
  private[pmeparquet] def unwatching[A](operation: => A): A =
    try operation
    finally unwatch()

  /** @param bytes how many bytes the step goes through; 0 if its time does not depend on them */
  private[spark] def step(session: SparkSession, name: String, files: Long, bytes: Long = 0): ProgressStep = {
    val context = session.sparkContext
    new ProgressStep(name, files, bytes, context.longAccumulator, context.longAccumulator)(
      Option(ofThread.get)
    )
  }
}

/**
 * A part of an operation that goes through all files. Tasks count their work, and Spark adds the count of a task once,
 * when the task succeeds. ''Crosses the wire.''
 */
private[spark] final class ProgressStep(
    name: String,
    files: Long,
    bytes: Long,
    doneFiles: LongAccumulator,
    doneBytes: LongAccumulator
)(@transient watched: Option[Progress])
    extends Serializable {

  /** Makes this the current step of the operation. ''Driver only.'' */
  def begin(): Unit = watched.foreach(_.show(this))

  /** Runs the work on a file, which then counts as done, even if the work failed. */
  def counting[A](length: Long)(work: => A): A =
    try work
    finally count(1, length)

  def count(files: Long, bytes: Long): Unit = {
    doneFiles.add(files)
    doneBytes.add(bytes)
  }

  def snapshot: String =
    s"$name\t${files.min(doneFiles.sum)}\t$files\t${bytes.min(doneBytes.sum)}\t$bytes"
}
