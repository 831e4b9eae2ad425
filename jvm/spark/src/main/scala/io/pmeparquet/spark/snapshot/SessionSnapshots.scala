package io.pmeparquet.spark.snapshot

import java.lang.ref.WeakReference
import java.util.{Collections, UUID, WeakHashMap}
import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.SparkSession

import io.pmeparquet.{PmeException, RecentValues}
import io.pmeparquet.parquet.scope.ReadScope
import io.pmeparquet.snapshot.{IndexContent, SeenSnapshots, TableSnapshot, Version}
import io.pmeparquet.snapshot.manifest.IndexEntry
import io.pmeparquet.spark.session.SparkAccess

/** What one session remembers of snapshots. ''Driver only.'' */
private[spark] final class SessionSnapshots {
  val seen = new SeenSnapshots

  private def recent[A](most: Int = SessionSnapshots.MostLists) =
    new RecentValues[SessionSnapshots.ListKey, A](most, SessionSnapshots.LifetimeMillis)

  /** The lists of files that were read last. */
  private val lists = recent[TableSnapshot]()
  private val contents = recent[IndexContent]()

  /** Indexes that could not be read, so that not every query asks the KMS and logs the same. */
  private val failures = recent[PmeException](SessionSnapshots.MostFailures)

  /**
   * @param version verified for this read
   * @param scope whose keys open the list
   */
  def files(version: Version, scope: ReadScope)(read: => TableSnapshot): TableSnapshot =
    lists.get(SessionSnapshots.ListKey(version.digest, None, scope.id))(read)

  /**
   * @param scope whose keys open the index
   * @param warn called for the first failure within the lifetime of what is remembered
   * @return none if the index could not be read within this lifetime
   */
  def content(version: Version, index: IndexEntry, scope: ReadScope)(
      read: => IndexContent
  )(warn: PmeException => Unit): Option[IndexContent] = {
    val key = SessionSnapshots.ListKey(version.digest, Some(index.field), scope.id)
    if (failures.find(key).isDefined) None
    else
      try Some(contents.get(key)(read))
      catch {
        case failed: PmeException =>
          failures.get(key) {
            warn(failed)
            failed
          }
          None
      }
  }
}

private[spark] object SessionSnapshots {
  private final case class ListKey(digest: String, index: Option[String], scope: String)

  private val MostLists = 16

  /** These are small. */
  private val MostFailures = 1000

  /** As long as keys are used without asking the KMS again, by default. */
  private val LifetimeMillis = 600000L

  private val ofSession =
    Collections.synchronizedMap(new WeakHashMap[SparkSession, SessionSnapshots])

  /**
   * A stream runs in a clone of its session, and must know what the session knows. A clone has the settings of its session,
   * so one of them names this object.
   */
  def of(session: SparkSession): SessionSnapshots = ofSession.computeIfAbsent(
    session,
    _ => {
      val conf = SparkAccess.sqlConf(session)
      val known = Option(conf.getConfString(Id, null))
        .flatMap(id => Option(byId.get(id)))
        .flatMap(one => Option(one.get))
      known.getOrElse {
        val made = new SessionSnapshots
        val id = UUID.randomUUID.toString
        byId.values.removeIf(_.get == null)
        byId.put(id, new WeakReference(made))
        conf.setConfString(Id, id)
        made
      }
    }
  )

  // It does not tell readers apart (ReaderIdentity).
  private[spark] val Id = "spark.sql.pmeparquet.session"
  private val byId = new ConcurrentHashMap[String, WeakReference[SessionSnapshots]]
}
