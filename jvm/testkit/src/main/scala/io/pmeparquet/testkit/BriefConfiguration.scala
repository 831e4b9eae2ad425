package io.pmeparquet.testkit

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.mapred.JobConf

/**
 * A Hadoop configuration without the defaults of YARN, of MapReduce and of parts of Hadoop that have defaults in their
 * code, 1,000 of 1,400 settings. Spark copies a session's configuration, and sends it to tasks, several times a query: of
 * Spark's small queries in tests, a sixth of the processor's time went to those of YARN and MapReduce.
 */
object BriefConfiguration {

  /** Takes these defaults out of a Spark's configuration, before it is copied for the first query. */
  def shorten(conf: Configuration): Unit = shorten(conf, Nil)

  /** @param unused what settings begin with that have defaults in their code, too, where nobody uses their file system */
  def shorten(conf: Configuration, unused: Seq[String]): Unit = {
    // Loads the defaults. Once they are there, nothing adds them again.
    new JobConf(false)
    val names = conf.asScala.map(_.getKey).toList
    names
      .filter(name => Option(conf.getPropertySources(name)).exists(_.forall(isUnread(name, _, unused))))
      .foreach(conf.unset)
  }

  private def isUnread(name: String, source: String, unused: Seq[String]): Boolean = Defaults(source) ||
    // Only the defaults say which class serves a scheme.
    source == "core-default.xml" && (InCode ++ unused).exists(name.startsWith) && !name.endsWith(".impl")

  private val Defaults = Set("mapred-default.xml", "yarn-default.xml")

  private val InCode = Seq(
    "fs.adl.",
    "fs.azure.",
    "fs.ftp.",
    "fs.viewfs.",
    "ha.",
    "hadoop.http.",
    "hadoop.registry.",
    "hadoop.security.group.mapping.ldap.",
    "hadoop.zk.",
    "io.erasurecode.",
    "ipc.",
    "net.topology."
  )
}
