package io.pmeparquet.spark.admin.doctor

import java.util.Locale

import io.pmeparquet.cipher.{AesHardware, AesSpeed, CryptoProvider}

/**
 * How a JVM computes AES. ''Crosses the wire.''
 *
 * @param provider the provider's name and version
 * @param switchedOff HotSpot's switches for AES instructions that are off
 * @param unknown the switches that the JVM does not report
 * @param speeds empty if nothing was measured
 */
private[admin] final case class AesFacts(
    provider: String,
    switchedOff: List[String],
    unknown: List[String],
    speeds: List[AesSpeed]
) {
  import AesFacts._

  def checks(where: String): Seq[Check] = Seq(choice(where), hardware(where)) ++ speed(where)

  private def choice(where: String) = Check.ok(s"AES provider $where", provider)

  private def hardware(where: String) = {
    val name = s"AES instructions $where"
    val hidden = if (unknown.isEmpty) "" else s"; not known for ${unknown.mkString(", ")}"
    if (switchedOff.isEmpty && unknown.size == AesHardware.flags.size)
      Check.ok(name, "not known: this JVM does not report it. See the speed")
    else if (switchedOff.isEmpty) Check.ok(name, s"used$hidden")
    else Check.warning(name, s"not used: ${switchedOff.mkString(", ")} switched off$hidden", HardwareRemedy)
  }

  private def speed(where: String): Seq[Check] =
    if (speeds.isEmpty) Nil
    else {
      val measured = speeds.map { one =>
        String.format(
          Locale.ROOT,
          "%.1f GB/s (%d bits, modules of %d KiB)",
          Double.box(one.gigabytesPerSecond),
          Int.box(one.keyBits),
          Int.box(one.moduleBytes / 1024)
        )
      }
      val found = s"one thread decrypts ${measured.mkString(", ")}"
      val slow = speeds.map(_.gigabytesPerSecond).max < SlowGigabytesPerSecond
      Seq(Check.withRemedy(s"AES speed $where", found, if (slow) Some(SpeedRemedy) else None))
    }
}

private[admin] object AesFacts {

  /** @param option the value of option `cryptoProvider` */
  def here(option: String, measured: Boolean): AesFacts = {
    val chosen = CryptoProvider.of(option)
    val flags = AesHardware.flags
    AesFacts(
      s"${chosen.name} ${chosen.provider.getVersionStr}",
      flags.collect { case (name, Some(false)) => name }.toList,
      flags.collect { case (name, None) => name }.toList,
      if (measured) AesSpeed.measure(chosen).toList else Nil
    )
  }

  /** A processor without AES instructions, or a JVM that does not use them, is slower than this. */
  private val SlowGigabytesPerSecond = 1.0

  private val HardwareRemedy =
    "Remove -XX:-UseAES and similar JVM options, or use machines with AES instructions."
  private val SpeedRemedy =
    "Check the JVM options for -Xint, -XX:TieredStopAtLevel and -XX:-UseAES, and the machine for AES instructions. Or " +
      "add the jar of Amazon's provider, AmazonCorrettoCryptoProvider of software.amazon.cryptools, to spark.jars."
}
