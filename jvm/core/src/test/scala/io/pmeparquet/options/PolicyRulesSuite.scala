package io.pmeparquet.options

import munit.FunSuite

import io.pmeparquet.{Condition, PmeException}
import io.pmeparquet.columns._
import io.pmeparquet.columns.ColumnProtection.{ColumnKey, FooterKey}
import io.pmeparquet.keys.{KeyAudit, KeyPurpose, KmsSettings, KmsUse}
import io.pmeparquet.policy.{Policies, Policy}
import io.pmeparquet.policy.Policies.json

/** A policy becomes the values of options: they may be stricter, and never weaker. */
class PolicyRulesSuite extends FunSuite {
  private val pii = """{"tag": "pii", "key": "pii", "columns": ["ssn", "address", "*_ssn"]}"""
  private val pay = """{"tag": "pay", "key": "pay", "columns": ["*"]}"""
  private val policy = Policies.of(json(tags = pii))

  private object Use extends KmsSettings {
    override def kind: String = "static"
    override def isInProcess: Boolean = true
  }

  private def values(options: Map[String, String], policies: Seq[Policy], level: Level = Level.Option) =
    new OptionValues(Map(level -> options.map { case (name, value) => name.toLowerCase -> value }), policies)

  private def write(options: Map[String, String], policies: Policy*) =
    Settings
      .forWrite(
        values(options, policies),
        KmsUse(Use, None, KeyAudit.off(KeyPurpose.Read)),
        caseSensitive = false
      )
      .files

  private def leaf(path: String*) = LeafColumn(path, path)
  private val columns = Seq(leaf("SSN"), leaf("address", "street"), leaf("id"))

  private def plan(files: FileSettings, leaves: Seq[LeafColumn] = columns) =
    KeyPlan.of(leaves, files.columnKeys, files.unlisted, files.caseSensitive).columns.map(_._2)

  private val Refusals =
    Set[Condition](Condition.BadOption, Condition.UnknownColumn, Condition.Unsupported)

  private def refused(words: String*)(block: => Any): Unit = {
    val failed = intercept[PmeException](block)
    assert(Refusals(failed.condition), failed)
    words.foreach(word => assert(failed.getMessage.contains(word), failed.getMessage))
  }

  test("without options a write has the keys of the policy, in any letters and within structs") {
    val files = write(Map.empty, policy)
    assertEquals(plan(files), Seq(ColumnKey("pii"), ColumnKey("pii"), FooterKey))
    assertEquals(files.footerKey, "footer")
  }

  test("letters of a column do not count, also in a session where they do") {
    val all = values(Map.empty, Seq(policy))
    val files =
      Settings.forWrite(all, KmsUse(Use, None, KeyAudit.off(KeyPurpose.Read)), caseSensitive = true).files
    assertEquals(plan(files).head, ColumnKey("pii"))
    assert(files.of(columns).masterKeys.contains("pii"))
    refused("'*_ssn'")(files.of(columns).checkPartitions(Seq("MY_SSN")))
  }

  test("a table has columns of the policy or none; it needs the keys of its own columns only") {
    val files = write(
      Map.empty,
      Policies.of(json(tags = s"""$pii, {"tag": "x", "key": "x-{country}", "columns": ["x"]}"""))
    )
    assertEquals(files.of(columns).masterKeys, Seq("footer", "pii"))
    assertEquals(files.of(columns).keyColumns, Nil)
    assertEquals(files.of(Seq(leaf("id"))).masterKeys, Seq("footer"))
    assertEquals(plan(files.of(Seq(leaf("id"))), Seq(leaf("id"))), Seq(FooterKey))
    assertEquals(files.of(Seq(leaf("X"))).keyColumns, Seq("country"))
  }

  test("a column with several tags has the key of the first") {
    val both = write(Map.empty, Policies.of(json(tags = s"$pii, $pay")))
    assertEquals(plan(both), Seq(ColumnKey("pii"), ColumnKey("pii"), ColumnKey("pay")))
    val other = write(Map.empty, Policies.of(json(tags = s"$pay, $pii")))
    assertEquals(plan(other).distinct, Seq(ColumnKey("pay")))
    // What comes later gives no column a key.
    assertEquals(other.of(columns).masterKeys, Seq("footer", "pay"))
  }

  test("a column that no tag matches needs a default") {
    val closed = write(Map.empty, Policies.of(json(tags = pii, defaults = "\"footerKey\": \"footer\"")))
    refused("id")(plan(closed))
    assertEquals(plan(closed, columns.take(2)).distinct, Seq(ColumnKey("pii")))
  }

  test("options may give more columns a key of the policy, and none another key") {
    assertEquals(plan(write(Map("columnKeys" -> "pii: id"), policy)).last, ColumnKey("pii"))
    refused("'mine'", "pii", "company")(write(Map("columnKeys" -> "mine: id"), policy))
    val two = Policies.of(json(tags = s"""$pii, {"tag": "pay", "key": "pay"}"""))
    refused("SSN", "'pii'", "'pay'")(plan(write(Map("columnKeys" -> "pay: ssn"), two)))
    refused("nothing")(plan(write(Map("columnKeys" -> "pii: nothing"), policy)))
  }

  for (
    (option, value, words) <- Seq(
      ("footerKey", "mine", Seq("'mine'", "footerKey=footer")),
      ("footerKey", "footer ", Seq("'footer '", "footerKey=footer")),
      ("uniformKey", "mine", Seq("'mine'", "footerKey=footer")),
      ("unlistedColumns", "plaintext", Seq("'plaintext'", "unlistedColumns=footerKey")),
      ("plaintextFooter", "TRUE", Seq("plaintextFooter=false")),
      ("algorithm", "AES_GCM_CTR_V1", Seq("AES_GCM_CTR_V1", "algorithm=AES_GCM_V1")),
      ("keyManagement", "direct", Seq("keyManagement=envelope")),
      ("parquet.encryption.plaintext.footer", "true", Seq("plaintextFooter=false")),
      ("parquet.encryption.complete.columns", "false", Seq("unlistedColumns=footerKey"))
    );
    level <- Level.all
  ) test(s"refused beside a policy: $option=$value at $level") {
    refused(words ++ Seq("company"): _*) {
      Settings.forWrite(
        values(Map(option -> value), Seq(policy), level),
        KmsUse(Use, None, KeyAudit.off(KeyPurpose.Read)),
        caseSensitive = false
      )
    }
  }

  test("options may be stricter: longer keys, an encrypted footer, an error for columns without a tag") {
    val least = Policies.of(
      json(
        defaults = """"footerKey": "footer", "unlistedColumns": "footerKey", "algorithm": "AES_GCM_CTR_V1",
                   | "plaintextFooter": true, "dataKeyBits": 192""".stripMargin
      )
    )
    val plain = write(Map.empty, least)
    assertEquals(
      (plain.algorithm.name, plain.plaintextFooter, plain.dataKeyBits, plain.kekBits),
      ("AES_GCM_CTR_V1", true, Some(192), 192)
    )
    val strict = write(
      Map(
        "algorithm" -> "AES_GCM_V1",
        "plaintextFooter" -> "false",
        "dataKeyBits" -> "256",
        "unlistedColumns" -> "error"
      ),
      least
    )
    assertEquals(
      (strict.algorithm.name, strict.plaintextFooter, strict.dataKeyBits),
      ("AES_GCM_V1", false, Some(256))
    )
    assertEquals(strict.unlisted, UnlistedColumns.Error: UnlistedColumns)
    refused("dataKeyBits=192")(write(Map("dataKeyBits" -> "128"), least))
    refused("kekBits=192")(write(Map("kekBits" -> "128"), least))
  }

  private def bound(options: Map[String, String], policies: Policy*) =
    Settings.forRead(values(options, policies), caseSensitive = false)

  private def asked(settings: ReadSettings, place: String = "/t") =
    settings.columnsAt(FilePlace.of(place), "file").get.of(columns).map(_.accepted)

  test("a read requires the keys of the policy, also where it names no columns") {
    assertEquals(
      asked(bound(Map.empty, policy)),
      Seq(Seq(ColumnKey("pii")), Seq(ColumnKey("pii")), Seq(FooterKey))
    )
    val none = Policies.of(json(tags = ""))
    assertEquals(asked(bound(Map.empty, none)).distinct, Seq(Seq(FooterKey)))
    assertEquals(
      bound(Map.empty, none).columns.flatMap(_.footer).map(_.accepted),
      Some(Seq(ColumnKey("footer")))
    )
    val uniform = Policies.of(json(tags = "", defaults = "\"uniformKey\": \"u\""))
    assertEquals(asked(bound(Map.empty, uniform)).distinct, Seq(Seq(ColumnKey("u"))))
    refused("plaintextFiles=error")(bound(Map("plaintextFiles" -> "allow"), policy))
    refused("algorithm=AES_GCM_V1")(bound(Map("algorithm" -> "AES_GCM_CTR_V1"), policy))
  }

  test("a column may have the key of a tag that only a catalog knows, and no other one") {
    def asks(unlisted: String) = {
      val text = json(tags = pii, defaults = s""""footerKey": "footer", "unlistedColumns": "$unlisted"""")
      val catalog = Policies.of(text.replace("\"tags\"", "\"catalogTag\": \"t\", \"tags\""))
      bound(Map.empty, catalog).columns.get.of(Seq(leaf("id"))).head.accepted
    }
    assertEquals(asks("footerKey"), Seq(FooterKey, ColumnKey("pii")))
    assertEquals(asks("plaintext"), Seq(ColumnProtection.Plaintext, FooterKey, ColumnKey("pii")))
    assertEquals(asks("error"), Seq(ColumnKey("pii")))
  }

  test("a policy may leave readers free, who may still bind themselves") {
    val free = Policies.of(json(tags = pii, readers = "\"columns\": \"any\", \"plaintextFiles\": \"allow\""))
    assertEquals(bound(Map.empty, free).columns, None)
    assert(bound(Map("plaintextFiles" -> "allow"), free).allowPlaintextFiles)
    assert(bound(Map("columnKeys" -> "pii: id"), free).columns.isDefined)
    // Files of others, too.
    assert(bound(Map("columnKeys" -> "theirs: id", "footerKey" -> "their"), free).columns.isDefined)
    refused("'mine'", "footerKey=footer")(write(Map("footerKey" -> "mine"), free))
  }

  test("a tag with a template binds files of its partitions, and refuses its columns elsewhere") {
    val by = Policies.of(json(tags = """{"tag": "pii", "key": "pii-{country}", "columns": ["ssn"]}"""))
    assertEquals(asked(bound(Map.empty, by), "/t/country=DE").head, Seq(ColumnKey("pii-DE")))
    // No file names a key with braces.
    assertEquals(asked(bound(Map.empty, by)).head, Seq(ColumnKey("pii-{country}")))
    assertEquals(asked(bound(Map.empty, by)).last, Seq(FooterKey))
  }

  test("of two policies both hold; they contradict each other, or the stricter value counts") {
    val more = Policies.of(
      json(
        tags = """{"tag": "all", "key": "pii", "columns": ["id"]}""",
        defaults = """"footerKey": "footer"""",
        name = "team"
      )
    )
    val files = write(Map.empty, policy, more)
    assertEquals(files.unlisted, UnlistedColumns.Error: UnlistedColumns)
    assertEquals(plan(files).distinct, Seq(ColumnKey("pii")))
    assertEquals(write(Map.empty, more, policy).unlisted, UnlistedColumns.Error: UnlistedColumns)
    val others = Policies.of(json(tags = """{"tag": "t", "key": "team", "columns": ["id"]}""", name = "team"))
    refused("'team'", "company")(write(Map.empty, policy, others))
    val footer = Policies.of(json(tags = pii, defaults = "\"footerKey\": \"team\"", name = "team"))
    refused("footerKey=team", "team")(write(Map.empty, policy, footer))
    val swapped = Policies.of(
      json(
        tags = s"""${pii.replace("\"ssn\", ", "")}, {"tag": "f", "key": "footer", "columns": ["ssn"]}""",
        name = "team"
      )
    )
    refused("SSN", "'pii'", "'footer'")(plan(write(Map.empty, policy, swapped)))
  }

  test("a policy that requires seals refuses reads without them, and a table's update takes nothing back") {
    val sealing = Policies.of(json(readers = "\"snapshot\": \"require\", \"verifyKey\": \"file:/k.pem\""))
    def snapshot(options: Map[String, String]) = SnapshotSettings.of(values(options, Seq(sealing)))
    assertEquals(snapshot(Map.empty).choice, SnapshotChoice.Required: SnapshotChoice)
    assert(snapshot(Map.empty).hasVerifyKey)
    assertEquals(snapshot(Map("snapshot" -> "update")).choice, SnapshotChoice.Required: SnapshotChoice)
    assertEquals(snapshot(Map("snapshot" -> "3")).choice, SnapshotChoice.Version(3): SnapshotChoice)
    Seq("auto", "off", " OFF ").foreach(value =>
      refused("snapshot=require")(snapshot(Map("snapshot" -> value)))
    )
    refused("verifyKey=file:/k.pem")(snapshot(Map("verifyKey" -> "file:/mine.pem")))
  }

  test("a key that verifies seals requires one, and a session's update takes back nothing") {
    val keyed = Policies.of(json(readers = "\"verifyKey\": \"file:/k.pem\""))
    def snapshot(policy: Policy, value: String, level: Level = Level.Option) =
      SnapshotSettings.of(values(Map("snapshot" -> value), Seq(policy), level)).choice
    Seq("auto", "off").foreach(value => refused("snapshot=require")(snapshot(keyed, value)))
    val sealing = Policies.of(json(readers = "\"snapshot\": \"require\""))
    for (policy <- Seq(keyed, sealing); level <- Level.all)
      assertEquals(snapshot(policy, "update", level), SnapshotChoice.Required: SnapshotChoice)
  }

  test("a second policy has keys of the first only, and widens nothing that reads accept") {
    def policyWith(tags: String, catalogTag: String, name: String) =
      Policies.of(json(tags = tags, name = name).replace("\"tags\"", s"$catalogTag \"tags\""))
    val byCatalog = "\"catalogTag\": \"pme.tag\","
    val both = s"""$pii, {"tag": "pay", "key": "pay"}"""
    val mine = policyWith("""{"tag": "mine", "key": "mine"}""", byCatalog, "mine")
    refused("policy", "'mine'", "company")(bound(Map.empty, policy, mine))
    def ofTags(policies: Policy*) = values(Map.empty, policies).keysOfTags
    val (first, second) = (policyWith(both, byCatalog, "company"), policyWith(pii, byCatalog, "team"))
    assertEquals(ofTags(first), Seq("pii", "pay"))
    assertEquals(ofTags(first, second), Seq("pii"))
    assertEquals(ofTags(policyWith(both, "", "company"), second), Nil)
    // A class of the session's gives tags for all policies.
    assertEquals(ofTags(policyWith(both, "", "company").copy(hasTagSource = true)), Seq("pii", "pay"))
  }

  test(
    "a write names no other KMS than a session with a policy, for keys of the same names would be others"
  ) {
    def use(session: Map[String, String], option: (String, String)) = {
      val levels = Map[Level, Map[String, String]](Level.SessionConf -> session, Level.Option -> Map(option))
      val values = new OptionValues(levels, Seq(policy))
      Settings.forWrite(values, KmsUse(Use, None, KeyAudit.off(KeyPurpose.Read)), caseSensitive = false)
      ()
    }
    val session = Map("policy" -> "p.json", "kms" -> "vault")
    refused("kms", "another value", "company")(use(session, "kms" -> "static"))
    refused("kms.vault.url", "company")(use(session, "kms.vault.url" -> "https://mine"))
    refused("orcMasterKeys")(use(session, "orcmasterkeys" -> "pii: mine"))
    use(session, "kms" -> "vault")
    use(session - "kms", "kms" -> "static")
    use(session - "policy", "kms" -> "static")
  }

  private val forOrc =
    """"footerKey": "footer", "unlistedColumns": "plaintext", "algorithm": "AES_GCM_CTR_V1", "plaintextFooter": true"""

  test("ORC keeps only policies that allow what ORC has") {
    def write(defaults: String) =
      OrcSettings.forWrite(
        values(Map.empty, Seq(Policies.of(json(defaults = defaults)))),
        caseSensitive = false
      )
    write(forOrc)
    refused("plaintextFooter=false")(write(forOrc.replace(", \"plaintextFooter\": true", "")))
    refused("aadPrefix=a")(write(s"""$forOrc, "aadPrefix": "a""""))
  }

  test("beside a policy, masks in ORC show NULL only") {
    val bound = values(Map.empty, Seq(policy))
    Seq("nullify:ssn", "nullify:ssn;nullify:id").foreach(OrcSettings.requireMask(bound, _))
    Seq("sha256:ssn", "nullify:id;redact,x:ssn", "sha256").foreach { mask =>
      refused("orc.mask", "company")(OrcSettings.requireMask(bound, mask))
    }
    OrcSettings.requireMask(values(Map.empty, Nil), "sha256:ssn")
  }

  test("ORC's reads accept keys of tags that a catalog gives, as Parquet's do") {
    val tagged = Policies.of(json(defaults = forOrc)).copy(hasTagSource = true)
    val binding = OrcSettings.forRead(values(Map.empty, Seq(tagged)), caseSensitive = false).columns.get
    assertEquals(binding.of(columns).last.accepted, Seq(ColumnProtection.Plaintext, ColumnKey("pii")))
  }

  test("who reads files to bring them to a policy need not find its keys there") {
    val source = policy.forSources
    val read = Map("plaintextFiles" -> "allow", "algorithm" -> "AES_GCM_CTR_V1")
    assertEquals(bound(read, source).columns, None)
    assert(bound(read + ("columnKeys" -> "old: ssn"), source).columns.isDefined)
    assert(!bound(Map.empty, source).acceptCtr)
  }
}
