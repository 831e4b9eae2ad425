package io.pmeparquet.spark.read

/** Adds the format's rules to a session. A read calls it if its session has no rules yet. ''Driver only.'' */
private[spark] trait SessionRules {

  /** Adds the rules to the active session, if there is one. */
  def install(): Unit
}
