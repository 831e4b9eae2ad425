package io.pmeparquet.spark.admin.erase

import scala.collection.mutable

import io.pmeparquet.{Condition, PmeException}
import io.pmeparquet.keys.{KeyAdministration, KeyState}

/** The keys of an erasure, by whatever id a file names them. ''Driver only.'' */
private[erase] final class AskedKeys(val ids: Seq[String], administration: KeyAdministration, where: String) {
  private val known = mutable.Map.empty[String, Either[PmeException, String]]
  private val states = mutable.Map.empty[String, Option[KeyState]]

  /** Their names in the KMS. */
  val names: Map[String, String] = administration.namesOf(ids, where)

  known ++= names.map { case (id, name) => id -> Right(name) }
  private val asked = ids.map(id => names(id) -> id).toMap

  /** Whether the KMS does not know what it destroyed. */
  val forgets: Boolean = administration.forgets

  /** Asks for the names of keys that were met in files, together. */
  def meet(ids: Seq[String]): Unit =
    known ++= answers(ids.filterNot(known.contains))(administration.namesOf(_, where))

  /** The name of a key that was met; none if the KMS has no name for such an id. */
  def nameOf(id: String): Option[String] = known(id).toOption

  /** The id by which the erasure names this key, if it is one of its keys. */
  def asked(id: String): Option[String] = nameOf(id).flatMap(asked.get)

  /** Asks for the states of keys that did not open files, together. */
  def ask(ids: Seq[String]): Unit =
    states ++= answers(ids.filterNot(states.contains))(administration.states(_, where)).map {
      case (id, answer) =>
        id -> answer.toOption
    }

  /** What the KMS says of a key that was asked for, if it does. */
  def state(id: String): Option[KeyState] = states(id)

  /** An id that is none in this KMS concerns only the files that have it. */
  private def answers[A](
      ids: Seq[String]
  )(ask: Seq[String] => Map[String, A]): Map[String, Either[PmeException, A]] =
    try ask(ids).map { case (id, answer) => id -> Right(answer) }
    catch {
      case failed: PmeException if failed.condition == Condition.KmsUnavailable => throw failed
      case _: PmeException if ids.size > 1 => ids.flatMap(id => answers(Seq(id))(ask)).toMap
      case failed: PmeException => Map(ids.head -> Left(failed))
    }
}
