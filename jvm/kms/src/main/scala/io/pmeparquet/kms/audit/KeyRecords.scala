package io.pmeparquet.kms.audit

import java.io.IOException
import java.nio.file.{InvalidPathException, Path, Paths}
import java.time.Instant
import java.util.concurrent.{ConcurrentHashMap, CopyOnWriteArrayList}
import java.util.concurrent.atomic.LongAdder

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

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
    made.increment()
    if (!event.result.isGranted) notGranted.increment()
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
      Runtime.getRuntime.addShutdownHook(new Thread(() => made.end(), "pme-parquet-record"))
      made
    }
  )

  private val MostBytes = 64L << 20
}

/** The record of this process in one file. Thread-safe. */
private[audit] final class KeyRecord(file: RecordFile) {
  private var isBegun = false
  private var uses = 0L
  private var missed = 0L

  /** @return why the event is not in the file */
  def write(event: KeyEvent): Option[String] = synchronized {
    try {
      begin(event.caller)
      if (missed > 0) {
        file.append("missed")(_.put("uses", missed))
        missed = 0
      }
      file.append("use")(event.into(_))
      uses += 1
      None
    } catch {
      case failed @ (_: IOException | _: SecurityException) =>
        if (event.audit.mode == AuditMode.Try) missed += 1
        Some(whyOf(failed))
    }
  }

  private def begin(caller: KeyCaller): Unit = if (!isBegun) {
    file.append("begin") { node =>
      node.put("user", caller.user).put("application", caller.application)
      node.put("process", ProcessHandle.current.pid)
      ()
    }
    isBegun = true
  }

  /** The last line of this process. Without it, a reader cannot tell a killed process from lines that were cut off. */
  def end(): Unit = synchronized {
    if (isBegun)
      try {
        file.append("end") { node =>
          node.put("process", ProcessHandle.current.pid).put("uses", uses).put("missed", missed)
          ()
        }
        isBegun = false
      } catch { case _: IOException => () }
  }

  /** Messages of file systems begin with the path. */
  private def whyOf(failed: Throwable) = failed match {
    case of: java.nio.file.FileSystemException =>
      s"${of.getClass.getSimpleName.stripSuffix("Exception")}${Option(of.getReason).fold("")(": " + _)}"
    case other => String.valueOf(other.getMessage)
  }
}
