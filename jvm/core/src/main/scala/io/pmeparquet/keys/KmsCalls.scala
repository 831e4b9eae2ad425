package io.pmeparquet.keys

import java.util.concurrent.ConcurrentLinkedQueue
import java.util.regex.Pattern
import java.util.Queue

/**
 * On whose behalf a KMS is called.
 *
 * @param query the id of the query, as the engine shows it; none outside of queries
 */
final case class KeyCaller(user: String, application: String, query: Option[String])

/** What belongs to the calls that a thread makes of a KMS. Threads that make calls for it have the same. */
final class KmsCalls private (val caller: Option[KeyCaller], private val requests: Queue[String])

object KmsCalls {
  private val none = new KmsCalls(None, null)
  private val ofThread = new ThreadLocal[KmsCalls] { override def initialValue: KmsCalls = none }
  @volatile private var ask: () => KeyCaller =
    () => KeyCaller(System.getProperty("user.name", ""), "", None)

  /** How this process finds out who calls. The engine's layer sets it. */
  def callersFrom(source: () => KeyCaller): Unit = ask = source

  private def current: KmsCalls = ofThread.get

  /** What a thread needs that calls for this one. Itself it may seem to belong to whoever created it. */
  private[pmeparquet] def ofCaller: KmsCalls = new KmsCalls(Some(caller), current.requests)

  private[pmeparquet] def in[A](calls: KmsCalls)(body: => A): A = {
    val before = ofThread.get
    ofThread.set(calls)
    try body
    finally ofThread.set(before)
  }

  def caller: KeyCaller = current.caller.getOrElse(ask())

  /** Calls for somebody who asked from another process. */
  def onBehalfOf[A](caller: KeyCaller)(body: => A): A = in(new KmsCalls(Some(caller), current.requests))(body)

  /** Makes calls, and returns by which ids the KMS's own log knows them. */
  private[pmeparquet] def listening[A](body: => A): (A, Seq[String]) = {
    val heard = new ConcurrentLinkedQueue[String]
    val made = in(new KmsCalls(current.caller, heard))(body)
    made -> heard.toArray(Array.empty[String]).toSeq.distinct
  }

  /** @param id of a request, from the answer of a KMS. It is the server's text, so only a plain one counts. */
  private[pmeparquet] def noteRequest(id: String): Unit = {
    val heard = current.requests
    if (heard != null && id != null && PlainId.matcher(id).matches() && heard.size < MostIds) {
      heard.add(id)
      ()
    }
  }

  private val PlainId = Pattern.compile("[A-Za-z0-9._:/+=-]{1,128}")
  private val MostIds = 100
}
