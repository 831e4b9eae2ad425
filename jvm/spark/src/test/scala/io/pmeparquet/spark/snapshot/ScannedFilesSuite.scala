package io.pmeparquet.spark.snapshot

class ScannedFilesSuite extends munit.FunSuite {
  private def scanned(files: Long, read: Long, by: SkippedBy*) =
    ScannedFiles("table", Some(1), files, read, files * 10, read * 10, by)

  private def skippedBy(kind: String, files: Long, column: String*) = SkippedBy(kind, column, files)

  test("the text has the files that are read, all files, and the indexes that proved most first") {
    val some = scanned(4000, 12, skippedBy("bloom", 8, "id"), skippedBy("minMax", 3980, "a", "b.c"))
    assertEquals(
      ScannedFiles.text(Seq(some), atMost = false),
      "12 of 4,000 files, by minMax(a.`b.c`), bloom(id)"
    )
  }

  test("the text of a scan that skips nothing names no index") {
    assertEquals(ScannedFiles.text(Seq(scanned(1, 1)), atMost = false), "1 of 1 file")
    assertEquals(ScannedFiles.text(Nil, atMost = true), "at most 0 of 0 files")
  }

  test("the text adds up tables, and names three indexes at most") {
    val one = scanned(10, 5, skippedBy("minMax", 1, "a"), skippedBy("minMax", 4, "b"))
    val other =
      scanned(5, 1, skippedBy("minMax", 4, "a"), skippedBy("bloom", 1, "c"), skippedBy("bloom", 1, "d"))
    assertEquals(
      ScannedFiles.text(Seq(one, other), atMost = true),
      "at most 6 of 15 files, by minMax(a), minMax(b), bloom(c) and 1 more"
    )
  }
}
