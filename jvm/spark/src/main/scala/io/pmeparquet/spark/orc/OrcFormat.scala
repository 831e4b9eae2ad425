package io.pmeparquet.spark.orc

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat
import org.apache.hadoop.mapreduce.Job
import org.apache.orc.OrcConf
import org.apache.spark.sql.catalyst.catalog.BucketSpec
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.{OutputWriterFactory, PartitionedFile}
import org.apache.spark.sql.execution.datasources.orc.{OrcFileFormat, OrcOptions}
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.SparkSession
import org.apache.spark.util.SerializableConfiguration

import io.pmeparquet.options.Masking
import io.pmeparquet.orc.blocks.{BlockFileSystem, VerifiedFile}
import io.pmeparquet.orc.keys.{OrcProviders, OrcScope}
import io.pmeparquet.orc.tail.{OpenedOrc, OrcTail}
import io.pmeparquet.orc.OrcAdmission
import io.pmeparquet.parquet.file.FileSeal
import io.pmeparquet.spark.options.{Asker, FormatOrigin, OrcResolver, ResolvedOptions, SnapshotResolver}
import io.pmeparquet.spark.read.{EncryptedFileFormat, FormatNotes, MaskedScan, SchemaInference, SessionRules}
import io.pmeparquet.spark.session.{FormatName, PmeSparkException, SparkAccess}
import io.pmeparquet.spark.snapshot.{SealState, WriteSeal}

/**
 * What one instance of the format knows beyond what Spark passes to a format.
 *
 * @param isSparks whether it stands for Spark's own `orc`, which reads plaintext files and writes what `orc.encrypt` says
 * @param property master keys in a property of the relation's table
 */
private[spark] final case class OrcState(
    notes: FormatNotes,
    isSparks: Boolean = false,
    @transient property: Option[String] = None
) {
  def identity: Seq[Any] = Seq(notes.identity, isSparks, masterKeys)

  /** The property; none in a deserialized instance, because the field is transient. */
  def masterKeys: Option[String] = Option(property).flatten
}

private[spark] object OrcState {

  /** The state of an instance that Spark creates. */
  def of(whose: FormatOrigin): OrcState = OrcState(FormatNotes.of(whose))
}

/**
 * Encrypted ORC, over Spark's own `orc`. It gives ORC our keys ([[OrcScope]]) and looks at each file before Spark does
 * ([[OrcRead]]). ''Driver only''; the functions that it returns cross the wire.
 */
abstract class OrcFormat private[spark] (private val state: OrcState)
    extends OrcFileFormat
    with EncryptedFileFormat {
  private[spark] override type Noted = OrcFormat

  /** The same format with another state. */
  private[spark] def of(state: OrcState): OrcFormat

  private[spark] def sessionRules: SessionRules

  /**
   * The format of a relation or write of Spark's own `orc` whose key provider is ours.
   *
   * @param asker who asked Spark for that relation or write
   */
  private[spark] def insteadOfSparks(asker: Asker): OrcFormat =
    of(OrcState.of(FormatOrigin(asker)).copy(isSparks = true))

  /** Whether it reads or writes in place of Spark's own `orc`. */
  private[spark] def isInsteadOfSparks: Boolean = state.isSparks

  private[spark] override def notes: FormatNotes = state.notes

  private[spark] override def withNotes(notes: FormatNotes): OrcFormat = of(state.copy(notes = notes))

  /** The format of a relation whose table has master keys in a property. */
  private[spark] def withProperty(keys: String): OrcFormat =
    if (state.masterKeys.contains(keys)) this else of(state.copy(property = Some(keys)))

  override def shortName(): String = FormatName.Orc
  override def toString: String = "PmeOrc"
  override def hashCode(): Int = state.identity.hashCode()

  // Spark keeps a plan node if its copy equals it, and plans equal scans only once.
  override def equals(other: Any): Boolean = other match {
    case that: OrcFormat => state.identity == that.state.identity
    case _ => false
  }

  /** What a read with these options does with columns whose keys are refused; none: it fails, or shows masks. */
  private[spark] def maskingOf(session: SparkSession, options: Map[String, String]): Option[Masking] =
    PmeSparkException.translated(ResolvedOptions.of(session, origin, options).masking)

  /** Whether a read with these options goes on without a key that it is refused. */
  private[spark] def acceptsRefusals(session: SparkSession, options: Map[String, String]): Boolean =
    PmeSparkException.translated(resolver(session, options).acceptsRefusals)

  /**
   * The check of each file, for Spark's own V2 reader.
   *
   * @param conf of the read; this adds the key provider
   * @param wanted the columns whose keys the read needs
   */
  private[spark] def admission(
      session: SparkSession,
      options: Map[String, String],
      conf: Configuration,
      dataSchema: StructType,
      wanted: StructType
  ): OrcSplitAdmission = PmeSparkException.translated {
    val scope = scopeOf(session, options)
    OrcFormat.prepare(conf, scope)
    OrcSplitAdmission.of(session, conf, scope, dataSchema, wanted, None)
  }

  private[orc] def resolved(session: SparkSession, options: Map[String, String]): ResolvedOptions =
    ResolvedOptions.of(session, origin, options)

  private def resolver(session: SparkSession, options: Map[String, String]): OrcResolver =
    new OrcResolver(resolved(session, options), state.masterKeys)

  private def writer(session: SparkSession, options: Map[String, String], schema: StructType): OrcResolver =
    new OrcResolver(resolved(session, options).writing(schema), state.masterKeys)

  private def scopeOf(session: SparkSession, options: Map[String, String]): OrcScope =
    resolver(session, options).read(state.isSparks)

  override def inferSchema(
      session: SparkSession,
      parameters: Map[String, String],
      files: Seq[FileStatus]
  ): Option[StructType] = PmeSparkException.translated {
    reader.foreach(_.settle(session))
    val options = ResolvedOptions.spelled(parameters)
    val scope = scopeOf(session, options)
    // Before a rule can evaluate the read.
    def seal(opened: Seq[Path]) = SealState.ofFiles(resolved(session, options), opened)
    OrcSchema.infer(session, options, files, scope, seal) { (some, more) =>
      val own = options + (OrcConf.KEY_PROVIDER.getAttribute -> OrcProviders.kindOf(scope))
      // One by one: Spark merges schemas in tasks, however the option is spelled.
      val alone = more.map { conf =>
        own.filterNot(
          _._1.equalsIgnoreCase(OrcOptions.MERGE_SCHEMA)
        ) ++ conf + (OrcOptions.MERGE_SCHEMA -> "false")
      }
      super.inferSchema(session, alone.getOrElse(own), some)
    }
  }

  override def buildReaderWithPartitionValues(
      session: SparkSession,
      dataSchema: StructType,
      partitionSchema: StructType,
      requiredSchema: StructType,
      filters: Seq[Filter],
      options: Map[String, String],
      hadoopConf: Configuration
  ): PartitionedFile => Iterator[InternalRow] = PmeSparkException.translated {
    reader.foreach(_.readBy(session))
    val scope = scopeOf(session, options)
    OrcFormat.prepare(hadoopConf, scope)
    // What a file's statistics say of a column that this read shows as NULL, or as a mask, must skip no row.
    val pushed = if (scope.settings.acceptsRefusals) Nil else filters
    val spark = super.buildReaderWithPartitionValues(
      session,
      dataSchema,
      partitionSchema,
      requiredSchema,
      pushed,
      options,
      hadoopConf
    )
    val masking = MaskedScan.of(session, scope.settings.masking, notes.conditions, masked)(
      sessionRules.install()
    )
    val seal = SealState.broadcast(session, sealState, hadoopConf)(
      new SnapshotResolver(resolved(session, options)).settings,
      sessionRules.install()
    )
    val admission = OrcSplitAdmission.of(session, hadoopConf, scope, dataSchema, requiredSchema, seal)
    new OrcRead(spark, admission, StructType(requiredSchema.fields ++ partitionSchema.fields), masking)
  }

  override def prepareWrite(
      session: SparkSession,
      job: Job,
      options: Map[String, String],
      dataSchema: StructType
  ): OutputWriterFactory = PmeSparkException.translated {
    val spelled = ResolvedOptions.spelled(options)
    // Streaming sinks pass a configuration without the options.
    SparkAccess.setOptions(job.getConfiguration, spelled)
    val (own, output) = (resolved(session, spelled), FileOutputFormat.getOutputPath(job))
    own.requireTagsOfBatch(output.toString)
    val written = WriteSeal.begun(writeSeal, own, output)
    val factory = OrcWrite
      .of(writer(session, spelled, dataSchema), state.isSparks, job.getConfiguration, dataSchema)
      .prepare(job, written)(super.prepareWrite(session, job, options, dataSchema))
    writeSeal.begin()
    factory
  }

  /**
   * Checks a write before Spark deletes what it replaces: a misspelt key would cost the table.
   *
   * @param replaces whether it replaces files; then the KMS is asked, too
   */
  private[spark] def checkWrite(
      session: SparkSession,
      options: Map[String, String],
      dataSchema: StructType,
      partitions: Seq[String],
      buckets: Option[BucketSpec],
      replaces: Boolean
  ): Unit = {
    val conf = SparkAccess.hadoopConf(session, options)
    OrcWrite
      .of(writer(session, options, dataSchema), state.isSparks, conf, dataSchema)
      .check(partitions, buckets, replaces)
  }

  override def isSplitable(session: SparkSession, options: Map[String, String], path: Path): Boolean = true
}

private object OrcFormat {
  private def prepare(conf: Configuration, scope: OrcScope): Unit = {
    conf.set(OrcConf.KEY_PROVIDER.getAttribute, OrcProviders.kindOf(scope))
    // A file is what its end says, and not what its first part says.
    conf.unset(OrcConf.MAX_FILE_LENGTH.getAttribute)
    BlockFileSystem.prepare(conf)
  }
}

/** Infers the schema of ORC files, after a check of each file that Spark opens for it. ''Driver only.'' */
private object OrcSchema {

  /**
   * @param sealOf what snapshots say of files
   * @param spark Spark's own inference; with more options, of one file
   */
  def infer(
      session: SparkSession,
      options: Map[String, String],
      files: Seq[FileStatus],
      scope: OrcScope,
      sealOf: Seq[Path] => Option[FileSeal]
  )(spark: (Seq[FileStatus], Option[Map[String, String]]) => Option[StructType]): Option[StructType] = {
    val conf = SparkAccess.hadoopConf(session, options)
    OrcProviders.prepare(scope, conf)
    val sqlConf = SparkAccess.sqlConf(session)
    val merges = new OrcOptions(options, sqlConf).mergeSchema
    val opened = if (merges) files else files.find(_.getLen > 0).toSeq
    def withoutRefused(schema: StructType, tailOf: FileStatus => OrcTail) = scope.settings.masking
      .filter(_.leavesOutSome)
      .fold(schema)(this.withoutRefused(schema, opened, scope, tailOf, _, sqlConf.caseSensitiveAnalysis))
    sealOf(opened.map(_.getPath)) match {
      case Some(seal) => ofSealed(session, opened, seal, conf, withoutRefused)(spark)
      case None =>
        val tailOf = (file: FileStatus) => OpenedOrc.tailOf(file.getPath, file.getLen, conf)
        if (merges) checkAll(session, opened, conf) else opened.foreach(tailOf)
        spark(opened, None).map(withoutRefused(_, tailOf))
    }
  }

  /** Of files that are compared with a snapshot as they are read: one after the other, in this process. */
  private def ofSealed(
      session: SparkSession,
      files: Seq[FileStatus],
      seal: FileSeal,
      conf: Configuration,
      withoutRefused: (StructType, FileStatus => OrcTail) => StructType
  )(spark: (Seq[FileStatus], Option[Map[String, String]]) => Option[StructType]): Option[StructType] = {
    val known = files.map { file =>
      seal.requireLength(file.getPath, file.getLen)
      val digests = seal.blocks(file.getPath)
      file -> digests.map(new VerifiedFile(file.getPath, _, conf))
    }.toMap
    def tailOf(file: FileStatus) = known(file).fold(OpenedOrc.tailOf(file.getPath, file.getLen, conf)) { one =>
      OpenedOrc.using(one.path, one.length, () => one.open())(_.tail)
    }
    val own = new Configuration( /* loadDefaults= */ false)
    BlockFileSystem.prepare(own)
    val options = own.asScala.map(entry => entry.getKey -> entry.getValue).toMap
    val schemas = files.flatMap { file =>
      tailOf(file)
      known(file).fold(spark(Seq(file), Some(options))) { one =>
        val place = BlockFileSystem.reading(one)
        try spark(Seq(place.path.getFileSystem(own).getFileStatus(place.path)), Some(options))
        finally place.close()
      }
    }
    if (schemas.isEmpty) None
    else Some(withoutRefused(SchemaInference.merged(session, schemas), tailOf))
  }

  private def checkAll(session: SparkSession, files: Seq[FileStatus], conf: Configuration): Unit = {
    val context = session.sparkContext
    val shared = context.broadcast(new SerializableConfiguration(conf))
    val named = files.map(file => file.getPath.toString -> file.getLen)
    context.parallelize(named, named.size.min(context.defaultParallelism * 4).max(1)).foreach {
      case (path, length) => OpenedOrc.tailOf(new Path(path), length, shared.value.value)
    }
  }

  /**
   * `deniedColumns=drop` and `missingKeys=drop`: without the columns whose keys this reader is refused in the files that
   * show the schema.
   */
  private def withoutRefused(
      schema: StructType,
      files: Seq[FileStatus],
      scope: OrcScope,
      tailOf: FileStatus => OrcTail,
      masking: Masking,
      caseSensitive: Boolean
  ): StructType = {
    val wanted = schema.fields.toSeq.zipWithIndex.map { case (field, position) =>
      OrcAdmission.Wanted(field.name, position)
    }
    val admission = new OrcAdmission(scope, wanted, caseSensitive)
    val refused = files.flatMap { file =>
      admission.refused(tailOf(file), file.getPath.toString)
    }
    val names = refused.filter(one => masking.leavesOut(one.denied.condition)).map(_.wanted).toSet
    StructType(schema.filterNot(field => names(field.name)))
  }
}
