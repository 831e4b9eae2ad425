package io.pmeparquet.parquet

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, ObjectInputStream, ObjectOutputStream}
import java.nio.{ByteBuffer, ByteOrder}
import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}
import java.nio.file.Files
import java.util.{Base64, Collections}

import munit.FunSuite
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.crypto.keytools.KeyToolkit
import org.apache.parquet.format.{
  ColumnChunk,
  ColumnCryptoMetaData,
  EncryptionWithFooterKey,
  FileMetaData,
  RowGroup,
  SchemaElement,
  Util
}
import org.apache.parquet.schema.MessageTypeParser

import io.pmeparquet.{AesKey, PmeException, Secret}
import io.pmeparquet.keys.{KeyAudit, KeyBrokers, KeyPurpose, KeyRoute, KmsSource, KmsUse}
import io.pmeparquet.kms.local.{StaticKms, StaticSettings}
import io.pmeparquet.material.{DataKeyWrapper, DoubleWrapper, JobKeks, KeyMetadata, LocalWrap, SingleWrapper}
import io.pmeparquet.options.{Level, OptionValues, Settings}
import io.pmeparquet.parquet.admission.{Admissions, FooterPolicy}
import io.pmeparquet.parquet.bytes.{FileTail, FileVersion}
import io.pmeparquet.parquet.schema.SchemaColumns
import io.pmeparquet.parquet.scope.{FileKeys, Scopes}
import io.pmeparquet.parquet.write.WriteRules

class ParquetLayerSuite extends FunSuite {
  private val master = Array.tabulate(16)(_.toByte)
  private val secretText = "m=" + Base64.getEncoder.encodeToString(master)
  private val kms = KmsUse(StaticSettings(new Secret(secretText)), None, KeyAudit.off(KeyPurpose.Read))

  /** A driver that executors reach without a network. */
  private object Here extends KeyRoute {
    override def ask(request: Array[Byte], where: String): Array[Byte] = KeyBrokers.answer(request)
  }
  private val byDriver = kms.copy(route = Some(Here))
  private val conf = new Configuration(false)
  private def condition(run: => Any) = intercept[PmeException](run).getCondition()

  private def readSettings(options: (String, String)*) =
    Settings.forRead(
      new OptionValues(Map(Level.Option -> options.map { case (k, v) => k.toLowerCase -> v }.toMap))
    )
  private def writeSettings(options: (String, String)*) = writeSettingsBy(kms, options: _*)
  private def writeSettingsBy(use: KmsUse, options: (String, String)*) =
    Settings.forWrite(
      new OptionValues(Map(Level.Option -> options.map { case (k, v) => k.toLowerCase -> v }.toMap)),
      use,
      caseSensitive = false
    )

  test("parquet-java's key tools open our wrapped keys, and we open theirs") {
    val key = AesKey.of(Array.fill(32)(7.toByte), "test")
    val ours = StaticKms.parse(new Secret(secretText)).wrap(key, "m", "w")
    assertEquals(
      KeyToolkit.decryptKeyLocally(ours, master, "m".getBytes(UTF_8)).toSeq,
      key.insecureBytes.toSeq
    )
    val theirs = KeyToolkit.encryptKeyLocally(key.insecureBytes, master, "m".getBytes(UTF_8))
    assertEquals(
      LocalWrap.unwrap(theirs, AesKey.of(master, "t").toSecretKey, "m".getBytes(UTF_8), "w", "m"),
      key
    )
  }

  test(
    "a batch of a stream gets keys as long as its scope lives, and none by another letter case, however often"
  ) {
    val lines = Seq("t-acme", "t-ACME").map(_ + "=" + Base64.getEncoder.encodeToString(master)).mkString("\n")
    val use = byDriver.copy(settings = StaticSettings(new Secret(lines)))
    val batch = Scopes.forBatch(writeSettingsBy(use, "footerKey" -> "t-{tenant}"), "/t", conf)
    def wrapped(name: String) =
      batch
        .wrapper(conf)
        .wrap(AesKey.random(128, new java.security.SecureRandom), name, isFooterKey = true, "f")
    System.gc()
    assertEquals(wrapped("t-acme").masterKeyId, "t-acme")
    for (_ <- 1 to 2) assertEquals(condition(wrapped("t-ACME")), "PME_UNSUPPORTED")
    assertEquals(condition(wrapped("other")), "PME_KEY_DENIED")
    assertEquals(wrapped("t-acme").kek, wrapped("t-acme").kek)
  }

  test("leaf columns have Spark's names, in every form of lists and maps") {
    val schema = MessageTypeParser.parseMessageType("""message m {
      optional binary a (UTF8);
      optional group three (LIST) { repeated group list { optional int32 element; } }
      optional group two (LIST) { repeated int32 array; }
      optional group structs (LIST) { repeated group array { optional int32 x; optional int32 y; } }
      repeated int32 plain;
      repeated group groups { optional int32 x; }
      optional group m (MAP) { repeated group key_value { required binary key (UTF8); optional group value { optional int32 v; } } }
    }""")
    val names =
      SchemaColumns.leaves(schema).map(leaf => leaf.path.mkString(".") -> leaf.sparkPath.mkString("."))
    assertEquals(
      names,
      Seq(
        "a" -> "a",
        "three.list.element" -> "three.element",
        "two.array" -> "two.element",
        "structs.array.x" -> "structs.element.x",
        "structs.array.y" -> "structs.element.y",
        "plain" -> "plain.element",
        "groups.x" -> "groups.element.x",
        "m.key_value.key" -> "m.key",
        "m.key_value.value.v" -> "m.value.v"
      )
    )
  }

  private val path = new Path("file:/data/t/p=1/f.parquet")
  private def tail(
      ctr: Boolean = false,
      prefix: Option[String] = None,
      supply: Boolean = false,
      unique: Int = 8
  ) =
    FileTail.Encrypted(
      plaintextFooter = false,
      ctr,
      prefix.map(_.getBytes(UTF_8)),
      supply,
      new Array[Byte](unique),
      None
    )

  test("the footer policy refuses another algorithm, another prefix and a shifted boundary") {
    assertEquals(condition(FooterPolicy.check(path, tail(ctr = true), readSettings())), "PME_ALGORITHM")
    FooterPolicy.check(path, tail(ctr = true), readSettings("algorithm" -> "AES_GCM_CTR_V1"))
    Seq(0, 7, 9).foreach(n =>
      assertEquals(condition(FooterPolicy.check(path, tail(unique = n), readSettings())), "PME_AAD_PREFIX")
    )
    val wanted = readSettings("aadPrefix" -> "{table}/{file}")
    assert(FooterPolicy.check(path, tail(prefix = Some("t/f.parquet")), wanted).isDefined)
    assert(FooterPolicy.check(path, tail(supply = true), wanted).isDefined)
    assertEquals(
      condition(FooterPolicy.check(path, tail(prefix = Some("t/g.parquet")), wanted)),
      "PME_AAD_PREFIX"
    )
    assertEquals(condition(FooterPolicy.check(path, tail(), wanted)), "PME_AAD_PREFIX")
    assertEquals(condition(FooterPolicy.check(path, tail(supply = true), readSettings())), "PME_AAD_PREFIX")
    assertEquals(
      condition(FooterPolicy.check(path, tail(prefix = Some("x"), supply = true), readSettings())),
      "PME_AAD_PREFIX"
    )
  }

  test(
    "a file is refused if its key is wrapped once and its prefix lets a wrapped key pass for a page"
  ) {
    val source = new KmsSource(StaticKms.parse(new Secret(secretText)), 0)
    val scope = Scopes.forRead(kms, readSettings(), conf)
    val key = AesKey.of(Array.fill(16)(7.toByte), "test")
    def unwrapped(prefix: String, wrapper: DataKeyWrapper, column: Option[String]) = {
      val material = wrapper.wrap(key, "m", isFooterKey = column.isEmpty, "w")
      new FileKeys(path, conf, scope, Some(prefix.getBytes(UTF_8)))
        .keyOf(KeyMetadata.bytesOf(KeyMetadata.Internal(material)), column)
    }
    val (once, twice) =
      (new SingleWrapper(source), new DoubleWrapper(JobKeks.make(source, Seq("m"), 128, "w")))
    for (column <- Seq(None, Some("a"))) {
      Seq("x", "abc", "payroll").foreach { unfit =>
        assertEquals(condition(unwrapped(unfit, once, column)), "PME_AAD_PREFIX", unfit)
        assertEquals(unwrapped(unfit, twice, column), key)
      }
      assertEquals(unwrapped("orders", once, column), key)
    }
  }

  test(
    "a write refuses a master key of zeros, with which parquet-java does not encrypt, before it writes anything"
  ) {
    val zeros = "m=" + Base64.getEncoder.encodeToString(new Array[Byte](16))
    val use = KmsUse(StaticSettings(new Secret(zeros)), None, KeyAudit.off(KeyPurpose.Read))
    val settings = writeSettingsBy(use, "uniformKey" -> "m", "keyManagement" -> "direct")
    assertEquals(condition(Scopes.forWrite(settings, "/t", conf)), "PME_KEY_NOT_FOUND")
  }

  test("a decrypted footer with its module's nonce and tag as a signature counts as a plaintext file") {
    val plain = emptyPlaintextFile
    val end = plain.length - 8
    val length = ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(end - 4 + 28).array
    val opened = plain.take(end) ++ Array.fill[Byte](28)(9) ++ length ++ "PAR1".getBytes
    assertEquals(tailOf(opened), FileTail.Plaintext: FileTail)
  }

  test("a footer of encrypted columns that lost its signature is not that of a plaintext file") {
    val withFooterKey = ColumnCryptoMetaData.ENCRYPTION_WITH_FOOTER_KEY(new EncryptionWithFooterKey)
    Seq(
      new ColumnChunk(4).setCrypto_metadata(withFooterKey),
      new ColumnChunk(4).setEncrypted_column_metadata(Array[Byte](1))
    ).foreach { chunk =>
      val group = new RowGroup(java.util.Arrays.asList(new ColumnChunk(4), chunk), 0, 0)
      assertEquals(condition(tailOf(plaintextFile(Collections.singletonList(group)))), "PME_NOT_AUTHENTIC")
    }
    val plain = new RowGroup(Collections.singletonList(new ColumnChunk(4)), 0, 0)
    assertEquals(tailOf(plaintextFile(Collections.singletonList(plain))), FileTail.Plaintext: FileTail)
  }

  test("a file's keys are under master keys that the options name, if they name all") {
    val source = new KmsSource(StaticKms.parse(new Secret(secretText)), 0)
    val key = AesKey.of(Array.fill(16)(7.toByte), "test")
    val wrapped = KeyMetadata.Internal(new SingleWrapper(source).wrap(key, "m", isFooterKey = true, "w"))
    def found(metadata: KeyMetadata, options: (String, String)*) =
      new FileKeys(path, conf, Scopes.forRead(kms, readSettings(options: _*), conf))
        .keyOf(KeyMetadata.bytesOf(metadata), None)
    val direct = "keyManagement" -> "direct"
    assertEquals(found(wrapped, "footerKey" -> "m", "columnKeys" -> "n: a"), key)
    assertEquals(found(wrapped, "footerKey" -> "n", "columnKeys" -> "m: a"), key)
    assertEquals(condition(found(wrapped, "footerKey" -> "n", "columnKeys" -> "o: a")), "PME_KEY_METADATA")
    val own = KeyMetadata.Direct("m")
    assertEquals(found(own, direct, "footerKey" -> "m", "columnKeys" -> "n: a"), AesKey.of(master, "test"))
    assertEquals(
      condition(found(own, direct, "footerKey" -> "n", "columnKeys" -> "o: a")),
      "PME_KEY_METADATA"
    )
  }

  test("a footer needs proof only if the file alone states its prefix") {
    def unproven(tail: FileTail.Encrypted, options: (String, String)*) =
      FooterPolicy.isUnproven(tail, readSettings(options: _*))
    assert(unproven(tail(prefix = Some("orders"))))
    assert(!unproven(tail(prefix = Some("orders")), "aadPrefix" -> "orders"))
    assert(!unproven(tail()))
    assert(!unproven(tail(supply = true), "aadPrefix" -> "orders"))
    // A signed footer states its own kind.
    assert(!unproven(tail(prefix = Some("orders")).copy(plaintextFooter = true)))
  }

  private def tailOf(bytes: Array[Byte]): FileTail = {
    val file = Files.createTempFile("tail", ".parquet")
    Files.write(file, bytes)
    val hadoop = new Path(file.toUri)
    try FileTail.read(conf, FileVersion.of(hadoop, conf))
    finally Files.delete(file)
  }

  private def emptyPlaintextFile: Array[Byte] = plaintextFile(Collections.emptyList())

  private def plaintextFile(groups: java.util.List[RowGroup]): Array[Byte] = {
    val root = new SchemaElement("m").setNum_children(0)
    val footer = new ByteArrayOutputStream
    Util.writeFileMetaData(new FileMetaData(1, Collections.singletonList(root), 0, groups), footer)
    val magic = "PAR1".getBytes
    val length = ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(footer.size).array
    magic ++ footer.toByteArray ++ length ++ magic
  }

  test("a tail stays cached while a split opens, and is read again afterwards") {
    val file = Files.createTempFile("tail", ".parquet")
    Files.write(file, "PAR1....PAR1".getBytes)
    val hadoop = new Path(file.toUri)
    var clock = 0L
    val tails = Admissions.tails(() => clock)
    // A file that cannot be read is not cached; a readable one stays cached while its bytes change under the same
    // length and time.
    intercept[PmeException](Admissions.tailOf(tails, hadoop, conf))
    Files.write(file, emptyPlaintextFile)
    assertEquals(Admissions.tailOf(tails, hadoop, conf), FileTail.Plaintext: FileTail)
    val (length, modified) = (Files.size(file), Files.getLastModifiedTime(file))
    Files.write(file, new Array[Byte](length.toInt))
    Files.setLastModifiedTime(file, modified)
    clock = Admissions.LifetimeMillis - 1
    assertEquals(Admissions.tailOf(tails, hadoop, conf), FileTail.Plaintext: FileTail)
    clock = Admissions.LifetimeMillis
    assertEquals(condition(Admissions.tailOf(tails, hadoop, conf)), "PME_DAMAGED_FILE")
    Files.delete(file)
  }

  test("an impossible tail is damage, and nothing allocates what it claims") {
    def little(n: Int) = Array(n, n >> 8, n >> 16, n >> 24).map(_.toByte)
    val magic = "PARE".getBytes
    val bad = Seq(
      Array.emptyByteArray,
      "PAR1".getBytes,
      Array.fill(100)(1.toByte),
      magic ++ new Array[Byte](50) ++ little(Int.MaxValue) ++ magic,
      magic ++ new Array[Byte](50) ++ little(-1) ++ magic,
      magic ++ new Array[Byte](50) ++ little(0) ++ magic,
      magic ++ Array.fill(50)(0xff.toByte) ++ little(50) ++ magic,
      "PAR1".getBytes ++ Array.fill(50)(0x19.toByte) ++ little(50) ++ "PAR1".getBytes
    )
    bad.foreach(bytes => assertEquals(condition(tailOf(bytes)), "PME_DAMAGED_FILE"))
  }

  private def serialized(value: AnyRef): String = {
    val bytes = new ByteArrayOutputStream
    val out = new ObjectOutputStream(bytes)
    out.writeObject(value)
    out.close()
    new String(bytes.toByteArray, ISO_8859_1)
  }

  test("with double wrapping, executors get neither a master key nor access to the KMS for a write") {
    val scope = Scopes.forWrite(writeSettings("footerKey" -> "m"), "/t", conf)
    val crossed = serialized(scope)
    assert(!crossed.contains(secretText) && !crossed.contains(new String(master, ISO_8859_1)))
    Seq("doubleWrapping" -> "false", "keyManagement" -> "direct").foreach { option =>
      def crossedBy(use: KmsUse) =
        serialized(Scopes.forWrite(writeSettingsBy(use, "footerKey" -> "m", option), "/t", conf))
      assert(!crossedBy(byDriver).contains(secretText))
      assert(crossedBy(kms).contains(secretText))
    }
  }

  test("with kms.callFrom=driver, executors get no access to the KMS for a read") {
    assert(!serialized(Scopes.forRead(byDriver, readSettings(), conf)).contains(secretText))
    assert(serialized(Scopes.forRead(kms, readSettings(), conf)).contains(secretText))
  }

  test("a scope prints only its id, and deserialises to the known scope") {
    val scope = Scopes.forRead(kms, readSettings(), conf)
    assertEquals(scope.toString, s"ReadScope(${scope.id})")
    val copy =
      new ObjectInputStream(new ByteArrayInputStream(serialized(scope).getBytes(ISO_8859_1))).readObject()
    assert(copy eq scope)
  }

  test("readers with equal settings share a scope, readers with other keys do not") {
    def scope(use: KmsUse) = Scopes.forRead(use, readSettings(), conf)
    assert(scope(kms) eq scope(kms))
    val other = StaticSettings(new Secret("n=" + Base64.getEncoder.encodeToString(master)))
    assert(!(scope(kms) eq scope(KmsUse(other, None, KeyAudit.off(KeyPurpose.Read)))))
    assert(!(scope(kms) eq scope(byDriver)))
  }

  test(
    "a write refuses a key id with control characters, a possible AAD of a module, before it writes anything"
  ) {
    val settings = writeSettings("footerKey" -> "m\u0003")
    assertEquals(condition(Scopes.forWrite(settings, "/t", conf)), "PME_BAD_OPTION")
  }

  test("a write whose key the KMS does not have fails before any file is touched") {
    assertEquals(
      condition(Scopes.forWrite(writeSettings("footerKey" -> "absent"), "/t", conf)),
      "PME_KEY_NOT_FOUND"
    )
    assertEquals(
      condition(
        Scopes.forWrite(writeSettings("footerKey" -> "absent", "doubleWrapping" -> "false"), "/t", conf)
      ),
      "PME_KEY_NOT_FOUND"
    )
  }

  test("write rules refuse summary files and V2 pages, and nothing else") {
    def withConf(name: String, value: String) = { val c = new Configuration(false); c.set(name, value); c }
    Seq(
      "parquet.summary.metadata.level" -> "ALL",
      "parquet.summary.metadata.level" -> "COMMON_ONLY",
      "parquet.enable.summary-metadata" -> "true",
      "parquet.writer.version" -> "v2",
      "parquet.writer.version" -> "PARQUET_2_0"
    ).foreach { case (name, value) =>
      assertEquals(condition(WriteRules.check(withConf(name, value))), "PME_UNSUPPORTED", name)
    }
    WriteRules.check(new Configuration(false))
    WriteRules.check(withConf("parquet.summary.metadata.level", "NONE"))
  }
}
