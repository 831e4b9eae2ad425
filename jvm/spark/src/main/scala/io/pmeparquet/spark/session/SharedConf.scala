package io.pmeparquet.spark.session

import java.lang.ref.WeakReference

import org.apache.hadoop.conf.Configuration
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.SparkSession
import org.apache.spark.util.SerializableConfiguration

/**
 * Sends Hadoop's configuration to executors. Scans that follow each other mostly have the same, and it takes longer to
 * send than a small file to read. So a scan gets the broadcast of an earlier one of its session if every value is the
 * same. ''Driver only.''
 */
private[spark] object SharedConf {
  private type Shared = Broadcast[SerializableConfiguration]
  private type Values = java.util.Map[String, String]

  /** Those of a few queries that alternate. Each is compared. */
  private val MaxKept = 8

  // The newest first.
  private var sent = List.empty[Sent]

  // Sessions can have classes of their own, which a configuration finds. Spark removes a broadcast from executors once
  // nobody refers to it, so this does not, and forgets the values with it: there can be secrets among them.
  private final class Sent(session: SparkSession, conf: Configuration, values: Values, made: Shared) {
    private val ofSession = new WeakReference(session)
    private val classes = new WeakReference(conf.getClassLoader)
    private val broadcast = new WeakReference(made)

    def isHeld: Boolean = broadcast.get != null

    def find(other: SparkSession, conf: Configuration, others: Values): Option[Shared] =
      if (ofSession.get.eq(other) && classes.get.eq(conf.getClassLoader) && values == others)
        Option(broadcast.get)
      else None
  }

  /** @return a broadcast of a copy of this configuration, which later changes of it do not reach */
  def broadcast(session: SparkSession, conf: Configuration): Shared = {
    val values = valuesOf(conf)
    known(session, conf, values).getOrElse {
      val made = session.sparkContext.broadcast(new SerializableConfiguration(new Configuration(conf)))
      synchronized { sent = (new Sent(session, conf, values, made) :: sent).take(MaxKept) }
      made
    }
  }

  private def known(session: SparkSession, conf: Configuration, values: Values) = synchronized {
    sent = sent.filter(_.isHeld)
    sent.flatMap(_.find(session, conf, values)).headOption
  }

  /** Without substitution of variables, as they are sent. */
  private def valuesOf(conf: Configuration): Values = {
    val values = new java.util.HashMap[String, String]
    conf.forEach { entry =>
      values.put(entry.getKey, entry.getValue)
      ()
    }
    values
  }
}
