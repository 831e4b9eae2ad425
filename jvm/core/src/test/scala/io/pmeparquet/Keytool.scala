package io.pmeparquet

/** The JDK's `keytool`, within this JVM: a process of its own takes most of a second to start. */
object Keytool {
  def run(arguments: String*): Unit = {
    val tool = Class.forName("sun.security.tools.keytool.Main").getMethod("main", classOf[Array[String]])
    tool.invoke(null, arguments.toArray)
    ()
  }
}
