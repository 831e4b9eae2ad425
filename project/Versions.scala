import sbt.*

/** Every version the build uses, in one place. A Spark line is compiled once, against its oldest supported release. */
object Versions {
  val scala212 = "2.12.18"
  val scala213 = "2.13.16"

  /** What `jvm/parquet` is compiled against: the oldest Parquet that a supported Spark brings (3.5). */
  val parquet = "1.13.1"
  val hadoop = "3.3.4"

  // As Spark 3.5 brings them.
  val orc = "1.9.8"
  val hiveStorage = "2.8.1"
  val aircompressor = "0.27"
  val zstd = "1.5.5-4"

  /** Google's decoder, which Spark does not bring, and users may add. */
  val brotli = "0.1.2"
  val lz4 = "1.8.0"
  val snappy = "1.1.10.5"
  val jackson = "2.15.2"
  val log4j = "2.20.0"
  val bouncyCastle = "1.82"
  val bouncyCastleLts = "2.73.8"
  val bouncyCastleFips = "2.1.2"
  val conscrypt = "2.5.2"
  val corretto = "2.5.0"

  /** Amazon's provider is native code, for Linux on two kinds of processor. */
  val correttoPlatforms: Seq[String] = Seq("linux-x86_64", "linux-aarch_64")
  val correttoPlatform: String = if (sys.props("os.arch") == "aarch64") "linux-aarch_64" else "linux-x86_64"
  val hadoopKms = "3.4.2"
  val nettyOfHadoopKms = "4.1.118.Final"
  val orcTools = "1.9.8"
  val awsSdk = "2.55.13"

  /** Of the newest Spark that tests run, and the SDK for it. */
  val hadoopAws = "3.5.0"
  val awsSdkOfS3a = "2.40.2"

  /** Of Spark 4.1, for Iceberg. */
  val hadoopAwsOfSpark41 = "3.4.2"
  val awsSdkOfSpark41 = "2.29.52"

  /** Other stores of the newest Spark that tests run; `hadoop-azure` has the version of `hadoop-aws`. */
  val gcsConnector = "4.0.0"
  val hdrHistogram = "2.2.2"
  val httpClient = "4.5.13"

  /** The first Iceberg in which a catalog encrypts tables. */
  val icebergOldest = "1.11.0"

  /** Iceberg for tests, by the names of Spark and Scala in its artifacts. `make test` has the first one. */
  val icebergVersions: Seq[(String, String)] =
    Seq("3.5_2.12" -> "1.11.0", "3.5_2.12" -> "1.10.1", "4.0_2.13" -> "1.11.0", "4.1_2.13" -> "1.12.0")

  /** Delta for tests, for Spark 3.5. */
  val delta = "3.3.2"

  /** Delta that only `make test-all` has, for Spark 4.0, 4.1 and 4.2. There is none for 4.3. */
  val deltaOfSpark4 = "4.4.0"

  /** Hudi for tests, for Spark 3.5, and Comet, for Spark 4.1. */
  val hudi = "1.2.0"
  val comet = "1.2.0"

  /** Flink for tests, with Parquet 1.13 and 1.15. It needs no Scala. */
  val flinkOfLongTermSupport = "1.20.1"
  val flinkNewest = "2.3.0"
  val googleAuth = "1.20.0"
  val munit = "1.2.1"

  /** A Spark line: the name in the artifact, the version compiled against. The sources are the same for both. */
  final case class SparkLine(name: String, version: String)
  val spark35: SparkLine = SparkLine("3.5", "3.5.9")
  val spark40: SparkLine = SparkLine("4.0", "4.0.4")

  /** The version that is released, which Python has: `1.0.0rc1` is `1.0.0-rc1` to Maven. */
  final case class Released(text: String) {
    def forMaven: String = text.replaceFirst("(?<=\\d)(a|b|rc)(?=\\d)", "-$1")
  }

  def released(root: File): Released = {
    val Declared = "__version__ = \"(.+)\"".r
    val lines = IO.readLines(root / "python" / "src" / "pme_parquet" / "_version.py")
    lines.collectFirst { case Declared(text) => Released(text) }.getOrElse(sys.error("no version"))
  }
}
