package io.pmeparquet.spark.admin.erase

import java.lang.management.ManagementFactory
import java.net.URI
import java.nio.file.{Files, Path, Paths}
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.TimeUnit

import scala.collection.JavaConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{
  FSDataOutputStream,
  FileSystem,
  LocalFileSystem,
  Path => HadoopPath,
  RawLocalFileSystem
}
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.util.Progressable
import org.apache.spark.sql.SparkSession

import io.pmeparquet.spark.{KeystoreSuite, PmeExtensions, SparkSuite}
import io.pmeparquet.spark.admin.seal.Sealing
import io.pmeparquet.Condition

/** An erasure in a process of its own, which SIGKILL ends. */
class KilledErasureSuite extends KeystoreSuite {
  override val munitTimeout: scala.concurrent.duration.Duration = scala.concurrent.duration.Duration(5, "min")

  override protected val byTenant: Map[String, String] =
    Map("footerKey" -> "footer", "columnKeys" -> "pii-{tenant}: name")

  private val exitBySigkill = 128 + 9

  /** Runs an erasure until it makes the given file of a directory, and is killed before it does. */
  private def killed(directory: String, file: Int): Unit = {
    val opened = ManagementFactory.getRuntimeMXBean.getInputArguments.asScala.filter { one =>
      one.startsWith("--add") || one.startsWith("-Djdk") || one.startsWith("-Dio.netty")
    }
    val command = Seq(
      Paths.get(sys.props("java.home"), "bin", "java").toString,
      "-Xmx1g",
      "-XX:TieredStopAtLevel=1"
    ) ++ opened ++
      Seq("-cp", sys.props("java.class.path"), ErasureProcess.getClass.getName.stripSuffix("$")) ++
      Seq(
        target,
        keystoreOptions("kms.keystore.path"),
        keystoreOptions("kms.keystore.password"),
        directory,
        file.toString
      )
    val log = this.directory.resolve("log").toFile
    val process = new ProcessBuilder(command: _*).redirectErrorStream(true).redirectOutput(log).start()
    try {
      assert(process.waitFor(4, TimeUnit.MINUTES), "it still runs")
      assertEquals(process.exitValue, exitBySigkill, Files.readString(log.toPath))
    } finally {
      process.destroyForcibly()
      ()
    }
  }

  private def versions: Seq[Path] = named("_pme_snapshots", "snapshot-")

  private def named(folder: String, start: String): Seq[Path] = {
    val all = Files.list(Paths.get(target, folder))
    try all.iterator.asScala.filter(_.getFileName.toString.startsWith(start)).toList.sorted
    finally all.close()
  }

  private def json(file: Path): JsonNode = new ObjectMapper().readTree(Files.readAllLines(file).get(0))

  private def marks: Seq[Path] = named(".", ".pme-rotating-").filterNot(_.toString.endsWith(".crc"))

  test(
    "an erasure of a sealed table that is killed, twice, is completed by the next run".tag(SparkSuite.Nightly)
  ) {
    makeKeys("footer", "pii-acme", "pii-bolt", "pii-cafe")
    writeTo(target)
    Sealing.seal(spark.newSession(), target, keystoreOptions ++ byTenant, None, Some("unsealed"))
    // The note is the first file, and the certificate the second: the key is destroyed between them.
    killed("_pme_erasures", 2)
    def notes = named("_pme_erasures", "erasure-").filter(_.toString.endsWith(".json"))
    assertEquals(notes.map(json(_).path("state").asText), Seq("begun"))
    assertEquals(versions.size, 1)
    assertEquals(marks.size, 1)
    refused(Condition.KeyDestroyed)(
      reader(keystoreOptions).load(target).where("tenant = 'acme'").select("name").collect()
    )
    // Now it has its certificate, and is killed before the next version appears.
    killed("_pme_snapshots", 1)
    assertEquals(notes.map(json(_).path("state").asText), Seq("complete"))
    assertEquals(versions.size, 1)
    val certificate = notes.head
    val first = Files.readString(certificate)
    Erasure.run(
      spark.newSession(),
      target,
      keystoreOptions,
      Seq("pii-acme"),
      Map("tenant" -> "acme"),
      dryRun = false
    )
    assertEquals(Files.readString(certificate), first)
    assertEquals(json(versions.last).at("/erasures/0/keys").toString, """["pii-acme"]""")
    assertEquals(json(versions.last).path("version").asInt, 2)
    assertEquals(marks, Nil)
    val read = spark.newSession().read.format("pme-parquet").options(keystoreOptions).load(target)
    assertEquals(read.count(), 30L)
    assertEquals(read.where("tenant <> 'acme'").select("name").distinct().count(), 20L)
  }
}

/** The process that is killed. */
private object ErasureProcess {
  def main(arguments: Array[String]): Unit = {
    val conf = new Configuration()
    conf.set("fs.file.impl", classOf[KilledFileSystem].getName)
    FileSystem.get(URI.create("file:///"), conf)
    KilledFileSystem.directory = arguments(3)
    KilledFileSystem.file = arguments(4).toInt
    val spark = SparkSession
      .builder()
      .master("local[2]")
      .config("spark.sql.extensions", classOf[PmeExtensions].getName)
      .config("spark.ui.enabled", "false")
      .config("spark.driver.host", "127.0.0.1")
      .config("spark.driver.bindAddress", "127.0.0.1")
      .getOrCreate()
    val keys = Map(
      "kms" -> "keystore",
      "kms.keystore.path" -> arguments(1),
      "kms.keystore.password" -> arguments(2)
    )
    Erasure.run(spark, arguments.head, keys, Seq("pii-acme"), Map("tenant" -> "acme"), dryRun = false)
    ()
  }
}

/** Kills its process before a file is made. */
private final class KilledFileSystem extends LocalFileSystem(new KilledRawFileSystem)

private final class KilledRawFileSystem extends RawLocalFileSystem {
  override def create(
      file: HadoopPath,
      permission: FsPermission,
      overwrite: Boolean,
      bufferSize: Int,
      replication: Short,
      blockSize: Long,
      progress: Progressable
  ): FSDataOutputStream = {
    KilledFileSystem.met(file)
    super.create(file, permission, overwrite, bufferSize, replication, blockSize, progress)
  }
}

private object KilledFileSystem {
  @volatile var directory = ""
  @volatile var file = 0
  private val made = new AtomicInteger

  def met(path: HadoopPath): Unit =
    if (path.getParent.getName == directory && made.incrementAndGet() == file) {
      new ProcessBuilder("kill", "-9", ProcessHandle.current().pid().toString).start()
      // Nothing else happens.
      Thread.sleep(Long.MaxValue)
    }
}
