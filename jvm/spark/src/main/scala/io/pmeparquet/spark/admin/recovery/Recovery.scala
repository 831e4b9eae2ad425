package io.pmeparquet.spark.admin.recovery

import java.util.Locale

import scala.collection.mutable
import scala.collection.JavaConverters._
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.hadoop.mapreduce.{Job, JobID, TaskAttemptID, TaskID, TaskType}
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl
import org.apache.spark.{SparkException, TaskContext}
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.{OutputWriter, OutputWriterFactory}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.apache.spark.util.SerializableConfiguration

import io.pmeparquet.{Condition, PmeErrors, PmeException}
import io.pmeparquet.keys.KeyPurpose
import io.pmeparquet.options.PmeOptions
import io.pmeparquet.parquet.recover.{FileRecovery, LostRows, RecoveredFile}
import io.pmeparquet.parquet.storage.{CopiedTable, ListedFile, OwnFiles, StagedTable}
import io.pmeparquet.parquet.write.WrittenFooter
import io.pmeparquet.snapshot.SnapshotDirectory
import io.pmeparquet.spark.admin.job._
import io.pmeparquet.spark.admin.seal.{Replaced, SealResult, SealedGuard, SealingJob}
import io.pmeparquet.spark.admin.FailedFile
import io.pmeparquet.spark.options.{OptionOrigin, ResolvedOptions}
import io.pmeparquet.spark.read.{EncryptedFileFormat, SchemaInference}
import io.pmeparquet.spark.session.{FormatName, PmeSparkException, SparkAccess}
import io.pmeparquet.spark.snapshot.SealState

/**
 * Writes what is sound in a damaged table as a new table: `pme.recover`. In Scala
 * {{{
 *   Recovery.recover(
 *     spark, "damaged", "whole", readOptions, writeOptions, lost = "rows", unauthenticated = false, like = null, sealing = null)
 * }}}
 * A value comes back only if its page opens under its key, for its place in its file (Parquet's specification of
 * encryption, §4.4). The source does not change. The target must not exist; it
 * appears when all of it is written, unless nothing comes back.
 * ''Driver only.''
 */
object Recovery {

  /**
   * @param readOptions those of a read. Columns that they would refuse are lost
   * @param writeOptions those of a write
   * @param lost `rows` to leave out rows that have lost a value, or `cells` to write NULL for the values, and their
   *   columns' names in the column [[LostColumns]]
   * @param unauthenticated whether values count that no tag covers
   * @param like a file with the same columns as those whose footers do not open, or null
   * @param sealing options to seal the target with, as of [[Sealing.seal]], or null. Its manifest says what it was
   *   recovered from. If that fails, the target stays without a seal, and the result says why
   */
  def recover(
      session: SparkSession,
      source: String,
      target: String,
      readOptions: java.util.Map[String, String],
      writeOptions: java.util.Map[String, String],
      lost: String,
      unauthenticated: Boolean,
      like: String,
      sealing: java.util.Map[String, String]
  ): RecoveredTable = Progress.unwatching(PmeSparkException.translated {
    val keepsRows = lost match {
      case "rows" => false
      case "cells" => true
      case other => throw PmeErrors.badOption("lost", other, "rows or cells")
    }
    val (read, write) = (readOptions.asScala.toMap, writeOptions.asScala.toMap)
    val seal = Option(sealing).map(_.asScala.toMap)
    new RecoveryRun(session, source, target, read, write, keepsRows, unauthenticated, Option(like), seal)
      .run()
  })

  /** The column that a recovery of cells adds: the columns whose values a row has lost; NULL if it has lost none. */
  val LostColumns = "lost_columns"

  private[recovery] val results: ResultRows[LostPart] = ResultRows
    .of[LostPart]
    .required("file", StringType)(_.file)
    .optional("row_group", IntegerType)(_.rows.map(_.rowGroup))
    .optional("column", StringType)(_.rows.map(_.column))
    .optional("first_row", LongType)(_.rows.map(_.first))
    .optional("rows", LongType)(_.rows.map(_.count))
    .required("condition", StringType)(_.condition)
    .required("message", StringType)(_.message)

  /** For SQL, all in one row. */
  private[admin] val tableResults: ResultRows[RecoveredTable] = ResultRows
    .of[RecoveredTable]
    .required("files", LongType)(_.files)
    .required("rows", LongType)(_.rows)
    .required("rows_left_out", LongType)(_.rowsLeftOut)
    .required("rows_with_loss", LongType)(_.rowsWithLoss)
    .required("lost_files", LongType)(_.lostFiles)
    .required("lost", ArrayType(results.schema, containsNull = false))(_.lost.collect().toSeq)
    .optional("sealed_version", LongType)(one => Option(one.sealedAs).map(_.version))
    .optional("not_sealed", StringType)(one => Option(one.notSealed).map(failed => failed.message))
}

/**
 * What a recovery wrote, and what is lost.
 *
 * @param lost a row for each run of rows of a column, or for a whole file
 * @param files how many files the new table has; 0 if nothing came back, and then there is no table
 * @param rows how many rows it has
 * @param rowsLeftOut how many rows of files that open are not in it
 * @param rowsWithLoss how many rows of it have lost a value
 * @param lostFiles how many files nothing came back of
 * @param sealedAs the target's first version; null if it was not asked for, or failed
 * @param notSealed why the target could not be sealed, or null
 */
final class RecoveredTable(
    val lost: DataFrame,
    val files: Long,
    val rows: Long,
    val rowsLeftOut: Long,
    val rowsWithLoss: Long,
    val lostFiles: Long,
    val sealedAs: SealResult,
    val notSealed: FailedFile
)

/**
 * A part of a table that is lost. ''Crosses the wire.''
 *
 * @param rows none for a whole file
 */
private[recovery] final case class LostPart(
    file: String,
    rows: Option[LostRows],
    condition: String,
    message: String
)

/**
 * What some files have given. ''Crosses the wire.''
 *
 * @param written the new files, by their paths in the new table
 */
private final case class RecoveredPart(
    written: Map[String, WrittenFooter],
    rows: Long,
    rowsLeftOut: Long,
    rowsWithLoss: Long,
    lostFiles: Long,
    lost: List[LostPart]
) {
  def +(other: RecoveredPart): RecoveredPart = RecoveredPart(
    written ++ other.written,
    rows + other.rows,
    rowsLeftOut + other.rowsLeftOut,
    rowsWithLoss + other.rowsWithLoss,
    lostFiles + other.lostFiles,
    lost ++ other.lost
  )

  def files: Long = written.size.toLong
}

/** One recovery. ''Driver only.'' */
private final class RecoveryRun(
    session: SparkSession,
    source: String,
    target: String,
    readOptions: Map[String, String],
    writeOptions: Map[String, String],
    keepsRows: Boolean,
    unauthenticated: Boolean,
    like: Option[String],
    sealing: Option[Map[String, String]]
) {
  private val reading = ResolvedOptions.ofOperation(session, readOptions, KeyPurpose.Copy)
  private val readConf = SparkAccess.hadoopConf(session, readOptions)
  private val writeConf = SparkAccess.hadoopConf(session, writeOptions)
  private val from = TableFiles.qualified(source, readConf)
  private val to = TableFiles.qualified(target, writeConf)
  private lazy val recovery = {
    val model = like.map(TableFiles.qualified(_, readConf).toString)
    val seal = SealState.ofPath(reading, from, TableFiles.statusOf(from, readConf).isFile)
    new FileRecovery(reading.readScope, unauthenticated, model, seal)
  }

  def run(): RecoveredTable = {
    requireFree()
    val listed = TableFiles.list(from, readConf)
    refuseOthersTables(listed)
    TableFiles.requireNoCompaction(from, listed, readConf)
    if (keepsRows) requireNoLostColumns(listed.files)
    val ofSeal = notSealed(listed.files)
    val refused = ofSeal.map(_.file).toSet
    val files = listed.files.filterNot(file => refused(file.path)).sortBy(_.path)
    if (files.isEmpty && ofSeal.isEmpty)
      throw PmeErrors.badSource(from.toString, "it has no files", "Name the directory of a table, or a file.")
    val schemas = new SchemaTask(recovery)
    val looked = FileJob.each(session, SchemaInference.conf(reading), files)(schemas.of)
    val unread = looked.collect { case (file, Left(failed)) =>
      if (!isOfFile(failed)) throw failed.raised
      LostPart(file.path, None, failed.condition, failed.message)
    }
    val open = looked.collect { case (file, Right(json)) =>
      file -> DataType.fromJson(json).asInstanceOf[StructType]
    }
    if (open.isEmpty) throw nothingOpens(ofSeal ++ unread)
    val (schema, others) = merged(open)
    val seal = sealing.map(options => new SealingJob(ResolvedOptions.ofFrame(session, options), to.toString))
    // A key that cannot sign is found before anything is written.
    seal.foreach(_.prepare(Replaced.Nothing))
    val done = written(open.map(_._1).filterNot(file => others.exists(_.file == file.path)), schema)
    val lost = (ofSeal ++ unread ++ others ++ done.lost).sortBy(_.file)
    val version = seal.filter(_ => done.files > 0).map { job =>
      // The list of what is lost must not be lost as well.
      try Right(job.sealRecovered(from, done.written))
      catch {
        case NonFatal(failed) =>
          val why = FileFailure.of(failed)
          Left(FailedFile(to.toString, why.condition, why.message))
      }
    }
    new RecoveredTable(
      Recovery.results.frame(session, lost),
      done.files,
      done.rows,
      done.rowsLeftOut,
      done.rowsWithLoss,
      done.lostFiles + (ofSeal ++ unread ++ others).map(_.file).distinct.size,
      version.flatMap(_.toOption).orNull,
      version.flatMap(_.left.toOption).orNull
    )
  }

  /** Storage or a KMS that fails says nothing of a file. */
  private def isOfFile(failed: FileFailure) =
    PmeException.named(failed.condition, failed.message).exists(_.condition != Condition.KmsUnavailable)

  private def requireFree(): Unit = {
    def isWithin(path: Path, directory: Path) =
      Iterator.iterate(path)(_.getParent).takeWhile(_ != null).contains(directory)
    // Where links lead, and what a part is a part of.
    def resolved(path: Path, conf: Configuration) = {
      val fs = path.getFileSystem(conf)
      val there = Iterator.iterate(path)(_.getParent).takeWhile(_ != null).find(fs.exists(_)).get
      val below = path.toUri.getPath.stripPrefix(there.toUri.getPath).stripPrefix("/")
      val real = fs.makeQualified(OwnFiles.resolved(there, conf))
      if (below.isEmpty) real else new Path(real, below)
    }
    val table = resolved(TableFiles.tableOf(from, readConf), readConf)
    val target = resolved(to, writeConf)
    if (isWithin(target, table) || isWithin(table, target))
      throw PmeErrors.badTarget(
        to.toString,
        "it is inside the table that is recovered, or the other way round",
        "Name another directory."
      )
    if (writeOptions.keys.exists(_.equalsIgnoreCase(PmeOptions.Snapshot.name)))
      throw PmeErrors.badOption(
        PmeOptions.Snapshot.name,
        "",
        "no value here: ask for a seal of the new table"
      )
    StagedTable.requireFree(to, writeConf)
  }

  private def refuseOthersTables(listed: TableFiles): Unit =
    TableFiles.logs(from, listed, readConf).headOption.foreach { log =>
      throw PmeErrors.unsupported(
        from.toString,
        "recovering this table",
        s"${log.path} records which files, and which of their rows, still belong to the table",
        "Recover single files of it."
      )
    }

  /** Files that a snapshot lists and that are missing, and files that it does not list. */
  private def notSealed(files: Seq[ListedFile]): Seq[LostPart] = {
    val own = s"/${SnapshotDirectory.Name}/"
    // A damaged index or list of a snapshot is none of the table's files.
    new SealedGuard(reading).findings(from, files, Nil, Nil)._1.filterNot(_.file.contains(own)).map { one =>
      if (one.file == from.toString) throw PmeException.named(one.condition, one.message).get
      LostPart(one.file, None, one.condition, one.message)
    }
  }

  private def requireNoLostColumns(files: Seq[ListedFile]): Unit =
    if (files.exists(_.path.toLowerCase(Locale.ROOT).contains(s"/${Recovery.LostColumns}=")))
      throw hasLostColumns

  private def hasLostColumns = PmeErrors.unsupported(
    from.toString,
    "recovering cells of this table",
    s"it has a column '${Recovery.LostColumns}'",
    "Recover its rows."
  )

  private def nothingOpens(lost: Seq[LostPart]): Throwable = {
    // What the options keep from being recovered is no damage.
    val first = lost.find(_.condition == Condition.Unsupported.name).getOrElse(lost.head)
    PmeException.named(first.condition, first.message).getOrElse(new java.io.IOException(first.message))
  }

  /** The schema of the files, whose columns may all be NULL from now on, and the files that do not fit most others. */
  private def merged(files: Seq[(ListedFile, StructType)]): (StructType, Seq[LostPart]) = {
    def merge(schemas: Seq[StructType]) = SchemaInference.merged(session, schemas)
    val bySchema = files.groupBy(_._2).toSeq.sortBy { case (_, same) => (-same.size, same.head._1.path) }
    val misfits = mutable.ListBuffer.empty[LostPart]
    bySchema.map(_._1).reduce { (most, next) =>
      try merge(Seq(most, next))
      catch {
        case other: SparkException =>
          misfits ++= files.collect { case (file, `next`) => doesNotFit(file, other) }
          most
      }
    }
    val schema = merge(files.filterNot { case (file, _) => misfits.exists(_.file == file.path) }.map(_._2))
    val columns = schema.fields.map(_.copy(nullable = true))
    val names = columns.map(_.name.toLowerCase(Locale.ROOT))
    if (keepsRows && names.contains(Recovery.LostColumns)) throw hasLostColumns
    (StructType(columns), misfits.toList)
  }

  private def doesNotFit(file: ListedFile, why: SparkException) = {
    val refused = PmeErrors.unsupported(
      file.path,
      "recovering this file with the table's others",
      s"its columns have other types (${why.getMessage.linesIterator.next()})",
      "Recover it by itself."
    )
    LostPart(file.path, None, refused.condition.name, refused.problem)
  }

  private def written(files: Seq[ListedFile], schema: StructType): RecoveredPart = {
    val all = if (keepsRows) schema.add(Recovery.LostColumns, ResultRows.Names) else schema
    val job = Job.getInstance(SparkAccess.hadoopConf(session, writeOptions))
    FileOutputFormat.setOutputPath(job, to)
    job.setOutputKeyClass(classOf[Void])
    job.setOutputValueClass(classOf[InternalRow])
    val unsealed = writeOptions + (PmeOptions.Snapshot.name -> "off")
    val writer = RecoveryRun.format.prepareWrite(session, job, unsealed, all)
    val rows = RecoveredRows(session, readConf, recovery, readOptions, schema)
    val shared = session.sparkContext.broadcast(new SerializableConfiguration(job.getConfiguration))
    val directory = if (TableFiles.statusOf(from, readConf).isFile) from.getParent else from
    val staged = CopiedTable.begin(to, writeConf)
    val step = Progress.step(session, "recovering", files.size, files.map(_.length).sum)
    step.begin()
    staged.ending(writeConf) {
      val work = new RecoveryTask(rows, writer, shared, schema, all, directory, keepsRows, staged, step)
      val tasks = FileJob.tasksFor(session, files.size, files.map(_.length).sum)
      val done = session.sparkContext
        .parallelize(files, files.size.min(tasks))
        .mapPartitions(work)
        .collect()
        .toSeq
      val sum = done.map(_._2).reduce(_ + _)
      if (sum.files > 0) staged.publish(done.map(_._1), sum.files, writeConf)
      sum
    }
  }
}

private object RecoveryRun {

  /** Our format, whose options the user gave to this call. */
  def format: EncryptedFileFormat = {
    val name = FormatName.FileFormatClass
    val made = Class.forName(name, false, getClass.getClassLoader).getDeclaredConstructor().newInstance()
    made.asInstanceOf[EncryptedFileFormat].withOrigin(_ => OptionOrigin.Frame)
  }
}

/** Finds the schemas of files. ''Crosses the wire'', with the scope. */
private final class SchemaTask(recovery: FileRecovery) extends Serializable {
  def of(file: ListedFile, conf: Configuration): String = PmeSparkException.translated {
    val path = new Path(file.path)
    SchemaInference.of(path, recovery.metadata(file, conf, () => FileJob.goOn("the recovery")), conf).json
  }
}

/** Recovers some files. ''Crosses the wire'', with the scopes. */
private final class RecoveryTask(
    source: RecoveredRows,
    writer: OutputWriterFactory,
    writeConf: Broadcast[SerializableConfiguration],
    schema: StructType,
    written: StructType,
    from: Path,
    keepsRows: Boolean,
    table: CopiedTable,
    step: ProgressStep
) extends (Iterator[ListedFile] => Iterator[(String, RecoveredPart)])
    with Serializable {

  override def apply(files: Iterator[ListedFile]): Iterator[(String, RecoveredPart)] =
    PmeSparkException.translated {
      val conf = writeConf.value.value
      Iterator(table.attempt(conf) { directory =>
        files.map(file => step.counting(file.length)(recovered(file, directory, conf))).reduce(_ + _)
      })
    }

  private def recovered(listed: ListedFile, directory: Path, conf: Configuration): RecoveredPart = {
    val opened =
      try Right(source.open(listed, () => goOn()))
      catch {
        case failed: PmeException
            if !PmeException.isOfCancelled(failed) && failed.condition != Condition.KmsUnavailable =>
          Left(failed)
      }
    opened match {
      case Left(failed) =>
        RecoveredPart(
          Map.empty,
          0,
          0,
          0,
          1,
          List(LostPart(listed.path, None, failed.condition.name, failed.problem))
        )
      case Right(file) =>
        try {
          val done = rowsOf(new Path(listed.path), file, directory, conf)
          source.requireUnchanged(listed)
          done
        } finally file.close()
    }
  }

  private def rowsOf(path: Path, file: RecoveredFile, directory: Path, conf: Configuration): RecoveredPart = {
    val name = path.toUri.getPath.stripPrefix(from.toUri.getPath.stripSuffix("/") + "/")
    val to = table.place(directory, name, conf)
    val lost = mutable.ListBuffer.empty[LostPart]
    lost ++= file.rebuiltBy.map(RecoveryTask.rebuilt(path.toString, _))
    var rows, leftOut, withLoss = 0L
    var out: Option[OutputWriter] = None
    try {
      file.groups.foreach { group =>
        lost ++= group.lost.map(one => LostPart(path.toString, Some(one), one.condition, one.message))
        val (all, marks) = source.of(path, file, group)
        var at = 0
        all.foreach { row =>
          goOn()
          val missing = marks.indices.filter(marks(_).get(at))
          at += 1
          if (missing.nonEmpty && !keepsRows) leftOut += 1
          else {
            if (missing.nonEmpty) withLoss += 1
            rows += 1
            val writing = out.getOrElse(writer.newInstance(to.toString, written, context(conf)))
            out = Some(writing)
            writing.write(if (keepsRows) marked(row, missing) else row)
          }
        }
      }
      out.foreach(_.close())
    } catch {
      case failed: Throwable =>
        try out.foreach(_.close())
        catch { case NonFatal(more) => failed.addSuppressed(more) }
        throw failed
    }
    val made = out.map(_ => name -> WrittenFooter.read(to, conf)).toMap
    RecoveredPart(made, rows, leftOut, withLoss, 0, lost.toList)
  }

  /** The row with NULL in the fields that it has lost, and their names. */
  private def marked(row: InternalRow, missing: Seq[Int]): InternalRow = {
    val values = new Array[Any](written.length)
    (0 until schema.length).foreach { field =>
      if (!row.isNullAt(field) && !missing.contains(field))
        values(field) = row.get(field, schema(field).dataType)
    }
    if (missing.nonEmpty)
      values(schema.length) = new GenericArrayData(
        missing.map(field => UTF8String.fromString(schema(field).name)).toArray[Any]
      )
    new GenericInternalRow(values)
  }

  private def context(conf: Configuration) = {
    val task = TaskContext.get()
    val id = new TaskID(new JobID("pme-recovery", 0), TaskType.MAP, task.partitionId())
    new TaskAttemptContextImpl(conf, new TaskAttemptID(id, task.attemptNumber()))
  }

  private def goOn(): Unit = FileJob.goOn("the recovery")
}

private object RecoveryTask {
  def rebuilt(file: String, by: String): LostPart = {
    val footer = PmeErrors.notAuthentic(file, "its footer")
    LostPart(
      file,
      None,
      footer.condition.name,
      s"${footer.problem} Names and types are those of $by. Rows behind the last page that was found, and how many they " +
        "are, are not known: compare them with what you know of the table."
    )
  }
}
