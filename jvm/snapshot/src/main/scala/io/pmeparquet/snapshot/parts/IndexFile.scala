package io.pmeparquet.snapshot.parts

import org.apache.parquet.crypto.{FileDecryptionProperties, FileEncryptionProperties}
import org.apache.parquet.example.data.Group
import org.apache.parquet.io.api.Binary
import org.apache.parquet.schema.{MessageType, MessageTypeParser}

import io.pmeparquet.parquet.summary.{ColumnSummary, SummaryKind}

/**
 * What an index says of the files of a part, as the bytes of a Parquet file: row ''n'' is about file ''n'' of the part's
 * list (docs/snapshot-format.md).
 */
private[snapshot] object IndexFile {

  /** The group that holds all values: absent for a file unknown to the index. */
  val Group = "index"

  def schema(kind: SummaryKind): MessageType = {
    val fields = kind match {
      case SummaryKind.MinMax => "optional binary min; optional binary max; required int64 nulls;"
      case _: SummaryKind.ValueList => "repeated binary value; required int64 nulls;"
      case _: SummaryKind.Bloom => "required binary bits; required int64 nulls;"
      case _: SummaryKind.OfClass => "required binary content;"
    }
    MessageTypeParser.parseMessageType(s"message pme_snapshot_index { optional group $Group { $fields } }")
  }

  /** @param encryption none for a table without encryption */
  def write(
      kind: SummaryKind,
      summaries: Seq[Option[ColumnSummary]],
      encryption: Option[FileEncryptionProperties]
  ): Array[Byte] = ListFile.write(schema(kind), summaries, encryption) { (summary, row) =>
    summary.foreach(fill(_, row.addGroup(Group)))
  }

  private def fill(summary: ColumnSummary, group: Group): Unit = summary match {
    case ColumnSummary.Range(bounds, nulls) =>
      bounds.foreach { case (min, max) =>
        group.add("min", binary(min))
        group.add("max", binary(max))
      }
      group.add("nulls", nulls)
    case ColumnSummary.ValueList(values, nulls) =>
      values.foreach(value => group.add("value", binary(value)))
      group.add("nulls", nulls)
    case ColumnSummary.Bloom(bits, nulls) =>
      group.add("bits", binary(bits))
      group.add("nulls", nulls)
    case ColumnSummary.OfClass(content) => group.add("content", binary(content))
  }

  private def binary(bytes: Array[Byte]) = Binary.fromConstantByteArray(bytes)

  /**
   * @param bytes whose digest is the one in a verified manifest
   * @throws io.pmeparquet.PmeException `PME_SNAPSHOT_DAMAGED`, or why a key is missing
   */
  def read(
      bytes: Array[Byte],
      kind: SummaryKind,
      decryption: Option[FileDecryptionProperties],
      where: String
  ): Vector[Option[ColumnSummary]] = ListFile.read(bytes, schema(kind), decryption, where) { row =>
    if (row.getFieldRepetitionCount(Group) == 0) None else Some(summary(kind, row.getGroup(Group, 0)))
  }

  private def summary(kind: SummaryKind, group: Group): ColumnSummary = kind match {
    case SummaryKind.MinMax =>
      val bounds = for {
        min <- ListFile.bytes(group, "min")
        max <- ListFile.bytes(group, "max")
      } yield min -> max
      ColumnSummary.Range(bounds, group.getLong("nulls", 0))
    case _: SummaryKind.ValueList =>
      val values = (0 until group.getFieldRepetitionCount("value")).map(group.getBinary("value", _).getBytes)
      ColumnSummary.ValueList(values.toList, group.getLong("nulls", 0))
    case _: SummaryKind.Bloom =>
      ColumnSummary.Bloom(group.getBinary("bits", 0).getBytes, group.getLong("nulls", 0))
    case _: SummaryKind.OfClass => ColumnSummary.OfClass(group.getBinary("content", 0).getBytes)
  }

  /** About how many bytes a summary takes: parts are cut before their files become too large. */
  def sizeOf(summary: ColumnSummary): Long = summary match {
    case ColumnSummary.Range(bounds, _) =>
      bounds.fold(0L) { case (min, max) => min.length.toLong + max.length }
    case ColumnSummary.ValueList(values, _) => values.iterator.map(_.length + 4L).sum
    case ColumnSummary.Bloom(bits, _) => bits.length.toLong
    case ColumnSummary.OfClass(content) => content.length.toLong
  }
}
