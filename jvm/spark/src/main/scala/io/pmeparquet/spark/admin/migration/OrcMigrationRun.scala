package io.pmeparquet.spark.admin.migration

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.SparkSession

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.options.PmeOptions
import io.pmeparquet.parquet.files.{Found, OwnFiles, StagedTable}
import io.pmeparquet.spark.admin.{Refusal, TableFiles, WritePlan}
import io.pmeparquet.spark.admin.job.{FileFailure, FileJob, Progress}
import io.pmeparquet.spark.options.{ConfResolver, OptionOrigin}
import io.pmeparquet.spark.orc.OrcFormat
import io.pmeparquet.spark.read.EncryptedFileFormat
import io.pmeparquet.spark.session.{FormatName, SparkAccess}

/** One migration, or the plan of one. ''Driver only'': only [[OrcLook]] and [[OrcFileCopy]] go to executors. */
private[migration] final class OrcMigrationRun(
    session: SparkSession,
    source: String,
    target: String,
    readOptions: Map[String, String],
    writeOptions: Map[String, String],
    bloomFilters: Boolean
) {
  private val resolver = new ConfResolver(session)
  private val sqlConf = SparkAccess.sqlConf(session)
  private val readConf = SparkAccess.hadoopConf(session, readOptions)
  private val to = TableFiles.qualified(target, SparkAccess.hadoopConf(session, writeOptions))

  def run(): MigratedTable = {
    requireFree()
    val looked = look()
    looked.failures.headOption.foreach { case (_, failure) => throw OrcMigrationJob.raised(failure) }
    val schema = columns(looked)
    val planning =
      new MigrationPlanning(session, looked.source, FileRows.withoutChars(schema), looked.facts, writeOptions)
    val options = planning.options(bloomFilters)
    val conf = SparkAccess.hadoopConf(session, options)
    planning
      .refusals(resolver.writeSettings(options, conf).files)
      .headOption
      .foreach(refused => throw refused)
    new OrcMigrationJob(session, looked, schema, orcFormat(looked.source), readOptions, options, to).run()
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
      val conf = SparkAccess.hadoopConf(session, options)
      val own = planning.refusals(resolver.writeSettings(options, conf).files) ++ taken
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
    val scope = resolver.orc(readOptions, found.property).read(isSparks = false)
    // The session may say so as well.
    if (scope.settings.acceptsRefusals)
      throw PmeErrors.masksNotMigrated(s"${PmeOptions.OrcMasks.name} or deniedColumns")
    val columns = found.columns.map(FileRows.withChars)
    val look = new OrcLook(scope, columns, found.partitions.fieldNames.toList, sqlConf.caseSensitiveAnalysis)
    val step = Progress.step(session, "checking", found.files.size)
    step.begin()
    val looked = FileJob.each(session, readConf, found.files)((file, conf) =>
      step.counting(file.length)(look.of(file, conf))
    )
    LookedAt(
      found,
      looked.collect { case (file, Right(facts)) => file -> facts },
      looked.collect { case (file, Left(failure)) => file -> failure }
    )
  }

  private def refuseMasks(): Unit = {
    val refused = Seq(PmeOptions.OrcMasks, PmeOptions.DeniedColumns, PmeOptions.MissingKeys).map(_.name)
    readOptions.keys.find(name => refused.exists(_.equalsIgnoreCase(name))).foreach { name =>
      throw PmeErrors.masksNotMigrated(name)
    }
  }

  private def refusePositions(): Unit =
    OrcRefusals.refusePositions(
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
    val schema = looked.source.columns.getOrElse(inferred(looked.source))
    if (schema.isEmpty)
      throw PmeErrors.notMigrated(looked.source.name, "its files have no columns", "Leave the table out.")
    StructType(schema.fields.map(_.copy(nullable = true)))
  }

  private def inferred(found: OrcSource): StructType = {
    val files = found.files.map { file =>
      new FileStatus(file.length, false, 1, file.length, file.modified, new Path(file.path))
    }
    orcFormat(found)
      .inferSchema(session, readOptions + ("mergeSchema" -> "true"), files)
      .getOrElse(StructType(Nil))
  }

  // A package that rules use cannot name the classes that install the rules.
  private def orcFormat(found: OrcSource): OrcFormat = {
    val format = OrcMigrationRun.instance(FormatName.OrcClass).asInstanceOf[OrcFormat]
    found.property.fold(format)(format.withProperty)
  }
}

private[migration] object OrcMigrationRun {

  /** A format of ours whose options the user gave to this call. */
  def instance(name: String): EncryptedFileFormat = {
    val made = Class.forName(name, false, getClass.getClassLoader).getDeclaredConstructor().newInstance()
    made.asInstanceOf[EncryptedFileFormat].withOrigin(_ => OptionOrigin.Frame)
  }
}

/** @param failures why files cannot be migrated */
private[migration] final case class LookedAt(
    source: OrcSource,
    opened: Seq[(OrcFile, OrcFacts)],
    failures: Seq[(OrcFile, FileFailure)]
) {
  def facts: Seq[OrcFacts] = opened.map(_._2)
}
