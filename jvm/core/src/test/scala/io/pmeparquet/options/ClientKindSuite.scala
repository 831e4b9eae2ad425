package io.pmeparquet.options

import munit.FunSuite

class ClientKindSuite extends FunSuite {
  test("a client is named by its short name, in any case, or by its class's") {
    ClientKind.all.foreach { kind =>
      Seq(kind.name, kind.name.toUpperCase, kind.className).foreach(name =>
        assertEquals(ClientKind.named(name), Some(kind), name)
      )
    }
    assertEquals(ClientKind.named("org.example.OwnKms"), None)
  }

  test("what a client is handed is found, and so checked, under the name that the client reads as well") {
    ClientKind.all
      .flatMap(_.options)
      .foreach(option => assertEquals(ParquetNames.of(option), Some("parquet.encryption." + option.name)))
  }

  test("every option of a client is an option of the format")(
    ClientKind.all.flatMap(_.options).foreach(option => assert(PmeOptions.all.contains(option), option.name))
  )
}
