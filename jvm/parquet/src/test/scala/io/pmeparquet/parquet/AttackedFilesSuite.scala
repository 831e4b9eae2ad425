package io.pmeparquet.parquet

import java.io.{ByteArrayInputStream, ByteArrayOutputStream}
import java.lang.ref.Reference
import java.nio.{ByteBuffer, ByteOrder}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path => LocalPath}

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.example.data.simple.SimpleGroupFactory
import org.apache.parquet.filter2.predicate.{FilterApi, FilterPredicate}
import org.apache.parquet.format.{EncryptionAlgorithm, FileCryptoMetaData, FileMetaData, Util}
import org.apache.parquet.hadoop.example.ExampleParquetWriter
import org.apache.parquet.hadoop.metadata.CompressionCodecName
import org.apache.parquet.schema.{MessageType, MessageTypeParser}

import io.pmeparquet.keys.KmsUse
import io.pmeparquet.parquet.file.SplitReader
import io.pmeparquet.parquet.schema.{WantedColumn, WantedColumns}
import io.pmeparquet.parquet.scope.ReadScope
import io.pmeparquet.PmeException

/**
 * Attacks on files of two row groups. Each chunk has four pages of one size, as do their headers, so that a module in
 * another's place breaks nothing but what the AAD binds: columns `a` and `b` have the footer's key, and `c` has its own.
 */
abstract class AttackedFilesSuite extends WrittenFilesSuite {
  protected val use: KmsUse = kms("f", "n")
  protected val keys: Seq[(String, String)] = Seq("footerKey" -> "f", "columnKeys" -> "n: c")
  protected val ctr: (String, String) = "algorithm" -> "AES_GCM_CTR_V1"
  protected val plainFooter: (String, String) = "plaintextFooter" -> "true"
  protected val Groups = 2
  protected val Pages = 4
  protected override val schema: MessageType =
    MessageTypeParser.parseMessageType("message m { required int32 a; required int32 b; required int32 c; }")
  protected val Columns = Seq("a", "b", "c")
  private val GroupRows = 100
  private val GroupBytes = 2875L
  override protected val RowCount: Int = Groups * GroupRows

  /** The kinds of files: the algorithm, and whether the footer is readable. */
  protected val kinds: Seq[Seq[(String, String)]] =
    Seq(Nil, Seq(plainFooter), Seq(ctr), Seq(ctr, plainFooter))

  protected def isCtr(kind: Seq[(String, String)]): Boolean = kind.contains(ctr)
  protected def isPlain(kind: Seq[(String, String)]): Boolean = kind.contains(plainFooter)
  protected def title(kind: Seq[(String, String)]): String =
    s"${if (isCtr(kind)) "CTR" else "GCM"}, ${if (isPlain(kind)) "readable" else "encrypted"} footer"

  /**
   * @param options none for a plaintext file
   * @param shift added to all values: other rows in the same layout
   */
  protected def attacked(root: LocalPath, options: Seq[(String, String)], shift: Int = 0): Path = {
    val directory = Files.createTempDirectory(root, "attacked")
    val file = new Path(directory.resolve("f.parquet").toUri)
    val own = new Configuration(false)
    val scope = if (options.isEmpty) None else Some(writer(use, directory, options: _*))
    scope.foreach(PmeCryptoFactory.useForWrite(own, _))
    val out = ExampleParquetWriter
      .builder(file)
      .withConf(own)
      .withType(schema)
      .withCompressionCodec(CompressionCodecName.UNCOMPRESSED)
      .withDictionaryEncoding(false)
      .withPageWriteChecksumEnabled(false)
      .withPageRowCountLimit(GroupRows / Pages)
      // With each row parquet-java looks whether a page is full, and whether a row group is: the last page makes it so.
      .withMinRowCountForPageSizeCheck(1)
      .withMaxRowCountForPageSizeCheck(1)
      .withRowGroupSize(GroupBytes)
      .build()
    val groups = new SimpleGroupFactory(schema)
    (0 until RowCount).foreach { id =>
      out.write(Columns.foldLeft(groups.newGroup())((row, column) => row.append(column, 1000 + shift + id)))
    }
    out.close()
    Reference.reachabilityFence(scope)
    Files.deleteIfExists(local(file).resolveSibling(".f.parquet.crc"))
    file
  }

  protected def content(file: Path): Array[Byte] = Files.readAllBytes(local(file))
  protected def replace(file: Path, bytes: Array[Byte]): Unit = { Files.write(local(file), bytes); () }

  /** A scope that accepts the algorithm of a file of this kind. */
  protected def readerOf(kind: Seq[(String, String)], more: (String, String)*): ReadScope =
    reader(use, kind.filter(_ == ctr) ++ more: _*)

  /** The condition that a step ends with, if any; its message names the file and a remedy, and nothing like a key. */
  private def ending(file: Path)(step: => Any): Option[String] =
    try {
      step
      None
    } catch {
      case failed: PmeException =>
        val first = failed.getMessage.linesIterator.next()
        val isClear = first.contains(file.getName) && first.contains(": ") && first.split("[.;?] ").length > 1
        val named = failed.getMessage.replace(file.getParent.toUri.getPath, "")
        val isSafe = LikeAKey.findFirstIn(named).isEmpty
        Some(if (isClear && isSafe) failed.getCondition() else s"${failed.getCondition()}, but: $named")
    }

  /** How reading the rows ends. A filter must keep all of them, and whoever reads a file has to get them all. */
  protected def outcome(
      scope: ReadScope,
      file: Path,
      filter: Option[FilterPredicate] = None
  ): Option[String] = ending(file)(assertEquals(rows(scope, file, filter), RowCount.toLong))

  /** How the look ends that comes before Spark's own reader: at footer, headers and all indexes, and at no page. */
  protected def firstLook(scope: ReadScope, file: Path): Option[String] =
    ending(file) {
      val split = new SplitReader(scope, file, conf)
      val all = schema.getColumns.asScala.map(column => WantedColumn(column.getPath.toSeq)).toSeq
      try split.check(0, Long.MaxValue / 2, 0, WantedColumns(all, caseSensitive = true))
      finally split.close()
    }

  /** Needs the indexes of all columns. */
  protected val filtered: Option[FilterPredicate] = Some(
    Columns
      .map(column => FilterApi.gtEq(FilterApi.intColumn(column), Int.box(0)): FilterPredicate)
      .reduce((one, other) => FilterApi.and(one, other))
  )

  // ---- modules

  /** A module of a chunk: a page, its header, or an index of the chunk. */
  protected case class Module(kind: String, group: Int, column: Int, page: Int, at: Int, size: Int) {
    def of(content: Array[Byte]): Array[Byte] = content.slice(at, at + size)
    def isPage: Boolean = kind == "page"

    /** What must read it: indexes are read only with a filter. */
    def query: Option[FilterPredicate] = if (kind.endsWith("index")) filtered else None
    override def toString: String = s"$kind $page of ${Columns(column)} in group $group"
  }

  protected def modules(content: Array[Byte]): Seq[Module] = {
    val frames = framesOf(content)
    val names =
      (for {
        group <- 0 until Groups
        column <- Columns.indices
        page <- 0 until Pages
        kind <- Seq("header", "page")
      } yield (kind, group, column, page)) ++
        (for {
          kind <- Seq("column index", "offset index")
          group <- 0 until Groups
          column <- Columns.indices
        } yield (kind, group, column, 0))
    assertEquals(frames.size, names.size)
    names.zip(frames).map { case ((kind, group, column, page), (at, size)) =>
      Module(kind, group, column, page, at, size)
    }
  }

  protected def put(content: Array[Byte], at: Int, bytes: Array[Byte]): Array[Byte] =
    content.patch(at, bytes, bytes.length)

  // ---- footers

  protected val TailBytes = 8
  protected val SignatureBytes = 28
  protected def intAt(content: Array[Byte], at: Int): Int =
    ByteBuffer.wrap(content).order(ByteOrder.LITTLE_ENDIAN).getInt(at)
  protected def footerAt(content: Array[Byte]): Int =
    content.length - TailBytes - intAt(content, content.length - TailBytes)
  protected def footer(content: Array[Byte]): Array[Byte] =
    content.slice(footerAt(content), content.length - TailBytes)
  protected def withFooter(content: Array[Byte], footer: Array[Byte]): Array[Byte] =
    content.take(footerAt(content)) ++ footer ++ little(footer.length) ++ content.takeRight(4)

  /** What a file says of its encryption, before an encrypted footer or in a signed one; nothing is sealed again. */
  protected final class Crypto(plain: Option[FileMetaData], encrypted: Option[FileCryptoMetaData]) {
    def algorithm: EncryptionAlgorithm =
      plain.fold(encrypted.get.getEncryption_algorithm)(_.getEncryption_algorithm)
    def algorithm_=(other: EncryptionAlgorithm): Unit = {
      plain.foreach(_.setEncryption_algorithm(other))
      encrypted.foreach(_.setEncryption_algorithm(other))
    }
    def metadata: Array[Byte] = plain.fold(encrypted.get.getKey_metadata)(_.getFooter_signing_key_metadata)
    def metadata_=(other: Array[Byte]): Unit = {
      plain.foreach(_.setFooter_signing_key_metadata(other))
      encrypted.foreach(_.setKey_metadata(other))
    }

    /** A text of the key material, which is JSON. */
    def materialOf(field: String): String =
      s""""$field":"([^"]*)"""".r.findFirstMatchIn(new String(metadata, UTF_8)).get.group(1)

    /** Changes a field of the key material. */
    def material(field: String, value: String): Unit = {
      val before = new String(metadata, UTF_8)
      val after = before.replaceAll(s""""$field":("[^"]*"|true|false)""", s""""$field":$value""")
      assert(after != before, s"$field of $before")
      metadata = after.getBytes(UTF_8)
    }
  }

  protected def crypto(content: Array[Byte], kind: Seq[(String, String)])(
      change: Crypto => Unit
  ): Array[Byte] = {
    val before = footer(content)
    val (in, out) = (new ByteArrayInputStream(before), new ByteArrayOutputStream)
    if (isPlain(kind)) {
      val metadata = Util.readFileMetaData(in)
      change(new Crypto(Some(metadata), None))
      Util.writeFileMetaData(metadata, out)
    } else {
      val metadata = Util.readFileCryptoMetaData(in)
      change(new Crypto(None, Some(metadata)))
      Util.writeFileCryptoMetaData(metadata, out)
    }
    withFooter(content, out.toByteArray ++ before.takeRight(in.available))
  }

  /** Changes a readable footer, without its signature. */
  protected def unsigned(content: Array[Byte])(change: FileMetaData => Unit): Array[Byte] = {
    val (metadata, out) =
      (Util.readFileMetaData(new ByteArrayInputStream(footer(content))), new ByteArrayOutputStream)
    change(metadata)
    Util.writeFileMetaData(metadata, out)
    withFooter(content, out.toByteArray)
  }

  /** A footer without all that says of encryption. */
  protected def plaintext(metadata: FileMetaData): Unit = {
    metadata.unsetEncryption_algorithm()
    metadata.unsetFooter_signing_key_metadata()
    for (group <- metadata.getRow_groups.asScala; chunk <- group.getColumns.asScala) {
      chunk.unsetCrypto_metadata()
      chunk.unsetEncrypted_column_metadata()
    }
  }

  /**
   * An altered file.
   *
   * @param allowed how reading it may end
   * @param first how the first look of Spark's own reader may end
   */
  protected case class Attack(
      name: String,
      content: Array[Byte],
      allowed: Set[Option[String]],
      first: Set[Option[String]],
      query: Option[FilterPredicate]
  ) {

    /** Only a query with this filter needs what was altered. */
    def where(filter: Option[FilterPredicate]): Attack = copy(query = filter)

    /** What was altered is seen only when a page is opened. */
    def inPages: Attack = copy(first = Set(Read))
    def firstLook(allowed: Option[String]*): Attack = copy(first = allowed.toSet)
  }

  /** @param allowed how reading the file may end, for the first look as well */
  protected def attack(name: String, content: Array[Byte], allowed: Option[String]*): Attack =
    Attack(name, content, allowed.toSet, allowed.toSet, None)

  /**
   * Fails unless each attack on a file ends as it must.
   *
   * @param scope another one for each: a scope remembers a file by its length and time
   */
  protected def allEnd(file: Path, scope: => ReadScope)(attacks: Attack*): Unit = {
    val original = content(file)
    assert(attacks.nonEmpty)
    val wrong = attacks.flatMap { one =>
      replace(file, one.content)
      val (found, first) = (outcome(scope, file, one.query), firstLook(scope, file))
      Seq(
        if (one.allowed(found)) None else Some(s"${one.name}: ${found.getOrElse("read")}"),
        if (one.first(first)) None else Some(s"${one.name}, first look: ${first.getOrElse("passed")}")
      ).flatten
    }
    replace(file, original)
    assertEquals(wrong.toList, Nil)
  }

  protected val NotAuthentic: Option[String] = Some("PME_NOT_AUTHENTIC")
  protected val Damaged: Option[String] = Some("PME_DAMAGED_FILE")
  protected val Read: Option[String] = None

  /** What a key, a tag or a wrapped key looks like, and no name of these tests. */
  private val LikeAKey = "[0-9a-fA-F]{24,}|[A-Za-z0-9+/]{22,}==|[A-Za-z0-9+]{43,}=?".r
}
