package io.pmeparquet.cipher

import java.lang.management.ManagementFactory

import scala.util.Try

import com.sun.management.HotSpotDiagnosticMXBean

/** Whether the JVM's own provider uses the AES instructions of the processor, if the JVM reports it. */
object AesHardware {

  /** HotSpot's switches, and whether they are on; none if the JVM does not report it. */
  def flags: Seq[(String, Option[Boolean])] = Names.map(name => name -> flag(name))

  /**
   * Whether the JVM ever compiles with the compiler that knows AES instructions. A JVM that does not report it
   * is taken for one that does.
   */
  def hasCompiler: Boolean = isOptimizing(option("TieredStopAtLevel"))

  /** @param level the last level of compilation, if it is known */
  private[cipher] def isOptimizing(level: Option[String]): Boolean = level.forall(_ == OptimizingLevel)

  private val Names = Seq("UseAES", "UseAESIntrinsics", "UseAESCTRIntrinsics")
  private val OptimizingLevel = "4"

  private def flag(name: String): Option[Boolean] = option(name).flatMap(text => Try(text.toBoolean).toOption)

  // Other JVMs have no such bean, and HotSpot hides diagnostic switches.
  private def option(name: String): Option[String] =
    try
      Option(ManagementFactory.getPlatformMXBean(classOf[HotSpotDiagnosticMXBean]))
        .map(_.getVMOption(name).getValue)
    catch { case _: IllegalArgumentException | _: LinkageError => None }
}
