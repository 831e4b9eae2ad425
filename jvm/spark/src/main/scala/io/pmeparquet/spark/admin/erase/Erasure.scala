package io.pmeparquet.spark.admin.erase

import scala.collection.JavaConverters._

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.keys.{KeyAdministration, KeyPurpose, KeyState, Kms}
import io.pmeparquet.options.PmeOptions
import io.pmeparquet.parquet.storage.ListedFile
import io.pmeparquet.spark.admin.{FooterReading, LiveFiles}
import io.pmeparquet.spark.admin.job.{Progress, TableFiles}
import io.pmeparquet.spark.admin.seal.SealedGuard
import io.pmeparquet.spark.options.ResolvedOptions
import io.pmeparquet.spark.session.{PmeSparkException, SparkAccess}
import io.pmeparquet.spark.snapshot.TableDirectories

/**
 * Makes rows unreadable by destroying the keys of their files, and proves it.
 * {{{
 * Erasure.run(spark, "s3a://…/orders", keys, Seq("t-acme"), Map("tenant" -> "acme"), dryRun = false)
 * }}}
 * Nothing is destroyed unless every file under the keys is one that is to be erased. What will be destroyed is noted
 * first, so whenever a run is killed, the next one completes it. ''Driver only.''
 */
object Erasure {

  /**
   * @param options of the KMS, and of a read
   * @param partitions values of partition columns: no file elsewhere may be under the keys
   * @param also further tables to erase rows of
   * @param others tables that must have nothing under the keys
   * @return the certificate, or with `dryRun` what it would say, in JSON
   */
  def run(
      session: SparkSession,
      path: String,
      options: Map[String, String],
      keys: Seq[String],
      partitions: Map[String, String] = Map.empty,
      also: Seq[String] = Nil,
      others: Seq[String] = Nil,
      dryRun: Boolean = true,
      by: Option[String] = None,
      live: Seq[LiveFiles] = Nil
  ): String = PmeSparkException.translated {
    val conf = SparkAccess.hadoopConf(session, options)
    def qualified(path: String) = TableFiles.qualified(path, conf)
    val request = ErasureRequest(
      qualified(path),
      keys,
      partitions,
      also.map(qualified),
      others.map(qualified),
      live,
      by.getOrElse(session.sparkContext.sparkUser)
    )
    new ErasureRun(session, options, request, conf).run(dryRun).toString
  }

  /** For Python. */
  def run(
      session: SparkSession,
      path: String,
      options: java.util.Map[String, String],
      keys: java.util.List[String],
      partitions: java.util.Map[String, String],
      also: java.util.List[String],
      others: java.util.List[String],
      dryRun: Boolean,
      by: String,
      live: java.util.List[AnyRef]
  ): String = Progress.unwatching {
    run(
      session,
      path,
      options.asScala.toMap,
      keys.asScala.toSeq,
      partitions.asScala.toMap,
      also.asScala.toSeq,
      others.asScala.toSeq,
      dryRun,
      Option(by),
      live.asScala.toSeq.flatMap(LiveFiles.ofPython(_))
    )
  }
}

/** One erasure. ''Driver only.'' */
private final class ErasureRun(
    session: SparkSession,
    options: Map[String, String],
    request: ErasureRequest,
    conf: Configuration
) {
  import ErasureRun._

  private val where = request.table.toString
  private val resolved = ResolvedOptions.ofFrame(session, options)
  private val kms: Kms = resolved.openKms(KeyPurpose.Erase)

  private val administration: KeyAdministration = kms.administration.getOrElse {
    throw PmeErrors.unsupported(
      where,
      s"destroying keys of ${kms.describe}",
      "it does not destroy keys, or not from here",
      "Use a keystore in a local file, Vault, or the KMS of a cloud; or destroy the keys with the KMS's own tools."
    )
  }

  private val record = new ErasureRecord(
    request.table,
    ErasureRecord.idOf(request.keys, kms.describe),
    resolved.values.text(PmeOptions.SigningKey).map(_.trim).filter(_.nonEmpty).map { id =>
      id -> kms.signingKey(id, s"option ${PmeOptions.SigningKey.name}")
    },
    conf
  )

  def run(dryRun: Boolean): ObjectNode = {
    if (request.keys.isEmpty || request.keys.exists(_.trim.isEmpty))
      throw PmeErrors.badOption("keys", request.keys.mkString(", "), "names of master keys")
    request.looked.foreach(SealedGuard.requireTable(_, conf))
    val before = record.read()
    val states = request.keys.distinct.map(id => id -> administration.state(id, where))
    requireKnown(states, before)
    val keys = new AskedKeys(request.keys.distinct, administration, where)
    val view = new ErasureView(
      request,
      keys,
      record.closedBefore() ++ before.toSeq.flatMap(_ => request.keys),
      resolved.caseSensitive
    )
    val listed = list()
    val looked = look(listed, keys)
    val erased = withNoted(view.erased(looked), before)
    val findings = view.findings(looked)
    val document = new ErasureDocument(request, kms.describe, administration.consequence)
    val sealedTables = sealedAmong(looked)
    if (dryRun) document.planned(states, erased, findings ++ sealedTables.map(sealedFinding))
    else {
      requireNone(findings)
      sealedTables.headOption.foreach { table =>
        throw PmeErrors.sealedTable(
          "an erasure",
          table,
          "Rewrite the table without these rows, or remove the seal first."
        )
      }
      val probes = states.map { case (id, state) => id -> ErasureProof.probe(kms, id, state, where) }
      // What came since is not noted, and perhaps somebody else's.
      if (names(list()) != names(listed))
        throw refused(
          "files were added or removed meanwhile",
          "Run it again while nobody writes to the table."
        )
      val begun = document.begun(states, erased, before)
      record.write(begun)
      val destroyed = destroy(states)
      prove(document, begun, destroyed, probes, keys, new ErasureProof(view, looked, erased))
    }
  }

  /** A name that the KMS does not know may be misspelt. Some KMSs forget what they destroyed, but the record does not. */
  private def requireKnown(states: Seq[(String, KeyState)], before: Option[ObjectNode]): Unit =
    states.collectFirst { case (id, KeyState.Missing) if before.isEmpty => id }.foreach { id =>
      throw PmeErrors.keyNotFound(where, id, kms.describe)
    }

  private def list(): Seq[(Path, Seq[(String, Seq[ListedFile])])] = request.looked.map { table =>
    table -> ErasureView.listed(session, table, conf, options, request.live.find(_.table == table))
  }

  private def names(listed: Seq[(Path, Seq[(String, Seq[ListedFile])])]) =
    listed.flatMap { case (table, parts) =>
      parts.flatMap { case (part, files) =>
        files.map(file => (table, part, file.path, file.length, file.modified))
      }
    }.toSet

  private def look(listed: Seq[(Path, Seq[(String, Seq[ListedFile])])], keys: AskedKeys): Seq[LookedFile] = {
    val reading = new FooterReading(session, options)
    val looked = listed.flatMap { case (table, parts) => ErasureView.look(reading, table.toString, parts) }
    val uses = looked.flatMap(_.uses)
    keys.meet(uses.flatMap(_.masterKeyId).distinct)
    keys.ask(uses.filter(ErasureView.isUnknown).flatMap(_.masterKeyId).distinct)
    looked
  }

  /** Of files whose keys are gone already, with what was noted before. */
  private def withNoted(erased: Seq[ErasedFile], before: Option[ObjectNode]): Seq[ErasedFile] = {
    val noted = before.toSeq.flatMap(ErasureRecord.files).map(file => file.file -> file).toMap
    erased.map { file =>
      noted.get(file.file).filter(old => file.rows.isEmpty && old.bytes == file.bytes).getOrElse(file)
    }
  }

  private def requireNone(findings: Seq[ErasureFinding]): Unit = findings.headOption.foreach { first =>
    val more = if (findings.size == 1) "" else s" (and ${findings.size - 1} more files)"
    throw refused(s"${first.file}: ${first.why}$more", remedyFor(first.kind))
  }

  private def refused(why: String, remedy: String): PmeException =
    PmeErrors.erasureRefused(where, why, remedy)

  /** A seal lists the files, and their digests, and does not yet know of erasures. */
  private def sealedAmong(looked: Seq[LookedFile]): Seq[String] = {
    val directories = looked.map(one => new Path(one.file.path).getParent).distinct
    val tables = (directories.flatMap(TableDirectories.of(_, isFile = false)) ++ request.looked).distinct
    val named = Some(request.table).filter(SealedGuard.sealedTableOf(resolved, _).isDefined)
    (TableDirectories.withSnapshots(tables, conf) ++ named).distinct.map(_.toString)
  }

  private def sealedFinding(table: String) =
    ErasureFinding("sealed", table, "its snapshots list its files, and a real run refuses it")

  private def destroy(states: Seq[(String, KeyState)]): Seq[(String, KeyState)] = {
    var done = Seq.empty[(String, KeyState)]
    try
      states.foreach { case (id, state) =>
        val now = if (state == KeyState.Usable) administration.destroy(id, where) else state
        done = done :+ (id -> now)
      }
    catch {
      case failed: PmeException if done.nonEmpty =>
        throw PmeErrors.erasureUnproven(
          where,
          done.map(_._1),
          s"key '${states(done.size)._1}' is not: ${failed.problem}",
          "Run it again to continue.",
          failed
        )
    }
    done
  }

  private def prove(
      document: ErasureDocument,
      begun: ObjectNode,
      destroyed: Seq[(String, KeyState)],
      probes: Seq[(String, Option[String])],
      keys: AskedKeys,
      proof: ErasureProof
  ): ObjectNode = {
    val fresh = ResolvedOptions.ofFrame(session, options).openKms(KeyPurpose.Erase)
    val refusals = probes.map { case (id, probe) => id -> ErasureProof.refusal(fresh, id, probe, where) }
    val after = look(list(), keys)
    val findings = proof.findings(after)
    val certificate = document.proved(begun, destroyed, refusals, findings, after.size)
    record.write(certificate)
    record.writePage(document.page(certificate))
    findings.headOption.foreach { first =>
      throw PmeErrors.erasureUnproven(
        where,
        request.keys,
        s"${first.file}: ${first.why}, and so for ${findings.size} files",
        s"The record ${record.path} lists them."
      )
    }
    certificate
  }
}

private object ErasureRun {
  private def remedyFor(kind: String): String = kind match {
    case "shared" =>
      "Name the partitions of the rows to erase; rows of others need another key first: rotate or rewrite them."
    case "other table" =>
      "If its rows are to be erased, too, name the table in also; else give it another key first."
    case "left" => "Name the keys of these files, too, or delete the files."
    case _ => "Make every file readable for this user, or remove what is no file of the table."
  }
}
