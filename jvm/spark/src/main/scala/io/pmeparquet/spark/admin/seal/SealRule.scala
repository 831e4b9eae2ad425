package io.pmeparquet.spark.admin.seal

import java.util.{Arrays, Locale}

import org.apache.hadoop.fs.Path

import io.pmeparquet.{PmeErrors, PmeException, Sha256}
import io.pmeparquet.parquet.rotation.RotatedFooter
import io.pmeparquet.parquet.write.WrittenFooter
import io.pmeparquet.snapshot.{SealedFiles, TableSnapshot}
import io.pmeparquet.snapshot.parts.SealedFile

/**
 * How the files of a table differ from those that its last version lists. A file is the same if its length and time are, or
 * if its bytes are. ''Driver only.''
 *
 * @param before the last version
 * @param kept as they are to be listed
 * @param replaced as they are now
 */
private[admin] final case class SealedDifferences(
    table: Path,
    before: Option[TableSnapshot],
    kept: Vector[SealedFile],
    added: Vector[SealedFile],
    replaced: Vector[SealedFile],
    removed: Vector[SealedFile]
) {
  def there: Vector[SealedFile] = kept ++ added ++ replaced
  def changes: Int = added.size + replaced.size + removed.size

  /** The changes in words, by path, and a digest of them. */
  def named: Seq[String] =
    (added.map(_ -> "added") ++ replaced.map(_ -> "replaced") ++ removed.map(_ -> "removed"))
      .sortBy { case (file, _) => file.path }
      .map { case (file, what) => s"$what ${file.path}" }

  /** A digest of what changed, bytes included. */
  def digest: String = {
    val files =
      (added ++ replaced).map(file => s"${file.path} ${Sha256.hex(file.sha256)}") ++ removed.map(_.path)
    Sha256.hex(
      Sha256.ofBytes((before.map(_.version.digest).toSeq ++ files.sorted).mkString("\n").getBytes("UTF-8"))
    )
  }

  def mismatch(file: String, why: String): PmeException =
    PmeErrors.snapshotMismatch(new Path(table, file).toString, why)
}

/**
 * What the next version of a table may list: the one place that decides it. A seal vouches for each file, so what a rule
 * does not know is refused. ''Driver only.''
 */
private[admin] trait SealRule {

  /** Whether the next version could list the file; the others are not opened. */
  def concerns(path: String, before: Option[TableSnapshot]): Boolean = true

  /**
   * @return the files of the next version
   * @throws io.pmeparquet.PmeException if the table differs in a way that this rule does not know
   */
  def accept(found: SealedDifferences): Vector[SealedFile]
}

/** Exactly the files of the last version. */
private[admin] object NothingChanged extends SealRule {
  override def accept(found: SealedDifferences): Vector[SealedFile] = {
    found.removed.headOption.foreach(file => throw found.mismatch(file.path, "the file is missing"))
    found.replaced.headOption.foreach(file => throw found.mismatch(file.path, "the file was replaced"))
    found.added.headOption.foreach(file => throw found.mismatch(file.path, "the file was added"))
    found.kept
  }
}

/**
 * Changes that whoever seals has confirmed.
 *
 * @param expect the last version, how many files have changed since, `unsealed`, or the digest of the changes
 */
private[admin] final class ConfirmedChanges(expect: Option[String]) extends SealRule {
  import ConfirmedChanges._

  override def accept(found: SealedDifferences): Vector[SealedFile] = {
    if (!isExpected(found)) {
      val state = found.before.fold(s"no version lists its ${found.changes} files")(before =>
        s"${found.changes} files changed since version ${before.version.number}"
      )
      val confirming = if (found.before.isEmpty) "\"unsealed\"" else found.changes.toString
      throw PmeErrors.unconfirmedChanges(found.table.toString, state, found.named, confirming)
    }
    found.there
  }

  private def isExpected(found: SealedDifferences): Boolean =
    expect.map(_.trim.toLowerCase(Locale.ROOT)) match {
      case None => found.changes == 0
      case Some(Unsealed) => found.before.isEmpty
      case Some(Changes(digest)) => digest == found.digest
      case Some(number @ Number()) =>
        found.changes.toString == number || found.before.exists(_.version.number.toString == number)
      case Some(TableVersion(table, number)) =>
        found.before.exists(_.version.manifest.table == table) &&
        found.before.exists(_.version.number.toString == number)
      case Some(digest @ Digest()) => found.before.exists(_.version.digest.startsWith(digest))
      case Some(other) => throw PmeErrors.badExpect(other)
    }
}

private[admin] object ConfirmedChanges {
  val Unsealed = "unsealed"
  private val Changes = "changes:([0-9a-f]{64})".r
  private val Number = "[0-9]{1,10}".r
  private val TableVersion = "([0-9a-f-]{36}):([0-9]{1,10})".r
  private val Digest = "[0-9a-f]{12,64}".r
}

/**
 * The files of the last version that a write left, and exactly those that its own tasks made. Files of others, which may
 * have been committed at the same time, are not listed: their writers seal them, or reads refuse them.
 *
 * @param written by their paths
 * @param replaces whether the write removed a file of this path
 */
private[admin] final class OwnCommit(written: Map[String, WrittenFooter], replaces: String => Boolean)
    extends SealRule {
  override def concerns(path: String, before: Option[TableSnapshot]): Boolean =
    written.contains(path) || before.exists(_.byPath.contains(path))

  override def accept(found: SealedDifferences): Vector[SealedFile] = {
    def first(files: Seq[SealedFile])(isWrong: SealedFile => Boolean)(why: String): Unit =
      files.find(isWrong).foreach(file => throw found.mismatch(file.path, why))
    val (own, others) = (found.added ++ found.replaced).partition(file => written.contains(file.path))
    first(found.kept)(file => replaces(file.path))("this write removed the file, and it is there again")
    first(found.removed)(file => !replaces(file.path))("the file is missing")
    first(others)(_ => true)("the file was replaced")
    first(own)(file => !isWritten(file))("this write made a file of this name, and this is another one")
    (written.keySet -- own.map(_.path)).headOption.foreach { path =>
      throw found.mismatch(path, "this write made the file, and it is missing")
    }
    found.kept ++ own
  }

  private def isWritten(file: SealedFile) = {
    val made = written(file.path)
    made.length == file.length && Arrays.equals(made.sha256, file.footerSha256) &&
    made.whole.forall(Arrays.equals(_, file.sha256))
  }
}

/** Which existing files a write removes. ''Driver only.'' */
private[spark] sealed trait Replaced {

  /** @param written the paths that the write made */
  def removes(written: Iterable[String]): String => Boolean
}

private[spark] object Replaced {
  case object Nothing extends Replaced {
    override def removes(written: Iterable[String]): String => Boolean = _ => false
  }
  case object All extends Replaced {
    override def removes(written: Iterable[String]): String => Boolean = _ => true
  }

  /** Exactly these. */
  final case class Files(paths: Set[String]) extends Replaced {
    override def removes(written: Iterable[String]): String => Boolean = paths
  }

  /** A dynamic overwrite: the partitions that it writes to. */
  case object WrittenPartitions extends Replaced {
    override def removes(written: Iterable[String]): String => Boolean = {
      val directories = written.map(directoryOf).toSet
      path => directories(directoryOf(path))
    }
  }

  /** @param directory of a partition, relative to the table */
  final case class Below(directory: String) extends Replaced {
    override def removes(written: Iterable[String]): String => Boolean = _.startsWith(s"$directory/")
  }

  private def directoryOf(path: String) = path.take(path.lastIndexOf('/').max(0))
}

/**
 * An operation that rewrites files and keeps their rows.
 *
 * @param isSame whether a file, as it is now, has the place of one that the version before lists
 */
private[admin] final class RewrittenFiles(isSame: (SealedFile, SealedFile) => Boolean) extends SealRule {
  override def accept(found: SealedDifferences): Vector[SealedFile] = {
    found.removed.headOption.foreach(file => throw found.mismatch(file.path, "the file is missing"))
    found.added.headOption.foreach(file => throw found.mismatch(file.path, "the file was added"))
    val listed = found.before.fold(Map.empty[String, SealedFile])(_.byPath)
    found.replaced
      .find { file =>
        val old = listed(file.path)
        old.rows != file.rows || !isSame(old, file)
      }
      .foreach(file => throw found.mismatch(file.path, "the file was replaced by another one"))
    found.there
  }
}

private[admin] object RewrittenFiles {

  /**
   * By a rotation, which changes only the wrapping of keys: a file keeps its `aad_file_unique`, with which its footer
   * authenticates, so no other file can take its place.
   */
  val rotated: SealRule = new RewrittenFiles((old, now) =>
    old.aadFileUnique.exists(unique => now.aadFileUnique.exists(Arrays.equals(unique, _)))
  )

  /**
   * By a rotation of a signed table: whoever has the footer's key can write a file with another one's `aad_file_unique`, and
   * must not get it signed. So the footer before is the listed one, and the footer now is what the rotation wrote.
   *
   * @param footers of the files that the run has rotated, by their paths
   */
  def rotatedBy(footers: Map[String, RotatedFooter]): SealRule = new RewrittenFiles((old, now) =>
    footers.get(now.path).exists { one =>
      Arrays.equals(one.before, old.footerSha256) && one.after.length == now.length &&
      Arrays.equals(one.after.sha256, now.footerSha256)
    }
  )

  /** @param footers of the files that the run has encrypted, by their paths */
  def encrypted(footers: Map[String, WrittenFooter]): SealRule = new RewrittenFiles((_, now) =>
    footers
      .get(now.path)
      .exists(made => made.length == now.length && Arrays.equals(made.sha256, now.footerSha256))
  )
}

private[admin] object SealedDifferences {

  /**
   * @param known files with the length and time that the version before lists
   * @param opened the others
   */
  def of(
      table: Path,
      before: Option[TableSnapshot],
      known: Vector[SealedFile],
      opened: Vector[SealedFile]
  ): SealedDifferences = {
    val listed = before.fold(Map.empty[String, SealedFile])(_.byPath)
    val (old, added) = opened.partition(file => listed.contains(file.path))
    val (same, replaced) = old.partition(file => Arrays.equals(listed(file.path).sha256, file.sha256))
    val there = (known ++ opened).map(_.path).toSet
    val removed = before.fold(Vector.empty[SealedFile])(_.files.filterNot(file => there(file.path)))
    SealedDifferences(table, before, (known ++ same).sorted(SealedFiles.byPath), added, replaced, removed)
  }
}
