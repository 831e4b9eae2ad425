package io.pmeparquet.cipher

import java.lang.management.ManagementFactory

import com.sun.management.HotSpotDiagnosticMXBean

/** Whether the JVM's own provider uses the AES instructions of the processor, if the JVM reports it. */
object AesHardware {

  /** HotSpot's switches, and whether they are on; none if the JVM does not report it. */
  def flags: Seq[(String, Option[Boolean])] = Names.map(name => name -> flag(name))

  private val Names = Seq("UseAES", "UseAESIntrinsics", "UseAESCTRIntrinsics")

  // Other JVMs have no such bean, and HotSpot hides diagnostic switches.
  private def flag(name: String): Option[Boolean] =
    try
      Option(ManagementFactory.getPlatformMXBean(classOf[HotSpotDiagnosticMXBean]))
        .map(_.getVMOption(name).getValue.toBoolean)
    catch { case _: IllegalArgumentException | _: LinkageError => None }
}
