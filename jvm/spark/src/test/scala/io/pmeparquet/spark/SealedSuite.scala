package io.pmeparquet.spark

import java.nio.file.{Files, Path, Paths}
import java.nio.file.attribute.FileTime

import scala.collection.mutable
import scala.concurrent.duration.Duration

import org.apache.commons.io.FileUtils
import org.apache.spark.sql.{DataFrame, Dataset, Row, SparkSession}
import org.apache.spark.sql.execution.{FileSourceScanExec, LocalTableScanExec}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.datasources.FilePartition
import org.apache.spark.sql.streaming.Trigger

import io.pmeparquet.parquet.summary.{SummaryKind, WantedSummary}
import io.pmeparquet.snapshot.SnapshotDirectory
import io.pmeparquet.spark.admin.seal.{IndexRequests, SealResult, Sealing}

/** Sealed tables: how tests make them, change them behind their snapshots, and read them. */
abstract class SealedSuite extends SparkSuite {
  protected type Options = Map[String, String]

  protected val footer: Options = kms + ("footerKey" -> "footer")
  protected val scans: Seq[Options] = Seq("v1", "v2").map(scan => Map("scan" -> scan))

  /** Each scan of Spark with each reader. */
  protected val everyReader: Seq[Options] =
    for (scan <- scans; by <- Seq("pages", "spark")) yield scan + ("reader" -> by)

  /** The same; in `make test`, each scan and each reader once. */
  protected val readers: Seq[Options] = if (isWhole) everyReader else Seq(everyReader.head, everyReader.last)

  /** The pairs of both that `readers` leaves out. */
  protected val otherReaders: Seq[Options] = if (isWhole) everyReader else everyReader.init.tail

  /** Without those of snapshots. */
  override protected def files(path: String = target): Seq[Path] =
    super.files(path).filterNot(_.getParent.endsWith(SnapshotDirectory.Name))

  /** A session that remembers no version. */
  protected def fresh: SparkSession = spark.newSession()

  /** Ids in files of consecutive ones. */
  protected def numbers(start: Long = 0, count: Int = 20, files: Int = 2): DataFrame =
    spark.range(start, start + count, 1, files).toDF("id")

  /** Ids and countries in one file of each partition. */
  protected def byCountry(start: Long = 0, count: Int = 20): DataFrame =
    numbers(start, count, files = 1)
      .selectExpr("id", "element_at(array('de', 'fr', 'it'), CAST(id % 3 AS INT) + 1) AS country")

  /** A write under the footer's key. To a sealed table, it seals the next version. */
  protected def save(
      frame: DataFrame,
      path: String = target,
      partitions: Seq[String] = Nil,
      options: Options = footer,
      mode: String = "append"
  ): Unit =
    frame.write
      .format(SparkSuite.Format)
      .options(options)
      .mode(mode)
      .partitionBy(partitions: _*)
      .save(path)

  /** Puts files into a table by no write to it, and returns them. */
  protected def plant(
      frame: DataFrame,
      path: String = target,
      partitions: Seq[String] = Nil,
      options: Options = footer
  ): Seq[Path] = {
    val elsewhere = directory.resolve("planted")
    save(frame, elsewhere.toString, partitions, options)
    val made = files(elsewhere.toString).map { file =>
      val place = Paths.get(path).resolve(elsewhere.relativize(file))
      Files.createDirectories(place.getParent)
      Files.move(file, place)
    }
    FileUtils.deleteDirectory(elsewhere.toFile)
    made
  }

  /** Seals a table as it is. Without indexes, the version has those of the one before. */
  protected def seal(
      path: String = target,
      options: Options = kms,
      indexes: Option[Seq[WantedSummary]] = None,
      session: SparkSession = spark
  ): SealResult = {
    val known = versions(path).lastOption.fold("unsealed")(_.toString)
    Sealing.seal(session, path, options, indexes, Some(known))
  }

  protected def minMax(columns: String*): Option[Seq[WantedSummary]] =
    Some(columns.map(IndexRequests.of(_, SummaryKind.MinMax)))

  /** A sealed table of these files, which no session knows. */
  protected def sealedTable(
      frame: DataFrame,
      path: String = target,
      partitions: Seq[String] = Nil,
      options: Options = footer,
      indexes: Option[Seq[WantedSummary]] = None
  ): String = {
    save(frame, path, partitions, options)
    seal(path, options, indexes, fresh)
    path
  }

  protected def load(
      path: String = target,
      options: Options = Map.empty,
      session: SparkSession = spark
  ): DataFrame = session.read.format(SparkSuite.Format).options(kms ++ options).load(path)

  protected def ids(frame: DataFrame): Seq[Long] = frame.select("id").collect().map(_.getLong(0)).toSeq.sorted

  /** What a session that remembers no version reads. */
  protected def idsOf(path: String = target, options: Options = Map.empty): Seq[Long] =
    ids(load(path, options, fresh))

  protected val required: Options = Map("snapshot" -> "require")

  protected def range(until: Int): Seq[Long] = 0L until until.toLong

  protected def snapshotsOf(path: String = target): Path = Paths.get(path, SnapshotDirectory.Name)

  /** The versions that have a manifest. */
  protected def versions(path: String = target): Seq[Long] =
    named(snapshotsOf(path), "snapshot-").map(_.getFileName.toString.slice(9, 19).toLong)

  protected def manifestOf(version: Long, path: String = target): Path =
    snapshotsOf(path).resolve(f"snapshot-$version%010d.json")

  /** The lists of files of all versions. */
  protected def parts(path: String = target): Seq[Path] = named(snapshotsOf(path), "part-")

  private def named(place: Path, start: String): Seq[Path] =
    Option(place.toFile.listFiles).toSeq.flatten
      .map(_.toPath)
      .filter(_.getFileName.toString.startsWith(start))
      .sorted

  protected def delete(file: Path): Unit =
    if (Files.isDirectory(file)) FileUtils.deleteDirectory(file.toFile)
    else {
      Files.delete(file)
      Files.deleteIfExists(file.resolveSibling(s".${file.getFileName}.crc"))
      ()
    }

  /** With the times of files. */
  protected def copy(from: Path, to: Path): Unit =
    if (Files.isDirectory(from)) FileUtils.copyDirectory(from.toFile, to.toFile)
    else FileUtils.copyFile(from.toFile, to.toFile)

  /** The two files of a table. */
  protected def both(path: String = target): (Path, Path) = {
    val found = files(path)
    assertEquals(found.size, 2)
    (found.head, found.last)
  }

  /** Makes a file look old. */
  protected def age(file: Path, seconds: Long = 1000): Unit = {
    Files.setLastModifiedTime(file, FileTime.fromMillis(seconds * 1000))
    ()
  }

  /** A table that is made once for the suite, and that each use puts back in its place as it was made. */
  protected final class Kept(make: String => Unit) {
    private lazy val place = {
      val made = Files.createTempDirectory(SparkSuite.scratch, "kept").toRealPath()
      make(made.resolve("table").toString)
      copy(made.resolve("table"), made.resolve("kept"))
      made
    }

    def apply(): String = {
      val table = place.resolve("table")
      FileUtils.deleteDirectory(table.toFile)
      copy(place.resolve("kept"), table)
      table.toString
    }
  }

  /** The files that the only scan of a query reads. The query does not run. */
  protected def scanned(frame: DataFrame): Seq[String] = {
    val found = frame.queryExecution.executedPlan.collectLeaves().head match {
      case scan: FileSourceScanExec =>
        scan.relation.location
          .listFiles(scan.partitionFilters, scan.dataFilters)
          .flatMap(_.files.map(_.getPath.getName))
      case scan: BatchScanExec =>
        scan.batch.planInputPartitions().toSeq.flatMap {
          case part: FilePartition => part.files.map(_.toPath.getName)
          case other => fail(s"no files: $other")
        }
      // Spark knows that no row passes.
      case _: LocalTableScanExec => Nil
      case other => fail(s"no scan of files: $other")
    }
    found.distinct.sorted
  }

  /** How many files the only scan of a query reads, which runs. */
  protected def filesRead(frame: DataFrame): Int = rowsAndFiles(frame)._2

  /** The ids that a query finds, and how many files its only scan reads. */
  protected def idsAndFiles(frame: DataFrame): (Seq[Long], Int) = {
    val (found, read) = rowsAndFiles(frame.select("id"))
    (found.map(_.getLong(0)).sorted, read)
  }

  private def rowsAndFiles(frame: DataFrame): (Seq[Row], Int) = {
    val before = scanned(frame).size
    val found = frame.collect().toSeq
    frame.queryExecution.executedPlan.collectLeaves().head match {
      case scan: FileSourceScanExec => assertEquals(scan.metrics("numFiles").value, before.toLong)
      case _ => ()
    }
    (found, before)
  }

  /** The ids that a stream reads beyond its checkpoint, until there is nothing more. */
  protected def drained(
      path: String,
      options: Options = Map.empty,
      checkpoint: Option[Path] = None,
      session: SparkSession = spark
  ): Seq[Long] = {
    val stream = session.readStream.format(SparkSuite.Format).options(kms ++ options).schema("id long")
    drained(stream.load(path), checkpoint)
  }

  protected def drained(stream: DataFrame, checkpoint: Option[Path]): Seq[Long] = {
    val found = mutable.ArrayBuffer.empty[Long]
    val batch = (rows: Dataset[Row], _: Long) => { found ++= ids(rows); () }
    val query = stream.writeStream
      .foreachBatch(batch)
      .option("checkpointLocation", checkpoint.getOrElse(Files.createTempDirectory(directory, "c")).toString)
      .trigger(Trigger.AvailableNow())
      .start()
    query.awaitTermination(Duration(1, "min").toMillis)
    found.toSeq.sorted
  }
}
