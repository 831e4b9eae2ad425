package io.pmeparquet.parquet.copy

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.format.FileMetaData

import io.pmeparquet.options.FileSettings
import io.pmeparquet.parquet.admission.FooterFields
import io.pmeparquet.parquet.bytes.{FileBytes, FileTail, FileVersion, FooterBytes}
import io.pmeparquet.parquet.file.FileCrypto
import io.pmeparquet.parquet.scope.ReadScope
import io.pmeparquet.PmeErrors

/** Checks that a copy can have all parts of a file, and can have them in the clear if its footer is readable. */
private[parquet] object CopiedParts {

  /**
   * @return what the copy's footer keeps as it is
   * @throws io.pmeparquet.PmeException if it has other parts
   */
  def requireKnown(scope: ReadScope, version: FileVersion, conf: Configuration): CarriedFields = {
    val file = version.path.toString
    val bytes = new FileBytes(version, conf, scope.counters)
    try {
      val footer = FooterBytes.read(bytes)
      val content = FileTail.of(footer, file) match {
        case FileTail.Plaintext => footer.segment
        case tail: FileTail.Encrypted =>
          FileCrypto
            .of(scope, version, conf, tail, scope.counters)
            .footer
            .content(footer.segment, scope.counters)
      }
      FooterFields.requireKnownTypes(FileTail.metadata(content, file), file)
      FooterFields.unknownToCopies(content, file).headOption.foreach { part =>
        throw PmeErrors.unknownPart(
          file,
          part,
          "it may refer to data elsewhere in the file, which the copy would lose"
        )
      }
      CarriedFields.of(content, footer.sha256, file)
    } finally bytes.close()
  }

  /**
   * @param metadata the file's metadata, which is about to be written in the clear
   * @throws io.pmeparquet.PmeException if an entry may reveal values: some writers store bounds, filters or samples
   *   there
   */
  def requireHarmlessEntries(metadata: FileMetaData, settings: FileSettings, file: String): Unit =
    if (settings.plaintextFooter)
      Option(metadata.getKey_value_metadata).fold(Seq.empty[String])(_.asScala.toSeq.map(_.getKey)).foreach {
        key =>
          if (!isHarmless(key)) throw PmeErrors.readableEntry(file, key)
      }

  private def isHarmless(key: String) = SchemaEntries.contains(key) || key.startsWith("org.apache.spark.")

  /** Schemas and names of writers, which the readable schema and `created_by` reveal anyway. */
  private val SchemaEntries = Set(
    "ARROW:schema",
    "pandas",
    "avro.schema",
    "parquet.avro.schema",
    "parquet.proto.class",
    "parquet.proto.descriptor",
    "parquet.proto.writeSpecsCompliant",
    "thrift.class",
    "thrift.descriptor",
    "iceberg.schema",
    "writer.model.name",
    "writer.date.proleptic",
    "writer.time.zone",
    "writer.zone.conversion.legacy"
  )
}
