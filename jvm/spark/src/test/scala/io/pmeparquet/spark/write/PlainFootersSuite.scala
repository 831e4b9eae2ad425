package io.pmeparquet.spark.write

import java.io.ByteArrayInputStream
import java.nio.{ByteBuffer, ByteOrder}
import java.nio.file.Files

import scala.collection.JavaConverters._

import org.apache.parquet.format.{ColumnChunk, ColumnMetaData, Util}
import org.apache.spark.sql.DataFrame

import io.pmeparquet.spark.{AlteredFile, SparkSuite}

/** A signed plaintext footer shows what readers without keys need, and nothing computed from values. */
class PlainFootersSuite extends SparkSuite {
  // In ColumnMetaData of parquet.thrift: key-value metadata, statistics, size statistics, geospatial statistics.
  private val ofValues = Seq(8, 12, 16, 17)
  private val sizeStatistics = 16

  private val encrypted = Seq("ssn", "salary", "tags.list.element", "person.name")
  private val plain = Seq("id", "note")
  private val nextToPlaintext = Map(
    "footerKey" -> "footer",
    "columnKeys" -> "pii: ssn, tags, person; pay: salary",
    "unlistedColumns" -> "plaintext"
  )

  /** Lists and nulls, for which size statistics reveal most. */
  private def rich: DataFrame = spark
    .range(0, 40, 1, 1)
    .selectExpr(
      "concat('123-', id) AS ssn",
      "id * 1.5D AS salary",
      "array_repeat('tag', CAST(id % 3 AS INT)) AS tags",
      "named_struct('name', concat('name ', id)) AS person",
      "id",
      "concat('note ', id) AS note"
    )

  /** The chunks of a table of one file with one row group, by column, and the file. */
  private def chunks(): (Map[String, ColumnChunk], Array[Byte]) = {
    val content = Files.readAllBytes(files().head)
    val footer = Util.readFileMetaData(new ByteArrayInputStream(AlteredFile.footerOf(content)))
    val group = footer.getRow_groups.get(0)
    (group.getColumns.asScala.map(chunk => nameOf(chunk) -> chunk).toMap, content)
  }

  private def nameOf(chunk: ColumnChunk) = chunk.getMeta_data.getPath_in_schema.asScala.mkString(".")

  private def has(chunk: ColumnChunk, field: Int) =
    // Older versions of Parquet do not know each field, and do not write it.
    Option(ColumnMetaData._Fields.findByThriftId(field)).exists(chunk.getMeta_data.isSet(_))

  /** Whether these bytes are one encrypted module: its length, nonce, ciphertext and tag, and nothing after. */
  private def isModule(content: Array[Byte]) = {
    val length = ByteBuffer.wrap(content).order(ByteOrder.LITTLE_ENDIAN).getInt
    length == content.length - 4 && length > 28
  }

  private def indexes(chunk: ColumnChunk, content: Array[Byte]) = Seq(
    content.slice(
      chunk.getOffset_index_offset.toInt,
      chunk.getOffset_index_offset.toInt + chunk.getOffset_index_length
    ),
    content.slice(
      chunk.getColumn_index_offset.toInt,
      chunk.getColumn_index_offset.toInt + chunk.getColumn_index_length
    )
  )

  for (
    (kind, options, hidden) <- Seq(
      ("column keys, and plaintext for the rest", nextToPlaintext, encrypted),
      ("AES_GCM_CTR_V1", nextToPlaintext + ("algorithm" -> "AES_GCM_CTR_V1"), encrypted),
      ("direct keys", nextToPlaintext + ("keyManagement" -> "direct"), encrypted),
      (
        "the footer's key for the rest",
        Map("footerKey" -> "footer", "columnKeys" -> "pii: ssn"),
        encrypted ++ plain
      ),
      ("the footer's key for all", Map("footerKey" -> "footer"), encrypted ++ plain)
    )
  )
    test(s"the readable footer reveals nothing about encrypted values: $kind") {
      write(rich, holding("footer", "pii", "pay") ++ options + ("plaintextFooter" -> "true"))
      val (found, content) = chunks()
      for (name <- hidden; chunk = found(name)) {
        assertEquals(ofValues.filter(has(chunk, _)), Nil, name)
        assert(chunk.isSetCrypto_metadata, name)
        assert(isModule(chunk.getEncrypted_column_metadata), name)
        indexes(chunk, content).foreach(index => assert(isModule(index), name))
      }
      for (name <- plain.diff(hidden); chunk = found(name)) {
        assert(chunk.getMeta_data.isSetStatistics && !chunk.isSetCrypto_metadata, name)
        indexes(chunk, content).foreach(index => assert(!isModule(index), name))
      }
    }

  test("Spark's own source reveals sizes, if its Parquet does") {
    rich.write.parquet(target)
    val (found, _) = chunks()
    val known = ColumnMetaData._Fields.findByThriftId(sizeStatistics) != null
    assertEquals(Seq("ssn", "note").map(name => has(found(name), sizeStatistics)), Seq(known, known))
  }
}
