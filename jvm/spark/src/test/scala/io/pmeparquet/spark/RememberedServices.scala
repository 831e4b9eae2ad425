package io.pmeparquet.spark

import java.net.URL
import java.util.{Collections, Enumeration}
import java.util.concurrent.ConcurrentHashMap

import scala.collection.JavaConverters._

/** Looks once for the services of each kind. Spark looks into all its jars for sources of data at each read and write. */
private class RememberedServices(parent: ClassLoader) extends ClassLoader(parent) {
  private val known = new ConcurrentHashMap[String, Seq[URL]]

  override def getResources(name: String): Enumeration[URL] =
    if (!name.startsWith("META-INF/services/")) super.getResources(name)
    else
      Collections.enumeration(
        known.computeIfAbsent(name, _ => parent.getResources(name).asScala.toVector).asJava
      )
}
