package io.pmeparquet.parquet.copy

import java.io.OutputStream
import java.nio.file.{Files, Path => LocalPath}

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FSDataOutputStream, Path, RawLocalFileSystem}
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.util.Progressable
import org.apache.parquet.column.ParquetProperties.WriterVersion
import org.apache.parquet.example.data.simple.convert.GroupRecordConverter
import org.apache.parquet.hadoop.metadata.CompressionCodecName
import org.apache.parquet.io.ColumnIOFactory

import io.pmeparquet.columns.{ColumnProtection, KeyValues}
import io.pmeparquet.parquet.file.SplitReader
import io.pmeparquet.parquet.recover.FileRecovery
import io.pmeparquet.parquet.scope.{ReadScope, WriteScope}
import io.pmeparquet.parquet.WrittenFilesSuite
import io.pmeparquet.PmeException

/** What storage alters while a copy is written, and what a source may hold, is noticed before the copy appears. */
class CopiedFilesSuite extends WrittenFilesSuite {
  import BendingFileSystem.bending

  private val use = kms("f", "g", "n")
  private val keys = Seq("footerKey" -> "f", "columnKeys" -> "n: name")
  private val allowing = "plaintextFiles" -> "allow"

  private def copied(
      from: ReadScope,
      file: Path,
      to: Option[WriteScope],
      check: ReadScope,
      toConf: Configuration
  ): Path = {
    val copy = new Path(file.getParent, s"copy-of-${file.getName}")
    new FileRewrite(from, conf, to, check, toConf, () => ()).write(file, copy, copy)
    Files.deleteIfExists(local(copy).resolveSibling(s".${copy.getName}.crc"))
    copy
  }

  /** A copy of a file under these options. */
  private def encrypted(
      root: LocalPath,
      from: ReadScope,
      file: Path,
      toConf: Configuration,
      options: (String, String)*
  ): Path = {
    val ofRead = options.filter(_._1 == "algorithm")
    copied(from, file, Some(writer(use, root, options: _*)), reader(use, ofRead: _*), toConf)
  }

  directory.test("a copy states no values: its footer may have a weaker key than their column") { root =>
    val entries = Map(KeyValues.Entry -> """{"name":"f"}""", "other" -> "kept").asJava
    val file = write(root, use, keys: _*)(_.withExtraMetaData(entries))
    def entriesOf(of: Path) = {
      val split = new SplitReader(reader(use, allowing), of, conf)
      try split.metadata.getKeyValueMetaData.asScala.filter(one => entries.containsKey(one._1))
      finally split.close()
    }
    assertEquals(entriesOf(file), entries.asScala)
    for (to <- Seq(Some(writer(use, root, "footerKey" -> "g", "columnKeys" -> "n: name")), None)) {
      val copy = copied(reader(use), file, to, reader(use, allowing), conf)
      assertEquals(entriesOf(copy).toMap, Map("other" -> "kept"))
      Files.delete(local(copy))
    }
  }

  directory.test("under templates, neither a copy nor a recovery passes on rows that nobody compared") {
    root =>
      val stated = Map(KeyValues.Entry -> """{"name":"f"}""").asJava
      val file = write(root, use, "footerKey" -> "f")(_.withExtraMetaData(stated))
      val bound = reader(use, "uniformKey" -> "{name}")
      val to = Some(writer(use, root, keys: _*))
      val lost = write(root, use, "footerKey" -> "f")()
      bent(lost, Files.size(local(lost)).toInt - 20) {
        for (
          read <- Seq[() => Any](
            () => copied(bound, file, to, reader(use), conf),
            () => copied(bound, file, None, reader(use, allowing), conf),
            () => FileRewrite.leaves(bound, conf, file),
            () => new FileRecovery(bound, false).open(listed(file), conf, () => ()),
            () => new FileRecovery(bound, false).metadata(listed(file), conf, () => ()),
            () => new FileRecovery(bound, false, Some(file.toString)).open(listed(lost), conf, () => ())
          )
        ) {
          val refused = intercept[PmeException](read())
          assertEquals(refused.getCondition(), "PME_UNSUPPORTED")
          assert(refused.getMessage.contains("nothing would compare its rows"), refused.getMessage)
        }
        assertEquals(Files.list(root).count(), 2L)
        new FileRecovery(reader(use), false, Some(file.toString)).open(listed(lost), conf, () => ()).close()
      }
      copied(reader(use), file, to, reader(use), conf)
  }

  private val InFirstPage = 120

  /** The rows of a file, as texts. */
  private def records(scope: ReadScope, file: Path): Seq[String] = {
    val split = new SplitReader(scope, file, conf)
    try
      split
        .rowGroups(0, Long.MaxValue / 2, schema, None, vectorized = false)
        .flatMap { group =>
          val reader = new ColumnIOFactory()
            .getColumnIO(schema)
            .getRecordReader(group.pages(None), new GroupRecordConverter(schema))
          (0L until group.rowCount).map(_ => reader.read().toString)
        }
        .toList
    finally split.close()
  }

  for (
    (what, condition, options) <- Seq(
      ("GCM", "PME_NOT_AUTHENTIC", Seq("uniformKey" -> "f")),
      ("CTR", "PME_DAMAGED_FILE", Seq("uniformKey" -> "f", "algorithm" -> "AES_GCM_CTR_V1")),
      // Columns without a key come first, so the altered page is one of theirs.
      ("a column without key", "PME_DAMAGED_FILE", keys :+ ("unlistedColumns" -> "plaintext"))
    )
  )
    directory.test(s"a copy that is altered on its way to the disk fails its check: $what") { root =>
      val file = write(root, use)(_.withPageWriteChecksumEnabled(false))
      val failed = intercept[PmeException](
        encrypted(root, reader(use, allowing), file, bending(InFirstPage), options: _*)
      )
      assertEquals(failed.getCondition(), condition)
      assert(failed.getMessage.contains("failed its check"), failed.getMessage)
      Files.delete(local(file).resolveSibling(s"copy-of-${file.getName}"))
      val good = encrypted(root, reader(use, allowing), file, bending(-1), options: _*)
      val copied = records(reader(use, options.filter(_._1 == "algorithm"): _*), good)
      assertEquals(copied, records(reader(use, allowing), file))
    }

  directory.test("a decrypted copy that is altered on its way to the disk fails its check") { root =>
    val file = write(root, use, "uniformKey" -> "f")(_.withPageWriteChecksumEnabled(false))
    val failed =
      intercept[PmeException](copied(reader(use), file, None, reader(use, allowing), bending(InFirstPage)))
    assertEquals(failed.getCondition(), "PME_DAMAGED_FILE")
    assert(failed.getMessage.contains("failed its check"), failed.getMessage)
    Files.delete(local(file).resolveSibling(s"copy-of-${file.getName}"))
    val good = copied(reader(use), file, None, reader(use, allowing), bending(-1))
    assertEquals(records(reader(use, allowing), good), records(reader(use), file))
  }

  directory.test("an original stays if its encrypted file was altered") { root =>
    val file = write(root, use)(_.withPageWriteChecksumEnabled(false))
    val (before, expected) =
      (Files.readAllBytes(local(file)).toSeq, records(reader(use, allowing), file))
    val scope = writer(use, root, "uniformKey" -> "f")
    def encrypt(conf: Configuration) = {
      val table = new Path(root.toUri)
      val status = file.getFileSystem(conf).getFileStatus(file)
      val run = InPlaceRun.begin(table, InPlaceManifest.of(scope, table), status, conf)
      try
        new FileInPlace(reader(use, allowing), scope, reader(use), run).encrypt(listed(file), conf, () => ())
      finally run.end(complete = true, conf)
    }
    val failed = intercept[PmeException](encrypt(bending(InFirstPage)))
    assertEquals(failed.getCondition(), "PME_NOT_AUTHENTIC")
    assert(failed.getMessage.contains("failed its check"), failed.getMessage)
    assertEquals(Files.readAllBytes(local(file)).toSeq, before)
    assertEquals(encrypt(bending(-1)).already, 0L)
    assertEquals(records(reader(use), file), expected)
  }

  directory.test("a page with a wrong checksum does not get a correct one") { root =>
    val file = write(root, use)(
      _.withPageWriteChecksumEnabled(true)
        .withCompressionCodec(CompressionCodecName.UNCOMPRESSED)
        .withDictionaryEncoding(false)
    )
    bent(file, 300) {
      val failed = intercept[PmeException](encrypted(root, reader(use, allowing), file, conf, keys: _*))
      assertEquals(failed.getCondition(), "PME_DAMAGED_FILE")
      Seq(file.getName, "'id'", "checksum").foreach(word =>
        assert(failed.getMessage.contains(word), failed.getMessage)
      )
    }
  }

  for (algorithm <- Seq("AES_GCM_V1", "AES_GCM_CTR_V1"))
    directory.test(
      s"levels outside of modules are copied only when allowed, and are then encrypted: $algorithm"
    ) { root =>
      val file = write(root, use, keys :+ ("algorithm" -> algorithm): _*)(
        _.withWriterVersion(WriterVersion.PARQUET_2_0)
      )
      val ofFile = "algorithm" -> algorithm
      val failed =
        intercept[PmeException](encrypted(root, reader(use, ofFile), file, conf, "uniformKey" -> "g"))
      assertEquals(failed.getCondition(), "PME_UNSUPPORTED")
      assert(
        failed.getMessage.contains("clearLevels=allow") && failed.getMessage.contains(file.getName),
        failed.getMessage
      )
      Files.deleteIfExists(local(file).resolveSibling(s"copy-of-${file.getName}"))
      def allowed = reader(use, ofFile, "clearLevels" -> "allow")
      val copy = encrypted(root, allowed, file, conf, "uniformKey" -> "g", ofFile)
      // This reader does not allow them.
      assertEquals(records(reader(use, ofFile), copy), records(allowed, file))
    }

  for (version <- WriterVersion.values)
    directory.test(s"plaintext is copied only when allowed, and then encrypted: pages of $version") { root =>
      val file = write(root, use)(_.withWriterVersion(version))
      val failed = intercept[PmeException](encrypted(root, reader(use), file, conf, "uniformKey" -> "g"))
      assertEquals(failed.getCondition(), "PME_PLAINTEXT_FILE")
      assert(failed.getMessage.contains(file.getName), failed.getMessage)
      assert(!Files.exists(local(file).resolveSibling(s"copy-of-${file.getName}")))
      val copy = encrypted(root, reader(use, allowing), file, conf, "uniformKey" -> "g")
      assertEquals(records(reader(use), copy), records(reader(use, allowing), file))
      val split = new SplitReader(reader(use), copy, conf)
      try assertEquals(split.protections.map(_._2).distinct, Seq(ColumnProtection.FooterKey))
      finally split.close()
    }
}

/** A local disk without checksums that bends the byte at one place of each Parquet file; none where it is negative. */
private[copy] class BendingFileSystem extends RawLocalFileSystem {
  import BendingFileSystem.At

  private def bent(path: Path, out: FSDataOutputStream): FSDataOutputStream =
    if (path.getName.endsWith(".parquet") && !out.getWrappedStream.isInstanceOf[Bending])
      new FSDataOutputStream(new Bending(out, getConf.getInt(At, -1)), null)
    else out

  override def create(
      path: Path,
      permission: FsPermission,
      overwrite: Boolean,
      buffer: Int,
      replication: Short,
      block: Long,
      progress: Progressable
  ): FSDataOutputStream =
    bent(path, super.create(path, permission, overwrite, buffer, replication, block, progress))

  override def create(
      path: Path,
      overwrite: Boolean,
      buffer: Int,
      replication: Short,
      block: Long,
      progress: Progressable
  ): FSDataOutputStream = bent(path, super.create(path, overwrite, buffer, replication, block, progress))
}

private object BendingFileSystem {
  private val At = "bending.at"

  /** A disk that alters one byte of each Parquet file on its way there. */
  def bending(at: Int): Configuration = {
    val bending = new Configuration(false)
    bending.set("fs.file.impl", classOf[BendingFileSystem].getName)
    bending.set("fs.file.impl.disable.cache", "true")
    bending.setInt(At, at)
    bending
  }
}

private final class Bending(out: OutputStream, at: Int) extends OutputStream {
  private var written = 0

  override def write(value: Int): Unit = {
    out.write(if (written == at) value ^ 1 else value)
    written += 1
  }

  override def close(): Unit = out.close()
}
