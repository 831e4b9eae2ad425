package io.pmeparquet.spark.admin.erase

import java.io.{IOException, OutputStream}
import java.nio.file.{Files, Path, Paths}
import java.util.concurrent.atomic.AtomicInteger

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.commons.io.FileUtils
import org.apache.hadoop.fs.{FSDataOutputStream, Path => HadoopPath, RawLocalFileSystem}
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.util.Progressable

import io.pmeparquet.{PmeException, Sha256}
import io.pmeparquet.spark.KeystoreSuite

/** An erasure that is killed before any one of its changes to the storage is completed by the next run. */
class ErasureStopsSuite extends KeystoreSuite {
  private val stopping =
    Seq("fs.file.impl" -> classOf[StoppingFileSystem].getName, "fs.file.impl.disable.cache" -> "true")
  private val tenants = Seq("acme", "bolt", "cafe")
  private def erase(): JsonNode = new ObjectMapper().readTree(
    Erasure.run(spark, target, keystoreOptions, Seq("t-acme"), Map("tenant" -> "acme"), dryRun = false)
  )

  private def digests: Map[String, String] =
    files().map(file => file.toString -> Sha256.hex(Sha256.ofBytes(Files.readAllBytes(file)))).toMap

  /** Whether the run was stopped by the storage. */
  private def isStopped(changes: Int): Boolean = {
    StoppingFileSystem.left.set(changes)
    try inHadoop(stopping: _*)(erase())
    catch { case _: PmeException | _: IOException => () }
    StoppingFileSystem.left.get < 0
  }

  test("wherever an erasure is killed, the next run completes it, and nothing else is lost") {
    makeKeys(tenants.map("t-" + _): _*)
    writeTo(target)
    val before = digests
    val saved = directory.resolve("saved")
    val places = Seq(Paths.get(target), keystore)
    def copy(from: Path, to: Path) =
      if (Files.isDirectory(from)) FileUtils.copyDirectory(from.toFile, to.toFile)
      else FileUtils.copyFile(from.toFile, to.toFile)
    places.foreach(one => copy(one, saved.resolve(one.getFileName)))
    var killedAfter = Set.empty[Boolean]
    val kills = Iterator
      .from(0, step = if (isWhole) 1 else 5)
      .takeWhile { changes =>
        places.foreach { one =>
          FileUtils.deleteQuietly(one.toFile)
          copy(saved.resolve(one.getFileName), one)
        }
        val stopped = isStopped(changes)
        // The keystore is no file of Hadoop's here, so its change is between two changes of the storage.
        val isErased = tenantsRead("deniedFiles" -> "skip") == Set("bolt", "cafe")
        if (!isErased) assertEquals(tenantsRead("deniedFiles" -> "skip"), tenants.toSet, changes)
        if (stopped) killedAfter += isErased
        val certificate = erase()
        assertEquals(certificate.path("state").asText, "complete", changes)
        assertEquals(certificate.path("totals").path("rows").asLong, 10L, changes)
        assertEquals(tenantsRead("deniedFiles" -> "skip"), Set("bolt", "cafe"), changes)
        assertEquals(digests, before, changes)
        // A certificate that was complete is kept, and this run has its own, with its page.
        val records = allFiles().map(_.getFileName.toString).filter(_.startsWith("erasure-"))
        val pages = records.filter(_.endsWith(".txt")).map(_.replace(".txt", ".json"))
        assert(pages.nonEmpty && pages.forall(records.contains(_)), s"$changes: $records")
        stopped
      }
      .size
    assert(kills > 2, kills)
    assertEquals(killedAfter, Set(true, false))
  }
}

object StoppingFileSystem {

  /** How many changes are made before all others fail. */
  val left = new AtomicInteger

  private def change(): Unit = if (left.decrementAndGet() < 0) {
    left.set(-1)
    throw new IOException("stopped")
  }

  /** Half of what is written arrives. */
  private final class Stopping(out: OutputStream) extends OutputStream {
    override def write(value: Int): Unit = write(Array(value.toByte), 0, 1)
    override def write(bytes: Array[Byte], from: Int, length: Int): Unit = {
      out.write(bytes, from, length / 2)
      out.flush()
      change()
      out.write(bytes, from + length / 2, length - length / 2)
    }
    override def close(): Unit = {
      out.close()
      change()
    }
  }
}

/** What is on the disk once it fails is what a process leaves that is killed there. */
class StoppingFileSystem extends RawLocalFileSystem {
  import StoppingFileSystem._

  override def create(
      path: HadoopPath,
      permission: FsPermission,
      overwrite: Boolean,
      buffer: Int,
      replication: Short,
      block: Long,
      progress: Progressable
  ): FSDataOutputStream = {
    change()
    val made = super.create(path, permission, overwrite, 1, replication, block, progress)
    new FSDataOutputStream(new Stopping(made), null)
  }

  override def delete(path: HadoopPath, recursive: Boolean): Boolean = {
    change()
    super.delete(path, recursive)
  }

  override def rename(from: HadoopPath, to: HadoopPath): Boolean = {
    change()
    super.rename(from, to)
  }

  override def mkdirs(path: HadoopPath, permission: FsPermission): Boolean = {
    change()
    super.mkdirs(path, permission)
  }
}
