package io.pmeparquet.snapshot.parts

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.example.data.simple.SimpleGroupFactory
import org.apache.parquet.hadoop.example.ExampleParquetWriter
import org.apache.parquet.schema.MessageTypeParser

/** A Parquet file that is no part. */
object OtherParquet {
  private val schema =
    MessageTypeParser.parseMessageType("message m { required int64 path; required int32 n; }")

  def bytes: Array[Byte] = {
    val output = new MemoryOutput
    val writer =
      ExampleParquetWriter.builder(output).withConf(new Configuration(false)).withType(schema).build()
    writer.write(new SimpleGroupFactory(schema).newGroup().append("path", 1L).append("n", 2))
    writer.close()
    output.toArray
  }
}
