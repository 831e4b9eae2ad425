package io.pmeparquet.options

import java.nio.charset.StandardCharsets.UTF_8

import munit.FunSuite

import io.pmeparquet.{Condition, PmeException}
import io.pmeparquet.columns.{ColumnKeys, KeyBinding, UniformBinding, UnlistedColumns}
import io.pmeparquet.keys.{KeyAudit, KeyPurpose, KmsSettings, KmsUse}

class OptionsSuite extends FunSuite {
  private val kms = KmsUse(InProcess, None, KeyAudit.off(KeyPurpose.Read))
  private def values(
      option: Map[String, String],
      session: Map[String, String] = Map.empty,
      hadoop: Map[String, String] = Map.empty
  ) =
    new OptionValues(
      Map(
        Level.Option -> lower(option),
        Level.SessionConf -> lower(session),
        Level.HadoopConf -> lower(hadoop)
      )
    )
  private def lower(map: Map[String, String]) = map.map { case (k, v) => k.toLowerCase -> v }
  private def write(values: OptionValues) = Settings.forWrite(values, kms, caseSensitive = false).files
  private def condition(run: => Any) = intercept[PmeException](run).getCondition()

  test("an option overrides the session, and the session Hadoop") {
    val hadoop = Map("parquet.encryption.footer.key" -> "h")
    val session = Map("footerKey" -> "s")
    assertEquals(write(values(Map("footerKey" -> "o"), session, hadoop)).footerKey, "o")
    assertEquals(write(values(Map.empty, session, hadoop)).footerKey, "s")
    assertEquals(write(values(Map.empty, Map.empty, hadoop)).footerKey, "h")
  }

  test("a level that names a uniform key overrides lower levels' other keys, and the other way round") {
    val uniform = write(values(Map("uniformKey" -> "u"), Map("footerKey" -> "s", "columnKeys" -> "k: a")))
    assertEquals((uniform.footerKey, uniform.columnKeys), ("u", None))
    assertEquals(write(values(Map("footerKey" -> "f"), Map("uniformKey" -> "u"))).footerKey, "f")
  }

  test("no key at all, or none for the footer, is refused") {
    assertEquals(condition(write(values(Map.empty))), "PME_NO_KEY")
    assertEquals(condition(write(values(Map("columnKeys" -> "k: a")))), "PME_NO_KEY")
  }

  test("refused columns are masked if the reader asks for it, and not by Spark's own readers") {
    def masking(options: (String, String)*) = Settings.forRead(values(options.toMap)).masking
    assertEquals(masking(), None)
    assertEquals(masking("deniedPredicates" -> "null"), None)
    assertEquals(masking("deniedColumns" -> "null"), Some(Masking("null", "error", inConditions = false)))
    assertEquals(
      masking("deniedColumns" -> "drop", "deniedPredicates" -> "null"),
      Some(Masking("drop", "error", inConditions = true))
    )
    val missing = masking("missingKeys" -> "null").get
    assertEquals(missing, Masking("error", "null", inConditions = false))
    assert(missing.covers(Condition.KeyNotFound) && !missing.covers(Condition.KeyDenied))
    assert(!missing.covers(Condition.NotAuthentic) && !missing.covers(Condition.KmsUnavailable))
    assertEquals(condition(masking("deniedColumns" -> "null", "reader" -> "spark")), "PME_BAD_OPTION")
  }

  test("column keys of a read bind columns to them, with the defaults of a write") {
    def policy(options: (String, String)*) = Settings.forRead(values(options.toMap)).columns
    val k = ColumnKeys.parse("k: a")
    val byFooter = KeyBinding(Some("f"), k, UnlistedColumns.UseFooterKey, caseSensitive = false)
    assertEquals(policy("footerKey" -> "f", "columnKeys" -> "k: a"), Some(byFooter))
    assertEquals(policy("columnKeys" -> "k: a"), Some(byFooter.copy(footerKey = None)))
    assertEquals(
      policy("columnKeys" -> "k: a", "unlistedColumns" -> "error"),
      Some(byFooter.copy(footerKey = None, unlisted = UnlistedColumns.Error))
    )
    val names = Seq("parquet.encryption.footer.key" -> "f", "parquet.encryption.column.keys" -> "k: a")
    assertEquals(policy(names: _*), Some(byFooter.copy(unlisted = UnlistedColumns.Plaintext)))
    assertEquals(policy(names :+ ("parquet.encryption.complete.columns" -> "true"): _*), Some(byFooter))
    assertEquals(policy("uniformKey" -> "u"), Some(UniformBinding("u", caseSensitive = false)))
    assertEquals(policy("footerKey" -> "f", "unlistedColumns" -> "error"), None)
    Seq(
      Seq("uniformKey" -> "u", "columnKeys" -> "k: a"),
      Seq("uniformKey" -> "u", "footerKey" -> "f"),
      Seq("columnKeys" -> "k a"),
      Seq("columnKeys" -> "k: a", "footerKey" -> " ")
    ).foreach(options => assertEquals(condition(policy(options: _*)), "PME_BAD_OPTION", options.toString))
  }

  test("a file without key metadata gets a key that this read names, and none that is set for writes") {
    def named(option: Map[String, String], session: Map[String, String], hadoop: Map[String, String]) =
      Settings.forRead(values(option, session, hadoop)).keyOfFilesWithoutMetadata
    Seq("footerKey", "uniformKey").foreach { name =>
      val key = Map(name -> "k")
      val none = Map.empty[String, String]
      assertEquals(named(key, none, none), Some("k"))
      assertEquals(named(key, Map(name -> "s"), none), Some("k"))
      assertEquals(named(none, key, none), None)
      assertEquals(named(none, none, Map(s"parquet.encryption.${name.stripSuffix("Key")}.key" -> "k")), None)
      assertEquals(named(Map("keyManagement" -> "direct"), key, none), Some("k"))
    }
  }

  test("options that contradict each other are refused") {
    Seq(
      Map("uniformKey" -> "u", "footerKey" -> "f"),
      Map("footerKey" -> "f", "unlistedColumns" -> "plaintext"),
      Map("footerKey" -> "f", "storeAadPrefix" -> "false"),
      Map("footerKey" -> "f", "keyManagement" -> "direct", "keyMaterial" -> "external"),
      Map("footerKey" -> "f", "parquet.encryption.footer.key" -> "g"),
      Map("footerKey" -> " ")
    ).foreach(option => assertEquals(condition(write(values(option))), "PME_BAD_OPTION", option.toString))
  }

  test("a provider that is not there is refused") {
    assertEquals(
      condition(Settings.forRead(values(Map("cryptoProvider" -> "NoSuchProvider")))),
      "PME_UNSUPPORTED"
    )
  }

  test("every option with listed values refuses another one, read or write") {
    PmeOptions.all.filter(_.values.nonEmpty).foreach { option =>
      val bad = values(Map("footerKey" -> "f", option.name -> "nonsense"))
      Seq[() => Any](() => Settings.forRead(bad), () => write(bad)).foreach { run =>
        val failed = intercept[PmeException](run())
        assertEquals(failed.getCondition(), "PME_BAD_OPTION", option.name)
        option.values.foreach(value => assert(failed.getMessage.contains(value)))
      }
    }
  }

  test("parquet-java's names keep parquet-java's meaning and defaults") {
    val names = Map("parquet.encryption.footer.key" -> "f", "parquet.encryption.column.keys" -> "k:a,b;k2:c")
    val plain = write(values(Map.empty, Map.empty, names))
    assertEquals(plain.unlisted, UnlistedColumns.Plaintext: UnlistedColumns)
    assertEquals(plain.masterKeys, Seq("f", "k", "k2"))
    val complete =
      write(values(Map.empty, Map.empty, names + ("parquet.encryption.complete.columns" -> "true")))
    assertEquals(complete.unlisted, UnlistedColumns.UseFooterKey: UnlistedColumns)
    val own = write(values(Map("footerKey" -> "f", "columnKeys" -> "k: a")))
    assertEquals(own.unlisted, UnlistedColumns.UseFooterKey: UnlistedColumns)
    val external =
      write(values(Map("parquet.encryption.key.material.store.internally" -> "false"), Map.empty, names))
    assert(external.externalMaterial)
  }

  test("a footer key of ours over parquet-java's column keys leaves nothing in plaintext") {
    val files =
      write(values(Map("footerKey" -> "f"), Map.empty, Map("parquet.encryption.column.keys" -> "k:a")))
    assertEquals(files.unlisted, UnlistedColumns.UseFooterKey: UnlistedColumns)
  }

  test("a misspelt option names the nearest, and Spark's own options are left alone") {
    Seq(
      "footerKy" -> "footerKey",
      "columKeys" -> "columnKeys",
      "unlistedColumn" -> "unlistedColumns",
      "aadPrefx" -> "aadPrefix",
      "kms.keystore.pth" -> "kms.keystore.path",
      "kms.aws.regoin" -> "kms.aws.region",
      "kmsStuff" -> "kms",
      "Colunm_Keys" -> "columnKeys"
    )
      .foreach { case (typo, right) =>
        val failed = intercept[PmeException](UnknownOptions.check(typo))
        assertEquals(failed.getCondition(), "PME_UNKNOWN_OPTION")
        if (typo != "kmsStuff") assert(failed.getMessage.contains(s"'$right'"), failed.getMessage)
      }
    assertEquals(condition(UnknownOptions.check("parquet.encryption.colum.keys")), "PME_UNKNOWN_OPTION")
    Seq(
      "compression",
      "mergeSchema",
      "basePath",
      "path",
      "paths",
      "pathGlobFilter",
      "recursiveFileLookup",
      "maxRecordsPerFile",
      "partitionOverwriteMode",
      "parquet.block.size",
      "parquet.encryption.key.list",
      "checkpointLocation",
      "queryName",
      "ignoreCorruptFiles",
      "datetimeRebaseMode",
      "serialization.format",
      "maxFilesPerTrigger",
      "latestFirst",
      "header",
      "FOOTERKEY"
    )
      .foreach(UnknownOptions.check)
  }

  test("an AAD prefix is filled from the table's place, partitions left out") {
    def fill(template: String) =
      new String(AadPrefix.parse(template).bytesFor("/data/sales/y=1/m=2", "part-0.parquet"), UTF_8)
    assertEquals(fill("{table}|{path}|{file}"), "sales|/data/sales|part-0.parquet")
    assertEquals(fill("plain $1 \\ text"), "plain $1 \\ text")
    Seq("", "{nothing}", "x" * 5000).foreach(text =>
      assertEquals(condition(AadPrefix.parse(text)), "PME_BAD_OPTION")
    )
  }

  test("a prefix that lets a page pass for a wrapped key is refused where the master key wraps data keys") {
    def prefix(text: String, options: (String, String)*) =
      write(values(Map("footerKey" -> "f", "aadPrefix" -> text) ++ options)).prefixToWrite("/t", "f", "f")
    val once = "doubleWrapping" -> "false"
    Seq("x", "abc", "payroll", "{table}").foreach { unfit =>
      assertEquals(condition(prefix(unfit, once)), "PME_BAD_OPTION", unfit)
      assert(prefix(unfit).isDefined)
      assert(prefix(unfit, once, "keyManagement" -> "direct").isDefined)
    }
    Seq("ab", "orders", "invoices").foreach(fit => assert(prefix(fit, once).isDefined))
  }

  test("without options a read accepts what is encrypted with authentication, and nothing else") {
    val settings = Settings.forRead(values(Map.empty))
    assertEquals(
      (settings.allowPlaintextFiles, settings.allowClearLevels, settings.acceptCtr, settings.directKeys),
      (false, false, false, false)
    )
    assertEquals((settings.keyOfFilesWithoutMetadata, settings.masking), (None, None))
  }

  test("a read gives out a master key only if its options allow it") {
    def givenOut(options: (String, String)*) =
      Seq("m", "n").filter(Settings.forRead(values(options.toMap)).givesOut)
    assertEquals(givenOut(), Nil)
    assertEquals(givenOut("footerKey" -> "m"), Seq("m"))
    assertEquals(givenOut("uniformKey" -> "m", "keyManagement" -> "envelope"), Nil)
    assertEquals(givenOut("footerKey" -> "m", "columnKeys" -> "n: a"), Nil)
    assertEquals(givenOut("keyManagement" -> "direct"), Seq("m", "n"))
    assertEquals(givenOut("footerKey" -> "m", "columnKeys" -> "o: a", "keyManagement" -> "direct"), Seq("m"))
  }

  test("a table without a snapshot is refused where an option says that there is one, and by that option") {
    def required(options: (String, String)*) = SnapshotSettings.of(values(options.toMap)).requiredBy
    assertEquals(required(), None)
    assertEquals(required("snapshot" -> "off"), None)
    assertEquals(required("snapshot" -> "require"), Some("snapshot"))
    assertEquals(required("snapshot" -> "7"), Some("snapshot"))
    assertEquals(required("minSnapshot" -> "7"), Some("minSnapshot"))
    assertEquals(required("verifyKey" -> "env:KEY"), Some("verifyKey"))
    assertEquals(required("verifyKey" -> "env:KEY", "minSnapshot" -> "7"), Some("minSnapshot"))
    assertEquals(required("verifyKey" -> "env:KEY", "snapshot" -> "update"), Some("verifyKey"))
  }
}

private case object InProcess extends KmsSettings {
  override def kind: String = "static"
  override def isInProcess: Boolean = true
}
