package io.pmeparquet.snapshot.xskipper

import java.nio.file.{Files, Path => LocalPath}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.crypto.FileEncryptionProperties
import org.apache.parquet.example.data.simple.SimpleGroupFactory
import org.apache.parquet.example.data.Group
import org.apache.parquet.hadoop.example.ExampleParquetWriter
import org.apache.parquet.hadoop.util.HadoopOutputFile
import org.apache.parquet.schema.MessageTypeParser

/** Files of stores with any schema and any text about it. */
object MadeStores {

  /** @param fields of the Spark schema, as JSON, without `obj_name` */
  def json(idMetadata: String, fields: String*): String = {
    val id = s"""{"name":"obj_name","type":"string","nullable":false,"metadata":$idMetadata}"""
    s"""{"type":"struct","fields":[${(id +: fields).mkString(",")}]}"""
  }

  def minMax(field: String, column: String, of: String, more: String = ""): String =
    s"""{"name":"$field","type":{"type":"struct","fields":[{"name":"min","type":"$of","nullable":true,"metadata":{}},""" +
      s"""{"name":"max","type":"$of","nullable":true,"metadata":{}}]},"nullable":true,""" +
      s""""metadata":{"index":{"cols":["$column"],"name":"minmax"$more}}}"""

  def list(field: String, column: String, of: String, more: String = ""): String =
    s"""{"name":"$field","type":{"type":"array","elementType":"$of","containsNull":true},"nullable":true,""" +
      s""""metadata":{"index":{"cols":["$column"],"name":"valuelist"$more}}}"""

  /** @param columns of the Parquet schema, without `obj_name` */
  def write(
      store: LocalPath,
      json: String,
      columns: String,
      encryption: Option[FileEncryptionProperties] = None,
      name: String = "part-0.parquet"
  )(rows: (String, Group => Unit)*): Unit = {
    Files.createDirectories(store)
    val schema =
      MessageTypeParser.parseMessageType(
        s"message spark_schema { required binary obj_name (STRING); $columns }"
      )
    val groups = new SimpleGroupFactory(schema)
    val file = new Path("file", null, store.resolve(name).toString)
    val writer = ExampleParquetWriter
      .builder(HadoopOutputFile.fromPath(file, new Configuration(false)))
      .withConf(new Configuration(false))
      .withType(schema)
      .withExtraMetaData(java.util.Collections.singletonMap(StoreSchema.Key, json))
      .withEncryption(encryption.orNull)
      .build()
    try
      rows.foreach { case (id, fill) =>
        val row = groups.newGroup().append("obj_name", id)
        fill(row)
        writer.write(row)
      }
    finally writer.close()
  }
}
