package io.pmeparquet

/** What the messages of [[PmeErrors]] share. */
private[pmeparquet] trait ErrorTexts {

  protected def fail(condition: Condition, problem: String, cause: Throwable = null): PmeException =
    new PmeException(condition, problem, cause)

  /** For what this version does not support, or refuses as unsafe. */
  protected def refused(where: String, why: String, remedy: String, cause: Throwable = null): PmeException =
    fail(Condition.Unsupported, s"$where: $why. $remedy", cause)

  protected def listed(names: Seq[String]): String = {
    val shown = names.take(ErrorTexts.MaxListed).mkString(", ")
    if (names.size > ErrorTexts.MaxListed) s"$shown, … (${names.size} in all)" else shown
  }
}

private object ErrorTexts {
  private val MaxListed = 30
}
