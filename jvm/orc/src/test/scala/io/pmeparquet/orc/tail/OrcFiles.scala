package io.pmeparquet.orc.tail

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path => File}
import java.util.Random

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.hadoop.hive.common.`type`.HiveDecimal
import org.apache.hadoop.hive.ql.exec.vector._
import org.apache.orc._
import org.apache.orc.impl.KeyProvider

/** Files that ORC's own library writes and reads, with keys in memory. */
object OrcFiles {
  val schema: String =
    "struct<id:bigint,ssn:string,salary:decimal(10,2),address:struct<street:string,zip:int>," +
      "tags:array<string>,m:map<string,array<int>>,u:uniontype<int,string>,ts:timestamp,d:date,b:binary,f:boolean," +
      "x:double,`odd.name`:char(5)>"
  val encrypt = "pii:ssn,address.street,m;pay:salary,tags,x"
  val masks = "nullify:ssn;sha256:address.street"

  /** Those that ORC has in every version; Spark brings no library for Brotli. */
  val compressions: Seq[CompressionKind] = CompressionKind.values.filter(_.name != "BROTLI").toSeq

  val directory: File = Files.createTempDirectory("orc-tails")

  /** With small stripes. */
  val conf: Configuration = {
    val made = new Configuration(false)
    made.set("fs.file.impl", classOf[org.apache.hadoop.fs.RawLocalFileSystem].getName)
    OrcConf.ROWS_BETWEEN_CHECKS.setLong(made, 100)
    OrcConf.STRIPE_ROW_COUNT.setLong(made, 500)
    made
  }

  def keys(bits: Int = 256): InMemoryKeystore = {
    val algorithm = if (bits == 128) EncryptionAlgorithm.AES_CTR_128 else EncryptionAlgorithm.AES_CTR_256
    new InMemoryKeystore(new Random(7))
      .addKey("pii", algorithm, Array.tabulate[Byte](32)(_.toByte))
      .addKey("pay", algorithm, Array.tabulate[Byte](32)(i => (i + 50).toByte))
      .addKey("pay", 3, algorithm, Array.tabulate[Byte](32)(i => (i + 90).toByte))
  }

  def options(
      keys: InMemoryKeystore,
      of: String = schema,
      compression: CompressionKind = CompressionKind.ZLIB,
      encrypt: String = encrypt,
      masks: String = masks
  ): OrcFile.WriterOptions = {
    val plain = OrcFile
      .writerOptions(conf)
      .setSchema(TypeDescription.fromString(of))
      .compress(compression)
      .overwrite(true)
      .rowIndexStride(1000)
    if (encrypt == null) plain else plain.setKeyProvider(keys).encrypt(encrypt).masks(masks)
  }

  /** A file of random rows. */
  def write(name: String, options: OrcFile.WriterOptions, rows: Int = 1200, seed: Int = 1): Path = {
    val path = new Path(directory.resolve(name).toUri)
    val random = new Random(seed.toLong)
    val writer = OrcFile.createWriter(path, options)
    val batch = options.getSchema.createRowBatch(100)
    try {
      val starts = 0 until rows by 100
      starts.foreach { from =>
        batch.reset()
        batch.size = (rows - from).min(100)
        batch.cols.foreach(fill(_, batch.size, random))
        writer.addRowBatch(batch)
      }
    } finally writer.close()
    path
  }

  def reader(path: Path, keys: KeyProvider): Reader =
    OrcFile.createReader(path, OrcFile.readerOptions(conf).setKeyProvider(keys))

  /** All rows, as batches of text. */
  def cells(path: Path, keys: KeyProvider): Seq[String] = {
    val reader = OrcFiles.reader(path, keys)
    try {
      val rows = reader.rows()
      val batch = reader.getSchema.createRowBatch(100)
      val found = Seq.newBuilder[String]
      while (rows.nextBatch(batch)) found += batch.toString
      found.result()
    } finally reader.close()
  }

  def length(path: Path): Long = Files.size(local(path))

  def bytes(path: Path): Array[Byte] = Files.readAllBytes(local(path))

  def put(name: String, bytes: Array[Byte]): Path = {
    val file = directory.resolve(name)
    Files.write(file, bytes)
    new Path(file.toUri)
  }

  def tail(path: Path): OrcTail = OpenedOrc.tailOf(path, length(path), conf)

  /** What a file says of itself, after a look at all its stripes. */
  def checked(path: Path): OrcTail = OpenedOrc.using(path, length(path), conf) { file =>
    file.checkStripes(0, length(path))
    file.tail
  }

  private def local(path: Path): File = new java.io.File(path.toUri.getPath).toPath

  private def fill(vector: ColumnVector, size: Int, random: Random): Unit = {
    vector.ensureSize(size, false)
    (0 until size).foreach { row =>
      if (random.nextInt(10) == 0) {
        vector.noNulls = false
        vector.isNull(row) = true
      }
    }
    vector match {
      case longs: LongColumnVector =>
        (0 until size).foreach(row => longs.vector(row) = random.nextInt(2).toLong)
      case doubles: DoubleColumnVector =>
        (0 until size).foreach(row => doubles.vector(row) = random.nextGaussian())
      case texts: BytesColumnVector =>
        (0 until size).foreach(row => texts.setVal(row, s"v${random.nextInt(50)}".getBytes(UTF_8)))
      case decimals: DecimalColumnVector =>
        (0 until size).foreach(row => decimals.set(row, HiveDecimal.create(random.nextInt(1000).toLong)))
      case times: TimestampColumnVector =>
        (0 until size).foreach { row =>
          times.time(row) = random.nextInt(1000000) * 1000L
          times.nanos(row) = 0
        }
      case struct: StructColumnVector => struct.fields.foreach(fill(_, size, random))
      case union: UnionColumnVector =>
        (0 until size).foreach(row => union.tags(row) = row % union.fields.length)
        union.fields.foreach(fill(_, size, random))
      case list: ListColumnVector =>
        list.childCount = lengths(list.offsets, list.lengths, size)
        fill(list.child, list.childCount, random)
      case map: MapColumnVector =>
        map.childCount = lengths(map.offsets, map.lengths, size)
        fill(map.keys, map.childCount, random)
        fill(map.values, map.childCount, random)
      case other => throw new IllegalStateException(s"no values for $other")
    }
  }

  private def lengths(offsets: Array[Long], lengths: Array[Long], size: Int): Int = {
    (0 until size).foreach { row =>
      offsets(row) = row * 2L
      lengths(row) = 2
    }
    size * 2
  }

  /** What ORC's own reader says of a file, as text: to compare with [[facts]]. */
  def orcFacts(reader: Reader): Seq[String] = {
    val schema = reader.getSchema
    val types = (0 to schema.getMaximumId).map { id =>
      val one = schema.findSubtype(id)
      val names =
        if (one.getCategory == TypeDescription.Category.STRUCT) one.getFieldNames.asScala.toSeq else Nil
      val children = Option(one.getChildren).fold(Seq.empty[Int])(_.asScala.map(_.getId).toSeq)
      s"$id ${kind(one)} ${children.mkString(",")} ${names.mkString(",")} ${one.getMaximumId}"
    }
    val stripes = reader.getStripes.asScala.map { one =>
      val keys = Option(one.getEncryptedLocalKeys).fold(Seq.empty[Array[Byte]])(_.toSeq)
      s"${one.getStripeId} ${one.getOffset} ${one.getIndexLength} ${one.getDataLength} ${one.getFooterLength} " +
        s"${one.getNumberOfRows} ${one.getEncryptionStripeId} ${keys.map(hex).mkString(",")}"
    }
    val keys = reader.getColumnEncryptionKeys.map { key =>
      s"${key.getKeyName} ${key.getKeyVersion} AES_CTR_${key.getAlgorithm.keyLength * 8}"
    }
    val masks = reader.getDataMasks.map(mask => s"${mask.getName} ${mask.getParameters.mkString(",")}")
    val variants = reader.getEncryptionVariants.map(one =>
      s"${one.getVariantId} ${one.getRoot.getId} ${one.getKeyDescription.getKeyName} ${one.getKeyDescription.getKeyVersion}"
    )
    val metadata = reader.getMetadataKeys.asScala.sorted
    Seq(
      s"${reader.getNumberOfRows} ${reader.getCompressionKind} ${reader.getRowIndexStride}",
      reader.getFileVersion.getName
    ) ++
      types ++ stripes ++ keys ++ masks ++ variants ++ metadata
  }

  private def kind(one: TypeDescription): String = one.getCategory match {
    case TypeDescription.Category.TIMESTAMP_INSTANT => "TIMESTAMP_INSTANT"
    case other => other.toString
  }

  def facts(tail: OrcTail): Seq[String] = {
    val types = tail.types.map { one =>
      s"${one.id} ${one.kind} ${one.children.mkString(",")} ${one.fieldNames.mkString(",")} ${one.maximumId}"
    }
    val stripes = tail.stripes.map { one =>
      s"${one.id} ${one.offset} ${one.indexLength} ${one.dataLength} ${one.footerLength} ${one.rows} ${one.encryptionId} " +
        one.encryptedKeys.map(hex).mkString(",")
    }
    val encryption = tail.encryption.toSeq.flatMap { all =>
      all.keys.map(key => s"${key.name} ${key.version} ${key.algorithm.name}") ++
        all.masks.map(mask => s"${mask.name} ${mask.parameters.mkString(",")}") ++
        all.variants.map(one => s"${one.id} ${one.root} ${one.key.name} ${one.key.version}")
    }
    Seq(s"${tail.rows} ${tail.compression.kind} ${tail.rowIndexStride}", tail.version) ++
      types ++ stripes ++ encryption ++ tail.userMetadata.keys.toSeq.sorted
  }

  private def hex(bytes: Array[Byte]) = bytes.map(byte => f"$byte%02x").mkString
}
