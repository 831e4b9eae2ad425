package io.pmeparquet.spark.admin.doctor

import scala.util.control.NonFatal

import io.pmeparquet.{Condition, PmeException}

/**
 * What a check found, and what to do about it.
 *
 * @param status `ok`, `warning` or `problem`
 * @param remedy empty if the status is `ok`
 */
final case class Check(name: String, status: String, found: String, remedy: String) {
  private[admin] def isOk: Boolean = status == Check.Ok
}

private[admin] object Check {
  val Ok = "ok"
  val Warning = "warning"
  val Problem = "problem"

  def ok(name: String, found: String): Check = Check(name, Ok, found, "")
  def warning(name: String, found: String, remedy: String): Check = Check(name, Warning, found, remedy)
  def problem(name: String, found: String, remedy: String): Check = Check(name, Problem, found, remedy)

  /** A warning if there is a remedy, otherwise ok. */
  def withRemedy(name: String, found: String, remedy: Option[String]): Check =
    remedy.fold(ok(name, found))(warning(name, found, _))

  /** If a check fails, that is a problem of its own, and the other checks continue. */
  def attempt(name: String)(look: => Seq[Check]): Seq[Check] =
    try look
    catch { case failed @ (NonFatal(_) | _: LinkageError) => Seq(failure(name, failed)) }

  def failure(name: String, failed: Throwable): Check = PmeException.find(failed) match {
    case Some(ours) => failure(name, ours.condition.name, ours.getMessage)
    case None => failure(name, failed.getClass.getName, PmeException.firstLine(failed))
  }

  /** @param condition a condition of ours, or the class of the exception */
  def failure(name: String, condition: String, message: String): Check = {
    val safe = withoutCredentials(message)
    Condition.all.find(_.name == condition) match {
      case Some(ours) => problem(name, safe, ours.remedy)
      case None =>
        val remedy = "Check the logs of the driver and of executors, and run this again."
        problem(name, s"it could not be checked: $condition: $safe", remedy)
    }
  }

  /** Other libraries put whole URLs into messages, with the user and the token in them. */
  private def withoutCredentials(message: String) =
    UrlQuery.replaceAllIn(UrlUser.replaceAllIn(message, "//…@"), "$1?…")

  private val UrlUser = """//[^/\s]*@""".r
  private val UrlQuery = """(\w://[^\s?]*)\?\S+""".r
}
