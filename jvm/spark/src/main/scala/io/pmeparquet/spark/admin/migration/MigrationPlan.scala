package io.pmeparquet.spark.admin.migration

import java.util.Locale

import scala.collection.JavaConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.spark.sql.types.{BooleanType, StructType, TimestampType}
import org.apache.spark.sql.SparkSession

import io.pmeparquet.{Audience, PmeErrors, PmeException}
import io.pmeparquet.columns.{ColumnProtection, KeyDraft, KeyPlan, LeafColumn}
import io.pmeparquet.options.{FileSettings, PmeOptions}
import io.pmeparquet.orc.keys.OrcKeyName
import io.pmeparquet.spark.admin.{Refusal, WritePlan}
import io.pmeparquet.spark.options.ResolvedOptions
import io.pmeparquet.spark.session.SparkAccess
import io.pmeparquet.spark.write.ColumnPlan

/**
 * A column that is encrypted in the source.
 *
 * @param keys its ORC master keys, with their versions
 */
final case class SourceColumn(column: String, keys: Seq[String])

/**
 * What a migration would do.
 *
 * @param files with rows; each becomes one file
 * @param empty files of 0 bytes, which are left out
 * @param bytes of the source
 * @param bloomFilters columns that get Bloom filters
 * @param refusals why it would fail, the first one first
 * @param write how the target would be written; none if the source cannot be migrated at all
 */
final case class MigrationPlan(
    source: String,
    target: String,
    files: Int,
    empty: Int,
    rows: Long,
    bytes: Long,
    encrypted: Seq[SourceColumn],
    bloomFilters: Seq[String],
    refusals: Seq[Refusal],
    write: Option[WritePlan]
) {

  /** For Python. */
  def json: String = WritePlan.mapper.writeValueAsString(this)
}

/**
 * Decides how the target is written: each column that is encrypted in the source gets the key that it has there, unless
 * the options name keys, and stays encrypted in any case. ''Driver only.''
 *
 * @param columns of the target, without partition columns
 * @param facts of the source's files
 */
private[migration] final class MigrationPlanning(
    session: SparkSession,
    source: OrcSource,
    columns: StructType,
    facts: Seq[OrcFacts],
    asked: Map[String, String]
) {
  private val caseSensitive = SparkAccess.sqlConf(session).caseSensitiveAnalysis
  private val resolved = ResolvedOptions.ofFrame(session, asked)
  private val leaves = ColumnPlan.leaves(session, columns)

  /** Each encrypted column of the source that the target has, with its keys there. */
  val encrypted: Seq[(LeafColumn, Seq[OrcKeyName])] = {
    val keys = facts.flatMap(_.encrypted).distinct.groupBy { case (name, _) => folded(name) }
    leaves.flatMap(leaf => keys.get(folded(leaf.sparkPath)).map(found => leaf -> found.map(_._2).distinct))
  }

  /** An encrypted column of a file that is none of the target's would have lost its key, or its values. */
  private def lost: Seq[PmeException] =
    MigrationPlanning.lost(facts.flatMap(_.encrypted).map(_._1), leaves, caseSensitive).map { name =>
      PmeErrors.migratedPartly(
        source.name,
        name.mkString("."),
        "is encrypted, and does not exist in the target"
      )
    }

  /** The columns that have Bloom filters in some file, and that can have some in Parquet. */
  val bloomColumns: Seq[LeafColumn] = {
    val found = facts.flatMap(_.bloom).distinct.map(folded).toSet
    leaves.filter(leaf => found(folded(leaf.sparkPath)) && !isOddForBloom(leaf))
  }

  /**
   * The options of the write.
   *
   * @throws io.pmeparquet.PmeException if the keys of the source do not say which keys the target gets
   */
  def options(bloomFilters: Boolean): Map[String, String] = {
    val namesKeys = resolved.columnKeys.isDefined || resolved.uniformKey.isDefined
    val keys = if (namesKeys || encrypted.isEmpty) None else Some(PmeOptions.ColumnKeys.name -> keysOfSource)
    val bloom = if (bloomFilters) bloomColumns else Nil
    keys.toMap ++ bloom.flatMap(bloomOf) ++ asked
  }

  /** A filter for as many values as a file has rows, or parquet-java makes each as large as it may be. */
  private def bloomOf(leaf: LeafColumn): Seq[(String, String)] = {
    val column = leaf.path.mkString(".")
    Seq(
      s"parquet.bloom.filter.enabled#$column" -> "true",
      s"parquet.bloom.filter.expected.ndv#$column" -> facts.map(_.rows).max.max(1L).toString
    )
  }

  private def keysOfSource: String = {
    val isHadoop = resolved.kmsSettings.kind == "hadoop"
    val keyed = encrypted.map { case (leaf, keys) =>
      val names = keys.map(_.name).distinct
      if (names.size > 1) throw PmeErrors.migratedKeysDiffer(source.name, leaf.display, names)
      val newest = keys.maxBy(_.version)
      // A Hadoop KMS wraps with the newest version of a key itself.
      (if (isHadoop || newest.version == 0) newest.name else newest.text) -> leaf.display
    }
    val listed = new java.util.TreeMap[String, java.util.List[String]]
    keyed.groupBy(_._1).foreach { case (key, some) => listed.put(key, some.map(_._2).asJava) }
    MigrationPlanning.json.writeValueAsString(listed)
  }

  /** Why a write with these options would be refused. */
  def refusals(files: FileSettings): Seq[PmeException] = {
    val draft = KeyDraft.of(leaves, files.columnKeys, files.unlisted, files.caseSensitive)
    val open = draft.columns.collect {
      case column if column.protection.contains(ColumnProtection.Plaintext) => folded(column.leaf.sparkPath)
    }.toSet
    val opened = encrypted.collect {
      case (leaf, _) if open(folded(leaf.sparkPath)) => PmeErrors.migratedOpenly(source.name, leaf.display)
    }
    val external =
      if (!files.externalMaterial) Nil
      else
        Seq(
          PmeErrors.notMigrated(
            source.name,
            "keyMaterial is external, and a run that continues another one could mix key material of both",
            s"Use keyMaterial=internal. ${Audience.current.rekey} can move it afterwards."
          )
        )
    lost ++ draft.refusals ++ opened ++ external ++ ofPartitions(files)
  }

  private def ofPartitions(files: FileSettings): Option[PmeException] =
    try {
      KeyPlan.checkPartitions(source.partitions.fieldNames.toSeq, files.columnKeys, files.caseSensitive)
      None
    } catch { case refused: PmeException => Some(refused) }

  /** Parquet has no Bloom filters of booleans, and Spark uses none of timestamps in their old form. */
  private def isOddForBloom(leaf: LeafColumn) = {
    val top = columns.fields.find(field => folded(Seq(field.name)) == folded(leaf.sparkPath.take(1)))
    leaf.sparkPath.size == 1 && top
      .map(_.dataType)
      .exists(kind => kind == BooleanType || kind == TimestampType)
  }

  private def folded(name: Seq[String]): Seq[String] = MigrationPlanning.folded(name, caseSensitive)
}

private[migration] object MigrationPlanning {
  private val json = new ObjectMapper

  /** Those of the names, in Spark's form, that no leaf has. */
  def lost(names: Seq[List[String]], leaves: Seq[LeafColumn], caseSensitive: Boolean): Seq[List[String]] = {
    val known = leaves.map(leaf => folded(leaf.sparkPath, caseSensitive)).toSet
    names.distinct.filterNot(name => known(folded(name, caseSensitive)))
  }

  private def folded(name: Seq[String], caseSensitive: Boolean): Seq[String] =
    if (caseSensitive) name.toList else name.map(_.toLowerCase(Locale.ROOT)).toList
}
