package io.pmeparquet.spark.read

import java.security.SecureRandom
import java.util
import java.util.UUID

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.security.UserGroupInformation
import org.apache.spark.sql.SparkSession

import io.pmeparquet.{RecentValues, Sha256}
import io.pmeparquet.spark.options.Asker
import io.pmeparquet.spark.session.{SparkAccess, SparkVersions}
import io.pmeparquet.spark.snapshot.SessionSnapshots

/**
 * Under which settings the files of a relation are read. Spark answers a query of one session by what another has
 * cached, and one scan of a query by another, if their relations are equal. The options of a read are part of that
 * equality, and its session is not. So this is part of the equality of our formats: it is equal for readers whose
 * sessions have equal settings, user and class loader.
 *
 * A relation that is read under other settings than it was planned with has both, and equals none but itself.
 * ''Driver only.''
 */
private[spark] final class ReaderIdentity private (@volatile private var settings: Set[String]) {

  /** Notes the session, where the creator of a format could only guess it. */
  def settle(session: SparkSession): Unit = settings = Set(ReaderIdentity.digest(session))

  /** Notes that this session reads the files now. */
  def readBy(session: SparkSession): Unit = synchronized {
    settings = settings + ReaderIdentity.digest(session)
  }

  override def equals(other: Any): Boolean = other match {
    case that: ReaderIdentity => settings == that.settings
    case _ => false
  }

  override def hashCode(): Int = settings.hashCode()
}

private[spark] object ReaderIdentity {

  def of(session: SparkSession): ReaderIdentity = new ReaderIdentity(Set(digest(session)))

  /**
   * For a format that Spark creates now. Spark does not pass it the session, which is the active one, except for
   * readers of Spark 3.5: until [[settle]] sets it, such a format is its own reader.
   */
  def ofCaller(asker: Asker): ReaderIdentity = {
    val active = SparkSession.getActiveSession.orElse(SparkSession.getDefaultSession)
    active
      .filter(_ => SparkVersions.readersAreActive || asker != Asker.Statement)
      .fold(new ReaderIdentity(Set(UUID.randomUUID().toString)))(of)
  }

  /**
   * A digest of all settings of a session and its Hadoop configuration: a KMS client may look at any of them, and a secret
   * may be in any of them. Those that Spark SQL itself knows, and that a session may change, do not count, nor what Spark
   * changes in Hadoop's configuration when it first needs Hive. The random salt keeps a digest from revealing a secret.
   */
  def digest(session: SparkSession): String = {
    val conf = SparkAccess.sqlConf(session)
    val ofSession = conf.getAllConfs.filterNot { case (name, _) =>
      (name.startsWith(OfSql) && conf.isModifiable(name)) || name == SessionSnapshots.Id
    }
    val hadoop = session.sparkContext.hadoopConfiguration
    val texts = Seq(salt, digestOf(hadoop)) ++ inOrder(ofSession) ++
      Seq(
        UserGroupInformation.getCurrentUser.getUserName,
        System.identityHashCode(hadoop.getClassLoader).toString
      )
    Sha256.hex(Sha256.ofTexts(texts).take(Length))
  }

  // All sessions of a Spark context share Hadoop's configuration, which rarely changes. Comparing its two thousand settings
  // with those of the last digest takes a fraction of the time of sorting and hashing them.
  private def digestOf(hadoop: Configuration): String = {
    val settings = new util.HashMap[String, String]
    hadoop.iterator().forEachRemaining { setting =>
      if (!setting.getKey.startsWith(OfHive)) settings.put(setting.getKey, setting.getValue)
    }
    ofHadoop.get(settings)(Sha256.hex(Sha256.ofTexts(inOrder(settings.asScala))))
  }

  private def inOrder(settings: Iterable[(String, String)]) =
    settings.toSeq.sorted.flatMap { case (name, value) => Seq(name, value) }

  private val OfSql = "spark.sql."
  private val OfHive = "hive."
  private val Length = 11
  private val salt = Sha256.hex(new SecureRandom().generateSeed(16))
  private val ofHadoop = new RecentValues[util.Map[String, String], String](1, Long.MaxValue)
}
