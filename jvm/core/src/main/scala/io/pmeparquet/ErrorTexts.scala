package io.pmeparquet

/** What the messages of [[PmeErrors]] share. */
private[pmeparquet] trait ErrorTexts {

  /** @param text for each audience: ''where: what happened: why.'', and what to do */
  protected def declared(condition: Condition, parameters: Map[String, String], cause: Throwable)(
      text: Audience => (String, String)
  ): PmeException = {
    val (messages, remedies) = Audience.all
      .map(by => by -> text(by))
      .map { case (by, (message, remedy)) =>
        (by -> message, by -> remedy)
      }
      .unzip
    new PmeException(condition, messages.toMap, remedies.toMap, parameters, cause)
  }

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
