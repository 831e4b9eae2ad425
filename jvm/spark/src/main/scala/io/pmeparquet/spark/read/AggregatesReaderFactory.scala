package io.pmeparquet.spark.read

import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}

import io.pmeparquet.parquet.file.SplitReader
import io.pmeparquet.parquet.scope.ReadScope

/**
 * Answers aggregates with one row for each file: from its footer, or else from its rows. So no footer can make a query
 * fail or answer wrongly, and the plan does not depend on files. ''Crosses the wire'', with the scope.
 *
 * @param rows reads the rows of a file, with the columns that the aggregates look at
 * @param byName whether columns of files are found by their names
 */
private[spark] final class AggregatesReaderFactory(
    asked: FileAggregates,
    rows: PartitionReaderFactory,
    opening: FileOpening,
    scope: ReadScope,
    byName: Boolean,
    caseSensitive: Boolean
) extends PartitionReaderFactory {

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] = {
    val files = partition.asInstanceOf[FilePartition].files
    new UnsafeRowReader(new IteratorReader(files.iterator.map(answer)), asked.result)
  }

  private def answer(file: PartitionedFile): InternalRow = {
    opening.pass(file)
    val values =
      try ofFooter(file).getOrElse(ofRows(file))
      catch { case failed: Throwable => throw opening.translate(failed, file.toPath.toString) }
    val groups = asked.groups.map(at => file.partitionValues.get(at, asked.partitions(at).dataType))
    new GenericInternalRow((groups ++ values).toArray[Any])
  }

  private def ofFooter(file: PartitionedFile): Option[Seq[Any]] =
    if (!byName) None
    else {
      val footer = new SplitReader(scope, file.toPath, opening.conf.value.value)
      try {
        val length = footer.splitLength(file.start, file.length, file.fileSize)
        new FooterAggregates(asked, caseSensitive, footer, file.start, length).values(file.partitionValues)
      } finally footer.close()
    }

  private def ofRows(file: PartitionedFile): Seq[Any] = {
    val reader = rows.createReader(FilePartition(0, Array(file)))
    try {
      val aggregates = new RowAggregates(asked)
      while (reader.next()) aggregates.add(reader.get())
      aggregates.result
    } finally reader.close()
  }

  override def toString: String = s"AggregatesReaderFactory($rows)"
}
