package io.pmeparquet.orc.tail

/** Opens the statistics of stripes that everybody can read, before ORC's reader makes objects of all that they state. */
private[tail] object StripeStatisticsCheck {

  /** @throws io.pmeparquet.PmeException if they are damaged, or not of all stripes and columns */
  def check(tail: OrcTail, bytes: OrcBytes): Unit = if (tail.statisticsBytes > 0) {
    val what = "the statistics of its stripes"
    Damage.of(tail.file) {
      val stored = bytes.read(tail.statisticsAt, tail.statisticsBytes)
      val wire = Wire.of(tail.compression.decompress(stored, what, OrcLimits.FooterBytes), what)
      var stripes = 0
      wire.fields { case 1 =>
        requireColumns(wire.message(what), stripes, tail.types.size)
        stripes += 1
      }
      Damage.require(
        stripes == 0 || stripes == tail.stripes.size,
        s"it has ${tail.stripes.size} stripes, but statistics of $stripes"
      )
    }
  }

  private def requireColumns(wire: Wire, stripe: Int, expected: Int): Unit = {
    var columns = 0
    wire.fields { case 1 =>
      OrcStatistics.parse(wire.message("the statistics of a column"), strict = false)
      columns += 1
    }
    Damage.require(
      columns == expected,
      s"it has $expected columns, but statistics of $columns in stripe $stripe"
    )
  }
}
