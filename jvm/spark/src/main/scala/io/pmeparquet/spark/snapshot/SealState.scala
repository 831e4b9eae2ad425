package io.pmeparquet.spark.snapshot

import java.util.Arrays

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.SparkSession
import org.apache.spark.util.SerializableConfiguration

import io.pmeparquet.{BlockDigests, PmeErrors}
import io.pmeparquet.options.SnapshotSettings
import io.pmeparquet.parquet.file.FileSeal
import io.pmeparquet.snapshot.SealedFiles
import io.pmeparquet.spark.decode.VectorizedLink
import io.pmeparquet.spark.options.ResolvedOptions

/** Whether a relation is read by snapshots. ''Driver only.'' */
private[spark] sealed trait SealState {

  /** What distinguishes states; none if nobody has looked. */
  def digests: Option[Seq[String]]

  /** What snapshots state of the files; none without snapshots. */
  def seal: Option[FileSeal] = None

  final def isSealed: Boolean = digests.exists(_.nonEmpty)

  /** The seal, for the tasks of a read. */
  final def broadcast(session: SparkSession): Option[Broadcast[FileSeal]] =
    seal.map(session.sparkContext.broadcast(_))
}

private[spark] object SealState {

  /** No rule has looked for snapshots. */
  case object NotEvaluated extends SealState {
    override def digests: Option[Seq[String]] = None
  }

  /** None of its tables has a snapshot, or the options ignore snapshots. */
  case object Unsealed extends SealState {
    override def digests: Option[Seq[String]] = Some(Nil)
  }

  /** @param isWhole whether all files must be of these tables */
  final case class Sealed(tables: Seq[SealedTable], isWhole: Boolean) extends SealState {
    override def digests: Option[Seq[String]] = Some(tables.map(_.digest))

    // A list, because this crosses the wire: Scala 2.12 makes a lazy stream for a sequence.
    override def seal: Option[FileSeal] =
      Some(new TablesSeal(tables.toList.map(table => table.directory.toUri.getPath -> table.seal), isWhole))
  }

  def of(tables: Seq[SealedTable]): SealState =
    if (tables.isEmpty) Unsealed else Sealed(tables, isWhole = false)

  /** What the snapshots of some files' tables state of them; none if none of them has a snapshot. */
  def ofFiles(options: ResolvedOptions, files: Seq[Path]): Option[FileSeal] =
    files.headOption.flatMap(first =>
      of(new SnapshotReads(options).tables(Seq(first), _ => true, files)).seal
    )

  /** What the snapshot of a table states of its files, for a file or a directory; none if it has no snapshot. */
  def ofPath(options: ResolvedOptions, path: Path, isFile: Boolean): Option[FileSeal] =
    of(new SnapshotReads(options).tables(Seq(path), _ => isFile)).seal

  /**
   * For the tasks of a read by Spark's V1 path.
   *
   * @param state what `UseSnapshots` found
   * @param settings of a read for which that rule has not run
   * @param installRules adds that rule to a session without it, for the session's next query
   * @throws io.pmeparquet.PmeException if that rule has not run, and the options require a snapshot
   */
  def broadcast(session: SparkSession, state: SealState, conf: Configuration)(
      settings: => SnapshotSettings,
      installRules: => Unit
  ): Option[Broadcast[FileSeal]] = state match {
    case NotEvaluated if settings.isOff => None
    case NotEvaluated =>
      installRules
      if (settings.requiredBy.isDefined || settings.location.isDefined) throw unprepared
      val shared = session.sparkContext.broadcast(new SerializableConfiguration(conf))
      Some(session.sparkContext.broadcast[FileSeal](new UnsealedOnly(shared)))
    case found => found.broadcast(session)
  }

  /**
   * Whether a read must go through our pages whatever `reader` says: Spark's own reader opens a file again after it was
   * compared with the snapshot, and by then it may be another one. Pages are bound to the footer that was compared.
   *
   * @throws io.pmeparquet.PmeException if our pages do not work with this Spark
   */
  def needsPages(isSealed: Boolean): Boolean = {
    if (isSealed && !VectorizedLink.fits())
      throw PmeErrors.unsupported(
        "snapshot",
        "reading a sealed table",
        "the page pipeline does not work with this Spark, and Spark's own reader opens files again after the comparison",
        "To read the table without its snapshot, set snapshot=off."
      )
    isSealed
  }

  private def unprepared = PmeErrors.unsupported(
    "snapshot",
    "the first query of a session over another session's view",
    "its files were not compared with a snapshot",
    "Run the query again."
  )
}

/** Spark's options for reads that skip no file, whatever its session says. ''Driver only.'' */
private[spark] object NothingSkipped {
  private val Names = Seq("ignoreMissingFiles", "ignoreCorruptFiles")

  def in(options: Map[String, String]): Map[String, String] =
    options.filterNot { case (name, _) => Names.exists(_.equalsIgnoreCase(name)) } ++ Names.map(_ -> "false")
}

/**
 * The seals of several tables. ''Crosses the wire.''
 *
 * @param isWhole whether a file of no such table is refused
 */
private[spark] final class TablesSeal(seals: Seq[(String, FileSeal)], isWhole: Boolean) extends FileSeal {
  private def own(path: Path) = {
    val found = seals.collect { case (table, seal) if SealedFiles.relative(table, path).isDefined => seal }
    if (isWhole && found.isEmpty) throw PmeErrors.outsideSealedTable(path.toString)
    found
  }

  override def requireLength(path: Path, length: Long): Unit =
    own(path).foreach(_.requireLength(path, length))

  override def requireFooter(path: Path, sha256: Array[Byte]): Unit =
    own(path).foreach(_.requireFooter(path, sha256))

  override def requireKey(path: Path, footerKey: Option[String]): Unit =
    own(path).foreach(_.requireKey(path, footerKey))

  override def erased(path: Path): Option[(String, String)] = own(path).flatMap(_.erased(path)).headOption

  override def blocks(path: Path): Option[BlockDigests] = {
    val found = own(path).flatMap(_.blocks(path))
    // A file can be below two tables.
    if (found.exists(one => !Arrays.equals(one.digests, found.head.digests)))
      throw PmeErrors.snapshotMismatch(path.toString, "the snapshots of two tables have other digests of it")
    found.headOption
  }
}

/**
 * For a read that no rule has looked at, as the first query of a session over another session's view: it accepts files
 * of tables without snapshots. ''Crosses the wire.''
 */
private[spark] final class UnsealedOnly(conf: Broadcast[SerializableConfiguration]) extends FileSeal {
  @transient private lazy val checked = java.util.concurrent.ConcurrentHashMap.newKeySet[Path]()

  override def requireFooter(path: Path, sha256: Array[Byte]): Unit = ()
  override def requireKey(path: Path, footerKey: Option[String]): Unit = ()
  override def blocks(path: Path): Option[BlockDigests] = None

  override def requireLength(path: Path, length: Long): Unit =
    if (!checked.contains(path.getParent)) {
      requireNone(path, conf.value.value)
      checked.add(path.getParent)
      ()
    }

  private def requireNone(path: Path, conf: Configuration): Unit =
    TableDirectories.withSnapshots(TableDirectories.of(path, isFile = true), conf).headOption.foreach { table =>
      throw PmeErrors.unsupported(
        table.toString,
        "the first query of a session over another session's view",
        "the table has snapshots, and this query was not compared with them",
        "Run the query again."
      )
    }
}
