package io.pmeparquet.parquet.copy

import java.security.MessageDigest
import java.util.zip.CRC32

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path, StreamCapabilities}
import org.apache.parquet.column.{ColumnDescriptor, ColumnReader}
import org.apache.parquet.column.impl.ColumnReadStoreImpl
import org.apache.parquet.column.ParquetProperties.WriterVersion
import org.apache.parquet.crypto.FileEncryptionProperties
import org.apache.parquet.example.data.{Group, GroupWriter}
import org.apache.parquet.example.data.simple.convert.GroupRecordConverter
import org.apache.parquet.hadoop.api.WriteSupport
import org.apache.parquet.hadoop.metadata.CompressionCodecName
import org.apache.parquet.hadoop.ParquetWriter
import org.apache.parquet.io.{ColumnIOFactory, OutputFile, PositionOutputStream}
import org.apache.parquet.io.api.RecordConsumer
import org.apache.parquet.schema.MessageType
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName._

import io.pmeparquet.parquet.bytes.{FileVersion, ReadCounters}
import io.pmeparquet.parquet.file.{ColumnPages, OpenFile}
import io.pmeparquet.parquet.scope.{ReadScope, WriteScope}
import io.pmeparquet.parquet.storage.{ListedFile, OwnFiles}
import io.pmeparquet.parquet.write.{FileEncryption, FileSealer, SizeStatistics, WrittenFooter}
import io.pmeparquet.PmeErrors

/**
 * One file in the place of several. ''Crosses the wire.''
 *
 * @param rows of all of them
 */
final case class MergedFile(rows: Long, footer: WrittenFooter)

/**
 * Writes the rows of several files of the same traits as one file of these traits. Values are decoded and encoded as
 * Parquet's own types, so nothing is lost that Spark does not know; pages, row groups, encodings and statistics are those of a
 * new file. Before it is used, every cell of the new file was compared with that of the old one, with its levels. Each old
 * file is read from storage once ([[HeldFiles]]).
 *
 * @param scope how readers read both
 * @param write how to encrypt the new file; none for plaintext
 * @param goOn called often; throws if the work is no longer wanted
 */
final class FileMerge(
    scope: ReadScope,
    write: Option[WriteScope],
    traits: FileTraits,
    conf: Configuration,
    goOn: () => Unit
) {
  private val counters = new ReadCounters

  /**
   * @param sealedAs the SHA-256 of each source, by its path, if a table's snapshot lists them
   * @param staged where to write: the new file's name, in an existing directory
   * @param destination where it will be moved to
   * @return why the sources must stay as they are, or the new file
   */
  def write(
      sources: Seq[ListedFile],
      sealedAs: Option[Map[String, Array[Byte]]],
      staged: Path,
      destination: Path
  ): Either[String, MergedFile] = {
    val held = new HeldFiles(conf, goOn)
    try Right(write(sources, sealedAs, held, staged, destination))
    catch { case lost: FileMerge.LostBits => Left(lost.why) }
    finally held.close()
  }

  private def write(
      sources: Seq[ListedFile],
      sealedAs: Option[Map[String, Array[Byte]]],
      held: HeldFiles,
      staged: Path,
      destination: Path
  ): MergedFile = {
    val versions = sources.map { source =>
      val version = FileVersion.of(source.version.path, conf)
      if (!version.isListed(source.version)) throw PmeErrors.changedMeanwhile(source.path)
      version
    }
    val files = sources.zip(versions).map { case (source, version) =>
      val (file, carried) =
        FileRewrite.open(scope, conf, held.hold(version, sealedAs.map(_(source.path))))
      if (FileTraits.of(scope, file, carried, conf) != Right(traits))
        throw PmeErrors.changedMeanwhile(source.path)
      file
    }
    val schema = files.head.schema
    val out = new OwnOutput(staged, conf)
    writeRows(files, schema, out, staged, destination)
    val version = FileVersion.of(staged, conf).readFrom(destination)
    val name = s"${sources.head.path} and ${sources.size - 1} others"
    new CopyCheck(scope, conf, goOn).requireBytes(name, version, traits.settings, out.checksum)
    CopyCheck.requireNoFinding(scope, version, conf, goOn)(PmeErrors.badCopy(name, _, _))
    val (made, carried) = FileRewrite.open(scope, conf, version)
    // Parquet-java writes no filter for a chunk whose dictionary says the same.
    if (FileTraits.of(scope, made, carried, conf).map(_.copy(filtered = traits.filtered)) != Right(traits))
      throw PmeErrors.unsupported(
        name,
        "merging these files",
        "the new file would not have the same keys, schema or settings",
        "Leave them as they are."
      )
    val rows = files.map(CopyCheck.rows).sum
    if (CopyCheck.rows(made) != rows) throw differs(staged, "it has another number of rows")
    requireSameCells(files, made)
    // Nobody has changed a file while it was read.
    versions.foreach { version =>
      if (FileVersion.of(version.path, conf) != version)
        throw PmeErrors.changedMeanwhile(version.path.toString)
    }
    MergedFile(rows, WrittenFooter.read(staged, conf).copy(whole = Some(out.sha256)))
  }

  private def writeRows(
      files: Seq[OpenFile],
      schema: MessageType,
      out: OwnOutput,
      staged: Path,
      destination: Path
  ): Unit = {
    val encryption = write.map { scope =>
      val directory = destination.getParent.toUri.getPath
      new FileEncryption(scope, staged, directory, conf).properties(schema, scope.settings.columnKeys)
    }
    val rows = files.map(CopyCheck.rows).sum
    val writer = new MergeBuilder(out, schema, traits, rows).writer(conf, encryption.orNull)
    try {
      write.foreach(FileSealer.install(writer, _, conf, staged.toString))
      files.foreach(writeRows(_, schema, writer))
    } finally writer.close()
  }

  private def writeRows(file: OpenFile, schema: MessageType, writer: ParquetWriter[Group]): Unit = {
    val columns = new ColumnIOFactory(file.fileMetaData.getCreatedBy).getColumnIO(schema, schema, true)
    withPages(file) { pages =>
      groupsOf(file).foreach { group =>
        val chunks = file.chunks(group, file.leaves.map(_.path), counters)
        pages.named(s"row group $group") {
          val reader = columns.getRecordReader(pages.of(chunks), new GroupRecordConverter(schema))
          var left = file.rowCount(group)
          while (left > 0) {
            if (left % FileMerge.RowsBetween == 0) goOn()
            writer.write(reader.read())
            left -= 1
          }
        }
      }
    }
  }

  /** Parquet-java reads no row group without rows. */
  private def groupsOf(file: OpenFile) = (0 until file.rowGroupCount).filter(file.rowCount(_) > 0)

  private def withPages[A](file: OpenFile)(use: ColumnPages => A): A = {
    val pages = new ColumnPages(scope, file, conf, counters)
    try use(pages)
    finally pages.close()
  }

  private def differs(made: Path, why: String) =
    new IllegalStateException(s"internal error: $made is not what was read: $why")

  /** Compares every cell of the new file with those of the old ones, with its levels. */
  private def requireSameCells(sources: Seq[OpenFile], made: OpenFile): Unit = withPages(made) { pages =>
    val columns = made.schema.getColumns.asScala.toSeq.map(column => new Cells(column, made, pages))
    // File by file, so that each is opened once.
    sources.foreach { source =>
      withPages(source)(of => columns.foreach(_.requireNext(source, of)))
    }
    columns.foreach(_.requireEnd())
  }

  /** The cells of one leaf column of the new file, in the order of rows. */
  private final class Cells(column: ColumnDescriptor, made: OpenFile, pages: ColumnPages) {
    private val groups = groupsOf(made).iterator.map(readerOf(made, pages, _))
    private var reader: ColumnReader = _
    private var left = 0L

    private val isSame: (ColumnReader, ColumnReader) => Boolean =
      column.getPrimitiveType.getPrimitiveTypeName match {
        case INT32 => (a, b) => a.getInteger == b.getInteger
        case INT64 => (a, b) => a.getLong == b.getLong
        case BOOLEAN => (a, b) => a.getBoolean == b.getBoolean
        // Every NaN as it is.
        case FLOAT =>
          (a, b) => bits(a.getFloat) == bits(b.getFloat) || lost(a.getFloat.isNaN && b.getFloat.isNaN)
        case DOUBLE =>
          (a, b) => bits(a.getDouble) == bits(b.getDouble) || lost(a.getDouble.isNaN && b.getDouble.isNaN)
        case BINARY | FIXED_LEN_BYTE_ARRAY | INT96 => (a, b) => a.getBinary == b.getBinary
      }
    private def bits(value: Float) = java.lang.Float.floatToRawIntBits(value)
    private def bits(value: Double) = java.lang.Double.doubleToRawLongBits(value)

    /** parquet-java's writer has one NaN, and others differ from it in their bits. */
    private def lost(areNaN: Boolean): Boolean =
      if (areNaN)
        throw new FileMerge.LostBits(
          s"column ${column.getPath.mkString(".")} has a NaN of other bits than Java's"
        )
      else false

    private def fail(why: String) =
      throw differs(made.version.path, s"column ${column.getPath.mkString(".")}: $why")

    /** Requires that the next cells are those of a file. */
    def requireNext(source: OpenFile, of: ColumnPages): Unit = groupsOf(source).foreach { group =>
      val (expected, cells) = readerOf(source, of, group)
      var count = cells
      while (count > 0) {
        if (count % FileMerge.RowsBetween == 0) goOn()
        if (left == 0) nextGroup()
        requireSame(expected)
        expected.consume()
        reader.consume()
        count -= 1
        left -= 1
      }
    }

    private def nextGroup(): Unit = {
      if (!groups.hasNext) fail("cells are missing")
      val (next, cells) = groups.next()
      reader = next
      left = cells
    }

    private def requireSame(expected: ColumnReader): Unit = {
      val level = expected.getCurrentDefinitionLevel
      val sameLevels = level == reader.getCurrentDefinitionLevel &&
        expected.getCurrentRepetitionLevel == reader.getCurrentRepetitionLevel
      if (!sameLevels) fail("levels differ")
      if (level == column.getMaxDefinitionLevel && !isSame(expected, reader)) fail("a value differs")
    }

    def requireEnd(): Unit = if (left > 0 || groups.hasNext) fail("there are more cells")

    /** The cells of a row group, and how many they are. */
    private def readerOf(file: OpenFile, pages: ColumnPages, group: Int): (ColumnReader, Long) = {
      val path = column.getPath.toSeq
      val chunks = file.chunks(group, Seq(path), counters)
      pages.named(s"column ${path.mkString(".")}") {
        val converter = new GroupRecordConverter(file.schema).getRootConverter
        val store =
          new ColumnReadStoreImpl(pages.of(chunks), converter, file.schema, file.fileMetaData.getCreatedBy)
        store.getColumnReader(column) -> chunks.chunks.head.meta.getValueCount
      }
    }
  }
}

private object FileMerge {
  val RowsBetween = 1024

  /** @param why the new file cannot have the same values */
  final class LostBits(val why: String) extends Exception(why)
}

/** A file of our own that parquet-java writes, with the checksum and the digest of what it writes. */
private final class OwnOutput(path: Path, conf: Configuration) extends OutputFile {
  private val sum = new CRC32
  def checksum: Long = sum.getValue
  private val sha = MessageDigest.getInstance("SHA-256")

  /** SHA-256 of the whole file, once it is closed. */
  lazy val sha256: Array[Byte] = sha.digest()

  override def create(blockSizeHint: Long): PositionOutputStream = {
    val out = OwnFiles.create(path, conf)
    new PositionOutputStream {
      override def getPos: Long = out.getPos
      override def write(value: Int): Unit = {
        out.write(value)
        sum.update(value)
        sha.update(value.toByte)
      }
      override def write(bytes: Array[Byte], from: Int, length: Int): Unit = {
        out.write(bytes, from, length)
        sum.update(bytes, from, length)
        sha.update(bytes, from, length)
      }
      override def flush(): Unit = out.flush()
      // Parquet-java closes it twice.
      private var isOpen = true
      override def close(): Unit = if (isOpen) {
        isOpen = false
        // A crash of the machine must not lose a file whose sources are gone. Object stores have no such step.
        try if (out.hasCapability(StreamCapabilities.HSYNC)) out.hsync()
        finally out.close()
      }
    }
  }
  override def createOrOverwrite(blockSizeHint: Long): PositionOutputStream = create(blockSizeHint)
  override def supportsBlockSize: Boolean = false
  override def defaultBlockSize: Long = 0
  override def toString: String = path.toString
}

/** Parquet-java's writer of V1 pages. */
private final class MergeBuilder(file: OutputFile, schema: MessageType, traits: FileTraits, rows: Long)
    extends ParquetWriter.Builder[Group, MergeBuilder](file) {
  override protected def self(): MergeBuilder = this

  override protected def getWriteSupport(conf: Configuration): WriteSupport[Group] = new WriteSupport[Group] {
    private var groups: GroupWriter = _
    override def init(conf: Configuration): WriteSupport.WriteContext =
      new WriteSupport.WriteContext(schema, traits.entries.asJava)
    override def prepareForWrite(consumer: RecordConsumer): Unit = groups = new GroupWriter(consumer, schema)
    override def write(group: Group): Unit = groups.write(group)
  }

  def writer(conf: Configuration, encryption: FileEncryptionProperties): ParquetWriter[Group] = {
    withConf(conf)
    withCompressionCodec(CompressionCodecName.valueOf(traits.codec))
    withWriterVersion(WriterVersion.PARQUET_1_0)
    withEncryption(encryption)
    traits.filtered.map(_.mkString(".")).foreach { column =>
      withBloomFilterEnabled(column, true)
      withBloomFilterNDV(column, rows)
    }
    if (traits.settings.exists(_.plaintextFooter)) SizeStatistics.turnOff(this, file.toString)
    build()
  }
}
