package io.pmeparquet.spark.read

import org.apache.hadoop.conf.Configuration
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.SparkSession
import org.apache.spark.util.SerializableConfiguration

import io.pmeparquet.options.SnapshotSettings
import io.pmeparquet.parquet.file.FileSeal
import io.pmeparquet.spark.snapshots.{SealState, TablesSeal, UnsealedOnly}
import io.pmeparquet.PmeErrors

/** Gives the tasks of a read what snapshots say of its files. ''Driver only.'' */
private[read] object SealOfRead {

  /**
   * @param state what `UseSnapshots` found
   * @param rules adds that rule to a session without it, for the session's next query
   * @throws io.pmeparquet.PmeException if that rule has not run, and the options require a snapshot
   */
  def of(
      session: SparkSession,
      settings: SnapshotSettings,
      state: SealState,
      conf: Configuration,
      rules: SessionRules
  ): Option[Broadcast[FileSeal]] = state match {
    case SealState.Unjudged if settings.isOff => None
    case SealState.Unjudged =>
      rules.install()
      if (settings.requiredBy.isDefined || settings.location.isDefined) throw unprepared
      val shared = session.sparkContext.broadcast(new SerializableConfiguration(conf))
      Some(session.sparkContext.broadcast[FileSeal](new UnsealedOnly(shared)))
    case other => broadcast(session, other)
  }

  def broadcast(session: SparkSession, state: SealState): Option[Broadcast[FileSeal]] = state match {
    case SealState.Sealed(tables) =>
      val seals = tables.map(table => table.directory.toUri.getPath -> table.seal)
      Some(session.sparkContext.broadcast[FileSeal](new TablesSeal(seals)))
    case _ => None
  }

  private def unprepared = PmeErrors.unsupported(
    "snapshot",
    "the first query of a session over another session's view",
    "its files were not compared with a snapshot",
    "Run the query again."
  )
}
