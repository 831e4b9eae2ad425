package io.pmeparquet.spark.read

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.example.data.simple.SimpleGroupFactory
import org.apache.parquet.example.data.Group
import org.apache.parquet.hadoop.example.ExampleParquetWriter
import org.apache.parquet.schema.MessageTypeParser

import io.pmeparquet.testkit.TestKms

/** Files of parquet-java's own writer, which does not write down Spark's version, its schema or its time zone. */
object OtherWriter {
  private val encrypted = Map(
    "parquet.crypto.factory.class" -> "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory",
    "parquet.encryption.kms.client.class" -> classOf[TestKms].getName,
    "parquet.encryption.uniform.key" -> "footer"
  )

  /**
   * Writes one file in pages of a few rows; a plaintext one unless it is encrypted under the key `footer`.
   *
   * @param groupRows the number of rows in each row group; none for all in one
   */
  def write(
      path: String,
      schema: String,
      rows: Seq[Group => Any],
      isEncrypted: Boolean,
      groupRows: Option[Int] = None
  ): Unit = {
    val conf = new Configuration(false)
    if (isEncrypted) encrypted.foreach { case (name, value) => conf.set(name, value) }
    val message = MessageTypeParser.parseMessageType(schema)
    val builder = ExampleParquetWriter
      .builder(new Path(path))
      .withType(message)
      .withConf(conf)
      .withPageRowCountLimit(10)
    // A group ends where its size is looked at and any row is too large.
    groupRows.foreach { count =>
      builder
        .withRowGroupSize(1L)
        .withMinRowCountForPageSizeCheck(count)
        .withMaxRowCountForPageSizeCheck(count)
    }
    val writer = builder.build()
    val groups = new SimpleGroupFactory(message)
    rows.foreach { fill =>
      val group = groups.newGroup()
      fill(group)
      writer.write(group)
    }
    writer.close()
  }
}
