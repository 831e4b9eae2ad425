package io.pmeparquet.spark

import java.io.File
import java.net.URI
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, Paths}
import java.util.{Base64, Comparator}
import java.util.zip.CRC32

import scala.collection.mutable
import scala.collection.JavaConverters._
import scala.concurrent.duration.Duration
import scala.util.hashing.MurmurHash3

import munit.{FunSuite, Location}
import org.apache.commons.io.FileUtils
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileSystem
import org.apache.spark.sql.{DataFrame, DataFrameReader, SparkSession}
import org.apache.spark.SparkConf

import io.pmeparquet.testkit.{BriefConfiguration, QuickLocalFileSystem, QuickLocalFs, TestKms}
import io.pmeparquet.Sha256

/** Tests that need Spark. All suites of a run share one Spark; each test has its own session and directory. */
abstract class SparkSuite extends FunSuite with Refusals {
  private var session: Option[SparkSession] = None
  private var made: Option[Path] = None

  // By suite: some operations list all directories above a table's.
  private lazy val ofSuite = Files.createTempDirectory(SparkSuite.scratch, "suite")

  /** The session of this test, with our extension and no other setting. Tables of the catalog are shared. */
  protected def spark: SparkSession = session.get

  /** A directory of this test, which is empty at first. */
  protected def directory: Path = made.get

  /** A place in the directory, with nothing there yet. */
  protected def target: String = directory.resolve("table").toString

  /** Whether all combinations run, in `make test-all`. In `make test` some tests run those with each value once. */
  protected val isWhole: Boolean = sys.env.contains("PME_TEST_ALL")

  /** A busy machine is no failure. */
  override def munitTimeout: Duration = Duration(10, "min")

  /**
   * The tests, without those with the tag `Nightly` unless all combinations run; in `make test` those whose turn is on
   * this Spark. An `EachSpark` suite runs on both; a test with the tag `Newest` runs on the newest one.
   */
  override def munitTests(): Seq[Test] = {
    val tests = super.munitTests().filter(isWhole || !_.tags(SparkSuite.Nightly))
    SparkSuite.turn match {
      case Some(turn) if !this.isInstanceOf[EachSpark] => tests.filter(turnOf(_) == turn)
      case _ => tests
    }
  }

  // By the name, not by the place: of a table's rows with `v1` and `v2` in turns, one Spark would get each `v1`.
  private def turnOf(test: Test): Int =
    if (test.tags(SparkSuite.Newest)) 0 else Math.floorMod(MurmurHash3.stringHash(test.name), 2)

  protected def isSpark4: Boolean = !spark.version.startsWith("3.")
  protected def assumeSpark4(): Unit = assume(isSpark4, "Spark 3.5 lacks what this test uses")

  /** Lets Spark compile expressions, as it does for users. Interpreted ones fail to read variants. */
  protected def compileExpressions(): Unit = spark.conf.set("spark.sql.codegen.factoryMode", "FALLBACK")

  /** A test that is skipped when it is its turn would run nowhere. */
  override def assume(condition: Boolean, clue: => Any)(implicit place: Location): Unit = {
    val isForEach = this.isInstanceOf[EachSpark]
    if (!condition && SparkSuite.turn.isDefined && !isForEach) fail("This test needs the tag Newest.")
    super.assume(condition, clue)
  }

  override def beforeEach(context: BeforeEach): Unit = {
    Thread.currentThread.setContextClassLoader(SparkSuite.services)
    made = Some(Files.createTempDirectory(ofSuite, "test"))
    session = Some(SparkSuite.shared.newSession())
    SparkSession.setActiveSession(spark)
    spark.sparkContext match {
      case own: UncleanedContext => own.forgetStatus()
      case _ => ()
    }
    // Otherwise Spark looks for it in the stack, of each RDD.
    spark.sparkContext.setCallSite(context.test.name)
  }

  override def afterEach(context: AfterEach): Unit = {
    // Sessions share the catalog. It drops views as well.
    val catalog = SparkSuite.shared.sessionState.catalog
    catalog.listTables("default").foreach(catalog.dropTable(_, ignoreIfNotExists = true, purge = true))
    SparkSession.clearActiveSession()
  }

  /** The KMS of most tests, which knows every key but those whose names begin with `denied`, `missing` or `down`. */
  protected val kms: Map[String, String] = Map("kms" -> classOf[TestKms].getName)

  /** A key for ssn, another one for salary, and the footer's for the rest. */
  protected val keys: Map[String, String] =
    kms ++ Map("footerKey" -> "footer", "columnKeys" -> "pii: ssn; pay: salary")

  /** A KMS that knows only the keys of these names. */
  protected def holding(names: String*): Map[String, String] = held("mine", names: _*)

  /** The same with keys that depend on whose they are. */
  protected def held(owner: String, names: String*): Map[String, String] = {
    val listed = directory.resolve((owner +: names).mkString("keys-", "-", ""))
    Files.write(listed, keyLines(owner, names: _*).getBytes(UTF_8))
    Map("kms" -> "static", "kms.static.keys" -> s"file:$listed")
  }

  protected def keyLines(owner: String, names: String*): String = names.map { name =>
    s"$name=${Base64.getEncoder.encodeToString(Sha256.ofBytes(s"$owner $name".getBytes(UTF_8)))}\n"
  }.mkString

  /** Forty rows in one partition. Columns may be null, and none is. */
  protected def people: DataFrame = spark
    .range(0, 40, 1, 1)
    .selectExpr(
      "nullif(concat('canary-', id), '') AS ssn",
      "nullif(id * 1.5D, -1D) AS salary",
      "nullif(id, -1L) AS id"
    )

  protected def write(frame: DataFrame, options: Map[String, String], path: String = target): Unit =
    frame.write.format(SparkSuite.Format).options(options).save(path)

  private val kept = mutable.Map.empty[Any, Path]

  /** A copy of a table that the suite writes once for all tests that ask for the same. */
  protected def copied(asked: Any, path: String = target)(write: String => Unit): Unit = {
    val made = kept.getOrElseUpdate(
      asked, {
        val place = Files.createTempDirectory(ofSuite, "kept").resolve("table")
        write(place.toString)
        place
      }
    )
    FileUtils.copyDirectory(made.toFile, new File(path))
  }

  protected def reader(options: Map[String, String]): DataFrameReader =
    spark.read.format(SparkSuite.Format).options(options)

  protected def rows(frame: DataFrame): Seq[String] = frame.collect().map(_.toString).toSeq.sorted

  /** The data files of a table. */
  protected def files(path: String = target): Seq[Path] =
    allFiles(path).filter(_.getFileName.toString.endsWith(".parquet"))

  /** All files below a path, of whatever kind. */
  protected def allFiles(path: String = target): Seq[Path] = SparkSuite.under(directory.resolve(path))

  /** Sets what a session sets. */
  protected def set(settings: Map[String, String]): Unit =
    settings.foreach { case (name, value) => spark.conf.set(name, value) }

  /** Sets options of our format for the whole session. */
  protected def setOptions(options: Map[String, String]): Unit =
    set(options.map { case (name, value) => s"spark.datasource.${SparkSuite.Format}.$name" -> value })

  /** Sets Hadoop's configuration of the Spark context, which all sessions share, during the block. */
  protected def inHadoop[A](settings: (String, String)*)(block: => A): A = {
    val conf = spark.sparkContext.hadoopConfiguration
    settings.foreach { case (name, value) => conf.set(name, value) }
    try block
    finally settings.foreach { case (name, _) => conf.unset(name) }
  }

  /** Fails if the block changes anything below a path. */
  protected def untouched[A](path: String = target)(block: => A): A = {
    val place = directory.resolve(path)
    // Checksums: what differs is shown.
    def content = Files.exists(place) -> SparkSuite.under(place).map { file =>
      val checksum = new CRC32
      checksum.update(Files.readAllBytes(file))
      file.toString -> checksum.getValue
    }
    val before = content
    try block
    finally assertEquals(content, before)
  }
}

object SparkSuite {
  val Format = "pme-parquet"

  /** Of a test of what the oldest Spark lacks: where tests take turns, it runs on the newest one. */
  val Newest = new munit.Tag("Newest")

  /** Of a test that takes long and most of which another one shows: only `make test-all` runs it. */
  val Nightly = new munit.Tag("Nightly")

  /** 0 on the newest Spark and 1 on the oldest, where each runs half of the tests. */
  private val turn: Option[Int] = sys.props.get("pme.test.turn").map(_.toInt)

  private lazy val services = new RememberedServices(getClass.getClassLoader)

  private val isInterpreted = sys.props.get("spark.sql.codegen.factoryMode").contains("NO_CODEGEN")

  /**
   * For the files of all tests. Some operations list all directories above a table's, and that of everybody's temporary
   * files is large: this is in sbt's own for the module.
   */
  private[spark] lazy val scratch: Path = {
    val own = Paths.get("target").toAbsolutePath
    if (Files.isDirectory(own)) Files.createTempDirectory(own, "pme-spark")
    else Files.createTempDirectory("pme-spark")
  }

  /** One Spark for all suites of the JVM, which ends with it. */
  lazy val shared: SparkSession = {
    // A task of a job that has failed may still write, so files stay until Spark ends.
    sys.addShutdownHook {
      shared.stop()
      delete(scratch)
    }
    // Spark keeps the file system that it finds. Hadoop's own starts a process for each change of permissions.
    val conf = new Configuration()
    conf.set("fs.file.impl", classOf[QuickLocalFileSystem].getName)
    FileSystem.get(URI.create("file:///"), conf)
    val settings = new SparkConf()
    // All suites can run with one reader; if this is unset, each test uses the format's default.
    sys.env
      .get("PME_TEST_READER")
      .foreach(reader => settings.set(s"spark.datasource.$Format.reader", reader))
    settings
      .setMaster("local[2]")
      .setAppName("pme-parquet suites")
      .set("spark.sql.extensions", classOf[PmeExtensions].getName)
      .set("spark.ui.enabled", "false")
      // For a user interface that nobody looks at, Spark describes each plan, and notes each task. Of a plan's code there
      // is nothing to tell where expressions are interpreted, as in `make test`.
      .set("spark.sql.ui.explainMode", if (isInterpreted) "codegen" else "simple")
      .set("spark.ui.liveUpdate.period", "-1")
      .set("spark.driver.host", "127.0.0.1")
      .set("spark.driver.bindAddress", "127.0.0.1")
      .set("spark.sql.shuffle.partitions", "2")
      // Most tests compile the same classes as others. By default a hundred of them are kept.
      .set("spark.sql.codegen.cache.maxEntries", "5000")
      .set("spark.sql.session.timeZone", "UTC")
      .set("spark.sql.warehouse.dir", scratch.resolve("warehouse").toString)
      .set("spark.local.dir", scratch.resolve("local").toString)
    new UncleanedContext(settings)
    val started = SparkSession.builder().getOrCreate()
    BriefConfiguration.shorten(started.sparkContext.hadoopConfiguration, Seq("fs.s3a.", "fs.gs."))
    started.sparkContext.hadoopConfiguration
      .set("fs.AbstractFileSystem.file.impl", classOf[QuickLocalFs].getName)
    // A Bloom filter of unknown size has a megabyte by default, which is encrypted, copied and verified.
    started.sparkContext.hadoopConfiguration.set("parquet.bloom.filter.max.bytes", "32768")
    started
  }

  /** The files below a path, or the file itself. They may be deleted meanwhile. */
  private def under(path: Path): Seq[Path] = Option(path.toFile.listFiles) match {
    case Some(entries) => entries.toSeq.map(_.toPath).sorted.flatMap(under)
    case None => Seq(path).filter(Files.isRegularFile(_))
  }

  private def delete(path: Path): Unit =
    if (Files.exists(path)) {
      val walk = Files.walk(path)
      try walk.sorted(Comparator.reverseOrder[Path]()).iterator.asScala.foreach(Files.deleteIfExists(_))
      finally walk.close()
    }
}
