package io.pmeparquet.spark.session

import munit.FunSuite

import io.pmeparquet.parquet.PmeCryptoFactory
import io.pmeparquet.spark.{
  PmeDataSource,
  PmeExtensions,
  PmeFileFormat,
  PmeOrcDataSource,
  PmeOrcFileFormat,
  PmeOrcInSql,
  PmeParquetInSql
}

/** Some code names classes that it must not depend on: these tests compare the names with the classes. */
class FormatNameSuite extends FunSuite {

  test("each constant has the name of its class") {
    assertEquals(FormatName.DataSourceClass, classOf[PmeDataSource].getName)
    assertEquals(FormatName.FileFormatClass, classOf[PmeFileFormat].getName)
    assertEquals(FormatName.OrcSourceClass, classOf[PmeOrcDataSource].getName)
    assertEquals(FormatName.OrcClass, classOf[PmeOrcFileFormat].getName)
    assertEquals(FormatName.SqlSourceClass, classOf[PmeParquetInSql].getName)
    assertEquals(FormatName.SqlOrcSourceClass, classOf[PmeOrcInSql].getName)
    assertEquals(FormatName.CryptoFactoryClass, classOf[PmeCryptoFactory].getName)
    assertEquals(FormatName.ExtensionsClass, classOf[PmeExtensions].getName)
    assertEquals[Class[_], Class[_]](FormatName.dataSource, classOf[PmeDataSource])
    assertEquals(PmeDataSource.Name, FormatName.Format)
  }

  test("a provider is ours if it is the format's name, in any case, or a class that Spark looks up") {
    val parquet = Seq("pme-parquet", "PME-Parquet", "pme_parquet", "PME_parquet") ++
      Seq(classOf[PmeDataSource], classOf[PmeFileFormat], classOf[PmeParquetInSql]).map(_.getName)
    val orc = Seq("pme-orc", "PME-ORC", "pme_orc") ++
      Seq(classOf[PmeOrcDataSource], classOf[PmeOrcFileFormat], classOf[PmeOrcInSql]).map(_.getName)
    parquet.foreach(provider => assertEquals(FormatName.inSql(provider), Some("pme_parquet"), provider))
    orc.foreach(provider => assert(FormatName.isOrc(provider), provider))
    assertEquals(new PmeParquetInSql().shortName(), "pme_parquet")
    assertEquals(new PmeOrcInSql().shortName(), "pme_orc")
    Seq("parquet", "pme-parquet2", "pme", classOf[PmeExtensions].getName, "")
      .foreach(provider => assert(!FormatName.names(provider), provider))
  }
}
