package io.pmeparquet.snapshot

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path => LocalPath}
import java.util.Base64

import munit.FunSuite
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.pmeparquet.{PmeException, Secret, Sha256}
import io.pmeparquet.keys.{KeyAudit, KeyPurpose, KeySource, KmsSource, KmsUse}
import io.pmeparquet.kms.local.{StaticKms, StaticSettings}
import io.pmeparquet.options.{Level, OptionValues, Settings}
import io.pmeparquet.parquet.scope.{ReadScope, Scopes}
import io.pmeparquet.parquet.storage.OwnFiles
import io.pmeparquet.snapshot.parts.SealedFile

/** Tables in a temporary directory, keys, and descriptions of files that nobody has to write. */
abstract class TableSuite extends FunSuite {
  protected val conf = new Configuration(false)

  /** The directory of a table. */
  protected val table = FunFixture[LocalPath](
    _ => Files.createTempDirectory("pme-sealed").toRealPath(),
    made => OwnFiles.delete(hadoop(made), conf)
  )

  protected def hadoop(path: LocalPath): Path = new Path(path.toUri.getScheme, null, path.toString)

  protected def directoryOf(root: LocalPath): SnapshotDirectory =
    new SnapshotDirectory(hadoop(root), None, conf)

  protected def snapshotsOf(root: LocalPath): LocalPath = root.resolve(SnapshotDirectory.Name)

  /** The names of everything in a table's directory of snapshots. */
  protected def namesIn(root: LocalPath): Set[String] =
    Option(snapshotsOf(root).toFile.list).fold(Set.empty[String])(_.toSet)

  /** Master keys, made from their names. */
  private def secret(names: Seq[String]) =
    new Secret(names.map(name => s"$name=${Base64.getEncoder.encodeToString(digest(name))}").mkString("\n"))

  protected def kms(names: String*): KmsUse =
    KmsUse(StaticSettings(secret(names)), None, KeyAudit.off(KeyPurpose.Read))

  protected def keys(names: String*): KeySource =
    new KmsSource(StaticKms.parse(secret(names)), /* lifetimeMillis= */ 0)

  protected def scope(names: String*): ReadScope = {
    val settings = Settings.forRead(new OptionValues(Map(Level.Option -> Map.empty[String, String])))
    Scopes.forRead(kms(names: _*), TableSnapshots.acceptingParts(settings), conf)
  }

  protected def digest(text: String): Array[Byte] = Sha256.ofBytes(text.getBytes(UTF_8))

  /** @param content what differs between two states of the file */
  protected def file(path: String, content: Int = 0): SealedFile = SealedFile(
    path,
    1000L + content,
    1700000000000L + content,
    digest(s"footer of $path $content"),
    Some(digest(s"id of $path $content").take(8)),
    digest(s"$path $content"),
    10L,
    Nil
  )

  /** All that a file's description says, as values that can be compared. */
  protected def plain(file: SealedFile): Seq[Any] = Seq(
    file.path,
    file.length,
    file.modified,
    file.footerSha256.toSeq,
    file.aadFileUnique.map(_.toSeq),
    file.sha256.toSeq,
    file.rows,
    file.partition
  )

  protected def refused(condition: String, words: String*)(step: => Any): PmeException = {
    val failed = intercept[PmeException](step)
    assertEquals(failed.getCondition(), condition, failed.getMessage)
    words.foreach(word => assert(failed.getMessage.contains(word), failed.getMessage))
    failed
  }
}

object TableSuite {
  val Damaged = "PME_SNAPSHOT_DAMAGED"
  val NotAuthentic = "PME_SNAPSHOT_NOT_AUTHENTIC"
  val Mismatch = "PME_SNAPSHOT_MISMATCH"
  val Conflict = "PME_SNAPSHOT_CONFLICT"
}
