package io.pmeparquet.spark.admin.job

import org.apache.spark.sql.SparkSession
import org.apache.spark.util.LongAccumulator

/**
 * How far a long operation has come. Whoever wants to watch one calls [[Progress.watch]] in the thread that then calls the
 * operation, and [[snapshot]] from any other. What Python calls unwatches when it has ended; others do it themselves.
 * ''Driver only.''
 *
 * @param before the thread's session until then
 */
final class Progress private (private val before: Option[SparkSession]) {
  @volatile private var step: Option[ProgressStep] = None

  /** The current step's name, files and bytes done, and all of them, with tabs between; empty before the first step. */
  def snapshot: String = step.fold("")(_.snapshot)

  private[spark] def show(current: ProgressStep): Unit = step = Some(current)
}

object Progress {
  private val ofThread = new ThreadLocal[Progress]

  /** What this thread does from now on. It may be new, and know of no session yet. */
  def watch(session: SparkSession): Progress = {
    val progress = new Progress(SparkSession.getActiveSession)
    SparkSession.setActiveSession(session)
    ofThread.set(progress)
    progress
  }

  /** What this thread does from now on is watched by nobody: the thread may serve others. */
  def unwatch(): Unit = Option(ofThread.get).foreach { progress =>
    ofThread.remove()
    progress.before.fold(SparkSession.clearActiveSession())(SparkSession.setActiveSession(_))
  }

  /** Does what is watched, if anything is, to its end. */
  private[spark] def unwatching[A](operation: => A): A =
    try operation
    finally unwatch()

  /** @param bytes that the step goes through; 0 where they do not tell how long it takes */
  private[spark] def step(session: SparkSession, name: String, files: Long, bytes: Long = 0): ProgressStep = {
    val context = session.sparkContext
    new ProgressStep(name, files, bytes, context.longAccumulator, context.longAccumulator)(
      Option(ofThread.get)
    )
  }
}

/**
 * A part of an operation that goes through all files. Tasks count what they have done, and Spark adds what a task counted
 * once, when it has succeeded. ''Crosses the wire.''
 */
private[spark] final class ProgressStep(
    name: String,
    files: Long,
    bytes: Long,
    doneFiles: LongAccumulator,
    doneBytes: LongAccumulator
)(@transient watched: Option[Progress])
    extends Serializable {

  /** From now on this is what the operation does. ''Driver only.'' */
  def begin(): Unit = watched.foreach(_.show(this))

  /** Does something with a file, which then counts as done, whatever came of it. */
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
