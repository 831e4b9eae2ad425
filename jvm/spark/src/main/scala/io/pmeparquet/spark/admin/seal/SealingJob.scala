package io.pmeparquet.spark.admin.seal

import java.io.IOException
import java.time.Instant
import java.util.{Arrays, UUID}

import scala.util.control.NonFatal

import org.apache.hadoop.fs.Path
import org.apache.spark.util.SerializableConfiguration
import org.slf4j.LoggerFactory

import io.pmeparquet.{Audience, Condition, PmeErrors, PmeException}
import io.pmeparquet.columns.ColumnProtection
import io.pmeparquet.options.NumberedWrite
import io.pmeparquet.parquet.inspect.FileFacts
import io.pmeparquet.parquet.rotation.RotatedFooter
import io.pmeparquet.parquet.storage.ListedFile
import io.pmeparquet.parquet.summary.{SummaryKind, WantedSummary}
import io.pmeparquet.parquet.write.WrittenFooter
import io.pmeparquet.snapshot.{
  BuiltVersion,
  IndexContent,
  NewVersion,
  SealedFiles,
  TableSnapshot,
  Version,
  WriteNote,
  WriteNotes
}
import io.pmeparquet.snapshot.manifest.{DataFormat, ErasedKeys, IndexEntry, Sealer, TablePolicy}
import io.pmeparquet.snapshot.parts.SealedFile
import io.pmeparquet.spark.admin.doctor.Connector
import io.pmeparquet.spark.admin.job.{FileJob, Progress, TableFiles}
import io.pmeparquet.spark.options.{ResolvedOptions, SnapshotResolver}
import io.pmeparquet.spark.snapshot.{SealedTable, SessionSnapshots}

/**
 * Makes one version of a table: only files that the version before does not list are opened. ''Driver only.''
 *
 * @param options those of a read, and who seals
 * @param path the table's directory
 * @param writes the format of files of a write, which is the table's if it has no file
 */
private[spark] final class SealingJob(
    options: ResolvedOptions,
    path: String,
    writes: DataFormat = DataFormat.Parquet
) {
  private val session = options.session
  private val conf = options.newHadoopConf()
  private val snapshots = new SnapshotResolver(options)
  private val table = TableFiles.qualified(path, conf)
  private lazy val directory = snapshots.directory(table)
  private lazy val reader = snapshots.ownSnapshots(directory)

  private var loaded: Option[Before] = None

  /** The version that the next one continues. An overwrite removes snapshots that lie in the table, so a write loads it. */
  private def base: Before = loaded.getOrElse {
    val version = reader.newest()
    version.foreach { found =>
      SessionSnapshots.of(session).seen.note(directory, found, reader.requireOwnHistory)(reader.continues)
    }
    val made = new Before(version)
    loaded = Some(made)
    made
  }

  /** The files that a version lists. An overwrite keeps none of them, so it can repair a table whose list is damaged. */
  private def filesOf(version: Version): TableSnapshot =
    try reader.files(version)
    catch {
      case failed: PmeException
          if replaced == Replaced.All &&
            (failed.condition == Condition.SnapshotDamaged || failed.condition == Condition.SnapshotNotAuthentic) =>
        new TableSnapshot(version, Vector.empty)
    }

  private final class Before(val version: Option[Version]) {
    // What may be damaged depends on the write.
    lazy val files: Option[TableSnapshot] = version.map(filesOf)

    def load(): Unit = {
      files
      ()
    }
  }

  /** The manifests of a table that a write removes with all that is in it. */
  private var history: Seq[(Long, Array[Byte])] = Nil

  /**
   * Whether the footer of a file, by its path, may have a master key that was not there before; none for any that the keys of
   * this job open.
   */
  private var mayHave: Option[(String, String) => Boolean] = None

  /** What a prepared write removes. */
  private var replaced: Replaced = Replaced.Nothing

  /** The place of a prepared write in a series, if it has one. */
  private var numbered: Option[NumberedWrite] = None

  /**
   * Whether the newest version has a write of a series already.
   *
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION` if it has a later one
   */
  def has(write: NumberedWrite): Boolean =
    base.version.flatMap(_.manifest.writes.get(write.series)).exists { last =>
      if (last > write.number)
        throw PmeErrors.olderWrite(table.toString, write.series, write.number.toString, last.toString)
      last == write.number
    }

  /**
   * @param indexes that the version has; none: those of the version before
   * @param expect what confirms the changes since the version before
   */
  def run(indexes: Option[Seq[WantedSummary]], expect: Option[String]): SealResult = {
    requireWhole()
    sealedWith(confirmed(expect), indexes, areNamed = indexes.isDefined, mayChangeKey = true)
  }

  /** What [[run]] would seal beyond what the version before lists; nothing is sealed. */
  def review(): SealedDifferences = {
    requireWhole()
    compared(wantedOf(None)._1, new ConfirmedChanges(None))._1
  }

  /** Files that a killed append has left are not sealed: it will be repeated, and add their rows again. */
  private def confirmed(expect: Option[String]) = new SealRule {
    override def accept(found: SealedDifferences): Vector[SealedFile] = {
      if (found.added.nonEmpty)
        notes
          .open(base.version.fold(Map.empty[String, Long])(_.manifest.writes))
          .headOption
          .foreach(note => throw PmeErrors.killedAppend(table.toString, note.path.toString))
      new ConfirmedChanges(expect).accept(found)
    }
  }

  private def requireWhole(): Unit = {
    SealedGuard.requireTable(table, conf)
    if (base.version.isEmpty) SessionSnapshots.of(session).seen.requireNone(directory)
  }

  /**
   * Looks at the table before a write, which [[sealWritten]] then seals.
   *
   * @param removes what the write removes
   * @param write its place in a series
   * @param keys of the files that it makes, if it gives them keys of its own
   * @throws io.pmeparquet.PmeException if the table is not as its newest version lists it, or cannot be sealed
   */
  def prepare(
      removes: Replaced,
      write: Option[NumberedWrite] = None,
      keys: => Option[WriteKeys] = None
  ): Unit = {
    replaced = removes
    numbered = write
    base.load()
    // A trial would leave a directory, and Spark would find that the table exists.
    if (base.version.isEmpty) directory.requireStep() else directory.requirePublishing()
    if (base.version.isEmpty && table.getName.contains('='))
      throw PmeErrors.badSource(
        table.toString,
        s"it is a part of the table at ${table.getParent}",
        "Write to the table's directory."
      )
    requireSignerOfWrite(removes)
    base.version.map(_.manifest).filter(one => one.files > 0 && one.format != writes).foreach { one =>
      throw PmeErrors.sealedTable(
        s"a write of ${writes.name} files to a table of ${one.format.name} files",
        table.toString,
        "Write them to another table."
      )
    }
    keys.foreach(requireFit(_, removes))
    if (removes == Replaced.All) history = reader.manifests()
    else if (others.isEmpty) requireAsListed()
  }

  /** Whether a write leaves files of the newest version, whose keys the next one will state. */
  private def staysAny(removes: Replaced): Boolean = {
    def files = base.files.toSeq.flatMap(_.files)
    removes match {
      case Replaced.All => false
      case below: Replaced.Below => files.exists(file => !below.removes(Nil)(file.path))
      case _ => files.nonEmpty
    }
  }

  /**
   * Requires that the next version could state these keys.
   *
   * @param removes what the write removes
   */
  def requireFit(keys: WriteKeys, removes: Replaced): Unit = {
    // An overwrite repairs a table whose list is damaged.
    replaced = removes
    keys.requireFit(table.toString, base.version.flatMap(_ => base.files), staysAny(removes))
  }

  /** What the options of a write say of footers. */
  private def ownPolicy: Option[TablePolicy] =
    if (writes.needsBlocks) None
    else snapshots.namedKeys._1.map(key => TablePolicy.ofTemplates(Some(key), Nil))

  /** Before anything is written: what signs. */
  private def requireSignerOfWrite(removes: Replaced): Unit = {
    val before = base.version.filter(_ => removes != Replaced.All).map(_.manifest).filter(_.files > 0)
    snapshots.requireSigner(base.version, writes, if (before.isEmpty) ownPolicy else None)
  }

  private def requireAsListed(): Unit = {
    val log = new Path(table, SealedTable.StreamLog)
    if (log.getFileSystem(conf).exists(log))
      throw PmeErrors.sealedTable(
        "a write beside the list of files that a stream has made",
        table.toString,
        s"Spark would read the files of that list alone. Remove ${SealedTable.StreamLog} once the checkpoint of its stream " +
          "has the last batch among its commits."
      )
    if (base.version.isDefined) {
      compare(NothingChanged)
      ()
    } else {
      val files = if (table.getFileSystem(conf).exists(table)) listFiles().size else 0
      if (files > 0)
        throw (
          if (numbered.isEmpty) PmeErrors.unsealedFiles(table.toString, files)
          else PmeErrors.unsealedSeries(table.toString, files)
        )
    }
  }

  private lazy val notes = new WriteNotes(directory, conf)

  /** Names this attempt of a write in its note. */
  private val ownRun = UUID.randomUUID.toString

  /** Whether this append has noted that it begins. */
  private var isNoted = false

  /** Whether a write that could not be sealed has left no file in the table. */
  var leftNothing: Boolean = false

  /** Since when files may be those of another attempt of this append that this one has taken the place of. */
  private var tookOver: Option[Long] = None

  /** The notes of other attempts of this append, which made no version: they were killed, or still run. */
  private def others: Seq[WriteNote] =
    numbered.filter(_ => replaced == Replaced.Nothing).toSeq.flatMap(notes.of).filter(_.run != ownRun)

  /**
   * When the job of a prepared write begins, and nothing can be wrong with its options any more. An append of a series notes
   * that it has begun. If it was killed after its files arrived, it finds this note when it is repeated, and moves aside what
   * the newest version does not list: it writes these rows again.
   */
  def begin(): Unit = for (write <- numbered if replaced == Replaced.Nothing) {
    // Spark may have run parts of the query since the rule has looked.
    val hadVersion = loaded.exists(_.version.isDefined)
    loaded = None
    if (has(write) || (hadVersion && base.version.isEmpty)) throw PmeErrors.writeTakenOver(table.toString)
    val isStale = base.version.isEmpty || notes.has(write.series)
    // Without a version, nothing distinguishes what a killed append has left from the files of others.
    if (base.version.isDefined) {
      val before = others
      if (!isNoted) notes.begin(write, ownRun, before.map(_.since).sorted.headOption)
      isNoted = true
      if (before.nonEmpty) takeOver(before)
    }
    // Spark's committer would add what tasks of a killed job had committed.
    if (isStale) moveAside(Seq(new Path(table, SealingJob.Temporary)))
    requireAsListed()
  }

  /**
   * Makes a version with the same files. If another attempt still runs, its own version now conflicts with this one, and it
   * finds that its note is gone. If it was faster, this fails, and nothing was moved.
   */
  private def takeOver(before: Seq[WriteNote]): Unit = {
    before.foreach(notes.end)
    try
      sealedWith(
        new OwnCommit(Map.empty, _ => false),
        writer = s"${SealingJob.writer}, before a write is repeated"
      )
    catch {
      case conflict: PmeException if conflict.condition == Condition.SnapshotConflict =>
        throw PmeErrors.writeTakenOver(table.toString)
    }
    loaded = None
    tookOver = Some(before.map(_.since).min)
    moveUnlisted(isLeft)
  }

  // Older files are not the killed append's.
  private def isLeft(file: ListedFile) = tookOver.exists(file.modified >= _)

  private def moveUnlisted(isMoved: ListedFile => Boolean): Unit = {
    val listed = base.files.fold(Map.empty[String, SealedFile])(_.byPath)
    val left = listFiles().filter(file => !listed.contains(relative(file)) && isMoved(file))
    moveAside(left.flatMap(TableFiles.withMaterial))
  }

  private def moveAside(files: Seq[Path]): Unit = {
    val fs = table.getFileSystem(conf)
    val place = new Path(table, s"${SealingJob.SetAside}${UUID.randomUUID}")
    val moved = files.filter(fs.exists)
    moved.foreach { file =>
      val to = new Path(place, relative(file))
      fs.mkdirs(to.getParent)
      if (!fs.rename(file, to)) throw new IOException(s"$file could not be moved to $to")
    }
    if (moved.nonEmpty)
      SealingJob.log.warn(
        s"$table: an append was killed, so what its newest version does not list was moved to $place: " +
          moved.map(relative(_)).mkString(", ")
      )
  }

  /** Whether another attempt of this append has taken its place. */
  private def isTakenOver =
    isNoted && !numbered.toSeq.flatMap(notes.of).exists(_.run == ownRun)

  /** Lets go of the files of this attempt, whose rows another one has sealed or writes. */
  private def yieldTo(written: Set[String]): PmeException = {
    moveUnlisted(file => written(relative(file)))
    leftNothing = true
    PmeErrors.writeTakenOver(table.toString)
  }

  private def compare(rule: SealRule): SealedDifferences = {
    val found = compared(wantedOf(None)._1, rule)._1
    rule.accept(found)
    found
  }

  /**
   * Seals a new table that a recovery has written, after [[prepare]].
   *
   * @param source the table that it was recovered from; the manifest names it
   * @param written the files that the recovery has made
   */
  def sealRecovered(source: Path, written: Map[String, WrittenFooter]): SealResult =
    sealWritten(written, s"${SealingJob.writer}, recovered from $source")

  /**
   * Seals the table after a write that [[prepare]] has looked at.
   *
   * @param written the files that the write has made
   * @param writer what the manifest says of who made it
   */
  def sealWritten(written: Map[String, WrittenFooter], writer: String = SealingJob.writer): SealResult = {
    val rule = new OwnCommit(written, replaced.removes(written.keys))
    def attempt(left: Int): SealResult =
      try sealedWith(rule, writer = writer, write = numbered)
      catch {
        // Another append was sealed meanwhile: this one continues its version.
        case conflict: PmeException
            if conflict.condition == Condition.SnapshotConflict && replaced == Replaced.Nothing && left > 0 =>
          loaded = None
          if (numbered.exists(has) || isTakenOver) throw yieldTo(written.keySet)
          // Whoever deletes all versions now must not get a new history, which would list the files of this write alone.
          if (base.version.isEmpty) SessionSnapshots.of(session).seen.requireNone(directory)
          attempt(left - 1)
      }
    restoreHistory()
    val made = attempt(SealingJob.Attempts)
    // The table has the write: its note counts no more, and another attempt's files are nobody's.
    try {
      if (tookOver.isDefined) {
        loaded = None
        moveUnlisted(isLeft)
      }
      numbered.filter(_ => isNoted).toSeq.flatMap(notes.of).filter(_.run == ownRun).foreach(notes.end)
    } catch { case NonFatal(failed) => SealingJob.log.warn(s"$table: what an append left stays", failed) }
    made
  }

  /** The mark of the operation that this job seals for. */
  private var ownMark: Option[Path] = None

  /**
   * Seals the table after a compaction that [[prepare]] has looked at.
   *
   * @param written the new files
   * @param old the files that they replace
   * @param mark of the compaction, which has not ended
   * @param what which files replace which, for the manifest
   */
  def sealCompacted(
      written: Map[String, WrittenFooter],
      old: Replaced,
      mark: Path,
      what: String
  ): SealResult = {
    replaced = old
    ownMark = Some(mark)
    sealWritten(written, s"${SealingJob.writer}, compacted: $what")
  }

  /** Whether the newest version lists a file of such a name. */
  def lists(isWanted: String => Boolean): Boolean =
    base.files.exists(_.files.exists(file => isWanted(file.path.substring(file.path.lastIndexOf('/') + 1))))

  /**
   * The SHA-256 of a file as the newest version lists it.
   *
   * @param path in the table
   */
  def digestOf(path: String): Array[Byte] =
    base.files
      .flatMap(_.byPath.get(path))
      .getOrElse(
        throw PmeErrors
          .snapshotMismatch(
            new Path(table, path).toString,
            "the file is not in the list of the newest version"
          )
      )
      .sha256

  /** The manifests that an overwrite removed: without them, a session that knows an older version could not follow. */
  private def restoreHistory(): Unit = if (history.nonEmpty) {
    directory.requirePublishing()
    val there = directory.versions.toSet
    // The newest first: if the write is killed here, the next version still continues it.
    history.reverse.foreach { case (number, manifest) =>
      if (!there(number) && !directory.publish(number, manifest))
        throw PmeErrors.snapshotConflict(directory.table.toString)
    }
  }

  /**
   * A rotation knows the footer of each file that it replaced, and the seal of an ORC file is of all its bytes: nothing
   * would show that the rest is what was sealed.
   *
   * @throws io.pmeparquet.PmeException if no rotation of the table could seal it again
   */
  def requireRotatable(): Unit = base.version.map(_.manifest.format).filter(_.needsBlocks).foreach { format =>
    throw PmeErrors.sealedTable(
      s"a rotation of ${format.name} files",
      table.toString,
      s"Copy the table with new keys (${Audience.current.rekey}) and seal the copy."
    )
  }

  /**
   * Looks at a sealed table before a rotation, which [[sealRotated]] then seals.
   *
   * @param target the new master key for each old one
   */
  def prepareRotation(target: String => Option[String]): Unit = {
    requireRotatable()
    base.files.foreach { before =>
      val policy = before.version.manifest.policy
      VersionPolicy.requireRotatable(table.toString, before, target)
      mayHave = Some { (path, key) =>
        policy.footerAt(TablePolicy.placeOf(path)).exists(old => old == key || target(old).contains(key))
      }
    }
    prepareRewriting(RewrittenFiles.rotated)
    ()
  }

  /** Whether a file that a rotation could not change stays as it is, since its key was destroyed. */
  def isErased(file: String, condition: String): Boolean =
    SealedGuard.Gone(condition) && base.files.exists(_.hasErasedKey(relative(new Path(file))))

  /**
   * Seals the table after a rotation of its keys.
   *
   * @param footers that the rotation has replaced, by the files' paths. An HMAC vouches for no more than its key does, so
   *   it also takes files that an interrupted rotation left.
   */
  def sealRotated(footers: Map[String, RotatedFooter]): SealResult = {
    val own = footers.map { case (path, footer) => relative(new Path(path)) -> footer }
    val isSigned = base.version.exists(_.isSigned)
    sealedWith(if (isSigned) RewrittenFiles.rotatedBy(own) else RewrittenFiles.rotated)
  }

  /**
   * Looks at a sealed table before it is encrypted in place, which [[sealEncrypted]] then seals. Nothing shows that a file
   * that is encrypted already was made of the one that was sealed, so files that an earlier run left are refused.
   *
   * @return the files, whose bytes nobody has compared
   */
  def prepareInPlace(): Set[String] = prepareRewriting(NothingChanged, ownPolicy).kept.map(_.path).toSet

  /** @param footers of the encrypted files, by their paths */
  def sealEncrypted(footers: Map[String, WrittenFooter]): SealResult =
    sealedWith(RewrittenFiles.encrypted(footers))

  /** @param policy what the next version will state of keys, if the files get others */
  private def prepareRewriting(rule: SealRule, policy: Option[TablePolicy] = None): SealedDifferences = {
    directory.requirePublishing()
    snapshots.requireSigner(base.version, base.version.fold(writes)(_.manifest.format), policy)
    compare(rule)
  }

  /** The keys whose destruction the next version will state: nobody opens files under them. */
  private var erasing: Option[ErasedKeys] = None

  /**
   * Does all of [[sealErased]] but the publication, before keys are destroyed.
   *
   * @param mark of the erasure; none if this only looks, writes nothing, and nothing follows
   * @param keys as files name them
   * @param certificate where it will be
   * @throws io.pmeparquet.PmeException if the table is not as its newest version lists it, or could not be sealed afterwards
   */
  def prepareErasure(mark: Option[Path], keys: Seq[String], certificate: Path): Unit = {
    ownMark = mark
    // What is not known yet is as long as it will be.
    erasing = Some(erasedKeys(keys, Instant.now.toString, certificate, "0" * 64))
    val format = base.version.fold(writes)(_.manifest.format)
    snapshots.requireSigner(base.version, format)
    if (mark.isDefined) {
      directory.requirePublishing()
      contentsWith(NothingChanged).built(SealingJob.writer, None).discard()
    } else {
      directory.requireStep()
      contentsWith(NothingChanged)
    }
    ()
  }

  /**
   * Seals the same files with what has been erased.
   *
   * @param keys as files name them
   * @param when it was proved
   * @param sha256 of the certificate
   */
  def sealErased(keys: Seq[String], when: String, certificate: Path, sha256: String): SealResult = {
    erasing = Some(erasedKeys(keys, when, certificate, sha256))
    sealedWith(NothingChanged)
  }

  private def erasedKeys(keys: Seq[String], when: String, certificate: Path, sha256: String) = {
    // As the location of the table, which readers compare.
    val place = certificate.toUri
    val elsewhere = Option(place.getAuthority).fold("")(authority => s"//$authority") + place.getPath
    val inTable = SealedFiles.relative(table.toUri.getPath, certificate)
    val path = inTable.fold(elsewhere)(name => s"${directory.tableLocation}/$name")
    ErasedKeys(keys, when, path, sha256)
  }

  /**
   * @param columns whose indexes the next version does not have
   * @param kind only indexes of this kind
   */
  def dropIndexes(columns: Seq[Seq[String]], kind: Option[String]): SealResult = {
    SealedGuard.requireTable(table, conf)
    val indexes = SealedGuard.requireNewest(session, reader).manifest.indexes
    val dropped = indexes.filter(index => columns.contains(index.column) && kind.forall(_ == index.kind.name))
    columns.filterNot(dropped.map(_.column).contains).foreach { path =>
      throw PmeErrors.noIndex(table.toString, path.mkString("."), indexes.map(_.label))
    }
    sealedWith(NothingChanged, Some(indexes.filterNot(dropped.contains).map(wantedAs)))
  }

  private def wantedAs(index: IndexEntry) = WantedSummary(index.column.toList, index.kind)

  /** The indexes of the next version, and whether the version before has them all. */
  private def wantedOf(asked: Option[Seq[WantedSummary]]): (Seq[WantedSummary], Boolean) = {
    val indexed = base.version.toSeq.flatMap(_.manifest.indexes).map(wantedAs)
    // The same set of indexes needs no new files, whatever their order.
    val wanted = asked.map(distinct).filter(_.toSet != indexed.toSet).getOrElse(indexed)
    (wanted, wanted.forall(indexed.contains))
  }

  /** Each request once. @throws io.pmeparquet.PmeException if a column has two indexes of one kind */
  private def distinct(wanted: Seq[WantedSummary]): Seq[WantedSummary] = {
    val once = wanted.distinct
    once.groupBy(one => (one.column, one.kind.name)).collectFirst {
      case ((column, kind), several) if several.size > 1 && kind != SummaryKind.OfClass.Name =>
        throw PmeErrors.badIndex(
          s"$kind(${column.mkString(".")})",
          "it is asked for twice, with different settings"
        )
    }
    once
  }

  /** How the table differs from the version before, and what was found in the files that had to be opened. */
  private def compared(wanted: Seq[WantedSummary], rule: SealRule, opensAll: Boolean = false) = {
    val listed = listFiles().filter(file => rule.concerns(relative(file), base.files))
    val (same, others) = split(listed, base.files.filterNot(_ => opensAll))
    val (closed, unknown) = closedAsSealed(others)
    val known = same ++ closed
    val facts = look(unknown, wanted)
    for (allowed <- mayHave; (file, found) <- facts; key <- found.footerKey if !allowed(relative(file), key))
      throw PmeErrors.snapshotMismatch(
        file.path,
        s"the file was replaced by another one, whose footer is under master key '$key'"
      )
    val opened = facts.map { case (file, one) => VersionContents.file(relative(file), file, one) }
    (SealedDifferences.of(table, base.files, known, opened.toVector), facts)
  }

  /**
   * @param rule what the version may list
   * @param asked the indexes of the version; none: those of the version before
   * @param areNamed whether the caller named them, and not the manifest of the version before
   * @param mayChangeKey whether another key may sign than that of the version before
   * @param writer what the manifest says of who made it
   * @param write that the version has from now on
   */
  private def sealedWith(
      rule: SealRule,
      asked: Option[Seq[WantedSummary]] = None,
      areNamed: Boolean = false,
      mayChangeKey: Boolean = false,
      writer: String = SealingJob.writer,
      write: Option[NumberedWrite] = None
  ): SealResult = {
    // Before all files are opened.
    directory.requirePublishing()
    contentsWith(rule, asked, areNamed, mayChangeKey).published(writer, write)
  }

  /** What a version will say, and what seals it; nothing of it is written. The parameters are those of [[sealedWith]]. */
  private def contentsWith(
      rule: SealRule,
      asked: Option[Seq[WantedSummary]] = None,
      areNamed: Boolean = false,
      mayChangeKey: Boolean = false
  ): NextVersion = {
    val previous = base.files
    val (wanted, areKnown) = wantedOf(asked)
    // The version before knows nothing for a new index, so all files are opened for it.
    val (differences, found) = compared(wanted, rule, opensAll = !areKnown)
    val files = rule.accept(differences).sorted(SealedFiles.byPath)
    val listed = files.map(_.path).toSet
    val facts = found.filter { case (file, _) => listed(relative(file)) }
    if (!areNamed && facts.nonEmpty) requireClasses(wanted)
    facts.find(_._2.statesValues).foreach { case (file, _) =>
      throw PmeErrors.unsupported(
        file.path,
        "sealing a file that states values which name its keys",
        "a seal requires of each file the key that directories name for it",
        s"Copy the table, without the statement (${Audience.current.rekey}), or partition it by this column."
      )
    }
    val contents = new VersionContents(
      table.toString,
      wanted,
      previous,
      facts,
      hasOld = files.size > facts.size,
      snapshots.settings.indexKeys,
      VersionPolicy.templates(snapshots.namedKeys._2, previous.map(_.version.manifest.policy)),
      writes,
      relative(_),
      files.map(_.path)
    )
    requireOtherNames(facts, differences.kept.map(_.path).toSet)
    if (ownMark.isDefined || erasing.isDefined) previous.foreach(requireKeys(_, contents.policy))
    val sealer = snapshots.sealer(contents.policy, base.version, mayChangeKey, contents.format)
    new NextVersion(differences, files, facts, contents, sealer)
  }

  /** Requires that no new file has a key whose name is that of a destroyed one. */
  private def requireOtherNames(facts: Seq[(ListedFile, FileFacts)], kept: Set[String]): Unit =
    for (before <- base.version if before.manifest.erasures.nonEmpty) {
      val kinds = facts.collect {
        case (file, one) if !kept(relative(file)) =>
          one.footerKey.toSet ++ one.columns.collect { case (_, ColumnProtection.ColumnKey(key)) => key }
      }
      VersionPolicy.requireNotErased(table.toString, before, kinds.distinct.flatten.toSet)
    }

  private final class NextVersion(
      differences: SealedDifferences,
      files: Vector[SealedFile],
      facts: Seq[(ListedFile, FileFacts)],
      contents: VersionContents,
      sealer: Sealer
  ) {
    def built(writer: String, write: Option[NumberedWrite]): BuiltVersion = {
      val summaries = facts.map { case (file, one) => relative(file) -> one.summaries }.toMap
      val partitions = files.headOption.fold(Seq.empty[String])(_.partition.map(_._1))
      new NewVersion(directory, base.files, sealer, snapshots.kmsUse, conf)
        .build(
          files,
          contents.policy,
          partitions,
          contents.indexes,
          writer,
          contents.summaries(summaries, contentOf),
          contents.format,
          write,
          erasing
        )
    }

    def published(writer: String, write: Option[NumberedWrite]): SealResult = {
      val version = built(writer, write).publish()
      SessionSnapshots.of(session).seen.made(directory, version)
      new SealResult(
        version.number,
        version.digest,
        directory.path.toString,
        version.manifest.files,
        version.manifest.rows,
        version.manifest.bytes,
        facts.size.toLong,
        differences.added.size.toLong,
        differences.removed.size.toLong,
        differences.replaced.size.toLong,
        version.algorithm,
        version.key,
        version.manifest.table
      )
    }
  }

  /**
   * Requires that files which keep their keys name those of the version before: key material beside a file is in no digest,
   * and who can open a column's key could wrap it with another master key.
   */
  private def requireKeys(before: TableSnapshot, now: TablePolicy): Unit = {
    val old = before.version.manifest.policy
    val known = old.columns.toMap
    val others = now.columns.collect {
      case (column, key) if !known.get(column).contains(key) => column.mkString(".")
    }
    if (now.footerKey != old.footerKey || others.nonEmpty)
      throw PmeErrors.snapshotMismatch(
        table.toString,
        s"its files name other keys for ${(others :+ "footers").head} than version ${before.version.number}"
      )
  }

  private def contentOf(index: IndexEntry): IndexContent =
    try reader.content(base.files.get, index)
    catch {
      case failed: PmeException
          if failed.condition == Condition.SnapshotDamaged || failed.condition == Condition.SnapshotNotAuthentic =>
        throw PmeErrors.oldIndexUnreadable(
          table.toString,
          index.label,
          failed.problem.stripSuffix("."),
          failed
        )
    }

  /** A manifest must not choose code. */
  private def requireClasses(kept: Seq[WantedSummary]): Unit = kept.map(_.kind).foreach {
    case SummaryKind.OfClass(name, _) if !snapshots.settings.indexClasses(name) =>
      throw PmeErrors.classNotAllowed(table.toString, name)
    case _ => ()
  }

  private def listFiles(): Seq[ListedFile] = {
    val found = TableFiles.list(table, conf)
    TableFiles.requireNoLinks(table, found, conf)
    // The listing and the caller may spell a path in different ways.
    found.marks
      .find(mark => !ownMark.exists(_.getName == mark.getName))
      .foreach(mark => throw TableFiles.underWay(table.toString, mark))
    // A read finds the table of a partition by the names of directories.
    found.files.find(file => relative(file).split('/').dropRight(1).exists(!_.contains('='))).foreach { file =>
      throw PmeErrors.unsupported(
        file.path,
        "sealing a table with directories that are no partitions",
        "a read of such a directory would not find the snapshot",
        "Move the file to the table's directory or to a partition, or seal its directory as a table."
      )
    }
    found.files
  }

  /** The files that the version before describes, as far as paths, lengths and times tell, and the others. */
  private def split(listed: Seq[ListedFile], previous: Option[TableSnapshot]) = {
    val described = listed.map { file =>
      val old = previous.flatMap(_.byPath.get(relative(file))).filter { known =>
        known.length == file.length && known.modified == file.modified
      }
      old.toLeft(file)
    }
    (described.flatMap(_.left.toOption).toVector, described.flatMap(_.toOption))
  }

  /**
   * Files that are erased, or about to be, and of another time than listed: nobody can open them afterwards, and their bytes
   * say whether they are the same.
   */
  private def closedAsSealed(files: Seq[ListedFile]): (Seq[SealedFile], Seq[ListedFile]) = {
    val own = erasing.toSeq.flatMap(_.keys)
    def before(file: ListedFile) = base.files.flatMap { one =>
      one.byPath.get(relative(file)).filter(old => old.length == file.length && one.isErased(old.path, own))
    }
    val (closed, others) = files.partition(before(_).isDefined)
    val looked =
      FileJob.eachWhole(session, conf, closed)(_.length)((file, conf) => FileFacts.wholeFile(file, conf))
    val (same, changed) = looked.partition { case (file, sha256) =>
      sha256.toOption.exists(Arrays.equals(_, before(file).get.sha256))
    }
    (
      same.map { case (file, _) => before(file).get.copy(modified = file.modified) },
      others ++ changed.map(_._1)
    )
  }

  private def look(files: Seq[ListedFile], wanted: Seq[WantedSummary]): Seq[(ListedFile, FileFacts)] =
    if (files.isEmpty) Nil
    else {
      val bytes = files.map(_.length).sum
      val step = Progress.step(session, "sealing", files.size, bytes)
      step.begin()
      val shared = session.sparkContext.broadcast(new SerializableConfiguration(conf))
      val task = new SealingTask(options.readScope, wanted.toList, step)
      val found = session.sparkContext
        .parallelize(files, FileJob.tasksFor(session, files.size, bytes))
        .mapPartitions(task(_, shared.value.value))
        .collect()
      val ofAll = new SharedFacts
      found.map { case (file, facts) => file -> ofAll.in(facts) }.toVector
    }

  private def relative(file: ListedFile): String = relative(new Path(file.path))

  private def relative(file: Path): String =
    SealedFiles
      .relative(table.toUri.getPath, file)
      .getOrElse(throw new IllegalStateException(s"internal error: $file is not below $table"))
}

private[spark] object SealingJob {

  /** A path as the file system of a write names it. */
  def qualified(options: ResolvedOptions, path: Path): Path =
    TableFiles.qualified(path.toString, options.newHadoopConf())

  private val log = LoggerFactory.getLogger("io.pmeparquet")

  /** The directory in which Spark's committer has the files of a job until it commits. */
  private val Temporary = "_temporary"

  /** Readers ignore names that begin with an underscore. */
  private val SetAside = "_pme_set_aside-"

  /** How often an append continues a version that appeared while it was sealed. */
  val Attempts = 10

  def writer: String = "pme-parquet" + Connector.loaded.fold("")(connector => s" ${connector.version}")
}
