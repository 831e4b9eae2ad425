package io.pmeparquet.testkit

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.mapred.JobConf

/**
 * A Hadoop configuration without the defaults of YARN and MapReduce, 720 of 1,100 settings, which no test reads. Spark
 * copies a session's configuration, and sends it to tasks, several times a query: of Spark's small queries in tests, a
 * sixth of the processor's time went to these settings.
 */
object BriefConfiguration {

  /** Takes these defaults out of a Spark's configuration, before it is copied for the first query. */
  def shorten(conf: Configuration): Unit = {
    // Loads the defaults. Once they are there, nothing adds them again.
    new JobConf(false)
    val names = conf.asScala.map(_.getKey).toList
    names.filter(name => Option(conf.getPropertySources(name)).exists(_.forall(Defaults))).foreach(conf.unset)
  }

  private val Defaults = Set("mapred-default.xml", "yarn-default.xml")
}
