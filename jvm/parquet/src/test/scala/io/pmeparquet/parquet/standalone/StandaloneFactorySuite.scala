package io.pmeparquet.parquet.standalone

import java.nio.file.{Files, Paths}
import java.security.{Provider, Security}
import java.util.concurrent.atomic.AtomicInteger
import java.util.Base64

import munit.FunSuite
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.crypto.keytools.KmsClient
import org.apache.parquet.crypto.ParquetCryptoRuntimeException
import org.apache.parquet.example.data.simple.SimpleGroupFactory
import org.apache.parquet.example.data.Group
import org.apache.parquet.hadoop.{ParquetReader, ParquetWriter}
import org.apache.parquet.hadoop.api.ReadSupport
import org.apache.parquet.hadoop.example.{ExampleParquetWriter, GroupReadSupport}
import org.apache.parquet.hadoop.util.{HadoopInputFile, HadoopOutputFile}
import org.apache.parquet.io.{OutputFile, PositionOutputStream}
import org.apache.parquet.schema.{MessageType, MessageTypeParser}

import io.pmeparquet.columns.{KeyValues, UnlistedColumns}
import io.pmeparquet.parquet.PmeCryptoFactory
import io.pmeparquet.PmeException

/** parquet-java with `parquet.crypto.factory.class` and a Hadoop configuration, and nothing of Spark. */
class StandaloneFactorySuite extends FunSuite {
  private val Factory = "parquet.crypto.factory.class" -> classOf[PmeCryptoFactory].getName
  private val schema = MessageTypeParser.parseMessageType(
    "message m { required int64 id; required binary ssn (STRING); optional group address { required binary city (STRING); } }"
  )
  private val directory = Files.createTempDirectory("alone")
  private var files = 0

  private def key(letter: Char) = Base64.getEncoder.encodeToString(Array.fill(16)(letter.toByte))
  private def keys(names: Char*) = {
    files += 1
    val path = directory.resolve(s"keys-$files.txt")
    Files.write(path, names.map(name => s"$name=${key(name)}\n").mkString.getBytes("UTF-8"))
    Seq("pme-parquet.kms" -> "static", "pme-parquet.kms.static.keys" -> s"file:$path")
  }

  private def conf(settings: (String, String)*): Configuration = {
    val made = new Configuration(false)
    (Factory +: settings).foreach { case (name, value) => made.set(name, value) }
    made
  }

  private def newFile() = {
    files += 1
    new Path(directory.toUri.toString, s"f$files.parquet")
  }

  private def write(conf: Configuration, file: Path = newFile()): Path = {
    fill(ExampleParquetWriter.builder(file).withConf(conf).withType(schema).build())
    file
  }

  /** As Flink gives a file to parquet-java: a stream, and no path. */
  private def writeWithoutPath(conf: Configuration, file: Path): Path = {
    val stream = HadoopOutputFile.fromPath(file, new Configuration(false))
    val unnamed = new OutputFile {
      override def create(blockSize: Long): PositionOutputStream = stream.create(blockSize)
      override def createOrOverwrite(blockSize: Long): PositionOutputStream =
        stream.createOrOverwrite(blockSize)
      override def supportsBlockSize: Boolean = false
      override def defaultBlockSize: Long = stream.defaultBlockSize
    }
    fill(ExampleParquetWriter.builder(unnamed).withConf(conf).withType(schema).build())
    file
  }

  private def fill(writer: ParquetWriter[Group]): Unit =
    try {
      val groups = new SimpleGroupFactory(schema)
      (0 until 100).foreach { id =>
        val group = groups.newGroup().append("id", id.toLong).append("ssn", s"canary-$id")
        group.addGroup("address").append("city", s"city-${id % 7}")
        writer.write(group)
      }
    } finally writer.close()

  private def read(file: Path, conf: Configuration): Seq[String] = {
    val reader = ParquetReader.builder(new GroupReadSupport, file).withConf(conf).build()
    try Iterator.continually(reader.read()).takeWhile(_ != null).map(_.toString).toList
    finally reader.close()
  }

  test("a file that states values is refused under templates: parquet-java compares no row with them") {
    val use = keys('f', 'g')
    val file = newFile()
    val writing = conf(use :+ ("pme-parquet.footerKey" -> "f"): _*)
    val stated = java.util.Collections.singletonMap(KeyValues.Entry, """{"id":"f"}""")
    fill(
      ExampleParquetWriter.builder(file).withConf(writing).withType(schema).withExtraMetaData(stated).build()
    )
    assertEquals(read(file, conf(use: _*)).size, 100)
    for (_ <- 1 to 2) {
      val refused = intercept[ParquetCryptoRuntimeException] {
        read(file, conf(use :+ ("pme-parquet.uniformKey" -> "{id}"): _*))
      }
      assert(refused.getMessage.contains("nothing would compare its rows"), refused.getMessage)
    }
  }

  private def bytes(file: Path) = new String(Files.readAllBytes(Paths.get(file.toUri)), "ISO-8859-1")

  private def refused(condition: String)(step: => Any): Unit = {
    val failed = intercept[ParquetCryptoRuntimeException](step)
    assert(failed.getMessage.startsWith(s"[$condition]"), failed.getMessage)
  }

  private val columns = Seq("pme-parquet.footerKey" -> "f", "pme-parquet.columnKeys" -> "p: ssn, address")

  test("a configuration alone encrypts a file, and reads it") {
    val file = write(conf(keys('f', 'p') ++ columns: _*))
    assert(!bytes(file).contains("canary-") && bytes(file).endsWith("PARE"))
    val rows = read(file, conf(keys('f', 'p'): _*))
    assertEquals(rows.size, 100)
    assert(rows(7).contains("canary-7"), rows(7))
  }

  test(
    "parquet-java encrypts here with the JVM's first provider, and a write that names another is refused"
  ) {
    val other = new Provider("Another", "1", "the JVM's own cipher under another name") {}
    other.put("Cipher.AES/GCM/NoPadding", "com.sun.crypto.provider.GaloisCounterMode$AESGCM")
    Security.addProvider(other)
    try {
      def naming(provider: String) =
        conf((keys('f', 'p') ++ columns :+ ("pme-parquet.cryptoProvider" -> provider)): _*)
      val failed = intercept[ParquetCryptoRuntimeException](write(naming("Another")))
      assert(
        failed.getMessage.contains("'Another'") && failed.getMessage.contains("SunJCE"),
        failed.getMessage
      )
      assertEquals(read(write(naming("SunJCE")), naming("SunJCE")).size, 100)
    } finally Security.removeProvider("Another")
  }

  test("a write with a provider of the JVM that gives wrong answers is refused") {
    val wrong = new Provider("Wrong", "1", "another mode under the name of AES-GCM") {}
    wrong.put("Cipher.AES/GCM/NoPadding", "com.sun.crypto.provider.ChaCha20Cipher$ChaCha20Poly1305")
    Security.insertProviderAt(wrong, 1)
    try {
      val failed = intercept[ParquetCryptoRuntimeException](write(conf(keys('f', 'p') ++ columns: _*)))
      assert(failed.getMessage.contains("'Wrong'"), failed.getMessage)
      assert(failed.getMessage.contains("self-test"), failed.getMessage)
    } finally Security.removeProvider("Wrong")
  }

  // As Delta and Hudi write them.
  private val checkpoint = MessageTypeParser.parseMessageType(
    "message m { optional group add { required binary path (STRING); required binary stats (STRING); } }"
  )
  private val timeline = MessageTypeParser.parseMessageType(
    "message m { required binary instantTime (STRING); required binary action (STRING); optional binary metadata; }"
  )

  private def logged(conf: Configuration, name: String, schema: MessageType): Path = {
    val file = new Path(directory.toUri.toString, name)
    val writer = ExampleParquetWriter.builder(file).withConf(conf).withType(schema).build()
    try {
      val group = new SimpleGroupFactory(schema).newGroup()
      if (schema eq checkpoint) group.addGroup("add").append("path", "p").append("stats", "canary-")
      else group.append("instantTime", "canary-").append("action", "commit")
      writer.write(group)
    } finally writer.close()
    file
  }

  private val uuid = "0f8fad5b-d9cb-469f-a165-70867728950e"

  test("a file of a log of Delta or Hudi is under the footer's key, whatever keys columns have") {
    val ofColumns =
      keys('f', 'p') ++ Seq("pme-parquet.footerKey" -> "f", "pme-parquet.columnKeys" -> "p: other")
    val version = "00000000000000000010"
    val logs = Seq(
      s"_delta_log/$version.checkpoint.parquet" -> checkpoint,
      s"_delta_log/$version.checkpoint.0000000001.0000000002.parquet" -> checkpoint,
      s"_delta_log/$version.checkpoint.$uuid.parquet" -> checkpoint,
      s"_delta_log/.$version.checkpoint.parquet.$uuid.tmp" -> checkpoint,
      s"_delta_log/_sidecars/$uuid.parquet" -> checkpoint,
      ".hoodie/timeline/history/20240101000000000_20240101000000001_0.parquet" -> timeline
    )
    for ((log, schema) <- logs) {
      val file = logged(conf(ofColumns: _*), log, schema)
      assert(!bytes(file).contains("canary-") && bytes(file).endsWith("PARE"))
      assertEquals(read(file, conf(ofColumns: _*)).size, 1, log)
      assertEquals(read(file, conf(keys('f'): _*)).size, 1, log)
    }
    refused("PME_NO_KEY") {
      val none = keys('p') :+ ("pme-parquet.columnKeys" -> "p: ssn")
      logged(conf(none: _*), s"_delta_log/$version.checkpoint.2.parquet", checkpoint)
    }
  }

  test("a directory with the name of a log turns off no key of a column and no check") {
    val own = keys('f', 'p') ++ columns
    val version = "00000000000000000020"
    val places = Seq(
      "_delta_log/c.parquet",
      s"_delta_log/$version.checkpoint.parquet",
      "_delta_log/00000000000000000021.checkpoint.parquet/part-0.parquet",
      s"_delta_log/_sidecars/$uuid-2.parquet",
      ".hoodie/people/part-0.parquet",
      ".hoodie/timeline/history/1_2_0.parquet",
      "x_delta_log/c.parquet"
    )
    for (place <- places) {
      val file = new Path(directory.toUri.toString, place)
      val other =
        keys('f', 'p') ++ Seq("pme-parquet.footerKey" -> "f", "pme-parquet.columnKeys" -> "p: other")
      refused("PME_UNKNOWN_COLUMN")(write(conf(other: _*), file))
      val weak = write(conf(keys('f', 'p') :+ ("pme-parquet.footerKey" -> "f"): _*), file)
      refused("PME_KEY_METADATA")(read(weak, conf(own: _*)))
      val right = write(conf(own: _*), new Path(s"$file".replace(".parquet", "3.parquet")))
      assertEquals(read(right, conf(own: _*)).size, 100, place)
    }
    // Columns of a log, elsewhere.
    refused("PME_UNKNOWN_COLUMN")(logged(conf(own: _*), "people/c.parquet", checkpoint))
    refused("PME_UNKNOWN_COLUMN")(logged(conf(own: _*), ".hoodie/c.parquet", timeline))
  }

  test("parquet-java's own names do the same, and ours override them") {
    val named = Seq(
      "parquet.encryption.footer.key" -> "f",
      "parquet.encryption.column.keys" -> "p: ssn"
    )
    val file = write(conf(keys('f', 'p') ++ named: _*))
    assert(!bytes(file).contains("canary-"))
    assertEquals(read(file, conf(keys('f', 'p'): _*)).size, 100)
    val readable = "parquet.encryption.plaintext.footer" -> "true"
    refused("PME_UNSUPPORTED")(write(conf(keys('f', 'p') ++ named :+ readable: _*)))
    val hidden = "pme-parquet.plaintextFooter" -> "false"
    assert(bytes(write(conf(keys('f', 'p') ++ named :+ readable :+ hidden: _*))).endsWith("PARE"))
  }

  test("the names for keys of Delta's draft do the same, and its other names are refused") {
    val draft = Seq("delta.encryption.footer_key" -> "f", "delta.encryption.column_keys" -> "p: ssn")
    val file = write(conf(keys('f', 'p') ++ draft :+ ("delta.encryption.plaintext_footer" -> "false"): _*))
    assert(!bytes(file).contains("canary-"))
    assert(bytes(file).endsWith("PARE"))
    assertEquals(read(file, conf(keys('f', 'p'): _*)).size, 100)
    for (
      other <- Seq(
        "delta.encryption.kms_id" -> "mine",
        "delta.encryption.kms_configuration" -> "{}",
        "delta.encryption.plaintext_footer" -> "true",
        "delta.encryption.Footer_Key" -> "f",
        "delta.encryption.invented" -> ""
      )
    ) refused("PME_UNSUPPORTED")(write(conf(keys('f', 'p') ++ draft :+ other: _*)))
    val both = draft :+ ("parquet.encryption.footer.key" -> "p")
    refused("PME_BAD_OPTION")(write(conf(keys('f', 'p') ++ both: _*)))
  }

  test("names of ours are ours in any letters, and no name is set twice") {
    val own =
      keys('f', 'p') ++ Seq("pme-parquet.FOOTERkey" -> "f", "parquet.encryption.column.keys" -> "p: ssn")
    assert(!bytes(write(conf(own: _*))).contains("canary-"))
    refused("PME_BAD_OPTION")(write(conf(own :+ ("pme-parquet.footerKey" -> "p"): _*)))
  }

  test("a name that is almost right is refused, and settings of a KMS class pass") {
    val own = keys('f', 'p') :+ ("pme-parquet.footerKey" -> "f")
    val misspelt = Seq(
      "parquet.encryption.column.key",
      "parquet.encryption.columns.keys",
      "parquet.encryption.column_keys",
      "parquet.encryption.Column.Keys",
      "Parquet.encryption.column.keys",
      "PME-parquet.columnKeys",
      "pme-parquet.columKeys"
    )
    for (name <- misspelt) {
      refused("PME_UNKNOWN_OPTION")(write(conf(own :+ (name -> "p: ssn"): _*)))
      refused("PME_UNKNOWN_OPTION")(read(newFile(), conf(own :+ (name -> "p: ssn"): _*)))
    }
    val ofClass =
      Seq("parquet.encryption.key.list" -> "k:none", "parquet.encryption.kms.vault.mount" -> "transit")
    val file = write(conf(own ++ ofClass: _*))
    assertEquals(read(file, conf(own ++ ofClass: _*)).size, 100)
  }

  test("rules find the keys that the factory finds") {
    def found(settings: (String, String)*) = {
      val keys = ConfiguredKeys.of(conf(settings: _*))
      (keys.footer, keys.columns, keys.uniform, keys.unlisted)
    }
    val javas = Seq("parquet.encryption.footer.key" -> "f", "parquet.encryption.column.keys" -> "p: ssn")
    assertEquals(found(javas: _*), (Some("f"), Some("p: ssn"), None, UnlistedColumns.Plaintext))
    val complete = javas :+ ("parquet.encryption.complete.columns" -> "true")
    assertEquals(found(complete: _*), (Some("f"), Some("p: ssn"), None, UnlistedColumns.UseFooterKey))
    // The footer's key by our name is not parquet-java's default for the other columns.
    val both = javas :+ ("pme-parquet.FOOTERKEY" -> "g")
    assertEquals(found(both: _*), (Some("g"), Some("p: ssn"), None, UnlistedColumns.UseFooterKey))
    val uniform = javas :+ ("pme-parquet.uniformKey" -> "u")
    assertEquals(found(uniform: _*), (None, None, Some("u"), UnlistedColumns.UseFooterKey))
  }

  test("files in a table's log have the footer key or the uniform key, and none of columns") {
    def logged(settings: (String, String)*) = ConfiguredKeys.forLogs(conf(settings: _*))
    for (name <- Seq("pme-parquet.footerKey", "pme-parquet.UNIFORMKEY", "parquet.encryption.footer.key"))
      assert(logged(name -> "f"), name)
    for (name <- Seq("pme-parquet.columnKeys", "parquet.encryption.column.keys"))
      assert(!logged(name -> "p: ssn"), name)
    assert(!logged())
  }

  test("a write without a key, or with one that matches no column, writes nothing") {
    refused("PME_NO_KEY")(write(conf()))
    refused("PME_NO_KEY")(write(conf(keys('f'): _*)))
    refused("PME_KEY_NOT_FOUND")(write(conf(keys('f') ++ columns: _*)))
    val none = columns.init :+ ("pme-parquet.columnKeys" -> "p: absent")
    refused("PME_UNKNOWN_COLUMN")(write(conf(keys('f', 'p') ++ none: _*)))
  }

  test("a misspelt option, a secret as a value, and what only Spark's source does are refused") {
    val own = keys('f', 'p') ++ columns
    refused("PME_UNKNOWN_OPTION")(write(conf(own :+ ("pme-parquet.colunmKeys" -> "p: ssn"): _*)))
    refused("PME_SECRET_IN_OPTION")(
      write(
        conf(
          columns :+ ("pme-parquet.kms" -> "static") :+ ("pme-parquet.kms.static.keys" -> s"f=${key('f')}"): _*
        )
      )
    )
    val file = write(conf(own: _*))
    Seq("snapshot" -> "require", "deniedColumns" -> "null", "verifyKey" -> "env:NONE").foreach {
      case (name, value) =>
        refused("PME_BAD_OPTION")(read(file, conf(own :+ (s"pme-parquet.$name" -> value): _*)))
    }
    val moved = Seq("keyMaterial" -> "external", "aadPrefix" -> "{path}")
    moved.foreach { case (name, value) =>
      refused("PME_UNSUPPORTED")(write(conf(own :+ (s"pme-parquet.$name" -> value): _*)))
    }
    assertEquals(
      read(
        write(conf(own :+ ("pme-parquet.aadPrefix" -> "sales"): _*)),
        conf(own :+ ("pme-parquet.aadPrefix" -> "sales"): _*)
      ).size,
      100
    )
  }

  test("summaries and V2 pages, which would be readable, are refused") {
    val own = keys('f', 'p') ++ columns
    val task = "mapreduce.task.attempt.id" -> "attempt_1_0001_m_000000_0"
    refused("PME_UNSUPPORTED")(write(conf(own :+ task: _*)))
    assertEquals(
      read(write(conf(own :+ task :+ ("parquet.summary.metadata.level" -> "NONE"): _*)), conf(own: _*)).size,
      100
    )
    refused("PME_UNSUPPORTED")(write(conf(own :+ ("parquet.writer.version" -> "v2"): _*)))
  }

  test("a read refuses plaintext files, and files that are not protected as the configuration says") {
    val own = keys('f', 'p')
    val plain = write(new Configuration(false))
    refused("PME_PLAINTEXT_FILE")(read(plain, conf(own: _*)))
    assertEquals(read(plain, conf(own :+ ("pme-parquet.plaintextFiles" -> "allow"): _*)).size, 100)
    val other = write(conf(own :+ ("pme-parquet.footerKey" -> "f"): _*))
    assertEquals(read(other, conf(own: _*)).size, 100)
    refused("PME_KEY_METADATA")(read(other, conf(own ++ columns: _*)))
    val weaker = write(conf(own ++ columns :+ ("pme-parquet.algorithm" -> "AES_GCM_CTR_V1"): _*))
    refused("PME_ALGORITHM")(read(weaker, conf(own ++ columns: _*)))
    assertEquals(read(weaker, conf(own :+ ("pme-parquet.algorithm" -> "AES_GCM_CTR_V1"): _*)).size, 100)
    val strange = write(
      conf(
        keys('f', 'p') ++ columns :+ ("pme-parquet.aadPrefix" -> "sales") :+
          ("pme-parquet.storeAadPrefix" -> "false"): _*
      )
    )
    refused("PME_AAD_PREFIX")(read(strange, conf(own: _*)))
    refused("PME_NOT_AUTHENTIC")(read(strange, conf(own :+ ("pme-parquet.aadPrefix" -> "other"): _*)))
  }

  test("a read of a file without its path, and skipped files, are refused unless there is nothing to check") {
    val plain = write(new Configuration(false))
    def byInputFile(conf: Configuration) = {
      val file = HadoopInputFile.fromPath(plain, new Configuration(false))
      val reader = new ParquetReader.Builder[Group](file) {
        override def getReadSupport(): ReadSupport[Group] = new GroupReadSupport
      }.withConf(conf).build()
      try Iterator.continually(reader.read()).takeWhile(_ != null).size
      finally reader.close()
    }
    refused("PME_UNSUPPORTED")(byInputFile(conf(keys('f', 'p'): _*)))
    val allowed = keys('f', 'p') :+ ("pme-parquet.plaintextFiles" -> "allow")
    assertEquals(byInputFile(conf(allowed: _*)), 100)
    val session = "spark.sql.files.ignoreCorruptFiles"
    // Spark gives options of a read in lower case. It would skip a file for an unchecked exception.
    for (name <- Seq(session, "ignorecorruptfiles", "IgnoreMissingFiles"))
      intercept[PmeException](read(plain, conf(allowed :+ (name -> "true"): _*)))
    val overridden = allowed :+ (session -> "true") :+ ("ignorecorruptfiles" -> "false")
    assertEquals(read(plain, conf(overridden: _*)).size, 100)
  }

  test("a file that parquet-java is given without its path is written under the keys of its columns") {
    val file = writeWithoutPath(conf(keys('f', 'p') ++ columns: _*), newFile())
    assert(!bytes(file).contains("canary-") && bytes(file).endsWith("PARE"))
    assertEquals(read(file, conf(keys('f', 'p') ++ columns: _*)).size, 100)
    refused("PME_NO_KEY")(writeWithoutPath(conf(keys('f', 'p'): _*), newFile()))
    // Nobody knows then that a file is one of a log, where columns would have no keys.
    val log = new Path(directory.toUri.toString, "_delta_log/00000000000000000030.checkpoint.parquet")
    val ofOther = Seq("pme-parquet.footerKey" -> "f", "pme-parquet.columnKeys" -> "p: other")
    refused("PME_UNKNOWN_COLUMN")(writeWithoutPath(conf(keys('f', 'p') ++ ofOther: _*), log))
    for (prefix <- Seq("{file}", "{path}")) {
      val named = keys('f', 'p') ++ columns :+ ("pme-parquet.aadPrefix" -> prefix)
      refused("PME_UNSUPPORTED")(writeWithoutPath(conf(named: _*), newFile()))
    }
    val external = keys('f', 'p') ++ columns :+ ("pme-parquet.keyMaterial" -> "external")
    refused("PME_UNSUPPORTED")(writeWithoutPath(conf(external: _*), newFile()))
  }

  test("a setting under two spellings is refused, whatever the order") {
    val own = keys('f', 'p') ++ columns :+ ("pme-parquet.COLUMNKEYS" -> "f: ssn")
    refused("PME_BAD_OPTION")(write(conf(own: _*)))
  }

  test("configurations whose secrets differ share nothing, wherever the secrets are") {
    CountingClient.reset()
    def own(token: String, more: (String, String)*) = conf(
      Seq(
        "pme-parquet.kms" -> classOf[CountingClient].getName,
        "parquet.encryption.key.access.token" -> "conf:mapreduce.task.token",
        "mapreduce.task.token" -> token,
        "test.kms" -> "tokens"
      ) ++ more: _*
    )
    val file = write(own("a", columns: _*))
    read(file, own("a"))
    read(file, own("a"))
    val once = CountingClient.unwraps.get
    read(file, own("b"))
    assertEquals(CountingClient.unwraps.get, 2 * once)
    read(file, own("b", "parquet.company.kms" -> "other"))
    assertEquals(CountingClient.unwraps.get, 3 * once)
  }

  test(
    "writers of a new generation are under the newest version of a master key, others not before keys expire"
  ) {
    val versions = VersionedKms.named("alone")
    val own = VersionedKms.settings("alone")
    write(conf(own ++ columns: _*))
    versions.newest.set(2)
    val kept = write(conf(own ++ columns: _*))
    val since = conf(own ++ columns: _*)
    KeyGeneration.begin(since)
    val fresh = write(since)
    versions.oldest.set(2)
    refused("PME_KEY_DENIED")(read(kept, conf(own: _*)))
    assertEquals(read(fresh, conf(own: _*)).size, 100)
  }

  test("another key of the same name, and a damaged footer, are refused") {
    val file = write(conf(keys('f', 'p') ++ columns: _*))
    files += 1
    val wrong = directory.resolve(s"keys-$files.txt")
    Files.write(wrong, s"f=${key('x')}\np=${key('p')}\n".getBytes("UTF-8"))
    val stranger = conf("pme-parquet.kms" -> "static", "pme-parquet.kms.static.keys" -> s"file:$wrong")
    refused("PME_NOT_AUTHENTIC")(read(file, stranger))
    val local = Paths.get(file.toUri)
    val damaged = Files.readAllBytes(local)
    damaged(damaged.length - 30) = (damaged(damaged.length - 30) ^ 1).toByte
    Files.write(local, damaged)
    Files.delete(local.resolveSibling(s".${local.getFileName}.crc"))
    refused("PME_NOT_AUTHENTIC")(read(file, conf(keys('f', 'p'): _*)))
  }

  test(
    "a process calls the KMS once for each key and configuration, whatever the number of files and tasks"
  ) {
    CountingClient.reset()
    val own = Seq("pme-parquet.kms" -> classOf[CountingClient].getName, "test.kms" -> "one") ++ columns
    def task(number: Int) = Seq(
      "mapreduce.task.attempt.id" -> s"attempt_1_0001_m_00000${number}_0",
      "parquet.summary.metadata.level" -> "NONE"
    )
    val written = (0 until 20).map(number => write(conf(own ++ task(number): _*)))
    assertEquals(CountingClient.wraps.get, 2)
    written.zipWithIndex.foreach { case (file, number) =>
      assertEquals(read(file, conf(own ++ task(number): _*)).size, 100)
    }
    assertEquals(CountingClient.unwraps.get, 2)
    // Whoever has other settings gets no key that somebody else's KMS gave.
    read(
      written.head,
      conf(own.map { case (name, value) => name -> (if (name == "test.kms") "two" else value) }: _*)
    )
    assertEquals(CountingClient.unwraps.get, 4)
  }
}

/** A KMS that counts, and "wraps" by adding a letter. */
class CountingClient extends KmsClient {
  override def initialize(conf: Configuration, id: String, url: String, token: String): Unit = ()
  override def wrapKey(bytes: Array[Byte], master: String): String = {
    CountingClient.wraps.incrementAndGet()
    s"w${Base64.getEncoder.encodeToString(bytes)}"
  }
  override def unwrapKey(wrapped: String, master: String): Array[Byte] = {
    CountingClient.unwraps.incrementAndGet()
    Base64.getDecoder.decode(wrapped.tail)
  }
}

object CountingClient {
  val wraps, unwraps = new AtomicInteger
  def reset(): Unit = Seq(wraps, unwraps).foreach(_.set(0))
}
