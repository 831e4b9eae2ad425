package io.pmeparquet.spark.admin.doctor

import java.util.concurrent.TimeoutException

import scala.concurrent.duration._
import scala.concurrent.Await
import scala.util.control.NonFatal

import org.apache.spark.sql.SparkSession

import io.pmeparquet.PmeException

/** Runs a small job to compare executors with the driver. ''Driver only.'' */
private[admin] object ExecutorChecks {
  private val Name = "executors"

  /**
   * @param driver the facts about the driver
   * @return checks, and whether any executor runs tasks
   */
  def all(session: SparkSession, provider: String, driver: ExecutorFacts): (Seq[Check], Boolean) =
    if (session.sparkContext.isLocal)
      Seq(Check.ok(Name, s"none: tasks run in the driver (${session.sparkContext.master})")) -> true
    else
      try {
        val found = examine(session, provider).groupBy(_.id).values.map(_.maxBy(_.aes.speeds.size)).toSeq
        val measured = found.find(_.aes.speeds.nonEmpty).toSeq
        val checks = reached(session, found) +: found.sortBy(_.name).map(compared(_, driver))
        (checks ++ measured.flatMap(one => one.aes.checks(s"on ${one.name}")), true)
      } catch { case NonFatal(failed) => Seq(unreached(failed)) -> false }

  private def examine(session: SparkSession, provider: String): Seq[ExecutorFacts] = {
    val context = session.sparkContext
    val tasks = (context.defaultParallelism * 2).min(MaxTasks)
    val answers = context.parallelize(0 until tasks, tasks).mapPartitions(new ExamineTask(provider))
    val job = answers.collectAsync()
    try Await.result(job, PatienceSeconds.seconds)
    catch {
      case failed: Throwable =>
        job.cancel()
        throw failed
    }
  }

  private def reached(session: SparkSession, found: Seq[ExecutorFacts]) = {
    // Spark counts the driver among them.
    val all = session.sparkContext.statusTracker.getExecutorInfos.length - 1
    val answered = s"${found.size} of ${all.max(found.size)} answered (${session.sparkContext.master})"
    val remedy = "The others were busy. To check them too, run this again when they are idle."
    Check.withRemedy(Name, answered, if (found.size < all) Some(remedy) else None)
  }

  private[doctor] def compared(one: ExecutorFacts, driver: ExecutorFacts): Check = {
    val (misfits, differences) = (one.misfits(driver), one.differences(driver))
    val found = (misfits ++ differences).mkString("; ")
    val remedy =
      "Give executors the same Spark, Java and JVM options as the driver, and one connector, only with spark.jars or " +
        "--jars."
    if (misfits.nonEmpty) Check.problem(one.name, found, remedy)
    else if (differences.nonEmpty) Check.warning(one.name, found, remedy)
    else Check.ok(one.name, s"the same as the driver: Java ${one.java}, ${one.jar}, ${one.aes.provider}")
  }

  private def unreached(failed: Throwable): Check = {
    val messages = PmeException.causes(failed).map(String.valueOf).mkString(" ")
    if (failed.isInstanceOf[TimeoutException])
      Check.problem(
        Name,
        s"none completed a task within $PatienceSeconds seconds",
        "Check whether the cluster has executors for this application, and whether they are free."
      )
    else if (Missing.exists(messages.contains))
      Check.problem(
        Name,
        "they do not have the connector, or have another one than the driver",
        "Name the jar in spark.jars or --jars, which also reach executors, and not only on the driver's class path."
      )
    else Check.failure(Name, failed)
  }

  /** Java's messages for a class of ours that is missing or different. */
  private val Missing = Seq("ClassNotFoundException: io.pmeparquet", "InvalidClassException: io.pmeparquet")

  private val PatienceSeconds = 60
  private val MaxTasks = 1000
}

/** Looks at the executor it runs on. ''Crosses the wire.'' */
private[admin] final class ExamineTask(provider: String)
    extends (Iterator[Int] => Iterator[ExecutorFacts])
    with Serializable {

  override def apply(tasks: Iterator[Int]): Iterator[ExecutorFacts] = {
    // Without a pause, the first executor would finish all tasks before the others start.
    Thread.sleep(ExamineTask.PauseMillis)
    tasks.map(number => ExecutorFacts.here(provider, measured = number == 0))
  }
}

private object ExamineTask {
  val PauseMillis = 300L
}
