package io.pmeparquet.kms.audit

import java.io.IOException
import java.nio.file.{FileSystemException, InvalidPathException, Path, Paths}
import java.time.Instant
import java.util.concurrent.{ConcurrentHashMap, ConcurrentLinkedQueue, CopyOnWriteArrayList}
import java.util.concurrent.atomic.LongAdder
import java.util.UUID

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.node.ObjectNode
import org.slf4j.LoggerFactory

import io.pmeparquet.keys.{AuditMode, KeyAudit, KeyCaller, Kms}
import io.pmeparquet.PmeErrors

/** The records of this process: each event goes to the log, to listeners, and to the record's file. */
object KeyRecords {
  private val files = new ConcurrentHashMap[Path, KeyRecord]
  private val listeners = new CopyOnWriteArrayList[KeyEvent => Unit]

  /** Whoever wants the events for themselves has this logger. */
  private val events = LoggerFactory.getLogger("io.pmeparquet.audit")
  private val log = LoggerFactory.getLogger("io.pmeparquet")

  /** A KMS whose decisions are counted, and recorded as `audit` says. */
  def recording(kms: Kms, audit: KeyAudit): Kms = new RecordedKms(kms, audit, take)

  private val made, notGranted = new LongAdder

  /** The decisions of KMSs in this process: each call about keys of one master key, and how it ended. */
  def decisions: Long = made.sum

  /** Those that gave no key. */
  def refusals: Long = notGranted.sum

  private def take(event: KeyEvent): Unit = {
    if (event.result != KeyResult.Asked) {
      made.increment()
      if (!event.result.isGranted) notGranted.increment()
    }
    if (event.audit.mode.isOn) write(event)
  }

  /** Gets each event, whether or not a file has it. A failure of a listener concerns nobody else. */
  def listen(listener: KeyEvent => Unit): Unit = { listeners.add(listener); () }

  /** @throws io.pmeparquet.PmeException `PME_AUDIT_FAILED` if it must be in the file and is not */
  private def write(event: KeyEvent): Unit = {
    val failed = event.audit.file.flatMap(file => ofPath(pathOf(file)).write(event))
    events.info(event.json)
    listeners.asScala.foreach { listener =>
      try listener(event)
      catch { case NonFatal(bad) => log.warn(s"A listener to uses of keys failed (${bad.getClass.getName})") }
    }
    failed.foreach { why =>
      if (event.audit.mode == AuditMode.Require) throw unrecorded(event, why)
      else
        log.warn(
          s"A use of master key '${event.masterKey}' is not in the record ${event.audit.file.get}: $why"
        )
    }
  }

  private def unrecorded(event: KeyEvent, why: String) =
    PmeErrors.auditFailed(event.where, event.masterKey, event.audit.file.get, why)

  /**
   * The path of a record.
   *
   * @throws io.pmeparquet.PmeException if it is not the absolute path of a file
   */
  def pathOf(file: String): Path = {
    val path =
      try Paths.get(file)
      catch { case _: InvalidPathException => null }
    if (path == null || !path.isAbsolute || path.getParent == null)
      throw PmeErrors.badOption(
        "audit.file",
        file,
        "the absolute path of a file on the machine of the driver"
      )
    path.normalize
  }

  private def ofPath(path: Path): KeyRecord = files.computeIfAbsent(
    path,
    of => {
      val made = new KeyRecord(new RecordFile(of, MostBytes, () => Instant.now()))
      try Runtime.getRuntime.addShutdownHook(new Thread(() => made.end(), "pme-parquet-record"))
      // It is ending already.
      catch { case _: IllegalStateException => () }
      made
    }
  )

  private val MostBytes = 64L << 20
}

/**
 * The record of this process in one file. Thread-safe: what threads bring while one of them writes is written together, so
 * that a thousand keys do not wait for a thousand disks.
 */
private[audit] final class KeyRecord(file: RecordFile) {
  import KeyRecord._

  private val waiting = new ConcurrentLinkedQueue[Waiting]
  private val writer = UUID.randomUUID().toString
  private var isBegun = false
  private var uses, missed = 0L

  /** @return why the event is not in the file */
  def write(event: KeyEvent): Option[String] = {
    val own = new Waiting(event)
    waiting.add(own)
    synchronized {
      if (!own.isDone) {
        val some = Iterator.continually(waiting.poll()).takeWhile(_ != null).toVector
        val failed = append(some.map(_.event))
        some.foreach(_.end(failed))
      }
    }
    own.failed
  }

  private def append(events: Seq[KeyEvent]): Option[String] =
    try {
      val begin = if (isBegun) Nil else Seq(line("begin")(beginning(events.head.caller, _)))
      val gap = if (missed == 0) Nil else Seq(line("missed") { node => node.put("uses", missed); () })
      file.append(begin ++ gap ++ events.map(event => line("use") { node => event.into(node); () }))
      isBegun = true
      missed = 0
      uses += events.size
      None
    } catch {
      case failed @ (_: IOException | _: SecurityException) =>
        missed += events.count(_.audit.mode == AuditMode.Try)
        Some(whyOf(failed))
    }

  private def beginning(caller: KeyCaller, node: ObjectNode): Unit = {
    node.put("user", caller.user).put("application", caller.application)
    node.put("process", ProcessHandle.current.pid).put("writer", writer)
    ()
  }

  /** The last line of this process. Without it, a reader cannot distinguish a killed process from lines that were cut off. */
  def end(): Unit = synchronized {
    if (isBegun)
      try {
        file.append(Seq(line("end") { node =>
          node.put("writer", writer).put("uses", uses).put("missed", missed)
          ()
        }))
        isBegun = false
      } catch { case _: IOException => () }
  }
}

private object KeyRecord {

  private final class Waiting(val event: KeyEvent) {
    @volatile private var outcome: Option[Option[String]] = None
    def isDone: Boolean = outcome.isDefined
    def failed: Option[String] = outcome.get
    def end(failed: Option[String]): Unit = outcome = Some(failed)
  }

  private def line(event: String)(fill: ObjectNode => Unit): (String, ObjectNode => Unit) = event -> fill

  /** Messages of file systems begin with the path. */
  private def whyOf(failed: Throwable) = failed match {
    case of: FileSystemException =>
      s"${of.getClass.getSimpleName.stripSuffix("Exception")}${Option(of.getReason).fold("")(": " + _)}"
    case other => String.valueOf(other.getMessage)
  }
}
