package io.pmeparquet.spark.read

import java.nio.file.{Files, Path => LocalPath}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.example.data.simple.SimpleGroupFactory
import org.apache.parquet.hadoop.example.ExampleParquetWriter
import org.apache.parquet.schema.MessageTypeParser
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.{IntegerType, StringType, StructType}

import io.pmeparquet.keys.{KeyAudit, KeyPurpose, KmsUse}
import io.pmeparquet.kms.local.StaticSettings
import io.pmeparquet.options.{Level, OptionValues, Settings}
import io.pmeparquet.parquet.file.SplitReader
import io.pmeparquet.parquet.scope.Scopes
import io.pmeparquet.spark.read.FileAggregate.{Counting, Extreme}
import io.pmeparquet.Secret

/** What footers answer in place of rows, or that they do not. Spark need not run for this. */
class FooterAggregatesSuite extends munit.FunSuite {
  private val RowCount = 1000
  private val conf = new Configuration(false)
  private val scope = {
    val values = new OptionValues(Map(Level.Option -> Map("plaintextfiles" -> "allow")))
    val kms = StaticSettings(new Secret("f=AAECAwQFBgcICQoLDA0ODw=="))
    Scopes.forRead(KmsUse(kms, None, KeyAudit.off(KeyPurpose.Read)), Settings.forRead(values), conf)
  }

  private val directory = FunFixture[LocalPath](
    _ => Files.createTempDirectory("pme-footers"),
    made => new Path(made.toUri).getFileSystem(conf).delete(new Path(made.toUri), true)
  )

  /** Writes a file of several row groups. */
  private def write(root: LocalPath)(n: Int => Option[Int]): Path = {
    val file = new Path(root.resolve("f.parquet").toUri)
    val schema = MessageTypeParser.parseMessageType("message m { optional int32 n; required int32 id; }")
    val writer = ExampleParquetWriter.builder(file).withType(schema).withRowGroupSize(512L).build()
    val groups = new SimpleGroupFactory(schema)
    (0 until RowCount).foreach { id =>
      val row = groups.newGroup()
      n(id).foreach(row.add("n", _))
      writer.write(row.append("id", id))
    }
    writer.close()
    file
  }

  /** The answers for the column `n`, and for a partition column that follows it. */
  private def answers(file: Path, partition: InternalRow, functions: FileAggregate*): Option[Seq[Any]] = {
    val columns = new StructType().add("n", IntegerType)
    val partitions = new StructType().add("day", StringType)
    val asked = FileAggregates(columns, partitions, Nil, functions, new StructType())
    val split = new SplitReader(scope, file, conf)
    try new FooterAggregates(asked, caseSensitive = true, split, 0, Long.MaxValue / 2).values(partition)
    finally split.close()
  }

  private val noDay = new GenericInternalRow(1)
  private val someDay = new GenericInternalRow(Array[Any]("2024-01-01"))
  private val all =
    Seq(Counting(None), Counting(Some(0)), Extreme(0, largest = false), Extreme(0, largest = true))

  directory.test("nulls do not count, and neither end of a column is null") { root =>
    val file = write(root)(id => if (id % 4 == 0) None else Some(id - 500))
    assertEquals(answers(file, noDay, all: _*), Some(Seq[Any](1000L, 750L, -499, 499)))
  }

  directory.test("a row group that has nothing but nulls counts none, and shows no end of the column") {
    root =>
      val file = write(root)(id => if (id < 500) None else Some(id))
      assertEquals(answers(file, noDay, Counting(None), Counting(Some(0))), Some(Seq[Any](1000L, 500L)))
      assertEquals(answers(file, noDay, all: _*), None)
  }

  directory.test("the rows of a partition count for a partition column, unless its value is null") { root =>
    val file = write(root)(Some(_))
    assertEquals(answers(file, someDay, Counting(Some(1))), Some(Seq[Any](1000L)))
    assertEquals(answers(file, noDay, Counting(Some(1))), Some(Seq[Any](0L)))
    assertEquals(answers(file, someDay, Extreme(1, largest = true)), None)
  }
}
