package io.pmeparquet.spark.snapshots

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.util.SerializableConfiguration

import io.pmeparquet.parquet.file.FileSeal
import io.pmeparquet.snapshot.SealedFiles
import io.pmeparquet.PmeErrors

/** Whether a relation is read by snapshots. ''Driver only.'' */
private[spark] sealed trait SealState {

  /** What tells states apart; none if nobody has looked. */
  def digests: Option[Seq[String]]

  def isSealed: Boolean = digests.exists(_.nonEmpty)
}

private[spark] object SealState {

  /** No rule has looked for snapshots. */
  case object Unjudged extends SealState {
    override def digests: Option[Seq[String]] = None
  }

  /** None of its tables has a snapshot, or the options ignore snapshots. */
  case object Unsealed extends SealState {
    override def digests: Option[Seq[String]] = Some(Nil)
  }

  /** @param isWhole whether all files must be of these tables */
  final case class Sealed(tables: Seq[SealedTable], isWhole: Boolean) extends SealState {
    override def digests: Option[Seq[String]] = Some(tables.map(_.digest))
  }

  def of(tables: Seq[SealedTable]): SealState =
    if (tables.isEmpty) Unsealed else Sealed(tables, isWhole = false)
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
}

/**
 * For a read that no rule has looked at, as the first query of a session over another session's view: it accepts files
 * of tables without snapshots. ''Crosses the wire.''
 */
private[spark] final class UnsealedOnly(conf: Broadcast[SerializableConfiguration]) extends FileSeal {
  @transient private lazy val checked = java.util.concurrent.ConcurrentHashMap.newKeySet[Path]()

  override def requireFooter(path: Path, sha256: Array[Byte]): Unit = ()
  override def requireKey(path: Path, footerKey: Option[String]): Unit = ()

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
