package io.pmeparquet.spark.admin.erase

import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.node.ObjectNode
import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.SparkSession

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.keys.{KeyAdministration, KeyPurpose, KeyState, Kms}
import io.pmeparquet.options.PmeOptions
import io.pmeparquet.spark.admin.seal.SealedGuard
import io.pmeparquet.spark.options.ResolvedOptions

/** One erasure. ''Driver only.'' */
private[erase] final class ErasureRun(
    session: SparkSession,
    options: Map[String, String],
    request: ErasureRequest,
    conf: Configuration
) {
  import ErasureRun._

  private val where = s"erasure of ${request.table}"
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

  private lazy val keys = new AskedKeys(request.keys.distinct, administration, where)

  private lazy val record = {
    val signing = resolved.values.text(PmeOptions.SigningKey).map(_.trim).filter(_.nonEmpty).map { id =>
      id -> kms.signingKey(id, s"option ${PmeOptions.SigningKey.name}")
    }
    new ErasureRecord(request.table, kms.describe, keys.names.values.toSet, signing, conf)
  }

  private lazy val tables = new ErasureTables(session, options, request, s"erasure ${record.id}", conf)
  private lazy val seals = new ErasureSeals(session, options, request, keys, tables.markOf, record.path, conf)
  private lazy val document =
    new ErasureDocument(request, kms.describe, keys.names, administration.consequence)

  def run(dryRun: Boolean): ObjectNode = {
    if (request.keys.isEmpty || request.keys.exists(_.trim.isEmpty))
      throw PmeErrors.badOption("keys", request.keys.mkString(", "), "names of master keys")
    request.looked.foreach(SealedGuard.requireTable(_, conf))
    if (dryRun) {
      val plan = look()
      document.planned(plan.states, plan.erased, plan.findings ++ seals.findings(plan.looked, plan.erased))
    } else tables.marked(erase(look()))
  }

  private def look(): Plan = {
    val states = keys.ids.map(id => id -> administration.state(id, where))
    requireKnown(states)
    val view = new ErasureView(request, keys, record.closed, resolved.caseSensitive)
    val listed = tables.list()
    val looked = tables.look(listed, keys)
    val erased = view.erased(looked, record.before.toSeq.flatMap(ErasureRecord.files))
    Plan(states, view, listed, looked, erased, view.findings(states, listed, looked, erased))
  }

  private def erase(plan: Plan): ObjectNode = {
    requireNone(plan.findings)
    val versions = seals.versions(plan.looked)
    val sealing = seals.prepared(plan.looked, plan.erased)
    val probes = plan.states.map { case (id, state) =>
      id -> ErasureProof.probe(kms, id, state, where).orElse(probeBefore(id))
    }
    // What came since is not noted, and perhaps somebody else's.
    if (tables.list().map(_.stamps) != plan.listed.map(_.stamps))
      throw refusal("files were added or removed meanwhile", "Run it again while nobody writes to the table.")
    def isSealedSince = seals.versions(plan.looked) != versions
    if (isSealedSince)
      throw refusal("a table was sealed meanwhile", "Run it again while nobody seals the tables.")
    val closed = plan.view.closedBefore(plan.looked)
    val begun = document.begun(plan.states, plan.erased, record.before, closed, probes)
    record.write(begun)
    val (destroyed, refusals, after) = begunWith {
      val destroyed = destroy(plan.states)
      val fresh = ResolvedOptions.ofFrame(session, options).openKms(KeyPurpose.Erase)
      val refusals = probes.map { case (id, probe) => id -> ErasureProof.refusal(fresh, id, probe, where) }
      (destroyed, refusals, tables.look(tables.list(), keys))
    }
    val refused = refusals.map { case (id, found) => id -> found.fold(failed => throw failed, identity) }
    val proof = new ErasureProof(plan.view, plan.looked, plan.erased).of(after)
    val certificate = document.proved(begun, destroyed, refused, proof)
    val sha256 = begunWith {
      val written = record.write(certificate)
      record.writePage(document.page(certificate))
      written
    }
    requireProved(proof)
    if (isSealedSince)
      throw PmeErrors.erasureUnproven(
        where,
        keys.ids,
        "a table was sealed meanwhile, so its seal does not state the erasure",
        "Run it again while nobody seals the tables."
      )
    begunWith {
      seals.seal(sealing, plan.looked, sha256, certificate.path("proved_at").asText)
    }
    certificate
  }

  /** Whatever fails once keys may be destroyed says so. */
  private def begunWith[A](work: => A): A =
    try work
    catch {
      case NonFatal(failed) =>
        val why = Some(failed).collect { case one: PmeException => one.problem }
        throw PmeErrors.erasureUnproven(
          where,
          keys.ids,
          why.getOrElse(failed.getClass.getSimpleName).stripSuffix("."),
          "Run it again to continue.",
          failed
        )
    }

  private def probeBefore(id: String): Option[String] =
    record.before.flatMap(ErasureRecord.probe(_, keys.names(id)))

  /** A name that the KMS does not know may be misspelt. Some KMSs forget what they destroyed, but the record does not. */
  private def requireKnown(states: Seq[(String, KeyState)]): Unit = states
    .collectFirst { case (id, KeyState.Missing) if !keys.forgets || record.before.isEmpty => id }
    .foreach(id => throw PmeErrors.keyNotFound(where, id, kms.describe))

  private def requireNone(findings: Seq[ErasureFinding]): Unit = findings.headOption.foreach { first =>
    val more = if (findings.size == 1) "" else s" (and ${findings.size - 1} more findings)"
    throw refusal(s"${first.file}: ${first.why}$more", remedyFor(first.kind))
  }

  private def refusal(why: String, remedy: String): PmeException =
    PmeErrors.erasureRefused(where, why, remedy)

  private def destroy(states: Seq[(String, KeyState)]): Seq[(String, KeyState)] = states.map {
    case (id, state) =>
      id -> (if (state == KeyState.Usable) administration.destroy(id, where) else state)
  }

  private def requireProved(proof: Proved): Unit = proof.findings.headOption.foreach { first =>
    throw PmeErrors.erasureUnproven(
      where,
      request.keys,
      s"${first.file}: ${first.why}, and so for ${proof.findings.size} files",
      s"The record ${record.path} lists them."
    )
  }
}

private object ErasureRun {

  /** What was looked at before anything is destroyed. */
  final case class Plan(
      states: Seq[(String, KeyState)],
      view: ErasureView,
      listed: Seq[ListedTable],
      looked: Seq[LookedFile],
      erased: Seq[ErasedFile],
      findings: Seq[ErasureFinding]
  )

  private def remedyFor(kind: String): String = kind match {
    case "no file" => "Name all tables with rows of the customer, in also, or leave out the key."
    case "shared" =>
      "Name the partitions of the rows to erase; rows of others need another key first: rotate or rewrite them."
    case "other table" =>
      "If its rows are to be erased, too, name the table in also; else give it another key first."
    case "left" => "Name the keys of these files, too, or delete the files."
    case _ => "Make every file readable for this user, or remove what is no file of the table."
  }
}
