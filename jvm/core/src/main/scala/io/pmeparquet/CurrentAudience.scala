package io.pmeparquet

/** The audience of this JVM's messages: whoever the last front end spoke for that used it. */
private[pmeparquet] trait CurrentAudience {
  @volatile private var audience: Audience = Audience.Sql

  def current: Audience = audience

  /** @param name `python`, `sql` or `cli` */
  def use(name: String): Unit = audience = named(name)

  private[pmeparquet] def named(name: String): Audience =
    Audience.all.find(_.name == name).getOrElse(Audience.Sql)
}
