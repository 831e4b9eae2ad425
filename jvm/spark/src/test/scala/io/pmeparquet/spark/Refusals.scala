package io.pmeparquet.spark

import munit.Assertions

import io.pmeparquet.{Condition, PmeException}

/** What every refusal must have: the right condition, a reason and a remedy, and no secret in the text. */
trait Refusals extends Assertions {

  /** Fails unless the block raises a failure of this condition whose text has these words. */
  protected def refused(condition: Condition, words: String*)(block: => Any): String = {
    val text =
      try {
        block
        fail(s"not refused: ${condition.name} was expected")
      } catch {
        case failed: Exception =>
          val ours = PmeException.find(failed).getOrElse(throw failed)
          assertEquals(ours.condition, condition, ours.getMessage)
          ours.getMessage
      }
    words.foreach(word => assert(text.contains(word), s"no '$word': $text"))
    Refusals.check(text).foreach(fault => fail(s"$fault: $text"))
    text
  }
}

object Refusals {
  // What a key, a tag or a wrapped key looks like, and no path or name in tests.
  private val Hex = "[0-9a-fA-F]{24,}".r
  private val Base64 = "[A-Za-z0-9+/]{22,}==|[A-Za-z0-9+]{43,}=?".r

  /** What is wrong with a message, which must have the form ''where: what happened: why. What to do.'' */
  def check(text: String): Option[String] = {
    val first = text.linesIterator.next()
    if (!first.contains(": ")) Some("no place")
    else if (first.stripSuffix(".").split("[.;?] ").length < 2) Some("no remedy")
    else if (Hex.findFirstIn(text).isDefined || Base64.findFirstIn(text).isDefined) Some("a secret")
    else None
  }
}
