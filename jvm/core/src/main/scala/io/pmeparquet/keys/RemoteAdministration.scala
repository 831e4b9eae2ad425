package io.pmeparquet.keys

/** Of a KMS that is asked over the network: several calls run at the same time. */
private[pmeparquet] trait RemoteAdministration extends KeyAdministration {
  override def states(ids: Seq[String], where: String): Map[String, KeyState] = each(ids)(state(_, where))
  override def namesOf(ids: Seq[String], where: String): Map[String, String] = each(ids)(nameOf(_, where))

  /** The first alone, so that a KMS that is down is called once. */
  private def each[A](ids: Seq[String])(of: String => A): Map[String, A] =
    Kms
      .paired(ids, Kms.atOnce(ids)(of))
      .map { case (id, answer) => id -> answer.fold(failed => throw failed, identity) }
      .toMap
}
