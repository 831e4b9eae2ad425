package io.pmeparquet.spark.session

import java.lang.reflect.InvocationTargetException

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession

/** Table formats are not on the compile class path, so their classes are known by package, and asked by reflection. */
private[pmeparquet] object DeltaClasses {
  private val Package = "org.apache.spark.sql.delta."
  // Databricks has Delta under another name.
  private val Packages = Seq(Package, "com.databricks.sql.transaction.tahoe.")
  private val KernelsPackage = "io.delta."

  def isDeltas(found: AnyRef): Boolean = found != null && Packages.exists(found.getClass.getName.startsWith)

  /** Whether the object is a table, or a source, of the connector that Delta builds on Delta Kernel. */
  def isKernels(found: AnyRef): Boolean = found != null && found.getClass.getName.startsWith(KernelsPackage)

  /**
   * Delta's log of the table at a path, whether there is a table or not.
   *
   * @param options of the file system: Delta keeps a log for each set of them
   */
  def logAt(session: SparkSession, table: Path, options: Map[String, String]): AnyRef = {
    val forTable =
      named("DeltaLog").getMethod("forTable", classOf[SparkSession], classOf[Path], classOf[Map[_, _]])
    unwrapped(forTable.invoke(null, session, table, options))
  }

  /** A class of Delta's, by its name below Delta's package. */
  def named(name: String): Class[_] =
    Class.forName(Package + name, true, Thread.currentThread.getContextClassLoader)

  /** Calls a method with the default values of all its parameters. */
  def askWithDefaults(of: AnyRef, name: String): AnyRef = {
    val method = of.getClass.getMethods.filter(_.getName == name).maxBy(_.getParameterCount)
    val defaults = (1 to method.getParameterCount).map(at => ask(of, s"$name$$default$$$at"))
    unwrapped(method.invoke(of, defaults: _*))
  }

  /** The value of one of the members, if the object has one with such a name. */
  def first(of: AnyRef, names: Seq[String]): Option[AnyRef] =
    names.find(has(of, _)).map(ask(of, _))

  def has(of: AnyRef, name: String): Boolean =
    of.getClass.getMethods.exists(one => one.getName == name && one.getParameterCount == 0)

  def ask(of: AnyRef, name: String): AnyRef = unwrapped(of.getClass.getMethod(name).invoke(of))

  private def unwrapped(call: => AnyRef): AnyRef =
    try call
    catch { case failed: InvocationTargetException => throw failed.getCause }
}
