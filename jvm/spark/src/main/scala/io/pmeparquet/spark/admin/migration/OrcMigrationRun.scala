package io.pmeparquet.spark.admin.migration

import java.util.Locale

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat
import org.apache.hadoop.mapreduce.Job
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.FileFormat
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{ArrayType, DataType, MapType, StructType}
import org.apache.spark.sql.SparkSession
import org.apache.spark.util.SerializableConfiguration

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.keys.KeyPurpose
import io.pmeparquet.options.PmeOptions
import io.pmeparquet.parquet.copy.InPlaceManifest
import io.pmeparquet.parquet.storage.{Found, ListedFile, OwnFiles, ResumableTable, StagedTable}
import io.pmeparquet.spark.admin.{Refusal, WritePlan}
import io.pmeparquet.spark.admin.job.{FileFailure, FileJob, Progress, TableFiles}
import io.pmeparquet.spark.admin.seal.{SealedGuard, VersionContents}
import io.pmeparquet.spark.options.{OptionOrigin, OrcResolver, ResolvedOptions}
import io.pmeparquet.spark.orc.OrcFormat
import io.pmeparquet.spark.read.EncryptedFileFormat
import io.pmeparquet.spark.session.{FormatName, SparkAccess}
import io.pmeparquet.spark.snapshot.{SealState, SnapshotReads}

/** One migration, or the plan of one. ''Driver only'': only [[OrcFileCheck]] and [[OrcFileCopy]] go to executors. */
private[migration] final class OrcMigrationRun(
    session: SparkSession,
    source: String,
    target: String,
    readOptions: Map[String, String],
    writeOptions: Map[String, String],
    bloomFilters: Boolean
) {
  private val sqlConf = SparkAccess.sqlConf(session)
  private val readConf = SparkAccess.hadoopConf(session, readOptions)
  private val to = TableFiles.qualified(target, SparkAccess.hadoopConf(session, writeOptions))

  def run(): MigratedTable = {
    requireFree()
    val looked = look()
    looked.failures.headOption.foreach { case (_, failure) => throw failure.raised }
    val schema = columns(looked)
    val planning =
      new MigrationPlanning(session, looked.source, FileRows.withoutChars(schema), looked.facts, writeOptions)
    val options = planning.options(bloomFilters)
    planning
      .refusals(ResolvedOptions.ofOperation(session, options, KeyPurpose.Copy).writeSettings.files)
      .headOption
      .foreach(refused => throw refused)
    new OrcMigrationJob(
      session,
      looked,
      schema,
      orcFormat(looked.source, looked.seal),
      readOptions,
      options,
      to
    ).run()
  }

  def plan(): MigrationPlan = {
    val looked = look()
    val failed = looked.failures.map { case (_, failure) => Refusal(failure.condition, failure.message) }
    val files = looked.source.files
    val empty = MigrationPlan(
      looked.source.name,
      to.toString,
      files.size,
      looked.source.empty,
      looked.facts.map(_.rows).sum,
      files.map(_.length).sum,
      Nil,
      Nil,
      failed.toList,
      None
    )
    if (failed.nonEmpty) empty else withWrite(empty, looked)
  }

  private def withWrite(empty: MigrationPlan, looked: LookedAt): MigrationPlan = {
    val schema = FileRows.withoutChars(columns(looked))
    val planning = new MigrationPlanning(session, looked.source, schema, looked.facts, writeOptions)
    val found = empty.copy(
      encrypted =
        planning.encrypted.map { case (leaf, keys) => SourceColumn(leaf.display, keys.map(_.text)) },
      bloomFilters = if (bloomFilters) planning.bloomColumns.map(_.display) else Nil
    )
    try {
      val options = planning.options(bloomFilters)
      val own = planning.refusals(
        ResolvedOptions.ofOperation(session, options, KeyPurpose.Copy).writeSettings.files
      ) ++ taken
      val partitions = looked.source.partitions
      val write = WritePlan.of(
        session,
        StructType(schema.fields ++ partitions.fields),
        partitions.fieldNames.toSeq,
        options
      )
      found.copy(refusals = (own.map(Refusal.of) ++ write.refusals).distinct, write = Some(write))
    } catch { case refused: PmeException => found.copy(refusals = Seq(Refusal.of(refused))) }
  }

  private def taken: Option[PmeException] =
    try {
      requireFree()
      None
    } catch { case refused: PmeException => Some(refused) }

  private def requireFree(): Unit = {
    val conf = SparkAccess.hadoopConf(session, writeOptions)
    val isDirectory = OwnFiles.find(to, conf) == Found.Directory
    if (isDirectory && to.getFileSystem(conf).listStatus(to).nonEmpty && !StagedTable.isUnfinished(to, conf))
      throw PmeErrors.migrationThere(to.toString)
    StagedTable.requireFree(to, conf)
  }

  /** Opens the footers of all files, and every encrypted column of each with its key. */
  private def look(): LookedAt = {
    refuseMasks()
    refusePositions()
    val found = OrcSource.of(session, source, readOptions, readConf)
    refuseWithin(found)
    val seal = sealedAs(found)
    val scope =
      new OrcResolver(ResolvedOptions.ofOperation(session, readOptions, KeyPurpose.Copy), found.property)
        .read(isSparks = false)
    // The session may say so as well.
    if (scope.settings.acceptsRefusals)
      throw PmeErrors.masksNotMigrated(s"${PmeOptions.OrcMasks.name} or deniedColumns")
    val columns = found.columns.map(FileRows.withChars)
    val check =
      new OrcFileCheck(
        scope,
        columns,
        found.partitions.fieldNames.toList,
        sqlConf.caseSensitiveAnalysis,
        seal.broadcast(session)
      )
    val step = Progress.step(session, "checking", found.files.size)
    step.begin()
    val looked = FileJob.each(session, readConf, found.files)((file, conf) =>
      step.counting(file.length)(check.of(file, conf))
    )
    LookedAt(
      found,
      looked.collect { case (file, Right(facts)) => file -> facts },
      looked.collect { case (file, Left(failure)) => file -> failure },
      seal
    )
  }

  /**
   * Requires that a sealed table is as its snapshot lists it: what its files say of keys decides the keys of the target. As
   * in a query, a catalog can neither lead it to other files, nor give a file other values of partition columns.
   *
   * @return what the copy of each file compares, too
   */
  private def sealedAs(found: OrcSource): SealState = {
    val resolved = ResolvedOptions.ofOperation(session, readOptions, KeyPurpose.Copy)
    val files = found.files.map { file =>
      ListedFile(file.path, file.length, file.modified, hasExternalMaterial = false)
    }
    val directories = files.map(file => new Path(file.path).getParent).distinct
    val tables = new SnapshotReads(resolved).tables(found.root.toSeq ++ directories, _ => false)
    tables.foreach { table =>
      files.find(file => !table.holds(new Path(file.path))).foreach { other =>
        throw PmeErrors.outsideSealedTable(other.path)
      }
      // A path may be of a part of the table.
      val place =
        if (found.columns.isDefined) table.directory else TableFiles.qualified(found.name, readConf)
      new SealedGuard(resolved).requireAsSealed(place, files, files)
      found.files.foreach { file =>
        val values = VersionContents.partition(s"${file.within}/file").toMap
        table.requireValues(new Path(file.path), found.partitions.fields.toSeq, values)
      }
    }
    if (tables.isEmpty) SealState.Unsealed else SealState.Sealed(tables, isWhole = true)
  }

  private def refuseMasks(): Unit = {
    val refused = Seq(PmeOptions.OrcMasks, PmeOptions.DeniedColumns, PmeOptions.MissingKeys).map(_.name)
    readOptions.keys.find(name => refused.exists(_.equalsIgnoreCase(name))).foreach { name =>
      throw PmeErrors.masksNotMigrated(name)
    }
  }

  private def refusePositions(): Unit =
    OrcSource.refusePositions(
      source,
      readConf.asScala.map(one => one.getKey -> one.getValue).toMap ++ readOptions
    )

  private def refuseWithin(found: OrcSource): Unit = {
    val above = Iterator.iterate(to)(_.getParent).takeWhile(_ != null).map(_.toUri.getPath).toSet
    val roots = found.files.map(file => directoryOf(file)).distinct
    roots.find(above).foreach { root =>
      throw PmeErrors.badTarget(
        to.toString,
        s"it is inside the table that is migrated ($root)",
        "Name another directory."
      )
    }
  }

  /** The directory of the table, or of the partition's location, that a file is in. */
  private def directoryOf(file: OrcFile): String = {
    val parent = new Path(file.path).getParent.toUri.getPath
    if (file.within.isEmpty) parent else parent.stripSuffix(file.within).stripSuffix("/")
  }

  /** The columns of the target without those of partitions. */
  private def columns(looked: LookedAt): StructType = {
    val schema = looked.source.columns.getOrElse(inferred(looked.source, looked.seal))
    if (schema.isEmpty)
      throw PmeErrors.notMigrated(looked.source.name, "its files have no columns", "Leave the table out.")
    // A plan says so, too.
    FileRows.requireBatches(session, orcFormat(looked.source, looked.seal), schema, looked.source.name)
    OrcMigrationRun.nullable(schema)
  }

  private def inferred(found: OrcSource, seal: SealState): StructType = {
    val files = found.files.map { file =>
      new FileStatus(file.length, false, 1, file.length, file.modified, new Path(file.path))
    }
    orcFormat(found, seal)
      .inferSchema(session, readOptions + ("mergeSchema" -> "true"), files)
      .getOrElse(StructType(Nil))
  }

  // A package that rules use cannot name the classes that install the rules.
  private def orcFormat(found: OrcSource, seal: SealState): OrcFormat = {
    val format = OrcMigrationRun.instance(FormatName.OrcClass).asInstanceOf[OrcFormat].withSeal(seal)
    found.property.fold(format)(format.withProperty)
  }
}

private[migration] object OrcMigrationRun {

  /** The columns with NULLs allowed, also within them: files need not keep a catalog's NOT NULL. */
  def nullable(columns: StructType): StructType = StructType(columns.fields.map { field =>
    field.copy(dataType = withNulls(field.dataType), nullable = true)
  })

  private def withNulls(kind: DataType): DataType = kind match {
    case columns: StructType => nullable(columns)
    case ArrayType(element, _) => ArrayType(withNulls(element))
    case MapType(key, value, _) => MapType(withNulls(key), withNulls(value))
    case other => other
  }

  /** A format of ours whose options the user gave to this call. */
  def instance(name: String): EncryptedFileFormat = {
    val made = Class.forName(name, false, getClass.getClassLoader).getDeclaredConstructor().newInstance()
    made.asInstanceOf[EncryptedFileFormat].withOrigin(_ => OptionOrigin.Frame)
  }

  // These decide which keys wrap, and what is written of them.
  private val OfKeys = Seq(PmeOptions.Kms, PmeOptions.AwsEncryptionContext).map(_.name)

  /** Each process has another one. */
  private val PythonId = "pme.python.kms"

  private val OfConnection: Set[String] =
    (PmeOptions.kmsOptions.map(_.name).filterNot(OfKeys.contains) :+ PythonId)
      .map(_.toLowerCase(Locale.ROOT))
      .toSet

  /**
   * Options without those that say how to reach a KMS. Files under other keys are written again in any case: they do not
   * open.
   */
  def ofContent(options: Map[String, String]): Map[String, String] =
    options.filterNot { case (name, _) => OfConnection(name.toLowerCase(Locale.ROOT)) }
}

/**
 * What a migration wrote.
 *
 * @param bytes of the target
 * @param already how many of the files an earlier run had written; this run has compared them with the source
 */
final case class MigratedTable(files: Long, rows: Long, bytes: Long, already: Long)

/**
 * @param failures why files cannot be migrated
 * @param seal what a snapshot says of the files
 */
private final case class LookedAt(
    source: OrcSource,
    opened: Seq[(OrcFile, OrcFacts)],
    failures: Seq[(OrcFile, FileFailure)],
    seal: SealState
) {
  def facts: Seq[OrcFacts] = opened.map(_._2)
}

/**
 * Writes, verifies and publishes the files of a migration that nothing speaks against. ''Driver only.''
 *
 * @param schema of the source
 * @param writeOptions with the keys of columns
 */
private final class OrcMigrationJob(
    session: SparkSession,
    looked: LookedAt,
    schema: StructType,
    orc: OrcFormat,
    readOptions: Map[String, String],
    writeOptions: Map[String, String],
    to: Path
) {
  private val readConf = SparkAccess.hadoopConf(session, readOptions)
  private val written = FileRows.withoutChars(schema)
  private def parquet: FileFormat = OrcMigrationRun.instance(FormatName.FileFormatClass)

  def run(): MigratedTable = {
    val job = Job.getInstance(SparkAccess.hadoopConf(session, writeOptions))
    FileOutputFormat.setOutputPath(job, to)
    job.setOutputKeyClass(classOf[Void])
    job.setOutputValueClass(classOf[InternalRow])
    val writer = parquet.prepareWrite(session, job, writeOptions, written)
    val conf = job.getConfiguration
    val name = looked.source.name
    val source = FileRows.reader(session, orc, schema, readOptions, readConf, name)
    val checkConf = SparkAccess.hadoopConf(session, checkOptions)
    val target = FileRows.reader(session, parquet, written, checkOptions, checkConf, name)
    val shared = session.sparkContext.broadcast(new SerializableConfiguration(conf))
    val extension = writer.getFileExtension(OrcFileCopy.context(conf))
    val files = looked.opened.map { case (file, facts) =>
      WantedFile(file, file.target(extension), facts.rows)
    }.toList
    val table = ResumableTable.begin(to, purpose, conf)
    try {
      val copy = new OrcFileCopy(source, target, writer, shared, written, sql, table)
      val done = copied(files, copy)
      requireSameSource()
      table.publish(files.map(_.to).toSet, conf)
      MigratedTable(
        done.size.toLong,
        done.map(_.rows).sum,
        done.map(_.bytes).sum,
        done.count(_.already).toLong
      )
    } finally table.end(conf)
  }

  private def copied(files: Seq[WantedFile], copy: OrcFileCopy): Seq[MigratedFile] = {
    val step = Progress.step(session, "migrating", files.size, files.map(_.from.length).sum)
    step.begin()
    val done = FileJob.eachWhole(session, readConf, files)(_.from.length) { (file, conf) =>
      step.counting(file.from.length)(copy.migrate(file, conf))
    }
    done.collectFirst { case (_, Left(failure)) => throw failure.raised }
    done.collect { case (_, Right(one)) => one }
  }

  /** A file that was added after the listing would be missing in the target. */
  private def requireSameSource(): Unit = {
    val now = looked.source.listAgain().files.toSet
    val before = looked.source.files.toSet
    ((now -- before) ++ (before -- now)).headOption.foreach(file =>
      throw PmeErrors.changedMeanwhile(file.path)
    )
  }

  /** Those of a read of what is written, which stands elsewhere until it is published. */
  private def checkOptions: Map[String, String] = {
    val own = writeOptions.map { case (name, value) =>
      if (!name.equalsIgnoreCase(PmeOptions.AadPrefix.name)) name -> value
      else name -> value.replace("{path}", to.toUri.getPath).replace("{table}", to.getName)
    }
    own.filterNot(_._1.equalsIgnoreCase(PmeOptions.Snapshot.name)) + (PmeOptions.Snapshot.name -> "off")
  }

  /** Dates before 1582 are the same days in both formats. */
  private def sql: Map[String, String] = {
    val own = SparkAccess.sqlConf(session).getAllConfs.filter(_._1.startsWith("spark.sql."))
    own.toList.toMap ++ Seq(SQLConf.PARQUET_REBASE_MODE_IN_WRITE, SQLConf.PARQUET_INT96_REBASE_MODE_IN_WRITE)
      .map(
        _.key -> "CORRECTED"
      )
  }

  /** Runs that would write other files have other staged tables: what a file has must not depend on the run. */
  private def purpose: String = {
    val settings = ResolvedOptions.ofOperation(session, writeOptions, KeyPurpose.Copy).writeSettings
    val ofSpark = sql.filter(_._1.startsWith("spark.sql.parquet."))
    val all =
      InPlaceManifest.described(settings.files) ++ ofSpark ++ OrcMigrationRun.ofContent(writeOptions) ++
        Map("source" -> looked.source.name, "schema" -> written.json)
    all.toSeq.sorted.mkString("\n")
  }
}
