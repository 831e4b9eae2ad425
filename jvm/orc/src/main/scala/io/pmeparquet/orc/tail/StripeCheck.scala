package io.pmeparquet.orc.tail

/**
 * Opens the footers of stripes before ORC's reader does, which takes lengths and numbers from them as they are.
 *
 * After it, each stream lies in its stripe, each column has an encoding, and no dictionary states more entries than can
 * be. It does not open streams: lengths of values, which are in them, can still make ORC's reader allocate much.
 */
private[tail] object StripeCheck {

  /** The columns that have Bloom filters in the first stripe, by their ids. */
  def bloomColumns(tail: OrcTail, bytes: OrcBytes): Set[Int] =
    footers(tail, tail.stripes.take(1), bytes) { footer =>
      (footer.plain +: footer.variants).flatMap(_.streams).filter(one => BloomFilters(one.kind)).map(_.column)
    }.flatten.toSet

  /** The kinds of streams: Bloom filters of old writers, and those over UTF-8. */
  private val BloomFilters = Set(7, 8)

  /** @throws io.pmeparquet.PmeException if a footer is damaged or contradicts the file's */
  def footers[A](tail: OrcTail, stripes: Seq[OrcStripe], bytes: OrcBytes)(use: StripeFooter => A): Seq[A] =
    stripes.map(stripe => use(footer(tail, stripe, bytes)))

  private def footer(tail: OrcTail, stripe: OrcStripe, bytes: OrcBytes): StripeFooter =
    Damage.of(tail.file) {
      val stored = bytes.read(stripe.footerOffset, stripe.footerLength)
      try {
        val found = StripeFooter.parse(tail.compression.decompress(stored, "it", OrcLimits.StripeFooterBytes))
        found.requireFit(tail, stripe)
        found
      } catch { case found: Damage => throw found.in(s"the footer of stripe ${stripe.id}") }
    }
}
