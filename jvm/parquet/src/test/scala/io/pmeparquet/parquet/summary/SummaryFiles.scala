package io.pmeparquet.parquet.summary

import java.nio.file.Files
import java.util.Base64

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.example.data.simple.SimpleGroupFactory
import org.apache.parquet.example.data.Group
import org.apache.parquet.hadoop.example.ExampleParquetWriter
import org.apache.parquet.schema.{MessageType, MessageTypeParser}

import io.pmeparquet.keys.{KeyAudit, KeyPurpose, KmsUse}
import io.pmeparquet.kms.local.StaticSettings
import io.pmeparquet.options.{Level, OptionValues, Settings}
import io.pmeparquet.parquet.bytes.{FileVersion, ReadCounters}
import io.pmeparquet.parquet.file.{OpenFile, OpenFiles}
import io.pmeparquet.parquet.scope.{ReadScope, Scopes}
import io.pmeparquet.parquet.PmeCryptoFactory
import io.pmeparquet.Secret

/** Encrypted files for tests of summaries: what they hold, and what is found in them. */
private[summary] object SummaryFiles {
  private val use = KmsUse(
    StaticSettings(new Secret(s"f=${Base64.getEncoder.encodeToString(Array.fill(16)('f'.toByte))}")),
    None,
    KeyAudit.off(KeyPurpose.Read)
  )
  private def values(options: (String, String)*) =
    new OptionValues(Map(Level.Option -> options.map { case (name, value) =>
      name.toLowerCase -> value
    }.toMap))

  private var scopes = 0

  // A number of seconds that no other test uses, since equal settings share a scope.
  private def readScope(): ReadScope = {
    scopes += 1
    val own = "parquet.encryption.cache.lifetime.seconds" -> (5000 + scopes).toString
    Scopes.forRead(use, Settings.forRead(values(own)), new Configuration(false))
  }

  type Writer = ExampleParquetWriter.Builder

  /** @param rows each fills an empty row */
  def write(schema: String, rows: Seq[Group => Unit])(
      set: Writer => Writer
  ): Path = {
    val message: MessageType = MessageTypeParser.parseMessageType(s"message m { $schema }")
    val directory = Files.createTempDirectory("summaries")
    val path = new Path(directory.toUri.toString, "f.parquet")
    val conf = new Configuration(false)
    val scope = Scopes.forWrite(
      Settings.forWrite(values("footerKey" -> "f"), use, caseSensitive = true),
      directory.toString,
      conf
    )
    PmeCryptoFactory.useForWrite(conf, scope)
    val writer = set(ExampleParquetWriter.builder(path).withConf(conf).withType(message)).build()
    val groups = new SimpleGroupFactory(message)
    rows.foreach { fill =>
      val row = groups.newGroup()
      fill(row)
      writer.write(row)
    }
    writer.close()
    java.lang.ref.Reference.reachabilityFence(scope)
    path
  }

  /** What one summary costs, too. */
  final class Looked(val found: List[Option[FoundSummary]], val counters: ReadCounters)

  def look(path: Path, wanted: (String, SummaryKind)*): Looked = {
    val scope = readScope()
    val conf = new Configuration(false)
    val counters = new ReadCounters
    val file: OpenFile = OpenFiles.read(scope, FileVersion.of(path, conf), conf, new ReadCounters)
    val all = wanted.map { case (column, kind) => WantedSummary(column.split('.').toList, kind) }
    new Looked(FileSummaries.of(scope, file, all, counters, conf), counters)
  }

  def summary(path: Path, column: String, kind: SummaryKind): Option[ColumnSummary] =
    look(path, column -> kind).found.head.map(_.summary)
}
