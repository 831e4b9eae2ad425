package io.pmeparquet.spark.admin.erase

import java.time.temporal.ChronoUnit.SECONDS
import java.time.Instant

import scala.collection.JavaConverters._

import com.fasterxml.jackson.databind.node.ObjectNode
import com.fasterxml.jackson.databind.JsonNode

import io.pmeparquet.keys.KeyState
import io.pmeparquet.parquet.storage.ErasureNotes

/** What an erasure says: the plan, the note before the destruction, the certificate, and a page made of it. */
private[erase] final class ErasureDocument(
    request: ErasureRequest,
    kms: String,
    names: Map[String, String],
    consequence: String
) {
  import ErasureDocument._
  import ErasureRecord.{putTexts, Mapper}

  def planned(
      states: Seq[(String, KeyState)],
      erased: Seq[ErasedFile],
      findings: Seq[ErasureFinding]
  ): ObjectNode = {
    val node = described(states, erased, "planned")
    putFindings(node, findings)
    node
  }

  /**
   * @param before of an earlier run, whose time counts
   * @param closed files that do not open without keys of other erasures, and the keys that they name
   * @param probes what each key wrapped while it could
   */
  def begun(
      states: Seq[(String, KeyState)],
      erased: Seq[ErasedFile],
      before: Option[ObjectNode],
      closed: Seq[(String, Seq[String])],
      probes: Seq[(String, Option[String])]
  ): ObjectNode = {
    val node = described(states, erased, "begun")
    val closedBefore = node.putArray("closed_before")
    closed.sortBy(_._1).foreach { case (file, keys) =>
      putTexts(closedBefore.addObject().put("file", file), "keys", keys)
    }
    val wrapped = node.putArray("probes")
    for { (id, probe) <- probes; text <- probe }
      wrapped.addObject().put("name", names(id)).put("wrapped", text)
    val since = before.map(_.path("begun_at").asText("")).filter(_.nonEmpty)
    node.put("begun_at", since.getOrElse(now()))
  }

  /** @param refusals of each key, the condition with which a new client of the KMS refused it */
  def proved(
      begun: ObjectNode,
      destroyed: Seq[(String, KeyState)],
      refusals: Seq[(String, Option[String])],
      proof: Proved
  ): ObjectNode = {
    val node = begun.deepCopy()
    node.put("state", if (proof.findings.isEmpty) "complete" else "unproven").put("proved_at", now())
    putKeys(node, destroyed)
    putFindings(node, proof.findings)
    val evidence = node.putObject("evidence")
    val refused = evidence.putArray("kms_refuses")
    refusals.foreach { case (id, condition) =>
      refused.addObject().put("key", id).put("condition", condition.orNull)
    }
    evidence.put("files_that_fail_to_open", proof.closed).put("files_as_before", proof.asBefore)
    evidence.put("looked_at", "footers and the metadata of columns, of every file; no pages")
    putTexts(node, "not_covered", NotCovered)
    node
  }

  private def described(
      states: Seq[(String, KeyState)],
      erased: Seq[ErasedFile],
      state: String
  ): ObjectNode = {
    val node = Mapper.createObjectNode()
    node.put("format", ErasureNotes.Format).put("state", state).put("table", request.table.toString)
    putTexts(node, "also", request.also.map(_.toString))
    putTexts(node, "looked_for_sharing", request.others.map(_.toString))
    node.put("by", request.by).put("kms", kms).put("consequence", consequence)
    putKeys(node, states)
    val partitions = node.putArray("partitions")
    request.partitions.toSeq.sorted.foreach { case (column, value) =>
      partitions.addObject().put("column", column).put("value", value)
    }
    val totals = node.putObject("totals")
    totals.put("files", erased.size).put("bytes", erased.map(_.bytes).sum)
    if (erased.forall(_.rows.isDefined)) totals.put("rows", erased.flatMap(_.rows).sum)
    putTexts(totals, "columns", erased.flatMap(_.columns).distinct.sorted)
    putTexts(totals, "columns_left_readable", erased.flatMap(_.left).distinct.sorted)
    val files = node.putArray("files")
    erased.sortBy(_.file).foreach(file => files.add(ErasureRecord.json(file)))
    node
  }

  private def putKeys(node: ObjectNode, states: Seq[(String, KeyState)]): Unit = {
    val keys = node.putArray("keys")
    states.foreach { case (id, state) =>
      val key = keys.addObject().put("key", id).put("name", names(id)).put("state", state.name)
      state match {
        case KeyState.Scheduled(Some(until)) => key.put("until", until)
        case _ => ()
      }
    }
  }

  private def putFindings(node: ObjectNode, findings: Seq[ErasureFinding]): Unit = {
    val all = node.putArray("findings")
    findings.foreach { one =>
      all.addObject().put("kind", one.kind).put("file", one.file).put("why", one.why)
    }
  }

  /** The certificate for a person. */
  def page(certificate: ObjectNode): String = {
    def text(name: String) = certificate.path(name).asText("")
    def each(path: String)(line: JsonNode => String) =
      certificate.at(path).elements.asScala.map(one => s"  ${line(one)}").toSeq
    def section(title: String, lines: Seq[String]) = if (lines.isEmpty) Nil else "" +: title +: lines
    val totals = certificate.path("totals")
    val evidence = certificate.path("evidence")
    val partitions = request.partitions.toSeq.sorted.map { case (column, value) => s"$column=$value" }
    val rows = if (totals.has("rows")) totals.path("rows").asText else "an unknown number of"
    val keys = each("/keys") { key =>
      val until = Option(key.path("until").asText("")).filter(_.nonEmpty).fold("")(day => s" until $day")
      s"${key.path("key").asText}: ${key.path("state").asText}$until"
    }
    val refusals = each("/evidence/kms_refuses") { one =>
      val how = Option(one.path("condition").textValue)
        .fold("the KMS says the state above, and nothing was there to try")(why =>
          s"a new client of the KMS is refused it: $why"
        )
      s"${one.path("key").asText}: $how"
    }
    (Seq(
      s"Erasure of rows of ${text("table")}: ${text("state")}",
      "",
      s"By ${text("by")}, begun ${text("begun_at")}, proved ${text("proved_at")}.",
      s"Rows: $rows, in ${totals.path("files").asText} files${partitions.mkString(" of ", ", ", "").trim match {
          case "of" => ""
          case some => s" $some"
        }}.",
      s"Keys in ${text("kms")} (destroyed ${text("consequence")}):"
    ) ++ keys ++ section("Evidence:", refusals) ++ Seq(
      s"  ${evidence.path("files_that_fail_to_open").asText} files fail to open for that reason, and " +
        s"${evidence.path("files_as_before").asText} other files are as before.",
      s"  Looked at: ${evidence.path("looked_at").asText}."
    ) ++ section(
      "Columns of these files that stay readable:",
      each("/totals/columns_left_readable")(_.asText)
    ) ++
      section(
        "Not as it should be:",
        each("/findings")(one => s"${one.path("file").asText}: ${one.path("why").asText}")
      ) ++
      section("Not covered:", each("/not_covered")(one => s"- ${one.asText}"))).mkString("", "\n", "\n")
  }
}

private[erase] object ErasureDocument {
  private def now(): String = Instant.now().truncatedTo(SECONDS).toString

  val NotCovered: Seq[String] = Seq(
    "backups of the KMS or keystore: whoever restores one can read the files again",
    "running applications, which may use keys that they have until the lifetime of keys (cacheLifetime) ends",
    "extracts and copies under other keys or in plaintext, also in tables that were not looked at",
    "partitions with a location of their own in a catalog, outside of the table's directory",
    "statistics that catalogs and logs of tables keep, names of files and partitions, and sizes",
    "versions in plaintext from before encryption, also on disks and in backups",
    "a scheduled destruction that the owner of the KMS cancels before its day"
  )
}
