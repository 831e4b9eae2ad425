package io.pmeparquet.spark.admin.erase

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession

import io.pmeparquet.keys.KeyPurpose
import io.pmeparquet.parquet.rotation.RotationMark
import io.pmeparquet.parquet.storage.ListedFile
import io.pmeparquet.spark.admin.{FooterReading, TableContents}
import io.pmeparquet.spark.admin.job.TableFiles
import io.pmeparquet.PmeErrors

/**
 * The tables of an erasure. ''Driver only.''
 *
 * @param aim the same for the same erasure, so that it goes on where a killed run left marks
 */
private[erase] final class ErasureTables(
    session: SparkSession,
    options: Map[String, String],
    request: ErasureRequest,
    aim: String,
    conf: Configuration
) {

  /** Keeps rotations and other operations of ours from the tables meanwhile. */
  def marked[A](run: => A): A = {
    var placed = List.empty[RotationMark]
    try {
      request.looked.map(TableFiles.tableOf(_, conf)).distinct.foreach { table =>
        placed = RotationMark.place(table, aim, conf) :: placed
      }
      run
    } finally placed.foreach(_.remove())
  }

  /** The mark that keeps others from a table. */
  def markOf(table: Path): Path = RotationMark.pathOf(TableFiles.tableOf(table, conf), aim)

  def list(): Seq[ListedTable] = request.looked.map(listed)

  private def listed(table: Path): ListedTable = {
    val contents = TableContents.of(session, table, conf, options, request.live.find(_.table == table))
    contents.tables.find(_.missing.nonEmpty).foreach { delta =>
      throw PmeErrors.liveFileMissing(delta.missing.head.toString, delta.log.version)
    }
    val found = TableFiles.list(table, conf)
    TableFiles.requireNoLinks(table, found, conf)
    TableFiles.requireNoOtherMark(table, found.marks, markOf(table), conf)
    val parts = Seq(
      "" -> contents.bare,
      "live" -> contents.tables.flatMap(_.live),
      "not live" -> contents.tables.flatMap(_.notLive),
      "change data" -> contents.tables.flatMap(_.changes),
      LookedFile.Checkpoint -> contents.tables.flatMap(_.checkpoints)
    )
    val ofLogs = found.logs.map(_.path) ++ contents.tables.map(one => new Path(one.log.table, "_change_data"))
    val hidden = (found.passedOver.map(_.getPath) ++ found.leftovers)
      .filterNot(ofLogs.toSet)
      .flatMap(TableFiles.anyFileOf(_, conf))
      .distinct
    ListedTable(
      table,
      parts,
      hidden,
      stampsOf(parts) ++ hidden.map(file => ("hidden", file.toString, 0L, 0L))
    )
  }

  private def stampsOf(parts: Seq[(String, Seq[ListedFile])]) = {
    val files = parts.flatMap { case (part, files) =>
      files.map(file => (part, file.path, file.length, file.modified))
    }
    val material = TableFiles
      .at(parts.flatMap(_._2).filter(_.hasExternalMaterial).flatMap(TableFiles.withMaterial(_).drop(1)), conf)
      .map(file => ("key material", file.path, file.length, file.modified))
    (files ++ material).toSet
  }

  /** Opens all files, and columns under keys of their own. */
  def look(listed: Seq[ListedTable], keys: AskedKeys): Seq[LookedFile] = {
    val reading = new FooterReading(session, options, KeyPurpose.Erase)
    val looked = listed.flatMap { one =>
      val found = reading.look(one.parts.map(_._2), opensColumns = true)
      one.parts.map(_._1).zip(found).flatMap { case (part, files) =>
        files.map { case (file, use) => LookedFile(one.table.toString, part, file, use) }
      }
    }
    val uses = looked.flatMap(_.uses)
    keys.meet(uses.flatMap(_.masterKeyId).distinct)
    keys.ask(uses.filter(ErasureView.isUnknown).flatMap(_.masterKeyId).distinct)
    looked
  }
}
