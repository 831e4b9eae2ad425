package io.pmeparquet.spark.admin.erase

import scala.collection.mutable

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession

import io.pmeparquet.columns.FilePlace
import io.pmeparquet.keys.{KeyAdministration, KeyState}
import io.pmeparquet.parquet.inspect.{FileUse, KeyUse}
import io.pmeparquet.parquet.rotation.FileRotation
import io.pmeparquet.parquet.storage.ListedFile
import io.pmeparquet.spark.admin.{FooterReading, LiveFiles, TableContents}
import io.pmeparquet.spark.admin.job.{FileFailure, TableFiles}

/**
 * Something that keeps an erasure from being what it is meant to be.
 *
 * @param kind `shared` (rows of others are under the keys), `other table`, `left` (rows to erase are not under the keys),
 *   `unknown` (not looked at), `sealed` (a table, which a real run refuses), or after the destruction `unproven` and `late`
 * @param file its path
 */
private[admin] final case class ErasureFinding(kind: String, file: String, why: String)

/**
 * A file that the keys open, wholly or in part.
 *
 * @param part of a Delta table, as in `pme.key_usage`; empty for files without a log
 * @param keys the keys of the erasure that it has
 * @param columns those that nobody can read without the keys
 * @param left those that stay readable
 * @param rows none if the keys are gone already, and nothing was noted before
 */
private[admin] final case class ErasedFile(
    table: String,
    file: String,
    part: String,
    partition: String,
    keys: Seq[String],
    columns: Seq[String],
    left: Seq[String],
    rows: Option[Long],
    bytes: Long
)

/** A file as it was looked at. */
private[erase] final case class LookedFile(
    table: String,
    part: String,
    file: ListedFile,
    found: Either[FileFailure, FileUse]
) {
  lazy val place: FilePlace = FilePlace.of(new Path(file.path).getParent.toUri.getPath)

  def uses: Seq[KeyUse] = found.fold(_ => Nil, _.uses)
}

/** The keys of an erasure, by whatever id a file names them. ''Driver only.'' */
private[erase] final class AskedKeys(val ids: Seq[String], administration: KeyAdministration, where: String) {
  private val names = mutable.Map.empty[String, String]
  private val states = mutable.Map.empty[String, KeyState]

  meet(ids)
  private val asked = ids.map(id => names(id) -> id).toMap

  /** Asks for the names of keys that were met in files, together. */
  def meet(ids: Seq[String]): Unit = names ++= administration.namesOf(ids.filterNot(names.contains), where)

  /** The id by which the erasure names this key, if it is one of its keys. */
  def asked(id: String): Option[String] = asked.get(names(id))

  /** Asks for the states of keys that did not open files, together. */
  def ask(ids: Seq[String]): Unit = states ++= administration.states(ids.filterNot(states.contains), where)

  /** What the KMS says of a key that was asked for. */
  def state(id: String): KeyState = states(id)
}

/** What the keys of an erasure open. ''Driver only.'' */
private[erase] final class ErasureView(
    request: ErasureRequest,
    keys: AskedKeys,
    closedBefore: Set[String],
    caseSensitive: Boolean
) {
  import ErasureView._

  def erased(looked: Seq[LookedFile]): Seq[ErasedFile] = looked.flatMap { one =>
    val own = ownUses(one)
    if (own.isEmpty) None
    else {
      val columns = own.flatMap(lost).distinct.sorted
      val all = one.found.toOption.flatMap(_.columns).toSeq.flatten.map(_.column).distinct
      Some(
        ErasedFile(
          one.table,
          one.file.path,
          one.part,
          one.place.partition,
          own.flatMap(_.masterKeyId).flatMap(keys.asked(_)).distinct.sorted,
          columns,
          all.filterNot(columns.toSet).sorted,
          own.flatMap(_.rows).reduceOption(_ max _),
          one.file.length
        )
      )
    }
  }

  /** Uses of the keys in a file. */
  def ownUses(one: LookedFile): Seq[KeyUse] = one.uses.filter(_.masterKeyId.exists(keys.asked(_).isDefined))

  /** What speaks against destroying the keys, the worst first. */
  def findings(looked: Seq[LookedFile]): Seq[ErasureFinding] =
    looked.flatMap(findingOf).sortBy(one => (Kinds.indexOf(one.kind), one.file))

  private def findingOf(one: LookedFile): Option[ErasureFinding] = {
    def finding(kind: String, why: String) = Some(ErasureFinding(kind, one.file.path, why))
    val isOwn = ownUses(one).nonEmpty
    unknown(one) match {
      case Some(why) => finding("unknown", why)
      case None if isOwn && !request.tables.contains(one.table) =>
        finding("other table", s"it is of another table, ${one.table}, and under the same key")
      case None if isOwn => outside(one).flatMap(finding("shared", _))
      case None if request.partitions.nonEmpty && isMeant(one) && request.tables.contains(one.table) =>
        finding("left", "it is in the partition, and under none of the keys, so its rows stay readable")
      case _ => None
    }
  }

  private def isMeant(one: LookedFile): Boolean = !isClosed(one) && outside(one).isEmpty

  private def outside(one: LookedFile): Option[String] =
    if (request.partitions.isEmpty)
      if (one.place.partitions.isEmpty) None
      else Some(s"it is in partition ${one.place.partition}, and the erasure names no partition")
    else
      request.partitions
        .find { case (column, value) =>
          !one.place.value(column, caseSensitive).contains(Some(value))
        }
        .map { case (column, value) =>
          val place = if (one.place.partitions.isEmpty) "no partition" else one.place.partition
          s"it is under the key, and in $place, outside of $column=$value"
        }

  /** Why it is not known which keys a file has; none if it is known, or if nobody can open the file any more. */
  private def unknown(one: LookedFile): Option[String] = one.found match {
    case Left(failed) => Some(s"it could not be looked at: ${failed.message}")
    case Right(use) =>
      use.uses
        .find(isUnknown)
        .filterNot(_ => isClosed(one))
        .map(of => s"it could not be looked at (${of.problem.getOrElse("it names no key")})")
  }

  /** Whether the file does not open without keys that are gone. */
  private def isClosed(one: LookedFile): Boolean = {
    val unknowns = one.uses.filter(isUnknown)
    unknowns.nonEmpty && unknowns.forall(_.masterKeyId.exists(isGone))
  }

  /** A record alone does not say so: whoever writes to the storage could hide a file that this user may not open. */
  private def isGone(id: String) = keys.state(id) match {
    case KeyState.Missing => closedBefore(id) || keys.asked(id).exists(closedBefore)
    case state => state.isGone
  }
}

private[erase] object ErasureView {
  private val Kinds = Seq("shared", "other table", "left", "unknown")

  /** Whether it is not known which keys the file has: a footer names those of columns, also of columns that do not open. */
  def isUnknown(use: KeyUse): Boolean =
    if (use.kind == KeyUse.Footer) use.problem.isDefined || use.masterKeyId.isEmpty
    else use.problem.isDefined && use.masterKeyId.isEmpty

  /**
   * The columns that nobody can read without the key. Material beside a file keeps the wrapped keys of columns, which are
   * then lost only with their own master keys.
   */
  private def lost(use: KeyUse): Seq[String] =
    if (use.kind == KeyUse.Footer && use.material.contains(FileRotation.External)) use.columns
    else (use.columns ++ use.unreadable).distinct

  /** The files at and below a table, by what they are to it. */
  def listed(
      session: SparkSession,
      table: Path,
      conf: Configuration,
      options: Map[String, String],
      live: Option[LiveFiles]
  ): Seq[(String, Seq[ListedFile])] = {
    val contents = TableContents.of(session, table, conf, options, live)
    contents.tables.find(_.missing.nonEmpty).foreach { delta =>
      throw io.pmeparquet.PmeErrors.liveFileMissing(delta.missing.head.toString, delta.log.version)
    }
    TableFiles.list(table, conf).marks.headOption.foreach { mark =>
      throw TableFiles.underWay(table.toString, mark)
    }
    Seq(
      "" -> contents.bare,
      "live" -> contents.tables.flatMap(_.live),
      "not live" -> contents.tables.flatMap(_.notLive),
      "change data" -> contents.tables.flatMap(_.changes),
      "checkpoint" -> contents.tables.flatMap(_.checkpoints)
    )
  }

  def look(reading: FooterReading, table: String, parts: Seq[(String, Seq[ListedFile])]): Seq[LookedFile] =
    parts.map(_._1).zip(reading.look(parts.map(_._2))).flatMap { case (part, found) =>
      found.map { case (file, use) => LookedFile(table, part, file, use) }
    }
}
