package io.pmeparquet.spark.keys

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.hadoop.security.UserGroupInformation
import org.apache.spark.{SparkContext, SparkEnv, TaskContext}

import io.pmeparquet.keys.{KeyBrokers, KeyCaller, KmsCalls}
import io.pmeparquet.kms.audit.KeyRecords
import io.pmeparquet.options.{PmeOptions, SessionNames}

/** For records of uses of keys: who calls the KMS, and for which query. Executors send the query with their requests. */
private[pmeparquet] object KeyCallers {

  /** The application that this driver runs. One driver may run several, one after the other. */
  @volatile private var context: Option[SparkContext] = None

  /** From now on, records name Spark's users, applications and queries, and Spark's listeners get the events. */
  def of(application: SparkContext): Unit = {
    context = Some(application)
    installed
  }

  private lazy val installed: Unit = {
    KmsCalls.callersFrom(() => caller(query))
    KeyRecords.listen(event => context.foreach(KeyUseEvent.post(_, event)))
  }

  private def caller(query: Option[String]) = KeyCaller(
    context.fold(UserGroupInformation.getCurrentUser.getShortUserName)(_.sparkUser),
    context.fold("")(_.applicationId),
    query
  )

  /** The execution that this thread belongs to, as Spark's UI counts them. */
  private def query: Option[String] = Option(TaskContext.get())
    .map(_.getLocalProperty(Execution))
    .orElse(context.map(_.getLocalProperty(Execution)))
    .filter(_ != null)

  val Driver = "driver"
  private val Execution = "spark.sql.execution.id"

  /**
   * The values of an option of ours that the application started with, for our source or for the crypto factory. In any
   * letters, as the session reads them.
   */
  def ofApplication(option: String): Seq[String] = Option(SparkEnv.get).toSeq.flatMap { env =>
    env.conf.getAll.toSeq.collect {
      case (name, value) if Prefixes.exists(isOption(name, _, option)) => value
    }
  }

  private def isOption(name: String, prefix: String, option: String) = name.equalsIgnoreCase(prefix + option)

  private val Prefixes = Seq(SessionNames.Prefix, s"spark.hadoop.${PmeOptions.FactoryPrefix}")

  /** Whether another process of this application calls the KMS. */
  def isExecutor: Boolean = Option(SparkEnv.get).exists(_.executorId != Driver)

  /** The request of an executor, with its query before it. */
  private[keys] def sent(request: Array[Byte]): Array[Byte] = {
    val asked = query.filter(Number.matcher(_).matches()).getOrElse("").getBytes(UTF_8)
    asked.length.toByte +: (asked ++ request)
  }

  /** The driver's answer to what [[sent]] made. */
  def answer(message: Array[Byte]): Array[Byte] = {
    val length = message.headOption.getOrElse(0: Byte).toInt.max(0)
    val asked = new String(message.slice(1, 1 + length), UTF_8)
    val query = Some(asked).filter(Number.matcher(_).matches())
    KmsCalls.onBehalfOf(caller(query))(KeyBrokers.answer(message.drop(1 + length)))
  }

  private val Number = java.util.regex.Pattern.compile("[0-9]{1,18}")
}
