package io.pmeparquet.spark.keys

import java.nio.charset.StandardCharsets.UTF_8
import java.security.PrivilegedAction
import java.util.{Collections, WeakHashMap}

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.security.UserGroupInformation
import org.apache.spark.sql.SparkSession

import io.pmeparquet.options.SessionNames
import io.pmeparquet.parquet.standalone.{ConfigurationBroker, KeyGeneration}
import io.pmeparquet.spark.session.{FormatName, SparkAccess}

/**
 * The sessions of this driver whose configuration names our crypto factory. For their reads and writes by parquet-java
 * the driver calls the KMS, as it does for our own format. ''Driver only.''
 */
private[pmeparquet] object SessionKeys {
  private val sessions = Collections.synchronizedMap(new WeakHashMap[SparkSession, UserGroupInformation])

  /** Answers for this session from now on, if it has the factory. */
  def remember(session: SparkSession): Unit = {
    val isNew = !sessions.containsKey(session) && hasFactory(session)
    if (isNew) {
      KeyCallers.of(session.sparkContext)
      val user = UserGroupInformation.getCurrentUser
      // Executors work for the application's user, and another's keys must not reach their tasks.
      if (user.getShortUserName == session.sparkContext.sparkUser) {
        DriverRoute.warnWhereReadable(session)
        KeyRpc.answerConfigurations(answer(_))
        sessions.put(session, user)
        ()
      }
    }
  }

  /** What the application and the sessions say of a record. */
  private def said(option: String): Seq[String] = {
    val ofSessions = sessions.synchronized(sessions.keySet.asScala.toList).flatMap { session =>
      // A session may have ended.
      try SparkAccess.sqlConf(session).getAllConfs.toSeq
      catch { case NonFatal(_) => Nil }
    }
    val name = SessionNames.Prefix + option
    (KeyCallers.ofApplication(option) ++ ofSessions.collect {
      case (other, value) if other.equalsIgnoreCase(name) => value
    }).distinct.sorted
  }

  /** Starts a new generation of keys for the application; one of the session's own would count more. */
  def begin(session: SparkSession): Unit = {
    session.conf.unset(KeyGeneration.Name)
    KeyGeneration.begin(session.sparkContext.hadoopConfiguration)
  }

  private def hasFactory(session: SparkSession) =
    SparkAccess
      .valueOf(session, Map.empty, FormatName.CryptoFactorySetting)
      .contains(FormatName.CryptoFactoryClass)

  /** Answers a request for the key broker of a configuration, of whose digest it consists. */
  private def answer(request: Array[Byte]): Array[Byte] = {
    val route = DriverRoute.open()
    // The threads of RPC are nobody's. All of these are the same user.
    val user =
      sessions.synchronized(sessions.values.asScala.headOption).getOrElse(UserGroupInformation.getCurrentUser)
    val ask: PrivilegedAction[Array[Byte]] =
      () => ConfigurationBroker.answer(new String(request, UTF_8), configurations, route, said)
    s"${route.endpoint}$Separator".getBytes(UTF_8) ++ user.doAs(ask)
  }

  private val Separator = '\n'

  /** The endpoint of the key brokers of the one who answered, and the message about a key broker. ''Executor as well.'' */
  def partsOf(answer: Array[Byte]): (String, Array[Byte]) = {
    val (endpoint, message) = answer.splitAt(answer.indexOf(Separator.toByte))
    new String(endpoint, UTF_8) -> message.drop(1)
  }

  private def configurations: Seq[Configuration] =
    sessions.synchronized(sessions.keySet.asScala.toList).flatMap { session =>
      // A session may have ended.
      try Some(session).filter(hasFactory).map(SparkAccess.hadoopConf(_, Map.empty))
      catch { case NonFatal(_) => None }
    }
}
