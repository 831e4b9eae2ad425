package io.pmeparquet.parquet.copy

import scala.collection.JavaConverters._

import org.apache.parquet.format.{FileMetaData, RowGroup}

import io.pmeparquet.parquet.bytes.FileBytes
import io.pmeparquet.parquet.file.OpenFile
import io.pmeparquet.parquet.scope.ReadScope

/** Copies one file, in the order in which parquet-java lays files out: pages, indexes, Bloom filters, footer. */
private[parquet] final class FileCopy(
    file: OpenFile,
    carried: CarriedFields,
    bytes: FileBytes,
    out: ModuleFile,
    scope: ReadScope,
    goOn: () => Unit
) {
  private val pages = new PageCopy(file, bytes, out, scope)
  private val indexes = new IndexCopy(file, bytes, out, scope)

  /** @return the number of its pages */
  def write(): Long = {
    val groups =
      (0 until file.rowGroupCount).map(index => new CopiedGroup(index, out.position, copyPages(index)))
    groups.foreach(group => indexes.copyColumnIndexes(group.columns))
    groups.foreach(group => indexes.copyOffsetIndexes(group.columns))
    groups.foreach(_.columns.foreach(indexes.copyBloomFilter))
    val footer = new FileMetaData(file.footer)
    footer.setRow_groups(groups.map(described).asJava)
    out.writeFooter(footer, carried)
    pages.pageCount
  }

  private def copyPages(group: Int): Seq[CopiedChunk] =
    file.chunks(group, scope.counters).map { chunk =>
      goOn()
      val copy = new CopiedChunk(chunk, out.column(chunk.descriptor.getPath.toSeq, group, chunk.ordinal))
      pages.copy(copy)
      copy
    }

  private def described(group: CopiedGroup): RowGroup = {
    val made = new RowGroup(file.footer.getRow_groups.get(group.index))
    made.setTotal_byte_size(group.columns.map(_.metadata.getTotal_uncompressed_size).sum)
    made.setTotal_compressed_size(group.columns.map(_.metadata.getTotal_compressed_size).sum)
    made.setFile_offset(group.start)
    made.setOrdinal(group.index.toShort)
    group.columns.foreach(copy => copy.seal.metadata(copy.struct))
    made.setColumns(group.columns.map(_.struct).asJava)
    made
  }
}

private final class CopiedGroup(val index: Int, val start: Long, val columns: Seq[CopiedChunk])
