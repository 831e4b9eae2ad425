package io.pmeparquet.spark.read

/** What adds the format's rules to a session. A read calls it where a session has none yet. ''Driver only.'' */
private[spark] trait SessionRules {

  /** Adds the rules to the session that is active; where none is, does nothing. */
  def install(): Unit
}
