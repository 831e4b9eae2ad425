package io.pmeparquet.spark.admin.erase

import io.pmeparquet.keys.KeyState
import io.pmeparquet.parquet.inspect.KeyUse
import io.pmeparquet.parquet.rotation.FileRotation
import io.pmeparquet.Condition

/**
 * Something that keeps an erasure from being what it is meant to be.
 *
 * @param kind `no file` (nothing is under a key), `shared` (rows of others are under the keys), `other table`, `left` (rows
 *   to erase are not under the keys), `unknown` (not looked at, or nothing would prove it), `sealed` (a table, whose snapshots a real run would refuse), or after the destruction `unproven` and `late`
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
 * @param there whether it still is where an earlier run noted it
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
    bytes: Long,
    there: Boolean = true
)

/**
 * What the keys of an erasure open. ''Driver only.''
 *
 * @param closed by path and size, the names of keys that verified records say a file was lost with
 */
private[erase] final class ErasureView(
    request: ErasureRequest,
    keys: AskedKeys,
    closed: Map[(String, Long), Set[String]],
    caseSensitive: Boolean
) {
  import ErasureView._

  /** @param noted by an earlier run of the same erasure, which may have seen more */
  def erased(looked: Seq[LookedFile], noted: Seq[ErasedFile]): Seq[ErasedFile] = {
    val before = noted.map(file => file.file -> file).toMap
    val now = looked.filter(ownUses(_).nonEmpty).map { one =>
      val file = erased(one)
      before.get(file.file).filter(old => file.rows.isEmpty && old.bytes == file.bytes).getOrElse(file)
    }
    val paths = now.map(_.file).toSet
    now.map(_.copy(there = true)) ++ noted.filterNot(file => paths(file.file)).map(_.copy(there = false))
  }

  private def erased(one: LookedFile): ErasedFile = {
    val own = ownUses(one)
    val columns = own.flatMap(lost).distinct.sorted
    val all = (one.found.toOption.flatMap(_.columns).toSeq.flatten.map(_.column) ++ one.uses.flatMap(
      _.columns
    )).distinct
    ErasedFile(
      one.table,
      one.file.path,
      one.part,
      one.place.display,
      own.flatMap(_.masterKeyId).flatMap(keys.asked(_)).distinct.sorted,
      columns,
      all.filterNot(columns.toSet).sorted,
      own.flatMap(_.rows).reduceOption(_ max _),
      one.file.length
    )
  }

  /** Uses of the keys in a file. */
  def ownUses(one: LookedFile): Seq[KeyUse] = one.uses.filter(_.masterKeyId.exists(keys.asked(_).isDefined))

  /** Files that do not open any more with keys of other erasures, and what they name. */
  def closedBefore(looked: Seq[LookedFile]): Seq[(String, Seq[String])] =
    looked.filter(one => ownUses(one).isEmpty && isClosed(one)).map { one =>
      one.file.path -> one.uses.flatMap(_.masterKeyId).distinct.sorted
    }

  /** What speaks against destroying the keys, the worst first. */
  def findings(
      states: Seq[(String, KeyState)],
      listed: Seq[ListedTable],
      looked: Seq[LookedFile],
      erased: Seq[ErasedFile]
  ): Seq[ErasureFinding] = {
    val hidden = listed.flatMap(_.hidden).map { file =>
      ErasureFinding(
        "unknown",
        file.toString,
        "readers pass it over because of its name, and nobody looked at it"
      )
    }
    // Where files state a column, one that does not may have rows of any value.
    val stated = request.partitions.keySet.filter(column =>
      looked.exists(one =>
        request.tables.contains(one.table) && one.place.stated.mentions(column, caseSensitive)
      )
    )
    (withoutFile(states, erased) ++ looked.flatMap(findingOf(_, stated)) ++ hidden).sortBy { one =>
      (Kinds.indexOf(one.kind), one.file)
    }
  }

  /** A key whose files are elsewhere protects what nobody looked at. A record is enough only for a key that is gone. */
  private def withoutFile(states: Seq[(String, KeyState)], erased: Seq[ErasedFile]): Seq[ErasureFinding] = {
    keys.meet(erased.flatMap(_.keys).distinct)
    states.flatMap { case (id, state) =>
      val some = erased.filter(file => file.there || state != KeyState.Usable)
      if (some.exists(_.keys.exists(keys.nameOf(_) == keys.nameOf(id)))) None
      else Some(ErasureFinding("no file", request.table.toString, s"none of its files is under key '$id'"))
    }
  }

  private def findingOf(one: LookedFile, stated: Set[String]): Option[ErasureFinding] = {
    def finding(kind: String, why: String) = Some(ErasureFinding(kind, one.file.path, why))
    val isOwn = ownUses(one).nonEmpty
    unknown(one) match {
      case Some(why) => finding("unknown", why)
      case None if isOwn && !request.tables.contains(one.table) =>
        finding("other table", s"it is of another table, ${one.table}, and under the same key")
      case None if isOwn => outside(one).flatMap(finding("shared", _))
      case None if isSilent(one, stated) =>
        finding(
          "left",
          s"it does not state its value of ${stated.mkString(", ")}, so it may have rows to erase"
        )
      case None if isMeant(one) =>
        finding("left", "it is to be erased, and under none of the keys, so its rows stay readable")
      case _ => None
    }
  }

  /** Without partitions, all files of the tables are. Checkpoints have no rows, and closed footers leave none. */
  private def isMeant(one: LookedFile): Boolean =
    request.tables.contains(one.table) && one.part != LookedFile.Checkpoint && outside(one).isEmpty &&
      !isLost(one)

  private def isSilent(one: LookedFile, stated: Set[String]): Boolean =
    request.tables.contains(one.table) && one.part != LookedFile.Checkpoint && !isLost(one) &&
      stated.exists(one.place.value(_, caseSensitive).isEmpty) && !request.partitions.exists {
        case (column, value) => one.place.value(column, caseSensitive).exists(_ != Some(value))
      }

  /** A file whose footer does not open any more states nothing, and nobody reads its rows. */
  private def isLost(one: LookedFile): Boolean = isClosed(one) && one.found.exists(_.columns.isEmpty)

  private def outside(one: LookedFile): Option[String] =
    if (request.partitions.isEmpty)
      if (one.place.display.isEmpty) None
      else Some(s"it is in partition ${one.place.display}, and the erasure names no partition")
    else
      request.partitions
        .find { case (column, value) =>
          !one.place.value(column, caseSensitive).contains(Some(value)) &&
          (one.place.isPartitionedBy(column, caseSensitive) || !isLost(one))
        }
        .map { case (column, value) =>
          val place = if (one.place.display.isEmpty) "no partition" else one.place.display
          s"it is under the key, and in $place, outside of $column=$value"
        }

  /** Why it is not known which keys a file has, or whether it needs them; none if it is known, or nobody can open it. */
  private def unknown(one: LookedFile): Option[String] = one.found match {
    case Left(failed) => Some(s"it could not be looked at: ${failed.message}")
    case Right(_) => unnamed(one).orElse(unopened(one)).orElse(unshown(one))
  }

  private def unnamed(one: LookedFile): Option[String] =
    one.uses
      .flatMap(_.masterKeyId)
      .find(keys.nameOf(_).isEmpty)
      .map(id => s"it names '$id', which is no key of this KMS")

  /** A use of the keys themselves must open, or be gone: otherwise no proof follows. */
  private def unopened(one: LookedFile): Option[String] = one.uses
    .find(isUnknown)
    .filterNot(_ => isClosed(one))
    .orElse(ownUses(one).find(_.problem.exists(!Gone(_))))
    .map(of => s"it could not be looked at (${of.problem.getOrElse("it names no key")})")

  /** What opens without the key now does so afterwards, too, and then there is no proof. */
  private def unshown(one: LookedFile): Option[String] = {
    val ids = one.uses.flatMap(_.masterKeyId).toSet
    if (ownUses(one).exists(_.problem.isEmpty) && one.found.exists(_.columns.isEmpty))
      Some("nothing shows that it needs the key: proofs for ORC files are not made yet")
    else
      one.keyedColumns.collectFirst {
        case (column, id) if !id.exists(ids) =>
          s"its column '$column' has a key that is not wrapped, or that nothing names"
      }
  }

  /** Whether the file does not open without keys that are gone. */
  private def isClosed(one: LookedFile): Boolean = {
    val unknowns = one.uses.filter(isUnknown)
    unknowns.nonEmpty && unknowns.forall(isOfGone(one, _))
  }

  /**
   * What the KMS answers must say so, and either the key's state as well or a verified record of this file: otherwise
   * whoever writes to the storage could hide a file that this user may not open.
   */
  private def isOfGone(one: LookedFile, use: KeyUse): Boolean =
    use.problem.exists(Gone) && use.masterKeyId.exists { id =>
      val state = keys.state(id)
      val isNoted =
        closed.getOrElse((one.file.path, one.file.length), Set.empty).exists(keys.nameOf(id).contains(_))
      state.exists(_.isGone) || (isNoted && (use.problem.contains(Condition.KeyDestroyed.name) ||
        (state.contains(KeyState.Missing) && keys.forgets)))
    }
}

private[erase] object ErasureView {

  /** How a KMS refuses a key that is gone: some forget it. */
  val Gone: Set[String] = Set(Condition.KeyDestroyed, Condition.KeyNotFound).map(_.name)

  private val Kinds = Seq("no file", "shared", "other table", "left", "unknown")

  /**
   * Whether it is not known which keys the file has. A footer that opens names those of columns. So a column that this user
   * may not read is known, unless its key material is beside the file, where nothing authenticates it.
   */
  def isUnknown(use: KeyUse): Boolean =
    if (use.kind == KeyUse.Footer) use.problem.isDefined || use.masterKeyId.isEmpty
    else
      use.problem.exists { problem =>
        use.masterKeyId.isEmpty || problem != Condition.KeyDenied.name || use.material.contains(
          FileRotation.External
        )
      }

  /**
   * The columns that nobody can read without the key. Material beside a file keeps the wrapped keys of columns, which are
   * then lost only with their own master keys.
   */
  private def lost(use: KeyUse): Seq[String] =
    if (use.kind == KeyUse.Footer && use.material.contains(FileRotation.External)) use.columns
    else (use.columns ++ use.unreadable).distinct
}
