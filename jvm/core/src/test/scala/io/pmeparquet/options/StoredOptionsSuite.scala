package io.pmeparquet.options

import munit.FunSuite

import io.pmeparquet.{Condition, PmeException}
import io.pmeparquet.policy.{Policies, Policy}

class StoredOptionsSuite extends FunSuite {
  private val Table = "spark_catalog.default.t"

  private def refused(
      options: Map[String, String],
      session: Map[String, String] = Map.empty,
      hadoop: Map[String, String] = Map.empty
  ): Option[PmeException] = {
    val values = new OptionValues(
      Map(
        Level.SessionConf -> session.map { case (name, value) => name.toLowerCase -> value },
        Level.HadoopConf -> hadoop.map { case (name, value) => name.toLowerCase -> value }
      )
    )
    try {
      new StoredOptions(Some(Table), values, hadoop.get).check(options)
      None
    } catch { case failed: PmeException => Some(failed) }
  }

  test("a definition says what its files are, and nothing that is not expressly allowed") {
    val allowed = PmeOptions.all.filter(_.ofTable != OfTable.No).map(_.name).sorted
    val expected =
      "aadPrefix,algorithm,clearLevels,columnKeys,dataKeyBits,deniedColumns,deniedPredicates,doubleWrapping," +
        "footerKey,kekBits,keyMaterial,minSnapshot,orcMasks,orcMasterKeys,plaintextFiles,plaintextFooter,reader,scan," +
        "snapshot,snapshotLocation,storeAadPrefix,uniformKey,unlistedColumns"
    assertEquals(allowed.mkString(","), expected)
  }

  test(
    "a definition may let writes seal the table, and takes back nothing that the session requires of reads"
  ) {
    assertEquals(refused(Map("snapshot" -> "update")), None)
    assertEquals(refused(Map("SNAPSHOT" -> "Update"), Map("snapshot" -> "require")), None)
    assert(refused(Map("snapshot" -> "update"), Map("snapshot" -> "7")).isDefined)
    Seq("off", "require", "7").foreach(value => assert(refused(Map("snapshot" -> value)).isDefined, value))
    val values = new OptionValues(
      Map(Level.Option -> Map("snapshot" -> "update"), Level.SessionConf -> Map("snapshot" -> "require"))
    )
    assertEquals(SnapshotSettings.of(values).choice, SnapshotChoice.Required)
    assert(SnapshotSettings.sealsAfterWrite(values))
  }

  test("every option of a KMS is refused, under each of its names and in any case") {
    PmeOptions.kmsOptions.foreach { option =>
      (option.name +: ParquetNames.of(option).toSeq)
        .flatMap(name => Seq(name, name.toUpperCase))
        .foreach { name =>
          val failed = refused(Map(name -> "executor-of-evil"))
          assertEquals(failed.map(_.condition), Some(Condition.BadOption), name)
          val text = failed.get.getMessage
          assert(text.contains(name) && text.contains(Table) && text.contains("trustedTables"), text)
          assert(text.contains(s"spark.datasource.pme-parquet.${option.name}"), text)
          assert(!text.contains("evil"), text)
        }
    }
  }

  test(
    "a definition may repeat what the session or the Hadoop configuration says, or what holds without either"
  ) {
    val said = Map("kms" -> "vault", "kms.vault.mount" -> "transit", "KMS.VAULT.URL" -> "https://vault")
    val session = Map("kms" -> "vault", "kms.vault.url" -> "https://vault")
    assertEquals(refused(said, session), None)
    assert(refused(said, session + ("kms.vault.url" -> "https://other")).isDefined)
    assert(refused(said, session - "kms").isDefined)
    val parquet = Map("parquet.encryption.kms.client.class" -> "org.example.Kms")
    assertEquals(refused(parquet, hadoop = parquet), None)
    assert(refused(parquet).isDefined)
  }

  test("other libraries' settings of KMS clients, crypto factories and file systems are refused") {
    Seq(
      "parquet.crypto.factory.class",
      "parquet.encryption.own.kms.url",
      "Hadoop.Security.Key.Provider.Path",
      "hadoop.security.credential.provider.path",
      "fs.s3a.endpoint",
      "spark.sql.parquet.output.committer.class",
      "mapreduce.outputcommitter.factory.scheme.file",
      "mapreduce.job.credentials.binary",
      "google.cloud.auth.service.account.json.keyfile",
      "yarn.resourcemanager.principal",
      "javax.net.ssl.trustStore",
      "net.topology.script.file.name"
    ).foreach { name =>
      assert(refused(Map(name -> "x")).exists(_.getMessage.contains(s"spark.hadoop.$name")), name)
      assertEquals(refused(Map(name -> "x"), hadoop = Map(name -> "x")), None, name)
    }
    Seq("compression", "mergeSchema", "path", "parquet.block.size", "serialization.format").foreach(name =>
      assertEquals(refused(Map(name -> "x")), None, name)
    )
  }

  test("a definition weakens no policy that the session states") {
    val allow = Map("plaintextFiles" -> "allow")
    assertEquals(refused(allow), None)
    assert(refused(allow, Map("plaintextFiles" -> "error")).isDefined)
    assertEquals(refused(allow, allow), None)
    assertEquals(refused(Map("plaintextFiles" -> "error"), allow), None)
    val plain = Map("parquet.encryption.complete.columns" -> "false")
    assert(refused(plain, Map("unlistedColumns" -> "footerKey")).isDefined)
    assert(refused(Map("algorithm" -> "AES_GCM_CTR_V1"), Map("algorithm" -> "AES_GCM_V1")).isDefined)
  }

  test(
    "a read's template of a footer key is kept by a table that names columns, too, only under a policy of it"
  ) {
    def check(policies: Policy*): Unit = {
      val asked = Map("footerkey" -> "t-{tenant}")
      val stored = Map("columnKeys" -> "t-{tenant}: ssn")
      def values(options: Map[String, String]) = new OptionValues(Map(Level.Option -> options), policies)
      val all = values(asked + ("columnkeys" -> stored("columnKeys")))
      new StoredOptions(Some(Table), values(asked), _ => None)
        .checkPolicy(stored, values(asked), all, caseSensitive = false)
    }
    intercept[PmeException](check())
    val defaults = "\"footerKey\": \"t-{tenant}\", \"unlistedColumns\": \"footerKey\""
    val bound = Policies.of(Policies.json(tags = "", defaults = defaults))
    check(bound)
    intercept[PmeException](check(Policies.of(Policies.json(tags = "", readers = "\"columns\": \"any\""))))
  }
}
