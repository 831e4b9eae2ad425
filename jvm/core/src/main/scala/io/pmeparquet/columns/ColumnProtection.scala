package io.pmeparquet.columns

/** Which key protects a leaf column. */
sealed trait ColumnProtection

object ColumnProtection {
  case object FooterKey extends ColumnProtection
  final case class ColumnKey(masterKeyId: String) extends ColumnProtection
  case object Plaintext extends ColumnProtection
}

/** What happens to columns without a key: the values of option `unlistedColumns`. */
sealed abstract class UnlistedColumns(val optionValue: String) extends Serializable

object UnlistedColumns {
  case object UseFooterKey extends UnlistedColumns("footerKey")
  case object Plaintext extends UnlistedColumns("plaintext")
  case object Error extends UnlistedColumns("error")

  val all: Seq[UnlistedColumns] = Seq(UseFooterKey, Plaintext, Error)
}
