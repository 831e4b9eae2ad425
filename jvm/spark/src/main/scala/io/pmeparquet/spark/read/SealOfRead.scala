package io.pmeparquet.spark.read

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.SparkSession
import org.apache.spark.util.SerializableConfiguration

import io.pmeparquet.options.SnapshotSettings
import io.pmeparquet.parquet.file.FileSeal
import io.pmeparquet.spark.options.{ConfResolver, PipelineCheck}
import io.pmeparquet.spark.snapshots.{SealState, SnapshotReads, TablesSeal, UnsealedOnly}
import io.pmeparquet.PmeErrors

/** Gives the tasks of a read what snapshots say of its files. ''Driver only.'' */
private[read] object SealOfRead {

  /**
   * @param settings looked at only if no rule has judged the read
   * @param state what `UseSnapshots` found
   * @param rules adds that rule to a session without it, for the session's next query
   * @throws io.pmeparquet.PmeException if that rule has not run, and the options require a snapshot
   */
  def of(
      session: SparkSession,
      settings: => SnapshotSettings,
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

  /**
   * Whether a read must go through our pages whatever `reader` says: Spark's own reader opens a file again after it was
   * compared with the snapshot, and by then it may be another one. Pages are bound to the footer that was compared.
   *
   * @throws io.pmeparquet.PmeException if our pages do not work with this Spark
   */
  def needsPages(isSealed: Boolean): Boolean = {
    if (isSealed && !PipelineCheck.fits())
      throw PmeErrors.unsupported(
        "snapshot",
        "reading a sealed table",
        "the page pipeline does not work with this Spark, and Spark's own reader opens files again after the comparison",
        "To read the table without its snapshot, set snapshot=off."
      )
    isSealed
  }

  /** What the snapshot of a file's table says of its files; none if it has no snapshot. */
  def ofFile(session: SparkSession, resolver: ConfResolver, options: Map[String, String])(
      file: Path
  ): Option[FileSeal] =
    sealOf(SealState.of(new SnapshotReads(session, resolver, options).tables(Seq(file), _ => true)))

  def broadcast(session: SparkSession, state: SealState): Option[Broadcast[FileSeal]] =
    sealOf(state).map(session.sparkContext.broadcast(_))

  private def sealOf(state: SealState): Option[FileSeal] = state match {
    case SealState.Sealed(tables, isWhole) =>
      // A list, because this crosses the wire: Scala 2.12 makes a lazy stream for a sequence.
      Some(new TablesSeal(tables.toList.map(table => table.directory.toUri.getPath -> table.seal), isWhole))
    case _ => None
  }

  private def unprepared = PmeErrors.unsupported(
    "snapshot",
    "the first query of a session over another session's view",
    "its files were not compared with a snapshot",
    "Run the query again."
  )
}
