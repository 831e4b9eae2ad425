import java.io.ByteArrayInputStream
import java.nio.charset.StandardCharsets.UTF_8

import sbtassembly.Assembly.JarEntry
import sbtassembly.CustomMergeStrategy
import Versions._

// The layers (docs/architecture.md): core <- kms <- parquet <- snapshot <- spark, and
// core <- kms <- parquet <- orc <- spark. `dependsOn` is what enforces them. `iceberg` is apart, on kms.
// Each module is compiled once per Scala version; only `spark` is compiled per Spark line as well.

ThisBuild / organization := "io.pmeparquet"
ThisBuild / version := released((ThisBuild / baseDirectory).value).forMaven
ThisBuild / licenses := Seq("Apache-2.0" -> url("https://www.apache.org/licenses/LICENSE-2.0"))
ThisBuild / description := "Parquet Modular Encryption for Spark"
ThisBuild / homepage := Some(url("https://github.com/pme-parquet/pme-parquet"))
// The rest of what a POM must have says the same of the same address.
ThisBuild / scmInfo := (ThisBuild / homepage).value.map(home => ScmInfo(home, s"scm:git:$home.git"))
ThisBuild / developers :=
  List(Developer("pme-parquet", "The developers of pme-parquet", "", (ThisBuild / homepage).value.get))
ThisBuild / versionScheme := Some("early-semver")
// Otherwise literals are read as the locale of whoever builds has it.
ThisBuild / scalacOptions ++= Seq("-encoding", "utf-8")
ThisBuild / javacOptions ++= Seq("-encoding", "utf-8")

// sbt's own rule lets one forked JVM test at a time. Those of the two Sparks have no file in common.
Global / concurrentRestrictions := Seq(
  Tags.limitAll(2),
  Tags.limit(Tags.ForkedTestGroup, 2),
  Tags.exclusiveGroup(Tags.Clean)
)

// To look at the form of all sources takes 40 seconds of processor time: `make test` looks at those that one of the last
// commits, or nobody yet, has changed, and `make test-all` at all.
val recent = "HEAD~15"
ThisBuild / scalafmtFilter := {
  def isThere =
    scala.util.Try(scala.sys.process.Process(Seq("git", "rev-parse", "-q", "--verify", recent)).!!).isSuccess
  if (sys.env.contains("PME_TEST_TURNS") && isThere) s"diff-ref=$recent" else ""
}
// sbt does not see who reads it.
Global / excludeLintKeys += scalafmtFilter

val warnings = Seq("-deprecation", "-feature", "-unchecked", "-Xlint:_", "-Xfatal-warnings")

/**
 * One source serves every Scala and Spark, so `make test` runs its suites, and checks its form, on Scala 2.13 only; the
 * suites of `jvm/spark` also run on Scala 2.12 and the oldest Spark. `testOnly` always runs suites. `make test-all` does
 * it for each.
 */
val testedElsewhere =
  // Two modules that format one file at once can leave it empty.
  Seq(scalafmtAll := {}) ++
    (if (sys.env.contains("PME_TEST_ALL")) Nil else Seq(scalafmtCheckAll := {}, Test / test := {}))

/**
 * For suites that end before the optimizing compiler would pay, and whose keystores need not resist who guesses passwords.
 */
val briefJvm = Seq(
  "-XX:TieredStopAtLevel=1",
  "-XX:+UseSerialGC",
  "-Dkeystore.pkcs12.keyPbeIterationCount=100",
  "-Dkeystore.pkcs12.macIterationCount=100",
  "-Dkeystore.pkcs12.certPbeIterationCount=100",
  // Suites call it within the JVM.
  "--add-exports=java.base/sun.security.tools.keytool=ALL-UNNAMED"
)

def common(scala: String, source: String) = Seq(
  scalaVersion := scala,
  Compile / scalaSource := (ThisBuild / baseDirectory).value / "jvm" / source / "src" / "main" / "scala",
  Compile / javaSource := (ThisBuild / baseDirectory).value / "jvm" / source / "src" / "main" / "java",
  Compile / resourceDirectory := (ThisBuild / baseDirectory).value / "jvm" / source / "src" / "main" / "resources",
  Test / scalaSource := (ThisBuild / baseDirectory).value / "jvm" / source / "src" / "test" / "scala",
  Test / resourceDirectory := (ThisBuild / baseDirectory).value / "jvm" / source / "src" / "test" / "resources",
  javacOptions ++= Seq("--release", "17"),
  scalacOptions ++= warnings ++ (if (scala == scala212)
                                   Seq("-Xlint:-unused", "-Ywarn-unused:imports,privates,locals")
                                 else
                                   Seq(
                                     "-release:17",
                                     "-Wunused:imports,privates,locals",
                                     // One source for 2.12 and 2.13: 2.12 has only JavaConverters.
                                     "-Wconf:cat=deprecation&msg=JavaConverters:s"
                                   )),
  Compile / doc / sources := Nil,
  libraryDependencies += "org.scalameta" %% "munit" % munit % Test,
  Test / fork := true,
  Test / javaOptions ++= "-Xmx1g" +: briefJvm,
  // The parts of the connector jar are not published one by one.
  publish / skip := true
) ++ (if (scala == scala212) testedElsewhere else Nil)

def module(source: String, scala: String, suffix: String): Project =
  Project(s"$source-$suffix", file(s"target/modules/$source-$suffix")).settings(common(scala, source))

/** Providers that clash with those of the tests' class path. Each is loaded by itself (CipherSuite). */
lazy val Isolated = config("isolated").hide

/** Amazon's provider for every processor that there is one for. Its jar without a classifier is empty. */
val correttoJars = correttoPlatforms.foldLeft(
  "software.amazon.cryptools" % "AmazonCorrettoCryptoProvider" % corretto
)(_ classifier _)

def core(scala: String, suffix: String) = module("core", scala, suffix).settings(
  ivyConfigurations += Isolated,
  Compile / sourceGenerators += Def.task {
    val declared = (Compile / resourceDirectory).value / "io" / "pmeparquet" / "error-conditions.json"
    ErrorConditions.sources(declared, (Compile / sourceManaged).value)
  }.taskValue,
  Test / javaOptions += {
    val jars = update.value.select(configurationFilter(Isolated.name))
    s"-Dpme.test.isolated=${jars.mkString(java.io.File.pathSeparator)}"
  },
  libraryDependencies ++= Seq(
    "com.fasterxml.jackson.core" % "jackson-core" % jackson % Provided,
    "com.fasterxml.jackson.core" % "jackson-databind" % jackson % Provided,
    "org.bouncycastle" % "bcprov-jdk18on" % bouncyCastle % Test,
    "org.conscrypt" % "conscrypt-openjdk-uber" % conscrypt % Test,
    "software.amazon.cryptools" % "AmazonCorrettoCryptoProvider" % corretto % Test classifier correttoPlatform,
    "org.bouncycastle" % "bcprov-lts8on" % bouncyCastleLts % Isolated,
    "org.bouncycastle" % "bc-fips" % bouncyCastleFips % Isolated,
    correttoJars % Isolated
  )
)

/** What a cluster brings of Parquet, Hadoop and Jackson. */
val parquetAndHadoop = Seq(
  "org.apache.parquet" % "parquet-hadoop" % Versions.parquet % Provided,
  "org.apache.hadoop" % "hadoop-client-api" % hadoop % Provided,
  "org.apache.hadoop" % "hadoop-client-runtime" % hadoop % Provided,
  "com.fasterxml.jackson.core" % "jackson-core" % jackson % Provided,
  "com.fasterxml.jackson.core" % "jackson-databind" % jackson % Provided
)

/** The codecs of pages. */
val codecs = Seq(
  "com.github.luben" % "zstd-jni" % zstd % Provided,
  "org.brotli" % "dec" % brotli % Provided,
  "org.lz4" % "lz4-java" % lz4 % Provided,
  "org.xerial.snappy" % "snappy-java" % snappy % Provided
)

def kms(scala: String, suffix: String, core: Project) = module("kms", scala, suffix)
  .dependsOn(core % "provided->compile;test->test")
  .settings(libraryDependencies ++= parquetAndHadoop)

def parquetModule(scala: String, suffix: String, core: Project, kms: Project) =
  module("parquet", scala, suffix)
    .dependsOn(core % "provided->compile;test->test", kms % "provided->compile;test->test")
    .settings(libraryDependencies ++= parquetAndHadoop ++ codecs)

def snapshotModule(scala: String, suffix: String, core: Project, kms: Project, parquet: Project) =
  module("snapshot", scala, suffix)
    .dependsOn(
      core % "provided->compile;test->test",
      kms % "provided->compile;test->test",
      parquet % "provided->compile;test->test"
    )
    .settings(libraryDependencies ++= parquetAndHadoop ++ codecs)

/** What Spark brings of ORC; its protobuf is inside, under a name of ORC's own. */
val orc = Seq(
  ("org.apache.orc" % "orc-core" % Versions.orc % Provided).classifier("shaded-protobuf").intransitive(),
  ("org.apache.orc" % "orc-shims" % Versions.orc % Provided).intransitive(),
  ("org.apache.hive" % "hive-storage-api" % hiveStorage % Provided).intransitive(),
  // What ORC's codecs need to run.
  "io.airlift" % "aircompressor" % aircompressor % Provided,
  "commons-lang" % "commons-lang" % "2.6" % Test,
  "org.apache.commons" % "commons-lang3" % "3.12.0" % Test,
  "org.threeten" % "threeten-extra" % "1.7.1" % Test
)

def orcModule(scala: String, suffix: String, core: Project, kms: Project, parquet: Project) =
  module("orc", scala, suffix)
    .dependsOn(
      core % "provided->compile;test->test",
      kms % "provided->compile;test->test",
      parquet % "provided->compile;test->test"
    )
    .settings(libraryDependencies ++= parquetAndHadoop ++ codecs ++ orc)

/** What Spark's own launchers open to it of the JDK (JavaModuleOptions of Spark). */
val openedToSpark = Seq(
  "java.lang",
  "java.lang.invoke",
  "java.lang.reflect",
  "java.io",
  "java.net",
  "java.nio",
  "java.util",
  "java.util.concurrent",
  "java.util.concurrent.atomic",
  "jdk.internal.ref",
  "sun.nio.ch",
  "sun.nio.cs",
  "sun.security.action",
  "sun.util.calendar"
).map(name => s"--add-opens=java.base/$name=ALL-UNNAMED")

/** The jars of a PySpark that the environment names for the suites of a line. */
def testedSpark(line: SparkLine): Option[File] =
  sys.env.get(s"PME_TEST_SPARK_${line.name.replace('.', '_')}").map(file(_).getAbsoluteFile)

/**
 * The class path of a line's suites. By default they run on the Spark that the line is compiled against. The environment
 * may name the jars of another one, those of a PySpark: `make test` runs the suites of Spark 4 on the newest. Its jars
 * are in the order in which its own launcher has them, so that the JVM takes its archive of classes.
 */
def onTestedSpark(all: Classpath, provided: Seq[File])(jars: File): Classpath = {
  val found = Option(jars.listFiles).toSeq.flatten.filter(_.getName.endsWith(".jar"))
  if (found.isEmpty) sys.error(s"there are no jars in $jars")
  val first = found.filter(_.getName.startsWith("slf4j-api-"))
  // Spark does not bring Delta's store, an interface of which is ours.
  val ofSpark = provided.filterNot(_.getName.startsWith("delta-storage"))
  (first ++ found).map(Attributed.blank) ++ all.filterNot(entry => ofSpark.contains(entry.data))
}

/** Options of a JVM that takes the archive of a PySpark, if its virtual environment has one (tests/support/archive.py). */
def ofArchive(jars: File): Seq[String] = {
  val environment = Iterator.iterate(jars)(_.getParentFile).takeWhile(_ != null)
  val archive = environment.map(_ / "spark.jsa").find(_.exists)
  archive.toSeq.flatMap(found => Seq("-Xshare:auto", "-Xlog:disable", s"-XX:SharedArchiveFile=$found"))
}

/** The texts of our licence and notice in a jar that is published. */
val licenceInJar = Compile / resourceGenerators += Def.task {
  for (name <- Seq("LICENSE", "NOTICE")) yield {
    val text = (Compile / resourceManaged).value / "META-INF" / name
    IO.copyFile((ThisBuild / baseDirectory).value / name, text)
    text
  }
}.taskValue

/** `make release` builds the documents of the API; all else does without, because they take a minute for each jar. */
val isRelease = sys.env.contains("PME_RELEASE")

/**
 * A published module: its POM's name, its place in `target/maven`, and the documents of its API. Nearly always, all
 * dependencies are provided: a POM that names none keeps `--packages` from resolving Spark again.
 */
def published(title: String, pom: scala.xml.Node => scala.xml.Node = PomWithoutDependencies) = Seq(
  name := title,
  publish / skip := false,
  publishMavenStyle := true,
  pomPostProcess := pom,
  publishTo := Some(
    Resolver.file("maven-layout", (ThisBuild / baseDirectory).value / "target" / "maven")(
      Resolver.mavenStylePatterns
    )
  ),
  licenceInJar,
  Compile / doc / sources := (if (isRelease) (Compile / sources).value else Nil),
  Compile / doc / scalacOptions := Seq(
    "-encoding",
    "utf-8",
    "-doc-title",
    title,
    "-doc-version",
    version.value
  ),
  Compile / doc / javacOptions := Seq(
    "-encoding",
    "utf-8",
    "--release",
    "17",
    "-Xdoclint:none",
    "-notimestamp",
    "-quiet"
  )
)

/** The connector: one jar that holds our six layers and nothing else. Spark and Parquet are the cluster's. */
def connector(line: SparkLine, scala: String, suffix: String, kit: Project, layers: Project*) =
  module("spark", scala, s"${line.name.replace('.', '_')}-$suffix")
    .dependsOn(layers.map(_ % Provided): _*)
    .dependsOn(kit % Test)
    .settings(published(s"pme-parquet for Spark ${line.name}, Scala ${suffix.replace('_', '.')}"))
    .settings(
      moduleName := s"pme-parquet-spark-${line.name}",
      libraryDependencies ++= Seq(
        "org.apache.spark" %% "spark-sql" % line.version % Provided,
        // The interface of its log's stores, which has no dependency that is not Spark's.
        ("io.delta" % "delta-storage" % Versions.delta % Provided).intransitive()
      ),
      // By which a jar says what it is, also if there are two of them on a class path.
      Compile / resourceGenerators += Def.task {
        val told = (Compile / resourceManaged).value / "io" / "pmeparquet" / "spark" / "connector.properties"
        IO.write(
          told,
          s"version=${released((ThisBuild / baseDirectory).value).text}\nspark=${line.name}\nscala=${suffix.replace('_', '.')}\n"
        )
        Seq(told)
      }.taskValue,
      Compile / packageBin / mappings ++=
        layers.map(_ / Compile / packageBin / mappings).join.value.flatten,
      Compile / packageSrc / mappings ++=
        layers.map(_ / Compile / packageSrc / mappings).join.value.flatten,
      Compile / doc / sources ++=
        (if (isRelease) layers.map(_ / Compile / sources).join.value.flatten else Nil),
      // Of Java's classes those that users may name. Scaladoc fails at others: it does not see what Spark opens to its own
      // packages only, as Java does, and 2.12's knows no records.
      Compile / doc / sources := {
        val public = IO
          .readLines((ThisBuild / baseDirectory).value / "api" / "scala.txt")
          .map(_.split("[ \\[]"))
          .collect { case Array(_, name, _*) =>
            name
          }
        val named = public.map(name => s"/${name.replace('.', '/')}.java") :+ "/package-info.java"
        (Compile / doc / sources).value
          .filter(file => file.ext != "java" || named.exists(file.getPath.endsWith))
      },
      // Layers have libraries that the connector has not, such as a codec's. Its own come first.
      Compile / doc / dependencyClasspath ++= (Compile / products).value.map(Attributed.blank) ++
        layers.map(_ / Compile / dependencyClasspath).join.value.flatten,
      // One session serves all suites of a run. Most of what they make is short-lived: in a small young generation, five to
      // ten per cent of their time went to collecting it.
      Test / javaOptions ++= openedToSpark ++
        Seq("-Xms2g", "-Xmx2g", "-Xmn1g", "-XX:MetaspaceSize=400m", "-XX:ReservedCodeCacheSize=240m"),
      // The tests of most suites take turns between two Sparks (SparkSuite), which interpret expressions: in the minutes of
      // these tests, to compile them takes longer than to run them. The newest Spark compiles in pytest.
      Test / javaOptions ++= sys.env.get("PME_TEST_TURNS").toSeq.flatMap { _ =>
        Seq(s"-Dpme.test.turn=${if (line == spark35) 1 else 0}", "-Dspark.sql.codegen.factoryMode=NO_CODEGEN")
      },
      Test / javaOptions ++= testedSpark(line).toSeq.flatMap(ofArchive),
      Test / fullClasspath := {
        val compiled = (Test / fullClasspath).value
        val provided = update.value.select(configurationFilter(Provided.name))
        testedSpark(line).fold(compiled)(onTestedSpark(compiled, provided))
      }
    )

def testkit(scala: String, suffix: String, parquet: Project) = module("testkit", scala, suffix)
  .dependsOn(parquet % Provided)
  .settings(
    moduleName := "pme-parquet-testkit",
    libraryDependencies ++= Seq(
      "org.apache.parquet" % "parquet-hadoop" % Versions.parquet % Provided,
      "org.apache.hadoop" % "hadoop-client-api" % hadoop % Provided
    )
  )

/** Amazon's provider under a coordinate of ours: `--packages` cannot name a classifier, and a POM can. */
lazy val accp = (project in file("target/modules/accp")).settings(
  published("Amazon Corretto Crypto Provider for pme-parquet", pom = identity),
  moduleName := "pme-parquet-accp",
  description := "The Amazon Corretto Crypto Provider, for pme-parquet to decrypt with",
  crossPaths := false,
  autoScalaLibrary := false,
  libraryDependencies += correttoJars,
  // Central asks for sources and documents of each artifact, and takes a text where there are none.
  Seq(packageSrc, packageDoc).map { jar =>
    Compile / jar / mappings += {
      val text = target.value / jar.key.label / "README.md"
      IO.write(
        text,
        "This artifact has no classes of its own: its POM names jars of Amazon, " +
          "software.amazon.cryptools:AmazonCorrettoCryptoProvider.\n"
      )
      text -> text.getName
    }
  }
)

/** The licences and notices of what a jar holds, which are mostly the same. */
val eachTextOnce = CustomMergeStrategy("each text once") { files =>
  val texts = files.map(file => new String(file.stream().readAllBytes(), UTF_8)).distinct
  Right(
    Vector(JarEntry(files.head.target, () => new ByteArrayInputStream(texts.mkString("\n").getBytes(UTF_8))))
  )
}

/**
 * A KMS client in a jar of its own, in Java, for every Spark and Scala: it is used with the connector, whose classes it
 * calls. What it needs that Spark does not bring is in the jar, under names of ours, so that it meets no other version.
 */
def kmsClient(cloud: String, needs: Seq[ModuleID], shaded: Seq[String]) =
  Project(s"kms-$cloud", file(s"target/modules/kms-$cloud"))
    .dependsOn(core213 % Provided, kms213 % "provided->compile;test->test")
    .settings(published(s"pme-parquet KMS client: $cloud"))
    .settings(
      moduleName := s"pme-parquet-kms-$cloud",
      crossPaths := false,
      autoScalaLibrary := false,
      scalaVersion := scala213,
      Compile / javaSource := (ThisBuild / baseDirectory).value / "jvm" / s"kms-$cloud" / "src" / "main" / "java",
      Compile / resourceDirectory :=
        (ThisBuild / baseDirectory).value / "jvm" / s"kms-$cloud" / "src" / "main" / "resources",
      Test / scalaSource := (ThisBuild / baseDirectory).value / "jvm" / s"kms-$cloud" / "src" / "test" / "scala",
      javacOptions ++= Seq("--release", "17", "-Xlint:all,-processing", "-Werror"),
      scalacOptions ++= warnings :+ "-Wconf:cat=deprecation&msg=JavaConverters:s",
      Test / fork := true,
      libraryDependencies ++= needs ++ Seq(
        "org.scala-lang" % "scala-library" % scala213 % Test,
        "org.scalameta" % "munit_2.13" % munit % Test,
        "org.apache.parquet" % "parquet-hadoop" % Versions.parquet % Provided,
        "org.apache.hadoop" % "hadoop-client-api" % hadoop % Provided,
        "com.fasterxml.jackson.core" % "jackson-databind" % jackson % Provided
      ),
      // Spark brings it, and what is configured of it.
      excludeDependencies += ExclusionRule("org.slf4j"),
      Test / unmanagedClasspath ++= (kms213 / Test / externalDependencyClasspath).value,
      assembly / assemblyShadeRules :=
        shaded.map(name => ShadeRule.rename(s"$name.**" -> s"io.pmeparquet.kms.$cloud.shaded.@0").inAll),
      assembly / assemblyMergeStrategy := {
        case PathList("META-INF", "services", _*) => MergeStrategy.concat
        case PathList("META-INF", name) if name.contains("LICENSE") || name.contains("NOTICE") => eachTextOnce
        case PathList("META-INF", _*) => MergeStrategy.discard
        case PathList("module-info.class") => MergeStrategy.discard
        // Of the AWS SDK's build, and at the root of the jar, where they could meet somebody else's.
        case PathList("mime.types" | "VersionInfo.java") => MergeStrategy.discard
        case other => (assembly / assemblyMergeStrategy).value(other)
      },
      assembly / assemblyJarName := s"pme-parquet-kms-$cloud-${version.value}.jar",
      Compile / packageBin := assembly.value
    )

lazy val kmsAws = kmsClient(
  "aws",
  Seq("kms", "sts", "url-connection-client").map(name =>
    // The SDK's other HTTP clients hold threads and connections, and are three times as large as all the rest.
    ("software.amazon.awssdk" % name % awsSdk)
      .exclude("software.amazon.awssdk", "netty-nio-client")
      .exclude("software.amazon.awssdk", "apache-client")
      .exclude("software.amazon.awssdk", "apache5-client")
  ) :+ ("org.apache.logging.log4j" % "log4j-core" % log4j % Provided),
  Seq("software.amazon", "org.reactivestreams")
)
lazy val kmsGcp = kmsClient(
  "gcp",
  // Tokens are fetched with the JDK's own HTTP client. Annotations serve compilers only.
  Seq(
    ("com.google.auth" % "google-auth-library-oauth2-http" % googleAuth)
      .exclude("org.apache.httpcomponents", "httpclient")
      .exclude("org.apache.httpcomponents", "httpcore")
      .exclude("com.google.code.findbugs", "jsr305")
      .exclude("org.checkerframework", "checker-qual")
  ),
  Seq("com.google", "io.opencensus", "io.grpc")
)
lazy val kmsAzure = kmsClient("azure", Nil, Nil)

/**
 * Our KMSs for Iceberg, in Java, for every Spark and Scala: like a client it is used with the connector. Iceberg is the
 * cluster's. Nothing of it is in the jar.
 */
lazy val iceberg = (project in file("target/modules/iceberg"))
  .dependsOn(core213 % "provided->compile;test->test", kms213 % "provided->compile;test->test")
  .settings(published("pme-parquet for Apache Iceberg"))
  .settings(
    moduleName := "pme-parquet-iceberg",
    description := "Keys of pme-parquet's KMSs for table encryption of Apache Iceberg",
    crossPaths := false,
    autoScalaLibrary := false,
    scalaVersion := scala213,
    Compile / javaSource := (ThisBuild / baseDirectory).value / "jvm" / "iceberg" / "src" / "main" / "java",
    Test / scalaSource := (ThisBuild / baseDirectory).value / "jvm" / "iceberg" / "src" / "test" / "scala",
    javacOptions ++= Seq("--release", "17", "-Xlint:all,-processing", "-Werror"),
    scalacOptions ++= warnings :+ "-Wconf:cat=deprecation&msg=JavaConverters:s",
    libraryDependencies ++= parquetAndHadoop ++ Seq(
      "org.apache.iceberg" % "iceberg-api" % icebergOldest % Provided,
      "org.apache.iceberg" % "iceberg-core" % icebergOldest % Provided,
      "org.scala-lang" % "scala-library" % scala213 % Test,
      "org.scalameta" % "munit_2.13" % munit % Test
    ),
    Test / fork := true
  )

/** Iceberg for Spark, 47 MB each, for tests. Nothing of it is shipped. */
def icebergRuntimes(name: String, versions: Seq[(String, String)]) =
  Project(name, file(s"target/modules/$name")).settings(
    publish / skip := true,
    publishMavenStyle := false,
    crossPaths := false,
    autoScalaLibrary := false,
    libraryDependencies ++= versions.map { case (line, version) =>
      ("org.apache.iceberg" % s"iceberg-spark-runtime-$line" % version).intransitive()
    }
  )
lazy val icebergOfTests = icebergRuntimes("iceberg-of-tests", icebergVersions.take(1))
lazy val icebergOfAllTests = icebergRuntimes("iceberg-of-all-tests", icebergVersions.drop(1))

/** Delta for Spark, for tests: 6 MB. Nothing of it is shipped. */
lazy val deltaOfTests = (project in file("target/modules/delta-of-tests")).settings(
  publish / skip := true,
  publishMavenStyle := false,
  crossPaths := false,
  autoScalaLibrary := false,
  libraryDependencies ++= Seq("delta-spark_2.12", "delta-storage").map(name =>
    ("io.delta" % name % Versions.delta).intransitive()
  )
)

/** Delta for one Spark 4, for tests: 13 MB. Nothing of it is shipped. */
def deltaFor(spark: String) = Project(
  s"delta-of-all-tests-${spark.replace('.', '_')}",
  file(s"target/modules/delta-of-all-tests-$spark")
).settings(
  publish / skip := true,
  publishMavenStyle := false,
  crossPaths := false,
  autoScalaLibrary := false,
  libraryDependencies ++=
    Seq(s"delta-spark_${spark}_2.13", "delta-storage", "delta-kernel-api", "delta-kernel-defaults")
      .map(name => ("io.delta" % name % deltaOfSpark4).intransitive())
)
lazy val delta40 = deltaFor("4.0")
lazy val delta41 = deltaFor("4.1")
lazy val delta42 = deltaFor("4.2")

/** Hudi for Spark 3.5 and Comet for Spark 4.1, for `make test-all`: 180 MB. Nothing of them is shipped. */
lazy val hudiAndComet = (project in file("target/modules/hudi-and-comet")).settings(
  publish / skip := true,
  publishMavenStyle := false,
  crossPaths := false,
  autoScalaLibrary := false,
  libraryDependencies ++= Seq(
    ("org.apache.hudi" % "hudi-spark3.5-bundle_2.12" % Versions.hudi).intransitive(),
    ("org.apache.datafusion" % "comet-spark-spark4.1_2.13" % Versions.comet).intransitive()
  )
)

/** Flink, for `make test-all`: a local cluster, its SQL, and Parquet. 130 MB each. Nothing of it is shipped. */
def flinkOf(version: String) = Project(
  s"flink-of-all-tests-${version.replace('.', '_')}",
  file(s"target/modules/flink-of-all-tests-$version")
).settings(
  publish / skip := true,
  crossPaths := false,
  autoScalaLibrary := false,
  libraryDependencies ++= Seq(
    "flink-clients",
    "flink-table-api-java",
    "flink-table-planner-loader",
    "flink-table-runtime",
    "flink-connector-files",
    "flink-parquet"
  ).map("org.apache.flink" % _ % version)
)
lazy val flinkLongTerm = flinkOf(flinkOfLongTermSupport)
lazy val flinkNewest = flinkOf(Versions.flinkNewest)

lazy val core212 = core(scala212, "2_12")
lazy val core213 = core(scala213, "2_13")
lazy val kms212 = kms(scala212, "2_12", core212)
lazy val kms213 = kms(scala213, "2_13", core213)
lazy val parquet212 = parquetModule(scala212, "2_12", core212, kms212)
lazy val parquet213 = parquetModule(scala213, "2_13", core213, kms213)
lazy val snapshot212 = snapshotModule(scala212, "2_12", core212, kms212, parquet212)
lazy val snapshot213 = snapshotModule(scala213, "2_13", core213, kms213, parquet213)
lazy val orc212 = orcModule(scala212, "2_12", core212, kms212, parquet212)
lazy val orc213 = orcModule(scala213, "2_13", core213, kms213, parquet213)
lazy val testkit212 = testkit(scala212, "2_12", parquet212)
lazy val testkit213 = testkit(scala213, "2_13", parquet213)
lazy val spark35_212 =
  connector(spark35, scala212, "2_12", testkit212, core212, kms212, parquet212, snapshot212, orc212).settings(
    Test / test := (Test / testOnly).toTask("").value
  )
lazy val spark35_213 =
  connector(spark35, scala213, "2_13", testkit213, core213, kms213, parquet213, snapshot213, orc213).settings(
    testedElsewhere
  )
lazy val spark40_213 =
  connector(spark40, scala213, "2_13", testkit213, core213, kms213, parquet213, snapshot213, orc213).settings(
    // Hadoop 3.4's client of its KMS needs it. Spark 4.0 has it among its jars, and not among its dependencies.
    libraryDependencies += "org.bouncycastle" % "bcprov-jdk18on" % bouncyCastle % Provided
  )

/** A real Hadoop KMS, which tests start. Nothing of it is shipped. */
lazy val hadoopKmsServer = (project in file("target/modules/hadoop-kms")).settings(
  publish / skip := true,
  crossPaths := false,
  autoScalaLibrary := false,
  libraryDependencies += "org.apache.hadoop" % "hadoop-kms" % hadoopKms
)

/**
 * What Spark lacks to read and write S3, for tests: 14 MB. `hadoop-aws` asks for the whole SDK of AWS, 600 MB, of which
 * S3A needs these modules. Nothing of it is shipped.
 */
def s3aOf(name: String, hadoop: String, sdk: String) = Project(name, file(s"target/modules/$name")).settings(
  publish / skip := true,
  crossPaths := false,
  autoScalaLibrary := false,
  libraryDependencies += ("org.apache.hadoop" % "hadoop-aws" % hadoop)
    .exclude("software.amazon.awssdk", "bundle")
    .exclude("org.wildfly.openssl", "wildfly-openssl"),
  libraryDependencies ++= Seq("s3", "s3-transfer-manager", "apache-client", "netty-nio-client")
    .map("software.amazon.awssdk" % _ % sdk),
  // Spark brings them.
  excludeDependencies ++= Seq(ExclusionRule("io.netty"), ExclusionRule("org.slf4j"))
)
lazy val s3a = s3aOf("s3a", hadoopAws, awsSdkOfS3a)

/** The same for Spark 4.1, the newest that there is an Iceberg for: only `make test-all` has it. */
lazy val s3a41 = s3aOf("s3a-4_1", hadoopAwsOfSpark41, awsSdkOfSpark41)

/**
 * What a name node and a data node of HDFS need besides the jars of the Hadoop KMS, for tests: 14 MB. Nothing of it is
 * shipped.
 */
lazy val hdfsServer = (project in file("target/modules/hdfs")).settings(
  publish / skip := true,
  // sbt warns of intransitive dependencies where a POM could be made.
  publishMavenStyle := false,
  crossPaths := false,
  autoScalaLibrary := false,
  libraryDependencies ++= Seq(
    ("org.apache.hadoop" % "hadoop-hdfs" % hadoopKms).intransitive(),
    ("org.apache.hadoop" % "hadoop-hdfs-client" % hadoopKms).intransitive(),
    ("io.netty" % "netty-codec-http" % nettyOfHadoopKms).intransitive()
  )
)

/**
 * Clients of Google Cloud Storage and Azure Data Lake for Hadoop, for tests: 41 MB, of which Google's is 40 MB. `hadoop-azure`
 * asks for a SDK of Azure that only its older client uses. Nothing of it is shipped.
 */
lazy val clouds = (project in file("target/modules/clouds")).settings(
  publish / skip := true,
  // sbt warns of intransitive dependencies where a POM could be made.
  publishMavenStyle := false,
  crossPaths := false,
  autoScalaLibrary := false,
  libraryDependencies ++= Seq(
    ("com.google.cloud.bigdataoss" % "gcs-connector" % gcsConnector).classifier("shaded").intransitive(),
    ("org.apache.hadoop" % "hadoop-azure" % hadoopAws).intransitive(),
    ("org.hdrhistogram" % "HdrHistogram" % hdrHistogram).intransitive(),
    "org.apache.httpcomponents" % "httpclient" % httpClient
  )
)

/** ORC's own command, which judges our ORC files in tests: one jar with all that it needs. Nothing of it is shipped. */
lazy val orcTools = (project in file("target/modules/orc-tools")).settings(
  publish / skip := true,
  // sbt warns of intransitive dependencies where a POM could be made.
  publishMavenStyle := false,
  crossPaths := false,
  autoScalaLibrary := false,
  libraryDependencies += ("org.apache.orc" % "orc-tools" % Versions.orcTools)
    .classifier("uber")
    .intransitive()
)

lazy val jars =
  taskKey[Unit](
    "Copies the connector jars to target/jars; KMS clients, the test kit, a Hadoop KMS, HDFS, S3A, Iceberg, Delta, ORC's tools and Amazon's provider to folders there"
  )

lazy val built = taskKey[Unit]("Marks that all that `make build` makes is there, for make")

lazy val demoJar =
  taskKey[Unit]("Copies the connector that `make demo` needs to target/demo-jar")

lazy val cloudJars =
  taskKey[Unit]("Copies clients of clouds' stores, for `make test-all`, to target/jars/clouds")
lazy val icebergJars =
  taskKey[Unit](
    "Copies every Iceberg that `make test-all` tests to target/jars/iceberg, and S3A for one of them"
  )

lazy val deltaJars =
  taskKey[Unit](
    "Copies the Delta of each Spark 4 that `make test-all` tests to a folder of target/jars/delta"
  )

lazy val firstSuites =
  taskKey[Unit]("Compiles suites that need no Spark, beside the last connector, which leaves a core idle")

lazy val hudiAndCometJars =
  taskKey[Unit](
    "Copies the Hudi and the Comet that `make test-all` tests to target/jars/hudi and target/jars/comet"
  )

lazy val flinkJars =
  taskKey[Unit]("Copies each Flink that `make test-all` tests to a folder of target/jars/flink")

lazy val root = (project in file("."))
  .aggregate(
    core212,
    core213,
    kms212,
    kms213,
    parquet212,
    parquet213,
    snapshot212,
    snapshot213,
    orc212,
    orc213,
    spark35_212,
    spark35_213,
    spark40_213,
    testkit212,
    testkit213,
    kmsAws,
    kmsGcp,
    kmsAzure,
    iceberg,
    accp
  )
  .settings(
    publish / skip := true,
    jars := {
      val target = baseDirectory.value / "target" / "jars"
      val connectors = Seq(
        (spark35_212 / Compile / packageBin).value,
        (spark35_213 / Compile / packageBin).value,
        (spark40_213 / Compile / packageBin).value
      )
      val kits = Seq((testkit212 / Compile / packageBin).value, (testkit213 / Compile / packageBin).value)
      val clients = Seq(
        (kmsAws / Compile / packageBin).value,
        (kmsGcp / Compile / packageBin).value,
        (kmsAzure / Compile / packageBin).value
      )
      val store = (s3a / update).value.select(configurationFilter("runtime"))
      val icebergKeys = (iceberg / Compile / packageBin).value
      val lake = (icebergOfTests / update).value.select(configurationFilter("runtime"))
      val delta = (deltaOfTests / update).value.select(configurationFilter("runtime"))
      val tools = (orcTools / update).value.select(configurationFilter("runtime"))
      val server = (hadoopKmsServer / update).value.select(configurationFilter("runtime"))
      val files = (hdfsServer / update).value.select(configurationFilter("runtime"))
      val corretto = (accp / update).value.select(configurationFilter("compile"))
      connectors.foreach(jar => IO.copyFile(jar, target / jar.getName))
      kits.foreach(jar => IO.copyFile(jar, target / "testkit" / jar.getName))
      clients.foreach(jar => IO.copyFile(jar, target / "kms" / jar.getName))
      server.foreach(jar => IO.copyFile(jar, target / "hadoop-kms" / jar.getName))
      files.foreach(jar => IO.copyFile(jar, target / "hdfs" / jar.getName))
      store.foreach(jar => IO.copyFile(jar, target / "s3a" / jar.getName))
      (icebergKeys +: lake).foreach(jar => IO.copyFile(jar, target / "iceberg" / jar.getName))
      delta.foreach(jar => IO.copyFile(jar, target / "delta" / jar.getName))
      tools.foreach(jar => IO.copyFile(jar, target / "orc-tools" / jar.getName))
      corretto.foreach(jar => IO.copyFile(jar, target / "accp" / jar.getName))
    },
    firstSuites := Def
      .sequential(
        spark40_213 / Compile / compile,
        Def.task(((core213 / Test / compile).value, (kms213 / Test / compile).value))
      )
      .value,
    built := IO.touch(baseDirectory.value / "target" / "jars" / ".built"),
    demoJar := {
      val jar = (spark40_213 / Compile / packageBin).value
      IO.copyFile(jar, baseDirectory.value / "target" / "demo-jar" / jar.getName)
    },
    cloudJars := {
      val target = baseDirectory.value / "target" / "jars" / "clouds"
      val clients = (clouds / update).value.select(configurationFilter("runtime"))
      clients.foreach(jar => IO.copyFile(jar, target / jar.getName))
    },
    icebergJars := {
      val target = baseDirectory.value / "target" / "jars" / "iceberg"
      val first = (icebergOfTests / update).value.select(configurationFilter("runtime"))
      val others = (icebergOfAllTests / update).value.select(configurationFilter("runtime"))
      (first ++ others).foreach(jar => IO.copyFile(jar, target / jar.getName))
      val store = (s3a41 / update).value.select(configurationFilter("runtime"))
      store.foreach(jar =>
        IO.copyFile(jar, baseDirectory.value / "target" / "jars" / "s3a" / "4.1" / jar.getName)
      )
    },
    deltaJars := {
      val target = baseDirectory.value / "target" / "jars" / "delta"
      val each = Seq(
        "4.0" -> (delta40 / update).value,
        "4.1" -> (delta41 / update).value,
        "4.2" -> (delta42 / update).value
      )
      for ((spark, found) <- each; jar <- found.select(configurationFilter("runtime")))
        IO.copyFile(jar, target / spark / jar.getName)
    },
    flinkJars := {
      val target = baseDirectory.value / "target" / "jars" / "flink"
      val each = Seq(
        flinkOfLongTermSupport -> (flinkLongTerm / update).value,
        Versions.flinkNewest -> (flinkNewest / update).value
      )
      for ((version, found) <- each; jar <- found.select(configurationFilter("runtime")))
        IO.copyFile(jar, target / version / jar.getName)
    },
    hudiAndCometJars := {
      val target = baseDirectory.value / "target" / "jars"
      (hudiAndComet / update).value.select(configurationFilter("runtime")).foreach { jar =>
        IO.copyFile(jar, target / jar.getName.takeWhile(_ != '-') / jar.getName)
      }
    }
  )
