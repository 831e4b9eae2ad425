package io.pmeparquet.parquet.inspect

import scala.collection.JavaConverters._

import munit.FunSuite
import org.apache.hadoop.fs.Path
import org.apache.parquet.format._

import io.pmeparquet.{Condition, PmeException}

/** The protection of each column chunk of a footer: no row group stands for the others. */
class FoundProtectionSuite extends FunSuite {
  private val file = new Path("f.parquet")

  private def footer(rowGroups: Seq[Option[ColumnCryptoMetaData]]*): FileMetaData = {
    val root = new SchemaElement("m").setNum_children(2)
    val columns = Seq("a", "b").map { name =>
      new SchemaElement(name).setType(Type.INT32).setRepetition_type(FieldRepetitionType.REQUIRED)
    }
    val groups = rowGroups.map { chunks =>
      new RowGroup(chunks.map(crypto => new ColumnChunk(0).setCrypto_metadata(crypto.orNull)).asJava, 0, 0)
    }
    new FileMetaData(1, (root +: columns).asJava, 0, groups.asJava)
  }

  private val withFooterKey = Some(
    ColumnCryptoMetaData.ENCRYPTION_WITH_FOOTER_KEY(new EncryptionWithFooterKey)
  )
  private val withColumnKey = Some(
    ColumnCryptoMetaData.ENCRYPTION_WITH_COLUMN_KEY(new EncryptionWithColumnKey(List("a").asJava))
  )

  private def protections(footer: FileMetaData) =
    FoundProtection.of(FoundProtection.chunks(footer, file))(one => Some(s"master key of ${one.kind}"))

  test("a column that only one row group leaves readable is reported as readable and as encrypted") {
    val found = protections(footer(Seq(withColumnKey, withFooterKey), Seq(None, withFooterKey)))
    assertEquals(
      found,
      Seq(
        FoundProtection("a", "column key", Some("master key of column key")),
        FoundProtection("b", "footer key", Some("master key of footer key")),
        FoundProtection("a", "plaintext", None)
      )
    )
    assertEquals(found.filter(_.isReadable).map(_.column), Seq("a"))
  }

  test("a row group without all columns of the schema is damage") {
    val failed = intercept[PmeException](protections(footer(Seq(withFooterKey))))
    assertEquals(failed.condition, Condition.DamagedFile: Condition)
  }
}
