package io.pmeparquet.spark.admin

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.{DataFrame, Row, SparkSession}
import org.apache.spark.sql.types._

import io.pmeparquet.{Condition, PmeErrors, PmeException}
import io.pmeparquet.keys.{Kms, NoKms}
import io.pmeparquet.orc.OrcUsage
import io.pmeparquet.parquet.files.ListedFile
import io.pmeparquet.parquet.inspect.{FileUsage, FileUse, KeyUse}
import io.pmeparquet.parquet.rotation.RotationKeys
import io.pmeparquet.parquet.scope.ReadScope
import io.pmeparquet.spark.admin.job.{FileFailure, FileJob, Progress}
import io.pmeparquet.spark.keys.DriverRoute
import io.pmeparquet.spark.options.ConfResolver
import io.pmeparquet.spark.session.{PmeSparkException, SparkAccess}

/**
 * Lists which master keys protect what in a table, and what nobody could read without one of them. Executors read
 * footers, and no pages. ''Driver only.''
 */
object KeyUsage {

  /** @param options the options of the KMS; without a KMS, this finds only what files show without keys */
  def of(session: SparkSession, path: String, options: Map[String, String]): DataFrame =
    of(session, path, options, None)

  /**
   * For Python.
   *
   * @param told from [[LiveFiles.told]], or null
   */
  def of(
      session: SparkSession,
      path: String,
      options: java.util.Map[String, String],
      told: AnyRef
  ): DataFrame =
    Progress.unwatching(of(session, path, options.asScala.toMap, LiveFiles.ofPython(told)))

  private def of(
      session: SparkSession,
      path: String,
      options: Map[String, String],
      told: Option[LiveFiles]
  ): DataFrame = PmeSparkException.translated(
    session.createDataFrame(rows(looked(session, path, options, kms(session, options), told)).asJava, schema)
  )

  private[admin] def rows(session: SparkSession, path: String, options: Map[String, String]): Seq[Row] =
    rows(looked(session, path, options, kms(session, options), None))

  /** Like [[of]], with what protects each column of each file, for a report. */
  def table(
      session: SparkSession,
      path: String,
      options: java.util.Map[String, String],
      told: AnyRef
  ): TableUsage =
    Progress.unwatching(PmeSparkException.translated {
      val wanted = options.asScala.toMap
      val place = kms(session, wanted)
      val parts = looked(session, path, wanted, place, LiveFiles.ofPython(told))
      val files = parts.filterNot(part => OfLogs(part.name)).flatMap(_.files)
      val known = parts
        .flatMap(_.files)
        .collect { case (_, Right(use)) => use }
        .flatMap(_.uses.flatMap(_.masterKeyId))
        .distinct
      new TableUsage(
        session.createDataFrame(rows(parts).asJava, schema),
        session.createDataFrame(FilesAlike.rows(files).asJava, FilesAlike.schema),
        if (place eq NoKms) null else place.describe,
        known.flatMap(key => bitsOf(place, key).map(key -> Int.box(_))).toMap.asJava,
        SparkAccess.sqlConf(session).caseSensitiveAnalysis
      )
    })

  /**
   * The length of a master key, if the KMS gives the key away, as a keystore does. The key stays here. None for a name
   * that a file made up, and for a key that this reader may not use.
   */
  private def bitsOf(place: Kms, masterKey: String): Option[Int] =
    try place.directKey(masterKey, "key usage").map(_.bits)
    catch { case _: PmeException => None }

  private[admin] type Looked = Seq[(ListedFile, Either[FileFailure, FileUse])]

  /**
   * Files that have the same meaning for their table.
   *
   * @param name null for files of a table without a log
   */
  private final case class Part(name: String, files: Looked)

  private val Live = "live"
  private val NotLive = "not live"
  private val Changes = "change data"
  private val Checkpoints = "checkpoint"

  /** What inspection does not list. */
  private val OfLogs = Set(Changes, Checkpoints)

  private def looked(
      session: SparkSession,
      path: String,
      options: Map[String, String],
      place: Kms,
      told: Option[LiveFiles]
  ): Seq[Part] = {
    val conf = SparkAccess.hadoopConf(session, options)
    val usage = new FileUsage(scope(session, options, place))
    val contents = TableContents.of(session, new Path(path), conf, options, told)
    val tables = contents.tables
    val parts = Seq(
      (null, contents.bare),
      Live -> tables.flatMap(_.live),
      NotLive -> tables.flatMap(_.notLive),
      Changes -> tables.flatMap(_.changes),
      Checkpoints -> tables.flatMap(_.checkpoints)
    )
    val step = Progress.step(session, "looking into footers", parts.map(_._2.size).sum)
    step.begin()
    val absent = tables.flatMap(missing)
    parts.map { case (name, all) =>
      val found = all.grouped(AtOnce).flatMap { files =>
        FileJob.each(session, conf, files)((file, conf) => step.counting(0)(useOf(usage, file, conf)))
      }
      val whole = found.toList ++ (if (name == Live) absent else Nil)
      Part(name, spelt(whole, SparkAccess.sqlConf(session).caseSensitiveAnalysis))
    }
  }

  /** The files that a log lists, with what protects them. */
  private[spark] def looked(
      session: SparkSession,
      files: Seq[ListedFile],
      options: Map[String, String]
  ): Looked = {
    val usage = new FileUsage(scope(session, options))
    val step = Progress.step(session, "looking into footers", files.size)
    step.begin()
    val found = files.grouped(AtOnce).flatMap { some =>
      FileJob.each(session, SparkAccess.hadoopConf(session, options), some) { (file, conf) =>
        step.counting(0)(useOf(usage, file, conf))
      }
    }
    spelt(found.toList, SparkAccess.sqlConf(session).caseSensitiveAnalysis)
  }

  private def missing(table: DeltaContents): Looked = table.missing.map { file =>
    val failed = PmeErrors.liveFileMissing(file.toString, table.said.version)
    ListedFile(file.toString, table.said.lengths(file), 0, hasExternalMaterial = false) ->
      Left(FileFailure(failed.condition.name, failed.getMessage))
  }

  private def useOf(usage: FileUsage, file: ListedFile, conf: Configuration): FileUse =
    try usage.of(file, conf)
    catch {
      case failed: PmeException if failed.condition == Condition.DamagedFile =>
        val path = new Path(file.path)
        if (OrcUsage.isOrc(path, conf)) OrcUsage.of(path, file.length, conf) else throw failed
    }

  private def spelt(looked: Looked, caseSensitive: Boolean): Looked = {
    val inOrder = looked.sortBy(_._1.path).collect { case (_, Right(use)) => use }
    val spelling = Spellings.of(inOrder, caseSensitive)
    looked.map { case (file, found) => file -> found.map(spelling.in) }
  }

  /** Opens whatever the options have keys for, also files that they refuse: this scope reads no rows. */
  private[admin] def scope(session: SparkSession, options: Map[String, String]): ReadScope =
    scope(session, options, kms(session, options))

  private def scope(session: SparkSession, options: Map[String, String], place: Kms): ReadScope = {
    DriverRoute.warnWhereReadable(session)
    RotationKeys.open(place, None, new ConfResolver(session).readSettings(options), DriverRoute.open()).scope
  }

  private def kms(session: SparkSession, options: Map[String, String]): Kms = {
    val resolver = new ConfResolver(session)
    if (resolver.namesKms(options)) resolver.kms(options) else NoKms
  }

  private val AtOnce = 1000

  private[admin] val schema: StructType = {
    val names = ArrayType(StringType, containsNull = false)
    val numbers = ArrayType(IntegerType, containsNull = false)
    StructType(
      Seq(
        StructField("master_key", StringType),
        StructField("version", IntegerType),
        StructField("kind", StringType),
        StructField("wrapping", StringType),
        StructField("material", StringType),
        StructField("files", LongType, nullable = false),
        StructField("columns", names, nullable = false),
        StructField("bytes", LongType),
        StructField("rows", LongType),
        StructField("unreadable_files", LongType, nullable = false),
        StructField("unreadable_columns", names, nullable = false),
        StructField("unreadable_in_some_files", names, nullable = false),
        StructField("problems", names, nullable = false),
        StructField("data_key_bits", numbers, nullable = false),
        StructField("kek_bits", numbers, nullable = false),
        StructField("part", StringType)
      )
    )
  }

  private def rows(parts: Seq[Part]): Seq[Row] = parts.flatMap(rows)

  private def rows(part: Part): Seq[Row] = {
    val uses = for {
      (file, found) <- part.files
      use <- found.fold(failed => Seq(unknown(failed)), _.uses)
    } yield file.path -> use
    // Files with the same columns without a key share a row, which shows how many files have these columns readable.
    val grouped = uses.groupBy { case (_, use) =>
      val readable = if (use.kind == KeyUse.PlaintextColumn) use.columns else Nil
      (use.masterKeyId, use.version, use.kind, use.wrapping, use.material, readable)
    }
    val readable = uses.collect { case (_, use) if isPlaintext(use) => use.columns }.flatten.toSet
    grouped.values.toSeq
      .map(uses => isPlaintext(uses.head._2) -> row(uses, readable, part.name))
      .sortBy { case (plain, row) => (!plain, row.toSeq.take(7).mkString(" ")) }
      .map(_._2)
  }

  private def isPlaintext(use: KeyUse) =
    use.kind == KeyUse.Plaintext || use.kind == KeyUse.PlaintextColumn

  private def unknown(failed: FileFailure) =
    KeyUse(None, None, "unknown", None, None, Nil, None, None, Nil, Some(failed.condition))

  /** @param readable columns that some file has in plaintext: losing a key does not lose them in all files */
  private def row(uses: Seq[(String, KeyUse)], readable: Set[String], part: String): Row = {
    val (files, all) =
      if (part == Checkpoints) uses.map { case (file, use) => file -> withoutColumns(use) }.unzip
      else uses.unzip
    val (partly, wholly) = all.flatMap(_.unreadable).distinct.sorted.partition(readable)
    val one = all.head
    val perFile = uses.groupBy(_._1).values.map(_.head._2)
    Row(
      one.masterKeyId.orNull,
      one.version.map(Int.box).orNull,
      one.kind,
      one.wrapping.orNull,
      one.material.orNull,
      files.distinct.size.toLong,
      all.flatMap(_.columns).distinct.sorted,
      sum(all.map(_.bytes)),
      sum(perFile.map(_.rows)),
      uses.collect { case (file, use) if use.opensFile => file }.distinct.size.toLong,
      wholly,
      partly,
      all.flatMap(_.problem).distinct.sorted,
      all.flatMap(_.dataKeyBits).distinct.sorted,
      all.flatMap(_.kekBits).distinct.sorted,
      part
    )
  }

  /** A checkpoint's columns are those of the log, and not the table's. */
  private def withoutColumns(use: KeyUse) = use.copy(columns = Nil, unreadable = Nil)

  /** The sum; null if a value is not known. */
  private def sum(values: Iterable[Option[Long]]): Any =
    if (values.forall(_.isDefined)) values.flatten.sum else null
}

/**
 * @param uses the rows of `pme.key_usage`
 * @param files the files, grouped by what protects their columns
 * @param kms what messages call the KMS; null if the options name none
 * @param masterKeyBits lengths of master keys, if the KMS gives them
 * @param caseSensitive whether names that differ only in letter case are different columns
 */
final class TableUsage(
    val uses: DataFrame,
    val files: DataFrame,
    val kms: String,
    val masterKeyBits: java.util.Map[String, Integer],
    val caseSensitive: Boolean
)
