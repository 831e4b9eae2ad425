package io.pmeparquet.spark.admin

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.{DataFrame, Row, SparkSession}
import org.apache.spark.sql.types._

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.keys.{Kms, NoKms}
import io.pmeparquet.parquet.inspect.{FileUse, KeyUse}
import io.pmeparquet.parquet.storage.ListedFile
import io.pmeparquet.spark.admin.job.{FileFailure, Progress, ResultRows}
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
   * @param live from [[LiveFiles.reported]], or null
   */
  def of(
      session: SparkSession,
      path: String,
      options: java.util.Map[String, String],
      live: AnyRef
  ): DataFrame =
    Progress.unwatching(of(session, path, options.asScala.toMap, LiveFiles.ofPython(live)))

  private def of(
      session: SparkSession,
      path: String,
      options: Map[String, String],
      live: Option[LiveFiles]
  ): DataFrame = PmeSparkException.translated(
    results.frame(
      session,
      looked(session, path, options, new FooterReading(session, options), live).flatMap(alike)
    )
  )

  private[admin] def found(
      session: SparkSession,
      path: String,
      options: Map[String, String]
  ): Seq[AlikeUses] =
    looked(session, path, options, new FooterReading(session, options), None).flatMap(alike)

  /** Like [[of]], with what protects each column of each file, for a report. */
  def table(
      session: SparkSession,
      path: String,
      options: java.util.Map[String, String],
      live: AnyRef
  ): TableUsage =
    Progress.unwatching(PmeSparkException.translated {
      val wanted = options.asScala.toMap
      val reading = new FooterReading(session, wanted)
      val parts = looked(session, path, wanted, reading, LiveFiles.ofPython(live))
      val files = parts.filterNot(part => OfLogs(part.name)).flatMap(_.files)
      val known = parts
        .flatMap(_.files)
        .collect { case (_, Right(use)) => use }
        .flatMap(_.uses.flatMap(_.masterKeyId))
        .distinct
      new TableUsage(
        results.frame(session, parts.flatMap(alike)),
        session.createDataFrame(FilesAlike.rows(files).asJava, FilesAlike.schema),
        if (reading.kms eq NoKms) null else reading.kms.describe,
        known.flatMap(key => bitsOf(reading.kms, key).map(key -> Int.box(_))).toMap.asJava,
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

  /**
   * Files that have the same meaning for their table.
   *
   * @param name null for files of a table without a log
   */
  private final case class Part(name: String, files: FooterReading.Looked)

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
      reading: FooterReading,
      live: Option[LiveFiles]
  ): Seq[Part] = {
    val conf = SparkAccess.hadoopConf(session, options)
    val contents = TableContents.of(session, new Path(path), conf, options, live)
    val tables = contents.tables
    val parts = Seq(
      (null, contents.bare),
      Live -> tables.flatMap(_.live),
      NotLive -> tables.flatMap(_.notLive),
      Changes -> tables.flatMap(_.changes),
      Checkpoints -> tables.flatMap(_.checkpoints)
    )
    parts.zip(reading.look(parts.map(_._2))).map { case ((name, _), found) =>
      Part(name, reading.spelt(if (name == Live) found ++ tables.flatMap(missing) else found))
    }
  }

  private def missing(table: DeltaContents): FooterReading.Looked = table.missing.map { file =>
    val failed = PmeErrors.liveFileMissing(file.toString, table.log.version)
    ListedFile(file.toString, table.log.lengths(file), 0, hasExternalMaterial = false) ->
      Left(FileFailure(failed.condition.name, failed.getMessage))
  }

  private[admin] val results: ResultRows[AlikeUses] = {
    val numbers = ArrayType(IntegerType, containsNull = false)
    ResultRows
      .of[AlikeUses]
      .optional("master_key", StringType)(_.one.masterKeyId)
      .optional("version", IntegerType)(_.one.version)
      .optional("kind", StringType)(found => Some(found.one.kind))
      .optional("wrapping", StringType)(_.one.wrapping)
      .optional("material", StringType)(_.one.material)
      .required("files", LongType)(_.files)
      .required("columns", ResultRows.Names)(_.distinct(_.columns))
      .optional("bytes", LongType)(_.bytes)
      .optional("rows", LongType)(_.rows)
      .required("unreadable_files", LongType)(_.unreadableFiles)
      .required("unreadable_columns", ResultRows.Names)(_.unreadable)
      .required("unreadable_in_some_files", ResultRows.Names)(_.unreadableInSome)
      .required("problems", ResultRows.Names)(_.distinct(_.problem))
      .required("data_key_bits", numbers)(_.distinct(_.dataKeyBits))
      .required("kek_bits", numbers)(_.distinct(_.kekBits))
      .optional("part", StringType)(found => Option(found.part))
  }

  /** The uses in a part of the table, those in plaintext first. */
  private def alike(part: Part): Seq[AlikeUses] = {
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
    // A checkpoint's columns are those of the log, and not the table's.
    def shown(use: KeyUse) = if (part.name == Checkpoints) use.copy(columns = Nil, unreadable = Nil) else use
    grouped.values.toSeq
      .map { some =>
        val found = some.map { case (file, use) => file -> shown(use) }
        isPlaintext(some.head._2) -> new AlikeUses(found, readable, part.name)
      }
      .sortBy { case (plain, found) => (!plain, results.row(found).toSeq.take(7).mkString(" ")) }
      .map(_._2)
  }

  private def isPlaintext(use: KeyUse) =
    use.kind == KeyUse.Plaintext || use.kind == KeyUse.PlaintextColumn

  private def unknown(failed: FileFailure) =
    KeyUse(None, None, "unknown", None, None, Nil, None, None, Nil, Some(failed.condition))
}

/**
 * Uses of one master key for one purpose: a row of `pme.key_usage`.
 *
 * @param uses each with its file
 * @param readable columns that some file has in plaintext: losing a key does not lose them in all files
 */
private[admin] final class AlikeUses(uses: Seq[(String, KeyUse)], readable: Set[String], val part: String) {
  private val (paths, all) = uses.unzip

  def one: KeyUse = all.head
  def files: Long = paths.distinct.size.toLong
  def bytes: Option[Long] = sum(all.map(_.bytes))
  def rows: Option[Long] = sum(uses.groupBy(_._1).values.map(_.head._2.rows))
  def unreadableFiles: Long =
    uses.collect { case (file, use) if use.opensFile => file }.distinct.size.toLong
  val (unreadableInSome, unreadable) = distinct(_.unreadable).partition(readable)

  def distinct[A: Ordering](of: KeyUse => Iterable[A]): Seq[A] = all.flatMap(of(_)).distinct.sorted

  /** The sum; none if a value is not known. */
  private def sum(values: Iterable[Option[Long]]): Option[Long] =
    if (values.forall(_.isDefined)) Some(values.flatten.sum) else None
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

/**
 * Groups the files of a table by what protects their columns. Thousands of files make a few groups, and every column of
 * every file is in one. ''Driver only.''
 */
private[admin] object FilesAlike {

  /** One row for each column of a group, with its protection; one row without a column if the group has none. */
  val schema: StructType = StructType(
    Seq(
      StructField("group", IntegerType, nullable = false),
      StructField("files", LongType, nullable = false),
      StructField("bytes", LongType, nullable = false),
      StructField("first_file", StringType, nullable = false),
      StructField("state", StringType, nullable = false),
      StructField("column", StringType),
      StructField("kind", StringType),
      StructField("master_key", StringType)
    )
  )

  val Encrypted = "encrypted"
  val Plaintext = "plaintext"

  /** The footer did not open, so nothing is known about its columns. */
  val Unknown = "unknown"

  /** The largest group first. */
  def rows(looked: Seq[(ListedFile, Either[FileFailure, FileUse])]): Seq[Row] = {
    val protections = looked.map { case (file, found) => protectionOf(found) -> file }
    val groups = protections.groupBy(_._1).toSeq.map { case (protection, files) =>
      protection -> files.map(_._2).sortBy(_.path)
    }
    groups.sortBy { case (_, files) => (-files.size, files.head.path) }.zipWithIndex.flatMap {
      case (((state, columns), files), number) =>
        val group = Seq[Any](number, files.size.toLong, files.map(_.length).sum, files.head.path, state)
        if (columns.isEmpty) Seq(Row.fromSeq(group ++ Seq(null, null, null)))
        else
          columns.toSeq.map(cells => Row.fromSeq(group ++ cells))
    }
  }

  private def protectionOf(found: Either[FileFailure, FileUse]): (String, Set[Seq[String]]) =
    found match {
      case Right(FileUse(_, isEncrypted, Some(columns), _)) =>
        (if (isEncrypted) Encrypted else Plaintext) ->
          columns.map(one => Seq(one.column, one.kind, one.masterKey.orNull)).toSet
      case _ => Unknown -> Set.empty
    }
}
