package io.pmeparquet.spark.snapshots

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession

import io.pmeparquet.spark.options.ConfResolver
import io.pmeparquet.PmeErrors

/** Whether a write seals the table after its commit. ''Driver only.'' */
private[spark] sealed trait WriteSeal

private[spark] object WriteSeal {

  /** No rule has looked at the write, as for a stream's sink. */
  case object Unjudged extends WriteSeal

  /** The table is not sealed, and the write does not ask for it. */
  case object Unsealed extends WriteSeal

  /** @param files what the write reports of its files */
  final case class AfterCommit(files: WrittenFiles) extends WriteSeal

  /**
   * Whether a write must seal its table: it asks for it, the table is sealed, or what is required of its reads is a
   * snapshot. Readers would refuse a sealed table with further files.
   *
   * @param path where the write puts its files
   * @throws io.pmeparquet.PmeException if the table is sealed, and the write cannot seal it
   */
  def isNeeded(
      session: SparkSession,
      resolver: ConfResolver,
      options: Map[String, String],
      path: Path
  ): Boolean = {
    val snapshots = resolver.snapshots(options)
    val candidates = TableDirectories.of(path, isFile = false)
    val sealedTable =
      (if (snapshots.settings.location.isDefined) candidates.takeRight(1) else candidates)
        .find(snapshots.directory(_).versions.nonEmpty)
    sealedTable.filter(_ != path).foreach { table =>
      throw PmeErrors.sealedTable(
        "a write to the directory of one partition",
        table.toString,
        "Write to the table's directory."
      )
    }
    if (sealedTable.isDefined && snapshots.settings.isOff)
      throw PmeErrors.sealedTable(
        "a write with snapshot=off",
        path.toString,
        "Remove the option: the write then seals the table after its commit."
      )
    sealedTable.isDefined || resolver.sealsAfterWrite(options) || snapshots.settings.requiredBy.isDefined ||
    (!snapshots.settings.isOff && SessionSnapshots.of(session).seen.knows(snapshots.directory(path)))
  }
}
