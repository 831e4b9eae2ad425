package io.pmeparquet.options

import munit.FunSuite

class TellingOptionsSuite extends FunSuite {
  private def among(names: String*) = TellingOptions.among(names, parquetEncrypts = false)

  test("a name of ours counts in any case, and what other formats use does not") {
    val others =
      Seq("algorithm", "Reader", "scan", "compression", "header", "mergeSchema", "path", "parquet.page.size")
    assertEquals(among(others: _*), Nil)
    assertEquals(among(others :+ "FOOTERkey": _*), Seq("FOOTERkey"))
    assertEquals(among("Kms", "kms.vault.url", "kms.none.such"), Seq("Kms", "kms.none.such", "kms.vault.url"))
  }

  test("each option that says which key protects what counts by itself") {
    val protecting =
      Seq(PmeOptions.FooterKey, PmeOptions.ColumnKeys, PmeOptions.UniformKey, PmeOptions.Unlisted)
    protecting.foreach(option => assertEquals(among(option.name), Seq(option.name)))
  }

  test("names of parquet-java tell only where parquet-java would not encrypt") {
    val names =
      Seq("parquet.encryption.footer.key", "parquet.encryption.column.keys", "parquet.encryption.uniform.key")
    assertEquals(among(names: _*), names.sorted)
    assertEquals(TellingOptions.among(names :+ "kms.aws.region", parquetEncrypts = true), Nil)
    assertEquals(TellingOptions.among(names :+ "footerKey", parquetEncrypts = true), Seq("footerKey"))
  }

  test("what only says where keys are, to parquet-java, does not tell") {
    assertEquals(
      among("parquet.encryption.kms.instance.id", "parquet.encryption.cache.lifetime.seconds"),
      Nil
    )
  }
}
