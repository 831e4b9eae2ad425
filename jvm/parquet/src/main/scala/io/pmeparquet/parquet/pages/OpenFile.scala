package io.pmeparquet.parquet.pages

import java.io.ByteArrayInputStream

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.column.ColumnDescriptor
import org.apache.parquet.format.{ColumnChunk, ColumnMetaData, FileMetaData, RowGroup, Util}
import org.apache.parquet.format.converter.ParquetMetadataConverter
import org.apache.parquet.hadoop.metadata.BlockMetaData
import org.apache.parquet.schema.MessageType

import io.pmeparquet.{AesKey, PmeErrors, PmeException}
import io.pmeparquet.columns.LeafColumn
import io.pmeparquet.parquet._

/**
 * A file whose footer was read, judged by the scope's policy, authenticated and parsed. It holds keys and no pages, and
 * serves all tasks of this JVM that read the file within the scope.
 */
private[parquet] final class OpenFile private (
    val version: FileVersion,
    val footer: FileMetaData,
    crypto: Option[FileCrypto],
    tail: Segment
) {
  private val converter = new ParquetMetadataConverter

  /** What reads the rest of the file. */
  def bytes(conf: Configuration, counters: ReadCounters): FileBytes =
    new FileBytes(version, conf, counters, Some(tail))

  /** Schema, key-value metadata and writer, as parquet-java has them. */
  val fileMetaData: org.apache.parquet.hadoop.metadata.FileMetaData =
    OpenFile.structure(version.path, "its footer")(
      converter.fromParquetMetadata(without(Nil)).getFileMetaData
    )

  def schema: MessageType = fileMetaData.getSchema
  def isEncrypted: Boolean = crypto.isDefined

  private val descriptors: IndexedSeq[ColumnDescriptor] = schema.getColumns.asScala.toIndexedSeq
  if (descriptors.map(_.getPath.toSeq).distinct.size < descriptors.size)
    throw PmeErrors.damaged(version.path.toString, "its schema has a column twice")

  private val ordinals: Map[Seq[String], Int] = descriptors.map(_.getPath.toSeq).zipWithIndex.toMap

  /** In the order of the file's columns, each of which is one of them: of a schema that is odd, by its path alone. */
  private val leaves: IndexedSeq[LeafColumn] = {
    val named = SchemaColumns.leaves(schema).map(leaf => leaf.path -> leaf).toMap
    descriptors.map(_.getPath.toSeq).map(path => named.getOrElse(path, LeafColumn(path, path)))
  }
  private val display: Map[Seq[String], String] = leaves.map(leaf => leaf.path -> leaf.display).toMap

  private val groups: IndexedSeq[RowGroup] =
    Option(footer.getRow_groups).map(_.asScala.toIndexedSeq).getOrElse(IndexedSeq.empty)

  /** Index of the first row of each row group in the file. */
  private val firstRows: IndexedSeq[Long] = groups.scanLeft(0L)(_ + _.getNum_rows)

  groups.zipWithIndex.foreach { case (group, index) =>
    if (group.getNum_rows < 0 || group.getColumns.size != descriptors.size)
      throw PmeErrors.damaged(
        version.path.toString,
        s"its row group $index has ${group.getNum_rows} rows and ${group.getColumns.size} columns, where the schema has ${descriptors.size}"
      )
  }

  /**
   * The row groups that belong to a split of the file: those whose middle lies in it, so that each belongs to one split
   * wherever the splits are cut.
   */
  def rowGroups(start: Long, length: Long): Seq[Int] =
    groups.indices.filter { index =>
      val middle = middleOf(groups(index), index)
      middle >= start && middle < start + length
    }

  private def middleOf(group: RowGroup, index: Int): Long = {
    val first = group.getColumns.get(0)
    val offset =
      if (group.isSetFile_offset) group.getFile_offset
      else if (first.isSetMeta_data) first.getMeta_data.getData_page_offset
      else version.length / groups.size * index
    val size = if (group.isSetTotal_compressed_size) group.getTotal_compressed_size else 0L
    // Whatever a file says, the middle is a place in it, and so in one of its splits.
    (offset + size / 2).max(0L).min(version.length - 1)
  }

  def rowGroupCount: Int = groups.size
  def rowCount(rowGroup: Int): Long = groups(rowGroup).getNum_rows
  def firstRow(rowGroup: Int): Long = firstRows(rowGroup)

  /** The chunks of all columns of a row group. */
  def chunks(rowGroup: Int, counters: ReadCounters): Seq[Chunk] =
    chunks(rowGroup, descriptors.map(_.getPath.toSeq), counters).chunks

  /**
   * The chunks of a row group's columns, decrypting the metadata of each.
   *
   * @throws io.pmeparquet.PmeException where a column's key is missing, refused or wrong
   */
  def chunks(rowGroup: Int, columns: Seq[Seq[String]], counters: ReadCounters): RowGroupChunks = {
    val group = groups(rowGroup)
    val wanted = columns.map { path =>
      val ordinal = ordinals.getOrElse(
        path,
        throw new IllegalStateException(s"internal error: no column ${path.mkString(".")}")
      )
      ordinal -> display(path)
    }
    crypto.foreach(_.prepare(wanted.map { case (ordinal, name) => name -> group.getColumns.get(ordinal) }))
    val opened = wanted.map { case (ordinal, name) =>
      (ordinal, name, open(rowGroup, ordinal, name, counters))
    }
    val copy = new RowGroup(
      opened.map(_._3.chunk).asJava,
      group.getTotal_byte_size,
      group.getNum_rows
    ).setOrdinal(ordinalOf(group, rowGroup).toShort)
    val block: Option[BlockMetaData] =
      if (columns.isEmpty) None
      else
        Some(OpenFile.structure(version.path, s"the metadata of row group $rowGroup") {
          converter.fromParquetMetadata(without(Seq(copy))).getBlocks.get(0)
        })
    val metadata = block.map(_.getColumns.asScala.toSeq).getOrElse(Nil)
    val chunks = opened.zip(metadata).map { case ((ordinal, name, column), meta) =>
      val groupOrdinal = ordinalOf(group, rowGroup)
      val chunk = new Chunk(
        descriptors(ordinal),
        meta,
        name,
        ordinal,
        groupOrdinal,
        group.getNum_rows,
        column.key,
        column.chunk
      )
      requireValues(chunk)
      chunk
    }
    new RowGroupChunks(rowGroup, chunks, block)
  }

  /** The paths of those columns of a row group that are encrypted with the footer's key, or with keys of their own. */
  def sealedColumns(rowGroup: Int, withFooterKey: Boolean): Seq[Seq[String]] =
    descriptors.zip(groups(rowGroup).getColumns.asScala).collect {
      case (descriptor, chunk)
          if chunk.isSetCrypto_metadata &&
            chunk.getCrypto_metadata.isSetENCRYPTION_WITH_FOOTER_KEY == withFooterKey =>
        descriptor.getPath.toSeq
    }

  /** All leaf columns. */
  def columns: Seq[FileColumn] = descriptors.map { descriptor =>
    val path = descriptor.getPath.toSeq
    FileColumn(path, display(path))
  }

  /** @throws io.pmeparquet.PmeException where a column's own key is not to be had, whatever it would open */
  def requireKey(rowGroup: Int, column: Seq[String], counters: ReadCounters): Unit = for {
    file <- crypto
    chunk = groups(rowGroup).getColumns.get(ordinals(column))
    metadata <- Option(chunk.getCrypto_metadata) if metadata.isSetENCRYPTION_WITH_COLUMN_KEY
  } file.columnKey(chunk, display(column), counters)

  /**
   * Those of some columns whose keys the KMS refuses to this reader, be it in one row group.
   *
   * @throws io.pmeparquet.PmeException where a key is not to be had for another reason
   */
  def refused(columns: Seq[Seq[String]], counters: ReadCounters): Seq[RefusedColumn] = crypto.toSeq.flatMap {
    file =>
      val chunks = for (path <- columns; group <- groups) yield path -> group.getColumns.get(ordinals(path))
      // Row groups of one writer share a column's key.
      val distinct = chunks.groupBy { case (path, chunk) => path -> chunk.getCrypto_metadata }.map(_._2.head)
      file.prepare(distinct.toSeq.map { case (path, chunk) => display(path) -> chunk })
      columns.flatMap { path =>
        distinct.toSeq
          .collect { case (`path`, chunk) => chunk }
          .flatMap(file.refusal(_, display(path), counters))
          .headOption
          .map(refusal => RefusedColumn(path, display(path), refusal.masterKeyId, refusal.denied))
      }
  }

  /** Columns that are protected otherwise than the scope's policy asks for, and why they are refused. No key is used. */
  def deviations(scope: ReadScope): Seq[(FileColumn, PmeException)] = for {
    file <- crypto.toSeq
    policy <- scope.settings.columns.toSeq
    (leaf, refused) <- file.check(policy).columns(leaves, groups)
  } yield FileColumn(leaf.path, leaf.display) -> refused

  /** The id of the master key that a chunk's own key is under; none where it has none. */
  def masterKeyOf(rowGroup: Int, chunk: Chunk): Option[String] =
    crypto.flatMap(_.masterKeyOf(groups(rowGroup).getColumns.get(chunk.ordinal), chunk.display))

  /** Each row has one value, null or not; repeated columns have one at least. */
  private def requireValues(chunk: Chunk): Unit = {
    val (values, rows) = (chunk.meta.getValueCount, chunk.rowCount)
    val fits = if (chunk.descriptor.getMaxRepetitionLevel == 0) values == rows else values >= rows
    if (!fits)
      throw PmeErrors.damaged(
        s"${version.path}, column '${chunk.display}'",
        s"it says $values values where its row group says $rows rows"
      )
  }

  /** Where a chunk lies. */
  def rangeOf(chunk: Chunk): Range = rangeOf(chunk, chunk.meta.getStartingPos, chunk.meta.getTotalSize)

  /** A part of a chunk, checked to lie in the file. */
  def rangeOf(chunk: Chunk, offset: Long, length: Long): Range = {
    requireInFile(chunk, offset, length)
    if (length > OpenFile.MaxChunkBytes)
      throw PmeErrors.unsupported(
        s"${version.path}, column '${chunk.display}'",
        s"a column chunk of $length bytes",
        "the page pipeline reads a chunk into one array",
        "Read it with reader=spark; to copy or encrypt it, write it anew with smaller row groups."
      )
    Range(offset, length.toInt)
  }

  /** Where a chunk begins and ends, for who reads it in parts. */
  def boundsOf(chunk: Chunk): (Long, Long) = {
    val (start, length) = (chunk.meta.getStartingPos, chunk.meta.getTotalSize)
    requireInFile(chunk, start, length)
    start -> (start + length)
  }

  private def requireInFile(chunk: Chunk, offset: Long, length: Long): Unit =
    if (offset < FooterBytes.FirstPageOffset || length < 0 || offset > version.length - length)
      throw PmeErrors.damaged(
        s"${version.path}, column '${chunk.display}'",
        s"its column chunk is said to be $length bytes from $offset on, in a file of ${version.length}"
      )

  /** From the first index to the end, where that is not much: indexes stand there together, and often filters. */
  def indexRange: Option[Range] = {
    val offsets = for {
      group <- groups
      chunk <- group.getColumns.asScala
      offset <- Seq(
        chunk.isSetColumn_index_offset -> chunk.getColumn_index_offset,
        chunk.isSetOffset_index_offset -> chunk.getOffset_index_offset
      ).collect { case (true, offset) => offset }
    } yield offset
    val first = offsets.foldLeft(tail.offset)(_.min(_))
    val length = version.length - first
    if (first == tail.offset || first < 0 || length > OpenFile.MaxIndexBytes) None
    else Some(Range(first, length.toInt))
  }

  /** The ciphers of a chunk's modules; none where it is not encrypted. */
  def modules(chunk: Chunk, counters: ReadCounters): Option[ChunkModules] =
    for (file <- crypto; key <- chunk.key) yield file.modules(chunk, key, counters)

  private def ordinalOf(group: RowGroup, index: Int): Int =
    if (group.isSetOrdinal) group.getOrdinal.toInt else index

  private def without(rowGroups: Seq[RowGroup]): FileMetaData = {
    val copy = new FileMetaData(footer.getVersion, footer.getSchema, footer.getNum_rows, rowGroups.asJava)
    copy.setKey_value_metadata(footer.getKey_value_metadata)
    copy.setCreated_by(footer.getCreated_by)
    copy.setColumn_orders(footer.getColumn_orders)
    copy
  }

  private def open(rowGroup: Int, ordinal: Int, name: String, counters: ReadCounters): OpenedColumn = {
    val group = groups(rowGroup)
    val chunk = group.getColumns.get(ordinal)
    val where = s"${version.path}, column '$name'"
    val (metadata, key) =
      if (!chunk.isSetCrypto_metadata) (chunk.getMeta_data, None)
      else {
        val file = crypto.getOrElse(
          throw PmeErrors.notAuthentic(where, "its metadata, in a footer without signature,")
        )
        val withFooterKey = chunk.getCrypto_metadata.isSetENCRYPTION_WITH_FOOTER_KEY
        val key = if (withFooterKey) file.footerKey else file.columnKey(chunk, name, counters)
        val metadata =
          if (withFooterKey && file.footerEncrypted) chunk.getMeta_data
          else file.columnMetadata(key, chunk, ordinalOf(group, rowGroup), ordinal, where, counters)
        (metadata, Some(key))
      }
    if (metadata == null) throw PmeErrors.damaged(where, "it has no metadata")
    if (metadata.getPath_in_schema.asScala != descriptors(ordinal).getPath.toSeq)
      throw PmeErrors.damaged(
        where,
        s"its metadata is that of column ${metadata.getPath_in_schema.asScala.mkString(".")}"
      )
    new OpenedColumn(plain(chunk, metadata), key)
  }

  /** The chunk as that of an unencrypted file, for parquet-java to make its own metadata of. */
  private def plain(chunk: ColumnChunk, metadata: ColumnMetaData): ColumnChunk = {
    val copy = new ColumnChunk(chunk)
    copy.setMeta_data(metadata)
    copy.unsetCrypto_metadata()
    copy.unsetEncrypted_column_metadata()
    copy.unsetFile_path()
    copy
  }
}

/**
 * A leaf column whose key the KMS refuses to this reader.
 *
 * @param path in the file
 * @param display as Spark names it
 * @param denied what the KMS said
 */
final case class RefusedColumn(path: Seq[String], display: String, masterKeyId: String, denied: PmeException)

/**
 * A leaf column.
 *
 * @param path in the file
 * @param display as Spark names it
 */
private[parquet] final case class FileColumn(path: Seq[String], display: String)

private final class OpenedColumn(val chunk: ColumnChunk, val key: Option[AesKey])

private[parquet] object OpenFile {

  /** @throws io.pmeparquet.PmeException whatever keeps this scope from reading the file */
  def apply(scope: ReadScope, version: FileVersion, conf: Configuration, counters: ReadCounters): OpenFile =
    scope.files.get(version)(read(scope, version, conf, counters))

  /** As [[apply]], but as the file is now, whatever this JVM has of it. */
  def read(
      scope: ReadScope,
      version: FileVersion,
      conf: Configuration,
      counters: ReadCounters
  ): OpenFile = {
    val file = unjudged(scope, version, conf, counters)
    file.deviations(scope).headOption.foreach { case (_, refused) => throw refused }
    file
  }

  /** As [[read]], but for the keys that its columns are under: [[OpenFile.deviations]] tells. */
  def unjudged(
      scope: ReadScope,
      version: FileVersion,
      conf: Configuration,
      counters: ReadCounters
  ): OpenFile = {
    val file = version.path.toString
    val bytes = new FileBytes(version, conf, counters)
    try {
      counters.footers.increment()
      val footer = FooterBytes.read(bytes)
      FileTail.of(footer, file) match {
        case FileTail.Plaintext =>
          if (!scope.settings.allowPlaintextFiles) throw PmeErrors.plaintextFile(file)
          new OpenFile(version, parsed(footer.segment, file), None, footer.tail)
        case tail: FileTail.Encrypted =>
          val crypto = FileCrypto.of(scope, version, conf, tail, counters)
          val content = crypto.footer(footer.segment, counters)
          val opened = new OpenFile(version, content, Some(crypto), footer.tail)
          if (FooterPolicy.isUnproven(tail, scope.settings)) FooterProof.require(opened, bytes, counters)
          opened
      }
    } finally bytes.close()
  }

  private[parquet] def parsed(bytes: Segment, file: String): FileMetaData = {
    val end = FileTail.structEnd(bytes, file)
    FileTail.parse(file, "its footer") {
      Util.readFileMetaData(new ByteArrayInputStream(bytes.array, bytes.at, end - bytes.at))
    }
  }

  /** What contradicts itself in a structure is damage of the file. */
  def structure[A](path: Path, what: String)(read: => A): A = ParquetFailures.naming(path, what)(read)

  /** How many files a scope keeps open: their footers are the largest thing that it holds. */
  val MaxFiles = 64

  /** What is read of indexes at once. */
  private val MaxIndexBytes = 16 * 1024 * 1024

  /** What fits into an array. */
  val MaxChunkBytes: Int = Int.MaxValue - 8
}
