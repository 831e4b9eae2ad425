package io.pmeparquet.spark.admin.doctor

import java.net.{InetAddress, UnknownHostException}
import java.util.concurrent.TimeoutException
import java.util.Locale

import scala.concurrent.duration._
import scala.concurrent.Await
import scala.util.control.NonFatal

import org.apache.spark.{SPARK_VERSION, SparkEnv}
import org.apache.spark.sql.SparkSession

import io.pmeparquet.{ClassPathEntry, PmeException}
import io.pmeparquet.cipher.{AesHardware, AesSpeed, CryptoProvider}
import io.pmeparquet.spark.session.FormatName

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
  private[doctor] val PauseMillis = 300L
}

/** Looks at the executor it runs on. ''Crosses the wire.'' */
private[admin] final class ExamineTask(provider: String)
    extends (Iterator[Int] => Iterator[ExecutorFacts])
    with Serializable {

  override def apply(tasks: Iterator[Int]): Iterator[ExecutorFacts] = {
    // Without a pause, the first executor would finish all tasks before the others start.
    Thread.sleep(ExecutorChecks.PauseMillis)
    tasks.map(number => ExecutorFacts.here(provider, measured = number == 0))
  }
}

/**
 * Facts about a JVM of the application, to compare with the driver. ''Crosses the wire.''
 *
 * @param jar the name of the connector's jar
 * @param digest the digest of that jar's bytes
 */
private[admin] final case class ExecutorFacts(
    id: String,
    host: String,
    spark: String,
    java: String,
    jar: String,
    digest: Option[String],
    aes: AesFacts
) {
  def name: String = s"executor $id on $host"

  /** In words, the differences from the driver that may make tasks fail. */
  def misfits(driver: ExecutorFacts): Seq[String] = {
    val sameJar = digest.isDefined && digest == driver.digest
    val jars = if (sameJar) None else Some(s"another connector jar ($jar; on the driver ${driver.jar})")
    (other("Spark", driver, _.spark) ++ jars).toSeq
  }

  /** In words, the differences from the driver that make tasks faster or slower. */
  def differences(driver: ExecutorFacts): Seq[String] =
    Seq(
      other("Java", driver, _.java),
      other("AES provider", driver, _.aes.provider),
      other("AES switches that are off:", driver, _.aes.switchedOff.mkString("[", " ", "]"))
    ).flatten

  private def other(what: String, driver: ExecutorFacts, of: ExecutorFacts => String) =
    if (of(this) == of(driver)) None else Some(s"$what ${of(this)} (on the driver ${of(driver)})")
}

private[admin] object ExecutorFacts {

  /** A JVM reads the bytes of the jar once for all tasks. */
  private lazy val jar = ClassPathEntry.of(FormatName.dataSource)

  /** @param provider the value of option `cryptoProvider` */
  def here(provider: String, measured: Boolean): ExecutorFacts =
    ExecutorFacts(
      SparkEnv.get.executorId,
      hostName,
      SPARK_VERSION,
      System.getProperty("java.version"),
      jar.fold("none")(_.fileName),
      jar.flatMap(_.digest),
      AesFacts.here(provider, measured)
    )

  private def hostName =
    try InetAddress.getLocalHost.getHostName
    catch { case _: UnknownHostException => "an unknown host" }
}

/**
 * How a JVM computes AES. ''Crosses the wire.''
 *
 * @param provider the provider's name and version
 * @param switchedOff HotSpot's switches for AES instructions that are off
 * @param unknown the switches that the JVM does not report
 * @param speeds empty if nothing was measured
 */
private[admin] final case class AesFacts(
    provider: String,
    switchedOff: List[String],
    unknown: List[String],
    speeds: List[AesSpeed]
) {
  import AesFacts._

  def checks(where: String): Seq[Check] = Seq(choice(where), hardware(where)) ++ speed(where)

  private def choice(where: String) = Check.ok(s"AES provider $where", provider)

  private def hardware(where: String) = {
    val name = s"AES instructions $where"
    val hidden = if (unknown.isEmpty) "" else s"; not known for ${unknown.mkString(", ")}"
    if (switchedOff.isEmpty && unknown.size == AesHardware.flags.size)
      Check.ok(name, "not known: this JVM does not report it. See the speed")
    else if (switchedOff.isEmpty) Check.ok(name, s"used$hidden")
    else Check.warning(name, s"not used: ${switchedOff.mkString(", ")} switched off$hidden", HardwareRemedy)
  }

  private def speed(where: String): Seq[Check] =
    if (speeds.isEmpty) Nil
    else {
      val measured = speeds.map { one =>
        String.format(
          Locale.ROOT,
          "%.1f GB/s (%d bits, modules of %d KiB)",
          Double.box(one.gigabytesPerSecond),
          Int.box(one.keyBits),
          Int.box(one.moduleBytes / 1024)
        )
      }
      val found = s"one thread decrypts ${measured.mkString(", ")}"
      val slow = speeds.map(_.gigabytesPerSecond).max < SlowGigabytesPerSecond
      Seq(Check.withRemedy(s"AES speed $where", found, if (slow) Some(SpeedRemedy) else None))
    }
}

private[admin] object AesFacts {

  /** @param option the value of option `cryptoProvider` */
  def here(option: String, measured: Boolean): AesFacts = {
    val chosen = CryptoProvider.of(option)
    val flags = AesHardware.flags
    AesFacts(
      s"${chosen.name} ${chosen.provider.getVersionStr}",
      flags.collect { case (name, Some(false)) => name }.toList,
      flags.collect { case (name, None) => name }.toList,
      if (measured) AesSpeed.measure(chosen).toList else Nil
    )
  }

  /** A processor without AES instructions, or a JVM that does not use them, is slower than this. */
  private val SlowGigabytesPerSecond = 1.0

  private val HardwareRemedy =
    "Remove -XX:-UseAES and similar JVM options, or use machines with AES instructions."
  private val SpeedRemedy =
    "Check the JVM options for -Xint, -XX:TieredStopAtLevel and -XX:-UseAES, and the machine for AES instructions. Or " +
      "add the jar of Amazon's provider, AmazonCorrettoCryptoProvider of software.amazon.cryptools, to spark.jars."
}
