package io.pmeparquet.spark.admin.seal

import java.io.IOException

import scala.collection.JavaConverters._

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.SparkSession

import io.pmeparquet.{PmeErrors, StrictJson}
import io.pmeparquet.columns.ColumnKeys
import io.pmeparquet.keys.KeyPurpose
import io.pmeparquet.parquet.summary.{SummaryKind, WantedSummary}
import io.pmeparquet.spark.admin.job.Progress
import io.pmeparquet.spark.options.ResolvedOptions
import io.pmeparquet.spark.session.PmeSparkException

/**
 * Seals a table: makes its first snapshot, or the next one. `pme.seal`, and in Scala
 * {{{
 *   Sealing.seal(spark, "s3a://…/table", Map("kms" -> "vault", "signingKey" -> "publisher"))
 * }}}
 * ''Driver only.''
 */
object Sealing {

  /**
   * @param options those of a read, and `signingKey`, `verifyKey`, `snapshotLocation`, `indexKeys`
   * @param indexes what the version has indexes of; none: those of the version before
   * @param expect confirms the files that changed since the version before: how many there are, or that version (its
   *   number, `<table id>:<version>` or digest), or `unsealed` if there is none. Not needed if nothing changed.
   * @throws io.pmeparquet.PmeException `PME_SNAPSHOT_MISMATCH` if files changed, and `expect` does not confirm it;
   *   `PME_SNAPSHOT_CONFLICT` if another process sealed the table meanwhile
   */
  def seal(
      session: SparkSession,
      path: String,
      options: Map[String, String],
      indexes: Option[Seq[WantedSummary]] = None,
      expect: Option[String] = None
  ): SealResult = PmeSparkException.translated {
    job(session, path, options).run(indexes, expect)
  }

  /**
   * Makes the next version without some indexes. No file that the version before lists is opened.
   *
   * @param options as for [[seal]]
   * @param columns whose indexes to drop
   * @param kind only indexes of this kind: `minMax`, `valueList`, `bloom` or `class`
   * @throws io.pmeparquet.PmeException if the table is not sealed, or a column has no such index
   */
  def dropIndexes(
      session: SparkSession,
      path: String,
      options: Map[String, String],
      columns: Seq[String],
      kind: Option[String] = None
  ): SealResult = PmeSparkException.translated {
    val paths = columns.map(column => IndexRequests.of(column, SummaryKind.MinMax).column)
    job(session, path, options).dropIndexes(paths, kind)
  }

  /** For Python, with indexes as JSON ([[IndexRequests.parse]]). Null stands for an argument that the user did not give. */
  def seal(
      session: SparkSession,
      path: String,
      options: java.util.Map[String, String],
      indexes: java.util.List[String],
      expect: String
  ): SealResult = Progress.unwatching {
    PmeSparkException.translated {
      seal(
        session,
        path,
        options.asScala.toMap,
        Option(indexes).map(_.asScala.toList.map(IndexRequests.parse)),
        Option(expect)
      )
    }
  }

  /**
   * For Python at a terminal: what a seal would vouch for beyond the version before. The first text confirms it as `expect`,
   * the others name the files; empty if nothing changed.
   */
  def review(
      session: SparkSession,
      path: String,
      options: java.util.Map[String, String]
  ): java.util.List[String] = Progress.unwatching {
    PmeSparkException.translated {
      val found = job(session, path, options.asScala.toMap).review()
      (if (found.changes == 0) Nil else s"changes:${found.digest}" +: found.named).asJava
    }
  }

  /** For Python. */
  def dropIndexes(
      session: SparkSession,
      path: String,
      options: java.util.Map[String, String],
      columns: java.util.List[String],
      kind: String
  ): SealResult = Progress.unwatching {
    dropIndexes(session, path, options.asScala.toMap, columns.asScala.toSeq, Option(kind))
  }

  private def job(session: SparkSession, path: String, options: Map[String, String]) =
    new SealingJob(ResolvedOptions.ofOperation(session, options, KeyPurpose.Seal), path)
}

/** The indexes that somebody asks for. ''Driver only.'' */
object IndexRequests {

  /**
   * @param column a name as in `columnKeys`: `` address.`odd.name` ``
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION` if the column is not a name
   */
  def of(column: String, kind: SummaryKind): WantedSummary =
    WantedSummary(ColumnKeys.parsePattern(column, "index").names.map(_.text).toList, kind)

  /**
   * @param text JSON: `{"kind": "bloom", "column": "id", "parameters": {"fpp": "0.01"}}`
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION`
   */
  def parse(text: String): WantedSummary = {
    val node =
      try StrictJson.mapper.readTree(text)
      catch { case _: IOException => throw PmeErrors.badIndex(text, "it is not JSON") }
    def field(name: String) = Option(node.get(name))
      .filter(_.isTextual)
      .map(_.asText)
      .getOrElse(throw PmeErrors.badIndex(text, s"it has no text '$name'"))
    val parameters = Option(node.get("parameters")).fold(Seq.empty[(String, String)])(texts(text, _))
    of(field("column"), SummaryKind.parse(field("kind"), parameters))
  }

  private def texts(text: String, node: JsonNode) = {
    val fields = node.fields.asScala.toVector
    if (!node.isObject || !fields.forall(_.getValue.isTextual))
      throw PmeErrors.badIndex(text, "its parameters are not texts")
    fields.map(field => field.getKey -> field.getValue.asText)
  }
}
