package io.pmeparquet.parquet.copy

import java.io.{ByteArrayInputStream, ByteArrayOutputStream}
import java.nio.{ByteBuffer, ByteOrder}
import java.nio.file.{Files, Path => LocalPath}

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.format._

import io.pmeparquet.{PmeException, SampledSuite}
import io.pmeparquet.parquet.WrittenFilesSuite

/** What storage alters while a merged file is written is noticed before it is used, and so is a source that changes. */
class MergedFilesSuite extends WrittenFilesSuite with SampledSuite {
  import BendingFileSystem.bending

  private val use = kms("f", "n")
  private val ways: Seq[(String, Seq[(String, String)])] = Seq(
    "GCM" -> Seq("uniformKey" -> "f"),
    "CTR" -> Seq("uniformKey" -> "f", "algorithm" -> "AES_GCM_CTR_V1"),
    "a column without key" -> Seq(
      "footerKey" -> "f",
      "columnKeys" -> "n: name",
      "unlistedColumns" -> "plaintext"
    ),
    "plaintext" -> Nil
  )

  private def merged(
      root: LocalPath,
      files: Seq[Path],
      options: Seq[(String, String)],
      own: Configuration
  ): Path = {
    val scope = reader(use, options.filter(_._1 == "algorithm") :+ ("plaintextFiles" -> "allow"): _*)
    val traits = FileTraits.of(scope, listed(files.head), conf)._1.fold(why => fail(why), identity)
    val write = if (options.isEmpty) None else Some(writer(use, root, options: _*))
    val made = new Path(root.toUri.toString, "merged.parquet")
    val work = new FileMerge(scope, write, traits, own, () => ())
    val done = work.write(files.map(listed), None, made, made)
    assertEquals(done.map(_.rows), Right(files.size.toLong * RowCount))
    made
  }

  for ((what, options) <- ways)
    directory.test(s"a merged file that is altered on its way to the disk fails its check: $what") { root =>
      val files = (0 until 3).map(_ => write(root, use, options: _*)())
      val length = Files.size(local(merged(root, files, options, bending(-1)))).toInt
      // Pages, indexes and the footer.
      for (at <- 10 until length by (if (isWhole) 97 else 197)) {
        Files.delete(root.resolve("merged.parquet"))
        intercept[Exception](merged(root, files, options, bending(at)))
      }
    }

  directory.test("a source that is not as it was listed, or has other keys, is refused") { root =>
    val options = Seq("uniformKey" -> "f")
    val files = (0 until 2).map(_ => write(root, use, options: _*)())
    val scope = reader(use)
    val traits = FileTraits.of(scope, listed(files.head), conf)._1.fold(why => fail(why), identity)
    val before = files.map(listed)
    def refused(): Unit = {
      val work = new FileMerge(scope, Some(writer(use, root, options: _*)), traits, conf, () => ())
      val made = new Path(root.toUri.toString, "merged.parquet")
      val failed = intercept[PmeException](work.write(before, None, made, made))
      assert(failed.getMessage.contains("changed"), failed.getMessage)
      assert(!Files.exists(local(made)))
    }
    val other = write(root, use, "uniformKey" -> "n")()
    Files.write(local(files(1)), Files.readAllBytes(local(other)))
    refused()
    // Even with the time and the length of the first one.
    Files.setLastModifiedTime(
      local(files(1)),
      java.nio.file.attribute.FileTime.fromMillis(before(1).modified)
    )
    refused()
  }

  private def altered(file: Path)(alter: FileMetaData => Unit): Path = {
    val bytes = Files.readAllBytes(local(file))
    val size = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).getInt(bytes.length - 8)
    val from = bytes.length - 8 - size
    val footer = Util.readFileMetaData(new ByteArrayInputStream(bytes, from, size))
    alter(footer)
    val out = new ByteArrayOutputStream
    out.write(bytes, 0, from)
    Util.writeFileMetaData(footer, out)
    val end =
      ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putInt(out.size - from).put("PAR1".getBytes)
    out.write(end.array)
    Files.write(local(file), out.toByteArray)
    Files.deleteIfExists(local(file).resolveSibling(s".${file.getName}.crc"))
    file
  }

  private def reasonOf(file: Path) =
    FileTraits.of(reader(use, "plaintextFiles" -> "allow"), listed(file), conf)._1.left.toOption

  for (
    (what, alter) <- Seq[(String, FileMetaData => Unit)](
      "the root of the schema says that it is required" ->
        (_.getSchema.get(0).setRepetition_type(FieldRepetitionType.REQUIRED)),
      "types have their older names only" -> (_.getSchema.asScala.foreach(_.unsetLogicalType())),
      "columns have no order" -> (_.unsetColumn_orders())
    )
  )
    directory.test(s"a file may be merged if $what")(root =>
      assertEquals(reasonOf(altered(write(root, use)())(alter)), None)
    )

  for (
    (what, why, alter) <- Seq[(String, String, FileMetaData => Unit)](
      (
        "a type that parquet-java forgets",
        "would not write again",
        one => {
          one.getSchema.asScala.last.unsetConverted_type()
          one.getSchema.asScala.last.setLogicalType(LogicalType.UNKNOWN(new NullType))
        }
      ),
      (
        "an older name of a type that says something else",
        "would not write again",
        one => {
          one.getSchema.get(1).setConverted_type(ConvertedType.UINT_32)
          one.getSchema.get(1).setLogicalType(LogicalType.INTEGER(new IntType(32.toByte, true)))
        }
      ),
      (
        "an entry of Iceberg's",
        "of Iceberg or Hudi",
        _.addToKey_value_metadata(new KeyValue("iceberg.schema"))
      ),
      (
        "an entry of Hudi's",
        "of Iceberg or Hudi",
        _.addToKey_value_metadata(new KeyValue("org.apache.hudi.bloomfilter"))
      ),
      (
        "a column with metadata of its own",
        "metadata of their own",
        _.getRow_groups
          .get(0)
          .getColumns
          .get(0)
          .getMeta_data
          .setKey_value_metadata(
            java.util.Arrays.asList(new KeyValue("a"))
          )
      )
    )
  )
    directory.test(s"a file stays as it is if it has $what") { root =>
      val reason = reasonOf(altered(write(root, use)())(alter))
      assert(reason.exists(_.contains(why)), reason.toString)
    }
}
