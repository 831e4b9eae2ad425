package io.pmeparquet.cipher

import java.lang.management.ManagementFactory

import com.sun.management.HotSpotDiagnosticMXBean

/** Whether the JVM's own provider uses the AES instructions of the processor, as far as the JVM tells. */
object AesHardware {

  /** HotSpot's switches, and whether they are on; none where the JVM does not say. */
  def flags: Seq[(String, Option[Boolean])] = Names.map(name => name -> flag(name))

  private val Names = Seq("UseAES", "UseAESIntrinsics", "UseAESCTRIntrinsics")

  // Other JVMs have no such bean, and HotSpot hides a switch that is for diagnosis only.
  private def flag(name: String): Option[Boolean] =
    try
      Option(ManagementFactory.getPlatformMXBean(classOf[HotSpotDiagnosticMXBean]))
        .map(_.getVMOption(name).getValue.toBoolean)
    catch { case _: IllegalArgumentException | _: LinkageError => None }
}
