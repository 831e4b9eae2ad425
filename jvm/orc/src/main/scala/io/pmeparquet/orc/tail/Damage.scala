package io.pmeparquet.orc.tail

import io.pmeparquet.{PmeErrors, PmeException}

/**
 * Why a structure in a file is refused. Parsers throw it, and whoever knows the file's name makes a
 * [[io.pmeparquet.PmeException]] of it.
 *
 * @param unknown whether a later version of the format may have such a structure
 */
private[tail] final class Damage(val why: String, val unknown: Boolean = false, cause: Throwable = null)
    extends Exception(why, cause) {

  /** The same, of a part of the file. */
  def in(part: String): Damage = new Damage(s"$part: $why", unknown, getCause)
}

private[tail] object Damage {
  def apply(why: String): Damage = new Damage(why)

  def unknown(why: String): Damage = new Damage(why, unknown = true)

  def require(holds: Boolean, why: => String): Unit = if (!holds) throw Damage(why)

  /** @throws io.pmeparquet.PmeException for damage, with the file's name */
  def of[A](file: String)(parse: => A): A =
    try parse
    catch { case damage: Damage => throw asError(file, damage) }

  private def asError(file: String, damage: Damage): PmeException =
    if (damage.unknown) PmeErrors.orcUnknown(file, damage.why, damage.getCause)
    else PmeErrors.orcDamaged(file, damage.why, damage.getCause)
}
