package io.pmeparquet.parquet.file

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.format.{ColumnChunk, ColumnMetaData, FileMetaData, RowGroup}
import org.apache.parquet.format.converter.ParquetMetadataConverter
import org.apache.parquet.hadoop.metadata.BlockMetaData

import io.pmeparquet.{AesKey, PmeErrors, PmeException}
import io.pmeparquet.columns.{ColumnProtection, FilePlace, LeafColumn}
import io.pmeparquet.options.ReadSettings
import io.pmeparquet.parquet.bytes._
import io.pmeparquet.parquet.chunk.{Chunk, ChunkModules, ChunkSource, RowGroupChunks}
import io.pmeparquet.parquet.scope.ReadScope

/**
 * A leaf column whose key the KMS denies to this reader.
 *
 * @param path its path in the file
 * @param display its name in Spark
 * @param denied the KMS's refusal
 */
final case class RefusedColumn(path: Seq[String], display: String, masterKeyId: String, denied: PmeException)

/**
 * A file whose footer is read, admitted by the scope's policy, authenticated and parsed. It opens the metadata of its
 * column chunks, holds keys and no pages, and serves all tasks of this JVM that read the file within the scope.
 *
 * @param place where it is in its table, with what its footer states of values that name keys
 * @param namedByRead the columns whose keys the read names, since the file does not
 * @param footerSha256 SHA-256 of the footer, its length and the magic at the end of the file
 */
private[parquet] final class OpenFile private[file] (
    version: FileVersion,
    val place: FilePlace,
    footer: FileMetaData,
    crypto: Option[FileCrypto],
    val namedByRead: Set[Seq[String]],
    tail: Segment,
    val footerSha256: Array[Byte]
) extends FooterShape(version, footer) {
  private val converter = new ParquetMetadataConverter

  def isEncrypted: Boolean = crypto.isDefined

  /** The master key of the footer's key; none if the file is not encrypted. */
  def footerMasterKey: Option[String] = crypto.flatMap(_.masterKeyOfFooter)

  /** The length of the footer's key; none if the file is not encrypted. */
  def footerKeyBits: Option[Int] = crypto.map(_.footerKey.bits)

  /**
   * For readers that do not compare rows with the values that the file states.
   *
   * @param reader for messages
   * @throws io.pmeparquet.PmeException `PME_UNSUPPORTED` if the policy has such values name its keys
   */
  def requireUnstated(settings: ReadSettings, reader: String): Unit =
    if (settings.columns.exists(of => of.keyColumns.exists(place.stated.mentions(_, of.caseSensitive))))
      throw PmeErrors.statedValues(version.path.toString, reader)

  /** Reads the rest of the file. */
  def bytes(conf: Configuration, counters: ReadCounters): FileBytes =
    new FileBytes(version, conf, counters, Some(tail))

  // Column chunks.

  /** The chunks of all columns of a row group. */
  def chunks(rowGroup: Int, counters: ReadCounters): Seq[Chunk] =
    chunks(rowGroup, leaves.map(_.path), counters).chunks

  /**
   * The chunks of a row group's columns. Decrypts the metadata of each.
   *
   * @throws io.pmeparquet.PmeException if a column's key is missing, refused or wrong
   */
  def chunks(rowGroup: Int, columns: Seq[Seq[String]], counters: ReadCounters): RowGroupChunks = {
    val group = groups(rowGroup)
    crypto.foreach(_.prepare(columns.map(path => displayOf(path) -> chunkOf(group, path))))
    val opened = columns.map(path => open(rowGroup, ordinalOf(path), displayOf(path), counters))
    val block = if (columns.isEmpty) None else Some(blockOf(rowGroup, opened.map(_._1)))
    val metadata = block.toSeq.flatMap(_.getColumns.asScala)
    val chunks = columns.zip(opened).zip(metadata).map { case ((path, (struct, key)), meta) =>
      val (at, name) = (ordinalOf(path), displayOf(path))
      val chunk =
        new Chunk(descriptors(at), meta, name, at, ordinal(rowGroup), group.getNum_rows, key, struct)
      requireValues(chunk)
      chunk
    }
    new RowGroupChunks(rowGroup, chunks, block)
  }

  /** A chunk with its metadata in the clear, and its key. */
  private def open(
      rowGroup: Int,
      at: Int,
      name: String,
      counters: ReadCounters
  ): (ColumnChunk, Option[AesKey]) = {
    val chunk = groups(rowGroup).getColumns.get(at)
    val where = whereOf(name)
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
          else file.columnMetadata(key, chunk, ordinal(rowGroup), at, where, counters)
        (metadata, Some(key))
      }
    if (metadata == null) throw PmeErrors.damaged(where, "it has no metadata")
    if (metadata.getPath_in_schema.asScala != leaves(at).path)
      throw PmeErrors.damaged(
        where,
        s"its metadata is that of column ${metadata.getPath_in_schema.asScala.mkString(".")}"
      )
    (plain(chunk, metadata), key)
  }

  /** The chunk as if the file were not encrypted, from which parquet-java makes its own metadata. */
  private def plain(chunk: ColumnChunk, metadata: ColumnMetaData): ColumnChunk = {
    val copy = new ColumnChunk(chunk)
    copy.setMeta_data(metadata)
    copy.unsetCrypto_metadata()
    copy.unsetEncrypted_column_metadata()
    copy.unsetFile_path()
    copy
  }

  /** The metadata that parquet-java's filters take. */
  private def blockOf(rowGroup: Int, chunks: Seq[ColumnChunk]): BlockMetaData = {
    val group = groups(rowGroup)
    val copy = new RowGroup(chunks.asJava, group.getTotal_byte_size, group.getNum_rows)
      .setOrdinal(ordinal(rowGroup).toShort)
    ParquetFailures.naming(version.path, s"the metadata of row group $rowGroup") {
      converter.fromParquetMetadata(withRowGroups(Seq(copy))).getBlocks.get(0)
    }
  }

  /** Requires one value for each row, null or not, and at least one in repeated columns. */
  private def requireValues(chunk: Chunk): Unit = {
    val (values, rows) = (chunk.meta.getValueCount, chunk.rowCount)
    val fits = if (chunk.descriptor.getMaxRepetitionLevel == 0) values == rows else values >= rows
    if (!fits)
      throw PmeErrors.damaged(
        where(chunk),
        s"it states $values values, but its row group states $rows rows"
      )
  }

  /** The ciphers of a chunk's modules; none if it is not encrypted. */
  def modules(chunk: Chunk, counters: ReadCounters): Option[ChunkModules] =
    for (file <- crypto; key <- chunk.key) yield file.modules(chunk, key, counters)

  /** A chunk with its ciphers. */
  def source(chunk: Chunk, counters: ReadCounters): ChunkSource =
    new ChunkSource(chunk, modules(chunk, counters), version.path.toString)

  // Places in the file.

  /** The place of a chunk. */
  def rangeOf(chunk: Chunk): Range = rangeOf(chunk, chunk.meta.getStartingPos, chunk.meta.getTotalSize)

  /** The place of a part of a chunk, checked to be inside the file. */
  def rangeOf(chunk: Chunk, offset: Long, length: Long): Range = {
    requireInFile(chunk, offset, length)
    if (length > OpenFile.MaxChunkBytes)
      throw PmeErrors.unsupported(
        where(chunk),
        s"a column chunk of $length bytes",
        "the page pipeline reads a column chunk into one array",
        "Read it with reader=spark. To copy or encrypt it, first write it again with smaller row groups."
      )
    Range(offset, length.toInt)
  }

  /** Where a chunk begins and ends, for callers that read it in parts. */
  def boundsOf(chunk: Chunk): (Long, Long) = {
    val (start, length) = (chunk.meta.getStartingPos, chunk.meta.getTotalSize)
    requireInFile(chunk, start, length)
    start -> (start + length)
  }

  private def requireInFile(chunk: Chunk, offset: Long, length: Long): Unit =
    if (offset < FooterBytes.FirstPageOffset || length < 0 || offset > version.length - length)
      throw PmeErrors.damaged(
        where(chunk),
        s"its column chunk states $length bytes from offset $offset, in a file of ${version.length} bytes"
      )

  /**
   * The range from the first index to the end of the file, unless it is long: all indexes are in it, and often the
   * filters.
   */
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

  // Which keys protect the columns, and whether this reader gets them.

  /** @throws io.pmeparquet.PmeException if a column's own key is not available, whatever it would open */
  def requireKey(rowGroup: Int, column: Seq[String], counters: ReadCounters): Unit = {
    val chunk = chunkOf(groups(rowGroup), column)
    if (hasOwnKey(chunk)) crypto.foreach(_.columnKey(chunk, displayOf(column), counters))
  }

  private def hasOwnKey(chunk: ColumnChunk) =
    chunk.isSetCrypto_metadata && chunk.getCrypto_metadata.isSetENCRYPTION_WITH_COLUMN_KEY

  /** Those of some columns that have keys of their own in any row group. It uses no key. */
  def withOwnKey(columns: Seq[Seq[String]]): Seq[Seq[String]] =
    columns.filter(path => groups.exists(group => hasOwnKey(chunkOf(group, path))))

  /**
   * Those of some columns whose keys the KMS denies to this reader in any row group.
   *
   * @throws io.pmeparquet.PmeException if a key is not available for another reason
   */
  def refused(columns: Seq[Seq[String]], counters: ReadCounters): Seq[RefusedColumn] =
    crypto.toSeq.flatMap { file =>
      val chunks = for (path <- columns; group <- groups) yield path -> chunkOf(group, path)
      // One writer's row groups share a column's key.
      val distinct = chunks.groupBy { case (path, chunk) => path -> chunk.getCrypto_metadata }.map(_._2.head)
      file.prepare(distinct.toSeq.map { case (path, chunk) => displayOf(path) -> chunk })
      columns.flatMap { path =>
        distinct.toSeq
          .collect { case (`path`, chunk) => chunk }
          .flatMap(file.refusal(_, displayOf(path), counters))
          .headOption
          .map { case (masterKeyId, denied) => RefusedColumn(path, displayOf(path), masterKeyId, denied) }
      }
    }

  /** Columns that deviate from the scope's policy, and why they are refused. It uses no key. */
  def deviations(scope: ReadScope): Seq[(LeafColumn, PmeException)] = for {
    file <- crypto.toSeq
    policy <- scope.settings.columnsAt(place, version.path.toString).toSeq
    deviation <- file.check(policy).columns(leaves, groups)
  } yield deviation

  /**
   * What protects the chunks of each leaf column, by its path: more than one entry for a column if row groups differ. It
   * uses no key.
   */
  def protections: Seq[(Seq[String], ColumnProtection)] = {
    for {
      leaf <- leaves
      group <- groups
    } yield leaf.path -> protectionOf(chunkOf(group, leaf.path), leaf.display)
  }.distinct

  private def protectionOf(chunk: ColumnChunk, name: String): ColumnProtection =
    if (!chunk.isSetCrypto_metadata) ColumnProtection.Plaintext
    else
      crypto
        .flatMap(_.masterKeyOf(chunk, name))
        .fold[ColumnProtection](ColumnProtection.FooterKey)(ColumnProtection.ColumnKey(_))

  /** The id of the master key of a chunk's own key; none if it has no key of its own. */
  def masterKeyOf(rowGroup: Int, chunk: Chunk): Option[String] =
    crypto.flatMap(_.masterKeyOf(groups(rowGroup).getColumns.get(chunk.ordinal), chunk.display))
}

private[file] object OpenFile {

  /** The longest chunk that fits into an array. */
  val MaxChunkBytes: Int = Int.MaxValue - 8

  /** The most that is read of indexes at once. */
  val MaxIndexBytes: Int = 16 * 1024 * 1024
}
