package io.pmeparquet.spark.admin.erase

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession

import io.pmeparquet.{Audience, PmeErrors}
import io.pmeparquet.keys.{KeyPurpose, Kms}
import io.pmeparquet.options.PmeOptions
import io.pmeparquet.snapshot.Version
import io.pmeparquet.spark.admin.seal.{SealedGuard, SealingJob}
import io.pmeparquet.spark.options.{ResolvedOptions, SnapshotResolver}
import io.pmeparquet.spark.snapshot.TableDirectories

/**
 * The sealed tables of an erasure. Their next versions list the same files, and state which keys were destroyed: whoever reads
 * or verifies the table knows from its seal that this was no accident. ''Driver only.''
 *
 * @param markOf the mark that an erasure has in a table
 * @param certificate where it will be
 */
private[erase] final class ErasureSeals(
    session: SparkSession,
    options: Map[String, String],
    request: ErasureRequest,
    keys: AskedKeys,
    markOf: Path => Path,
    certificate: => Path,
    conf: Configuration
) {
  private val resolved = ResolvedOptions.ofOperation(session, options, KeyPurpose.Seal)
  private lazy val snapshots = new SnapshotResolver(resolved)

  /**
   * Looks at all of them before anything is destroyed.
   *
   * @return what seals those that have erased files
   * @throws io.pmeparquet.PmeException if one of them cannot state the erasure, or could not be read afterwards
   */
  def prepared(looked: Seq[LookedFile], erased: Seq[ErasedFile]): Seq[SealingJob] =
    sealedTables(looked).flatMap(prepared(_, looked, erased, isDry = false))

  /** What [[prepared]] would throw. */
  def findings(looked: Seq[LookedFile], erased: Seq[ErasedFile]): Seq[ErasureFinding] =
    sealedTables(looked).flatMap { table =>
      Kms.answer(prepared(table, looked, erased, isDry = true)).left.toOption.map { failed =>
        ErasureFinding("sealed", table.toString, failed.problem)
      }
    }

  private def prepared(
      table: Path,
      looked: Seq[LookedFile],
      erased: Seq[ErasedFile],
      isDry: Boolean
  ): Option[SealingJob] = {
    val named = request.looked.map(_.toString)
    val own = erased.filter(_.table == table.toString)
    if (!named.contains(table.toString))
      throw PmeErrors.erasureRefused(
        request.table.toString,
        s"$table is sealed, and is no table of this erasure",
        "Name it in also, or erase it by itself."
      )
    val ids = idsIn(looked)
    val stated = snapshots.ownSnapshots(snapshots.directory(table)).stated()
    // Two ids can be one key.
    requireOthersKeys(table, stated, id => ids.contains(id) || isAsked(id), own.flatMap(_.columns).toSet)
    if (own.isEmpty) None
    else if (resolved.values.text(PmeOptions.SigningKey).isDefined && !stated.lastOption.forall(_.isSigned))
      throw PmeErrors.erasureRefused(
        request.table.toString,
        s"the snapshots of $table have an HMAC, and no signature that the signing key could continue",
        "Erase without a signing key. The certificate then has no signature either."
      )
    else {
      val job = new SealingJob(resolved, table.toString)
      job.prepareErasure(if (isDry) None else Some(markOf(table)), ids, certificate)
      Some(job)
    }
  }

  /**
   * Requires that no version of a table that an erasure looks at is under its keys, or keeps values that it is to erase.
   * Nothing that manifests state is verified for this.
   *
   * @param stated all versions of the table
   * @param isErased whether these are keys, as snapshots name them
   * @param columns that nobody can read afterwards
   */
  private def requireOthersKeys(
      table: Path,
      stated: Seq[Version],
      isErased: String => Boolean,
      columns: Set[String]
  ): Unit =
    stated.foreach { version =>
      def refused(why: String, remedy: String) = PmeErrors.erasureRefused(
        table.toString,
        s"version ${version.number} of its snapshots $why",
        remedy
      )
      val ofSeal = if (version.isSigned) Nil else version.key +: version.seal.former.toSeq.map(_.key)
      val all = (version.manifest.policy.sharedKey.toSeq ++ ofSeal).distinct
      all.find(isErased).foreach { key =>
        throw refused(
          s"is itself under key '$key', and nobody could read the table any more",
          "Remove the snapshots, if nobody needs the table."
        )
      }
      version.manifest.indexes
        .find(index => index.key.exists(isErased) || columns(index.column.mkString(".")))
        .foreach { index =>
          throw refused(
            s"has an index ${index.label}, which keeps values",
            s"Drop the index (${Audience.current.dropIndex}), and then the versions with it (${Audience.current.expireSnapshots})."
          )
        }
    }

  private def isAsked(id: String): Boolean = {
    keys.meet(Seq(id))
    keys.asked(id).isDefined
  }

  /** The ids by which the erasure and its files name the keys. */
  private def idsIn(looked: Seq[LookedFile]): Seq[String] = {
    val found = looked.flatMap(_.uses).flatMap(_.masterKeyId).distinct.filter(keys.asked(_).isDefined)
    (keys.ids ++ found).distinct.sorted
  }

  def seal(
      jobs: Seq[SealingJob],
      looked: Seq[LookedFile],
      sha256: String,
      when: String
  ): Unit =
    jobs.foreach(_.sealErased(idsIn(looked), when, certificate, sha256))

  /** The newest version of each sealed table of the erasure; others may go on. */
  def versions(looked: Seq[LookedFile]): Map[Path, Option[Long]] = {
    val own = sealedTables(looked).filter(table => request.tables(table.toString))
    own.map(table => table -> snapshots.directory(table).versions.lastOption).toMap
  }

  private def sealedTables(looked: Seq[LookedFile]): Seq[Path] = {
    val directories = looked.map(one => new Path(one.file.path).getParent).distinct
    val tables = (directories.flatMap(TableDirectories.of(_, isFile = false)) ++ request.looked).distinct
    val named = Some(request.table).filter(SealedGuard.sealedTableOf(resolved, _).isDefined)
    (TableDirectories.withSnapshots(tables, conf) ++ named).distinct
  }
}
