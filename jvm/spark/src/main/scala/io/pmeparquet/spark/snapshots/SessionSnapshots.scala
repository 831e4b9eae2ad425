package io.pmeparquet.spark.snapshots

import java.util.{Collections, WeakHashMap}

import org.apache.spark.sql.SparkSession

import io.pmeparquet.parquet.scope.ReadScope
import io.pmeparquet.snapshot.{SeenSnapshots, TableSnapshot, Version}
import io.pmeparquet.snapshot.manifest.IndexEntry
import io.pmeparquet.RecentValues

/** What one session remembers of snapshots. ''Driver only.'' */
private[spark] final class SessionSnapshots {
  val seen = new SeenSnapshots

  /** The lists of files that were read last. */
  private val lists =
    new RecentValues[SessionSnapshots.ListKey, TableSnapshot](
      SessionSnapshots.MostLists,
      SessionSnapshots.LifetimeMillis
    )

  /**
   * @param version verified for this read
   * @param scope whose keys open the list
   */
  def files(version: Version, indexes: Seq[IndexEntry], scope: ReadScope)(
      read: => TableSnapshot
  ): TableSnapshot =
    lists.get(SessionSnapshots.ListKey(version.digest, indexes.map(_.field).sorted, scope.id))(read)
}

private[spark] object SessionSnapshots {
  private final case class ListKey(digest: String, indexes: Seq[String], scope: String)

  private val MostLists = 16

  /** As long as keys are used without asking the KMS again, by default. */
  private val LifetimeMillis = 600000L

  private val ofSession =
    Collections.synchronizedMap(new WeakHashMap[SparkSession, SessionSnapshots])

  def of(session: SparkSession): SessionSnapshots =
    ofSession.computeIfAbsent(session, _ => new SessionSnapshots)
}
