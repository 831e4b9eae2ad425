package io.pmeparquet.spark.session

import munit.FunSuite

import io.pmeparquet.spark.{PmeDataSource, PmeExtensions, PmeFileFormat}

/** Names that stand for classes which the code that uses the names must not depend on. */
class FormatNameSuite extends FunSuite {

  test("each name is that of its class") {
    assertEquals(FormatName.DataSourceClass, classOf[PmeDataSource].getName)
    assertEquals(FormatName.FileFormatClass, classOf[PmeFileFormat].getName)
    assertEquals(FormatName.ExtensionsClass, classOf[PmeExtensions].getName)
    assertEquals[Class[_], Class[_]](FormatName.dataSource, classOf[PmeDataSource])
    assertEquals(PmeDataSource.Name, FormatName.Format)
  }

  test("a provider is ours by the format's name in any case, or by a class that Spark looks up") {
    Seq("pme-parquet", "PME-Parquet", classOf[PmeDataSource].getName, classOf[PmeFileFormat].getName)
      .foreach(provider => assert(FormatName.names(provider), provider))
    Seq("parquet", "pme-parquet2", classOf[PmeExtensions].getName, "")
      .foreach(provider => assert(!FormatName.names(provider), provider))
  }
}
