package io.pmeparquet.parquet

import java.lang.ref.Reference
import java.nio.{ByteBuffer, ByteOrder}
import java.nio.file.{Files, Path => LocalPath, Paths}
import java.util.Base64

import munit.FunSuite
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.example.data.simple.SimpleGroupFactory
import org.apache.parquet.filter2.predicate.FilterPredicate
import org.apache.parquet.hadoop.example.ExampleParquetWriter
import org.apache.parquet.schema.{MessageType, MessageTypeParser}

import io.pmeparquet.{PmeException, Secret}
import io.pmeparquet.cipher.ModuleFrame
import io.pmeparquet.keys.{KeyAudit, KeyPurpose, KmsUse}
import io.pmeparquet.kms.local.StaticSettings
import io.pmeparquet.material.MaterialFile
import io.pmeparquet.options.{Level, OptionValues, Settings}
import io.pmeparquet.parquet.bytes.FileVersion
import io.pmeparquet.parquet.file.SplitReader
import io.pmeparquet.parquet.scope.{ReadScope, Scopes, WriteScope}
import io.pmeparquet.parquet.storage.{ListedFile, OwnFiles}

/** For tests of what happens to a file: files that parquet-java writes under our keys, each in a directory of its own. */
abstract class WrittenFilesSuite extends FunSuite {
  protected val conf = new Configuration(false)
  protected val RowCount = 300
  protected val schema: MessageType =
    MessageTypeParser.parseMessageType("message m { required int32 id; optional binary name (UTF8); }")
  private val PageRows = 100

  protected type Writer = ExampleParquetWriter.Builder

  protected val directory = FunFixture[LocalPath](
    _ => Files.createTempDirectory("pme-written").toRealPath(),
    made => OwnFiles.delete(new Path(made.toUri), conf)
  )

  /** Master keys of these names, which are made from the names. */
  protected def secret(names: String*): Secret = {
    def key(name: String) = Base64.getEncoder.encodeToString(Array.fill(16)(name.head.toByte))
    new Secret(names.map(name => s"$name=${key(name)}").mkString("\n"))
  }
  protected def kms(names: String*): KmsUse =
    KmsUse(StaticSettings(secret(names: _*)), None, KeyAudit.off(KeyPurpose.Read))

  protected def values(options: (String, String)*): OptionValues =
    new OptionValues(Map(Level.Option -> options.map { case (name, value) =>
      name.toLowerCase -> value
    }.toMap))

  /** A scope that no other test has, since equal settings share one. */
  protected def reader(use: KmsUse, options: (String, String)*): ReadScope = {
    val own = "parquet.encryption.cache.lifetime.seconds" -> WrittenFilesSuite.next().toString
    Scopes.forRead(use, Settings.forRead(values(options :+ own: _*)), conf)
  }

  protected def writer(use: KmsUse, table: LocalPath, options: (String, String)*): WriteScope =
    Scopes.forWrite(Settings.forWrite(values(options: _*), use, caseSensitive = true), table.toString, conf)

  /** Writes a file under the keys that the options name; a plaintext file without options. */
  protected def write(table: LocalPath, use: KmsUse, options: (String, String)*)(
      set: Writer => Writer = identity
  ): Path = {
    val file = new Path(table.resolve(s"f-${WrittenFilesSuite.next()}.parquet").toUri)
    val own = new Configuration(false)
    val scope = if (options.isEmpty) None else Some(writer(use, table, options: _*))
    scope.foreach(PmeCryptoFactory.useForWrite(own, _))
    val builder = ExampleParquetWriter.builder(file).withConf(own).withType(schema)
    val out = set(builder.withPageRowCountLimit(PageRows)).build()
    val groups = new SimpleGroupFactory(schema)
    (0 until RowCount).foreach { id =>
      val row = groups.newGroup().append("id", id)
      out.write(if (id % 3 > 0) row.append("name", s"name ${id % 20}") else row)
    }
    out.close()
    // A write's scope lives only as long as its writer holds it.
    Reference.reachabilityFence(scope)
    // Hadoop's own checksums would find what a test alters.
    Files.deleteIfExists(local(file).resolveSibling(s".${file.getName}.crc"))
    file
  }

  protected def local(file: Path): LocalPath = Paths.get(file.toUri)
  protected def version(file: Path): FileVersion = FileVersion.of(file, conf)

  protected def listed(file: Path): ListedFile = {
    val now = version(file)
    val material = local(file).resolveSibling(MaterialFile.nameFor(file.getName))
    ListedFile(file.toString, now.length, now.modified, Files.exists(material))
  }

  /** Reads every page of a file, and returns how many rows a filter leaves of its row groups. */
  protected def rows(scope: ReadScope, file: Path, filter: Option[FilterPredicate] = None): Long = {
    val split = new SplitReader(scope, file, conf)
    try
      split
        .rowGroups(0, Long.MaxValue / 2, schema, filter, vectorized = true)
        .map { group =>
          val pages = group.pages(None)
          schema.getColumns.forEach { column =>
            val chunk = pages.getPageReader(column)
            chunk.readDictionaryPage()
            Iterator.continually(chunk.readPage()).takeWhile(_ != null).foreach(_ => ())
          }
          group.rowCount
        }
        .sum
    finally split.close()
  }

  /** Where each module before the footer begins, and its size with its length. */
  protected def framesOf(bytes: Array[Byte]): Seq[(Int, Int)] = {
    val end = bytes.length - 2 * ModuleFrame.LengthBytes
    val footer = end - ModuleFrame.lengthAt(bytes, end)
    Iterator
      .iterate(4)(at => at + ModuleFrame.LengthBytes + ModuleFrame.lengthAt(bytes, at))
      .takeWhile(_ < footer)
      .map(at => at -> (ModuleFrame.LengthBytes + ModuleFrame.lengthAt(bytes, at)))
      .toList
  }

  protected def little(number: Int): Array[Byte] =
    ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(number).array

  /** Lengths that somebody wrote in place of a module's. */
  protected def forged(length: Int): Seq[Int] =
    Seq(0, 1, 12, 28, -1, Int.MinValue, 0x7ffffff0, Int.MaxValue, length - 1, length + 1)

  /** How reading a forged length may end: a possible one may be that of another module. */
  protected def ofForged(length: Int): Seq[String] =
    Seq("PME_DAMAGED_FILE") ++ Seq("PME_NOT_AUTHENTIC").filter(_ => length > 0)

  /** How a footer may end whose bits are altered: some are those of a length, of the algorithm, or of a key's name. */
  protected val ofAlteredFooter: Set[String] = Set(
    "PME_NOT_AUTHENTIC",
    "PME_DAMAGED_FILE",
    "PME_KEY_METADATA",
    "PME_KEY_NOT_FOUND",
    "PME_ALGORITHM",
    "PME_AAD_PREFIX",
    "PME_PLAINTEXT_FILE",
    "PME_NO_KEY"
  )

  /** Flips one bit of a file while a step runs. */
  protected def bent[A](file: Path, place: Int)(step: => A): A = {
    val honest = Files.readAllBytes(local(file))
    Files.write(local(file), honest.updated(place, (honest(place) ^ 1).toByte))
    try step
    finally {
      Files.write(local(file), honest)
      ()
    }
  }

  protected def condition(step: => Any): String = intercept[PmeException](step).getCondition()
}

private object WrittenFilesSuite {
  private var last = 10000
  def next(): Int = { last += 1; last }
}
