package io.pmeparquet.spark

/** placeholder */
private[spark] object PreWriteCheck {
  def install(): Unit = ()
}
