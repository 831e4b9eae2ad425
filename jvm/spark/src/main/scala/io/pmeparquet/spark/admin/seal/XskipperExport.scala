package io.pmeparquet.spark.admin.seal

import java.util.Locale

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex
import org.apache.spark.sql.types.{DataType, DecimalType}
import org.apache.spark.sql.SparkSession

import io.pmeparquet.columns.LeafColumn
import io.pmeparquet.keys.KeyPurpose
import io.pmeparquet.parquet.inspect.FileFacts
import io.pmeparquet.parquet.storage.ListedFile
import io.pmeparquet.parquet.summary.{ColumnSummary, SummaryKind, WantedSummary}
import io.pmeparquet.snapshot.manifest.{IndexEntry, TablePolicy}
import io.pmeparquet.snapshot.parts.SealedFile
import io.pmeparquet.snapshot.xskipper.{
  ExportedType,
  FileId,
  IndexName,
  SketchSummary,
  SparkSketch,
  StoreKeys,
  StoreShape,
  StoreWriter,
  StoredType
}
import io.pmeparquet.snapshot.TableSnapshot
import io.pmeparquet.spark.admin.job.{FileJob, Progress, TableFiles}
import io.pmeparquet.spark.options.{ResolvedOptions, SnapshotResolver}
import io.pmeparquet.spark.session.{PmeSparkException, SparkAccess}
import io.pmeparquet.PmeErrors

/**
 * What an export wrote.
 *
 * @param files data files in the store
 * @param leftOut data files without a row in the store, which cannot express all that an index can; readers read them
 * @param indexes how many the store has
 * @param notExported the snapshot's other indexes, as users name them
 */
final class ExportedStore private[admin] (
    val location: String,
    val files: Long,
    val leftOut: Long,
    val indexes: Long,
    val notExported: java.util.List[String]
)

/**
 * Writes the indexes of a sealed table as a metadata store of Xskipper, version 4: `pme.export_xskipper`. ''Driver only.''
 */
object XskipperExport {

  /**
   * @param target the directory of the store
   * @param options those of a read, and `indexKeys`: labels of the keys of indexes, by their columns
   * @param footerKey label of the store's footer key; none: the table's
   * @param bloomFilters whether to make Bloom filters for the table's indexes of that kind, which reads all data files
   * @throws io.pmeparquet.PmeException if the table is not sealed, or an index cannot be exported
   */
  def write(
      session: SparkSession,
      path: String,
      target: String,
      options: Map[String, String],
      footerKey: Option[String],
      plaintextFooter: Boolean,
      bloomFilters: Boolean
  ): ExportedStore = PmeSparkException.translated {
    new XskipperExport(session, path, target, options).run(footerKey, plaintextFooter, bloomFilters)
  }

  /** For Python. Null stands for an argument that the user did not give. */
  def write(
      session: SparkSession,
      path: String,
      target: String,
      options: java.util.Map[String, String],
      footerKey: String,
      plaintextFooter: Boolean,
      bloomFilters: Boolean
  ): ExportedStore = Progress.unwatching {
    write(session, path, target, options.asScala.toMap, Option(footerKey), plaintextFooter, bloomFilters)
  }
}

private final class XskipperExport(
    session: SparkSession,
    path: String,
    target: String,
    options: Map[String, String]
) {
  private val conf = SparkAccess.hadoopConf(session, options)
  private val resolved = ResolvedOptions.ofOperation(session, options, KeyPurpose.Seal)
  private val snapshots = new SnapshotResolver(resolved)
  private val table = TableFiles.qualified(path, conf)
  private val store = TableFiles.qualified(target, conf)
  private val reader = snapshots.snapshots(snapshots.directory(table))

  private def refused(index: IndexEntry, why: String, remedy: String) =
    PmeErrors.xskipperIndex(table.toString, index.label, why, remedy)

  def run(footerKey: Option[String], plaintextFooter: Boolean, bloomFilters: Boolean): ExportedStore = {
    SealedGuard.requireTable(table, conf)
    requirePlace()
    val snapshot = reader.files(SealedGuard.requireNewest(session, reader))
    val policy = snapshot.version.manifest.policy
    val (exported, others) = snapshot.version.manifest.indexes.partition(isOfStores(_, bloomFilters))
    val indexes = exported.map(indexOf(_, policy))
    val partitions = new PartitionValues(session, table, options, snapshot)
    requireNames(indexes.map(_._1.field).zip(exported), partitions.columns.map(_._1))
    val keys =
      keysOf(indexes.map(_._1), footerKey.orElse(policy.footerKey), plaintextFooter, footerKey.isDefined)
    val shape = new StoreShape(FileId.table(table), partitions.columns, indexes.map(_._1), keys)
    val sketches = sketchesOf(snapshot, exported.filter(isBloom))
    val contents: Seq[String => Option[ColumnSummary]] = exported.map { index =>
      if (isBloom(index)) sketches(index).get _ else reader.content(snapshot, index).of _
    }
    val rows = snapshot.files.flatMap(rowOf(_, partitions, indexes.map(_._2).zip(contents)))
    new StoreWriter(shape, snapshots.kmsUse, conf).write(store, rows.iterator)
    new ExportedStore(
      store.toString,
      rows.size.toLong,
      (snapshot.files.size - rows.size).toLong,
      indexes.size.toLong,
      others.map(_.label).asJava
    )
  }

  /** A store below the table would be a part of it. */
  private def requirePlace(): Unit = {
    val below = Iterator.iterate(store)(_.getParent).takeWhile(one => one != null && one != table).toList
    val isBelow = store == table || below.last.getParent == table
    val isHidden = below.exists(one => Seq("_", ".").exists(one.getName.startsWith(_)))
    if (isBelow && !(store != table && isHidden))
      throw PmeErrors.xskipperTarget(store.toString, s"it is in the table at $table")
  }

  /**
   * Xskipper takes columns whose names begin with that of an index's column for columns of this index.
   *
   * @param fields the names of columns in the store, with their indexes
   */
  private def requireNames(fields: Seq[(String, IndexEntry)], partitions: Seq[String]): Unit = {
    def lower(name: String) = name.toLowerCase(Locale.ROOT)
    val all = fields.map(_._1) ++ partitions.map(IndexName.ofPartition)
    for (((field, index), at) <- fields.zipWithIndex; (other, to) <- all.zipWithIndex)
      if (at != to && lower(other).startsWith(lower(field)))
        throw refused(
          index,
          if (lower(other) == lower(field)) "another index has the same name there"
          else s"its column there, '$field', has a name with which that of another begins, '$other'",
          "Drop one of them."
        )
  }

  private def isOfStores(index: IndexEntry, bloomFilters: Boolean) = index.kind match {
    case SummaryKind.MinMax | SummaryKind.ValueList(_) => true
    case SummaryKind.Bloom(fpp, ndv) =>
      bloomFilters && ndv.forall(_ <= SparkSketch.mostValues(fpp)) &&
      ExportedType.of(index.columnType, index.column.last).exists(_.hasSketches)
    case _ => false
  }

  private def isBloom(index: IndexEntry) = index.kind match {
    case SummaryKind.Bloom(_, _) => true
    case _ => false
  }

  /** The filters of files, by their paths. The files must be those that were sealed. */
  private def sketchesOf(
      snapshot: TableSnapshot,
      indexes: Seq[IndexEntry]
  ): Map[IndexEntry, Map[String, ColumnSummary]] = if (indexes.isEmpty) Map.empty
  else {
    val wanted = indexes.map { index =>
      WantedSummary(
        index.column.toList,
        SummaryKind.OfClass(classOf[SketchSummary].getName, index.kind.parameters)
      )
    }.toList
    val scope = resolved.readScope
    val files = snapshot.files.map { file =>
      val listed = new Path(table, file.path)
      // It takes part in nothing that this job does.
      file -> ListedFile(listed.toString, file.length, file.modified, hasExternalMaterial = false)
    }
    val found = FileJob.eachWhole(session, conf, files.map(_._2))(_.length)(FileFacts.of(scope, _, wanted, _))
    val facts = files.map(_._1).zip(found).map { case (file, (listed, result)) =>
      val facts = result.fold(failed => throw failed.raised, identity)
      if (!java.util.Arrays.equals(facts.sha256, file.sha256)) throw PmeErrors.changedSinceListed(listed.path)
      file.path -> facts.summaries
    }
    indexes.zipWithIndex.map { case (index, at) =>
      index -> facts.flatMap { case (path, summaries) =>
        summaries(at).filter(_.columnType == index.columnType).map(path -> _.summary)
      }.toMap
    }.toMap
  }

  private def indexOf(index: IndexEntry, policy: TablePolicy): (StoreShape.Index, ExportedType) = {
    val name = index.column.mkString(".").toLowerCase(Locale.ROOT)
    if (index.column.exists(_.contains(".")))
      throw refused(index, "the name of its column has a dot", "Drop the index.")
    val exported = ExportedType.of(index.columnType, index.column.last).getOrElse {
      throw refused(index, s"a store has no column of type '${index.columnType}'", "Drop the index.")
    }
    val label = labelOf(index)
    val isProtected = policy.columns.exists { case (column, key) => column == index.column && key.isDefined }
    if (label.isEmpty && isProtected)
      throw refused(
        index,
        "its column is encrypted, and the index would not be",
        "Name its key in index_keys."
      )
    val kind = index.kind match {
      case SummaryKind.MinMax => StoreShape.MinMax
      case SummaryKind.Bloom(fpp, ndv) => StoreShape.Bloom(fpp, ndv)
      case _ => StoreShape.ValueList
    }
    val made = StoreShape.Index(kind, name, exported.of, label)
    if (label.isDefined && !StoreKeys.canBeListed(made.field) || label.exists(!StoreKeys.canBeListed(_)))
      throw refused(
        index,
        "the list of keys in a store cannot hold a name or key id with ',', ';' or ':'",
        "Drop the index, or name another key in index_keys."
      )
    made -> exported
  }

  /** The key that `indexKeys` names, or else that of the index. */
  private def labelOf(index: IndexEntry): Option[String] = {
    val leaf = LeafColumn(index.column, index.column)
    val named = snapshots.settings.indexKeys.toSeq
      .flatMap(_.entries)
      .filter(_.pattern.covers(leaf, caseSensitive = true))
      .map(_.masterKeyId)
      .distinct
    if (named.size > 1)
      throw refused(index, s"its column has ${named.size} keys in index_keys", "Give it one.")
    named.headOption.orElse(index.key)
  }

  private def keysOf(
      indexes: Seq[StoreShape.Index],
      footerKey: Option[String],
      plaintextFooter: Boolean,
      isNamed: Boolean
  ): Option[StoreKeys] = {
    val labels = indexes.flatMap(index => index.key.map(index.field -> _))
    if (labels.isEmpty) {
      if (isNamed || plaintextFooter)
        throw PmeErrors.contradiction(
          "footer_key and plaintext_footer",
          "no index of the store is encrypted, and then nothing of it is",
          "Leave them out, or name keys in index_keys."
        )
      None
    } else
      footerKey match {
        case Some(key) if StoreKeys.canBeListed(key) => Some(new StoreKeys(key, plaintextFooter, labels))
        case Some(key) => throw PmeErrors.badOption("footer_key", key, "a key id without ',', ';' and ':'")
        case None => throw PmeErrors.missingOption("footer_key", "for a store with encrypted indexes")
      }
  }

  private def rowOf(
      file: SealedFile,
      partitions: PartitionValues,
      indexes: Seq[(ExportedType, String => Option[ColumnSummary])]
  ): Option[StoreShape.Row] = {
    val summaries: Seq[Option[ColumnSummary]] = indexes.map { case (of, content) =>
      content(file.path).flatMap(of.exported(_, file.rows))
    }
    if (summaries.exists(_.isEmpty)) None
    else {
      val full = new Path(table, file.path)
      Some(StoreShape.Row(FileId.text(full, file.modified), partitions.of(full), summaries.flatten))
    }
  }
}

/** The partition columns of a table, with the types that Spark finds in the names of its directories. ''Driver only.'' */
private final class PartitionValues(
    session: SparkSession,
    table: Path,
    options: Map[String, String],
    snapshot: TableSnapshot
) {
  private val found =
    if (snapshot.version.manifest.partitionColumns.isEmpty) None
    else Some(new InMemoryFileIndex(session, Seq(table), options, None).partitionSpec())

  private val fields = found.toSeq.flatMap(_.partitionColumns.fields.toSeq)

  val columns: Seq[(String, StoredType)] = fields.map { field =>
    val of = StoredType.of(field.dataType.typeName).getOrElse {
      throw PmeErrors.unsupported(
        table.toString,
        s"exporting partition column '${field.name}'",
        s"a store has no values of type ${field.dataType.typeName}",
        "Export a table without it."
      )
    }
    field.name -> of
  }

  private val byDirectory: Map[String, InternalRow] =
    found.toSeq.flatMap(_.partitions).map(one => one.path.toUri.getPath -> one.values).toMap

  /** The values for a file, encoded as statistics are; none for null. */
  def of(file: Path): Seq[Option[Array[Byte]]] = if (columns.isEmpty) Nil
  else {
    val values = byDirectory.getOrElse(
      file.getParent.toUri.getPath,
      throw PmeErrors.changedSinceListed(file.toString)
    )
    fields.indices.map { at =>
      if (values.isNullAt(at)) None else Some(bytes(values, at, columns(at)._2, fields(at).dataType))
    }
  }

  private def bytes(values: InternalRow, at: Int, of: StoredType, as: DataType): Array[Byte] =
    (of, as) match {
      case (StoredType.Text, _) => values.getUTF8String(at).getBytes
      case (StoredType.Date, _) => StoredType.bytes(values.getInt(at))
      case (StoredType.Int, _) => StoredType.bytes(values.getInt(at))
      case (StoredType.Long, _) => StoredType.bytes(values.getLong(at))
      case (StoredType.Timestamp, _) => StoredType.bytes(values.getLong(at))
      case (StoredType.Double, _) =>
        StoredType.bytes(java.lang.Double.doubleToRawLongBits(values.getDouble(at)))
      case (decimal: StoredType.Decimal, one: DecimalType) =>
        val value = values.getDecimal(at, one.precision, one.scale).toJavaBigDecimal.setScale(decimal.scale)
        StoredType.bytes(value.unscaledValue, decimal)
      case _ => throw new IllegalStateException(s"internal error: Spark finds no partitions of type $as")
    }
}
