package io.pmeparquet.spark.orc

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.hadoop.mapreduce.{Job, TaskAttemptContext}
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat
import org.apache.orc.{OrcConf, TypeDescription}
import org.apache.spark.sql.catalyst.catalog.BucketSpec
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.{OutputWriter, OutputWriterFactory}
import org.apache.spark.sql.execution.datasources.orc.OrcUtils
import org.apache.spark.sql.types.StructType

import io.pmeparquet.columns.{ColumnKeys, KeyPlan}
import io.pmeparquet.orc.blocks.{BlockFileSystem, HashedFile}
import io.pmeparquet.orc.keys.{OrcProviders, OrcScope}
import io.pmeparquet.orc.OrcColumns
import io.pmeparquet.parquet.write.{WriteRules, WrittenFooter}
import io.pmeparquet.spark.options.OrcResolver
import io.pmeparquet.spark.session.PmeSparkException
import io.pmeparquet.spark.snapshot.WrittenFiles
import io.pmeparquet.PmeErrors

/**
 * What a write of ORC files encrypts, for ORC's own writer, before the KMS is called. ''Driver only.''
 *
 * @param encrypt the value of `orc.encrypt`
 * @param masterKeys none: the write encrypts nothing, which only Spark's own `orc` does
 * @param keys of columns, which must not be partition columns
 */
private[orc] final class OrcWrite private (
    resolver: OrcResolver,
    private val encrypt: String,
    masterKeys: Seq[String],
    bits: Option[Int],
    keys: Option[ColumnKeys],
    caseSensitive: Boolean
) {
  private def scope: Option[OrcScope] =
    if (masterKeys.isEmpty) None else Some(resolver.write(masterKeys, bits))

  /**
   * Prepares the job of the write.
   *
   * @param written gets each file; none if nobody seals the table
   * @param spark Spark's own preparation, after the KMS gave the keys
   * @throws io.pmeparquet.PmeException if the KMS refuses a key
   */
  def prepare(job: Job, written: Option[WrittenFiles])(spark: => OutputWriterFactory): OutputWriterFactory = {
    val made = scope
    val sparks = spark
    val factory = written.fold(sparks)(new HashedOutputFactory(sparks, _))
    made.fold(factory) { scope =>
      val conf = job.getConfiguration
      conf.set(OrcConf.KEY_PROVIDER.getAttribute, OrcProviders.kindOf(scope))
      conf.set(OrcConf.ENCRYPTION.getAttribute, encrypt)
      val table = WriteRules.tableDirectory(FileOutputFormat.getOutputPath(job))
      new OrcOutputFactory(factory, scope, encrypt, keys, caseSensitive, table)
    }
  }

  /** Checks the write before it begins; the KMS is asked only if it replaces files. */
  def check(partitions: Seq[String], buckets: Option[BucketSpec], replaces: Boolean): Unit = {
    KeyPlan.checkPartitions(partitions, keys, caseSensitive)
    KeyPlan.checkBuckets(buckets.toSeq.flatMap(_.bucketColumnNames), keys, caseSensitive)
    if (replaces) {
      scope
      ()
    }
  }
}

private[orc] object OrcWrite {

  /**
   * @param isSparks whether `orc.encrypt` says what to encrypt, as for Spark's own `orc`
   * @param conf the job's, which has the options
   * @throws io.pmeparquet.PmeException if the options do not fit the schema
   */
  def of(
      resolver: OrcResolver,
      isSparks: Boolean,
      conf: Configuration,
      dataSchema: StructType
  ): OrcWrite = {
    val schema = TypeDescription.fromString(OrcUtils.getOrcSchemaString(dataSchema))
    val asked = Option(OrcConf.ENCRYPTION.getString(conf)).filter(_.nonEmpty)
    val write = if (isSparks) ofSparks(resolver, asked, schema) else ofOptions(resolver, asked, schema)
    Option(OrcConf.DATA_MASK.getString(conf)).filter(_.nonEmpty).foreach { mask =>
      resolver.requireMask(mask)
      OrcColumns.requireMasks(schema, write.encrypt, mask)
    }
    Option(OrcConf.BLOOM_FILTER_COLUMNS.getString(conf)).filter(_.nonEmpty).foreach { columns =>
      OrcColumns.requireNoBloomFilters(schema, write.encrypt, columns)
    }
    write
  }

  private def ofSparks(resolver: OrcResolver, asked: Option[String], schema: TypeDescription): OrcWrite = {
    resolver.refuseForSparks()
    val keys = asked.toSeq.flatMap(keysIn(_, schema))
    new OrcWrite(resolver, asked.getOrElse(""), keys, None, None, caseSensitive = true)
  }

  private def ofOptions(resolver: OrcResolver, asked: Option[String], schema: TypeDescription): OrcWrite = {
    asked.foreach { text =>
      throw PmeErrors.notInOrc(
        OrcConf.ENCRYPTION.getAttribute,
        s"columnKeys says which columns are encrypted, and pme-orc ignores '$text'",
        "Set columnKeys instead."
      )
    }
    val whole = resolver.writeSettings
    val settings = whole.of(OrcColumns.leaves(schema))
    new OrcWrite(
      resolver,
      OrcColumns.encryptText(schema, settings),
      settings.masterKeys,
      settings.dataKeyBits,
      // A policy also has keys for columns that only directories have.
      Some(whole.columns),
      settings.caseSensitive
    )
  }

  private def keysIn(encrypt: String, schema: TypeDescription): Seq[String] =
    try {
      val found = OrcColumns.keysIn(encrypt, schema)
      // ORC takes a key without columns, and encrypts nothing.
      if (found.isEmpty) throw new IllegalArgumentException("it names no column")
      found
    } catch {
      case bad: IllegalArgumentException =>
        throw PmeErrors.badOption(
          OrcConf.ENCRYPTION.getAttribute,
          encrypt,
          s"keys and columns of this schema: ${bad.getMessage}"
        )
    }
}

/** Wraps Spark's writer factory, and brings the write's scope to executors. ''Crosses the wire.'' */
private final class OrcOutputFactory(
    factory: OutputWriterFactory,
    scope: OrcScope,
    encrypt: String,
    keys: Option[ColumnKeys],
    caseSensitive: Boolean,
    table: String
) extends OutputWriterFactory {

  override def getFileExtension(context: TaskAttemptContext): String = factory.getFileExtension(context)

  override def newInstance(path: String, dataSchema: StructType, context: TaskAttemptContext): OutputWriter =
    PmeSparkException.translated {
      val conf = context.getConfiguration
      val isSet = conf.get(OrcConf.ENCRYPTION.getAttribute) == encrypt &&
        conf.get(OrcConf.KEY_PROVIDER.getAttribute) == OrcProviders.kindOf(scope)
      OrcProviders.prepare(scope, conf)
      if (!isSet)
        throw new IllegalStateException("internal error: this task does not have the keys of its write")
      // A streaming sink does not tell the format its partition columns: only the directories show them.
      KeyPlan.checkPartitions(WriteRules.partitionColumns(new Path(path), table), keys, caseSensitive)
      factory.newInstance(path, dataSchema, context)
    }

  override def toString: String = s"OrcOutputFactory($scope)"
}

/**
 * Makes Spark's writers write through digests, and reports them to the seal of the table. ''Crosses the wire.''
 *
 * @param written gets each file, once it is whole
 */
private final class HashedOutputFactory(factory: OutputWriterFactory, written: WrittenFiles)
    extends OutputWriterFactory {

  override def getFileExtension(context: TaskAttemptContext): String = factory.getFileExtension(context)

  override def newInstance(path: String, dataSchema: StructType, context: TaskAttemptContext): OutputWriter =
    PmeSparkException.translated {
      val file = new HashedFile(new Path(path), context.getConfiguration)
      written.requireInside(file.path)
      BlockFileSystem.prepare(context.getConfiguration)
      val place = BlockFileSystem.writing(file)
      try new HashedWriter(factory.newInstance(place.path.toString, dataSchema, context), path, written, file)
      finally place.close()
    }

  override def toString: String = s"HashedOutputFactory($factory)"
}

/** Reports the file to the seal of the table, once it is whole. ''Executor only.'' */
private final class HashedWriter(
    writer: OutputWriter,
    override val path: String,
    written: WrittenFiles,
    file: HashedFile
) extends OutputWriter {
  override def write(row: InternalRow): Unit = writer.write(row)

  override def close(): Unit = {
    writer.close()
    PmeSparkException.translated {
      val whole = file.result()
      written.report(file.path, WrittenFooter(whole.blocks.length, whole.sha256))
    }
  }
}
