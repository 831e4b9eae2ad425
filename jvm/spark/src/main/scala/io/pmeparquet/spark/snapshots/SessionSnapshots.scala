package io.pmeparquet.spark.snapshots

import java.util.{Collections, WeakHashMap}

import org.apache.spark.sql.SparkSession

import io.pmeparquet.parquet.scope.ReadScope
import io.pmeparquet.snapshot.{IndexContent, SeenSnapshots, TableSnapshot, Version}
import io.pmeparquet.snapshot.manifest.IndexEntry
import io.pmeparquet.RecentValues

/** What one session remembers of snapshots. ''Driver only.'' */
private[spark] final class SessionSnapshots {
  val seen = new SeenSnapshots

  private def recent[A] = new RecentValues[SessionSnapshots.ListKey, A](
    SessionSnapshots.MostLists,
    SessionSnapshots.LifetimeMillis
  )

  /** The lists of files that were read last. */
  private val lists = recent[TableSnapshot]
  private val contents = recent[IndexContent]

  /**
   * @param version verified for this read
   * @param scope whose keys open the list
   */
  def files(version: Version, scope: ReadScope)(read: => TableSnapshot): TableSnapshot =
    lists.get(SessionSnapshots.ListKey(version.digest, None, scope.id))(read)

  /** @param scope whose keys open the index */
  def content(version: Version, index: IndexEntry, scope: ReadScope)(read: => IndexContent): IndexContent =
    contents.get(SessionSnapshots.ListKey(version.digest, Some(index.field), scope.id))(read)
}

private[spark] object SessionSnapshots {
  private final case class ListKey(digest: String, index: Option[String], scope: String)

  private val MostLists = 16

  /** As long as keys are used without asking the KMS again, by default. */
  private val LifetimeMillis = 600000L

  private val ofSession =
    Collections.synchronizedMap(new WeakHashMap[SparkSession, SessionSnapshots])

  def of(session: SparkSession): SessionSnapshots =
    ofSession.computeIfAbsent(session, _ => new SessionSnapshots)
}
