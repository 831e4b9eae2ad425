package io.pmeparquet.spark.keys

import org.apache.spark.sql.DataFrame

/** How often a KMS is asked: once for each distinct key, whatever the number of files, columns, tasks and batches. */
class KmsCallsSuite extends CountedSuite {
  private val noCache = Map("parquet.encryption.cache.lifetime.seconds" -> "0")

  for ((columns, count) <- Seq(3 -> 1, 3 -> 20, 40 -> 2))
    test(
      s"a write asks once for each master key, and a read for each wrapped one: $columns columns, $count files"
    ) {
      val (writer, user) = (KeyGuard(), KeyGuard())
      write(wide(columns, count), writer.options ++ encrypting(columns))
      assertEquals(files().size, count)
      assertEquals((writer.wraps, writer.unwraps), (each(columns), Map.empty[String, Int]))
      // The schema is inferred first, which opens a footer of its own.
      assertEquals(rows(reader(user.options).load(target)), rows(content(columns, count)))
      assertEquals((user.unwraps, user.wraps), (each(columns), Map.empty[String, Int]))
    }

  test("an overwrite asks once, too") {
    made("table", 3, 1)
    val user = KeyGuard()
    wide(3, 20).write
      .format("pme-parquet")
      .options(user.options ++ encrypting(3))
      .mode("overwrite")
      .save(target)
    assertEquals((user.wraps, user.unwraps), (each(3), Map.empty[String, Int]))
  }

  for (way <- if (isWhole) ways else others)
    test(s"a read asks once for each wrapped key, and again for nothing: ${nameOf(way)}") {
      val user = KeyGuard()
      val first = reader(user.options ++ way).load(twenty)
      assertEquals(rows(first), rows(content(3, 20)))
      assertEquals((user.unwraps, user.wraps), (each(3), Map.empty[String, Int]))
      assertEquals(rows(first), rows(content(3, 20)))
      assertEquals(rows(reader(user.options ++ way).load(twenty)), rows(content(3, 20)))
      assertEquals(reader(user.options ++ way).load(twenty).where("c1 = 'c1-3'").count(), 1L)
      assertEquals(user.unwraps, each(3))
      val other = KeyGuard()
      assertEquals(rows(known(other, twenty, way)), rows(content(3, 20)))
      assertEquals(other.unwraps, each(3))
    }

  for (way <- if (isWhole) ways else some)
    test(s"only keys of what is looked at are asked for: ${nameOf(way)}") {
      val projections = Seq[(DataFrame => DataFrame, Seq[String])](
        (_.select("id"), Nil),
        (_.select("c0", "id", "c2"), Seq("k0", "k2")),
        (_.where("c1 = 'c1-3'").select("id"), Seq("k1")),
        (_.selectExpr("count(*)"), Nil)
      )
      for ((projection, keys) <- projections) {
        val user = KeyGuard()
        projection(reader(user.options ++ way).load(twenty)).collect()
        assertEquals(user.unwraps, ("footer" +: keys).map(_ -> 1).toMap)
      }
    }

  for (way <- some)
    test(s"a key is asked for again when its lifetime is over: ${nameOf(way)}") {
      val user = KeyGuard()
      val frame = known(user, twenty, way ++ noCache)
      for (_ <- 1 to 2) {
        user.clear()
        assertEquals(rows(frame), rows(content(3, 20)))
        assertEquals(user.unwraps.keySet, each(3).keySet)
      }
    }

  for (way <- others)
    test(s"each write job has keys of its own, and each is asked for once: ${nameOf(way)}") {
      val (writer, user) = (KeyGuard(), KeyGuard())
      for (_ <- 1 to 2) append(target, 3, 4, writer.options)
      assertEquals(writer.wraps, each(3, times = 2))
      val expected = content(3, 4).union(content(3, 4))
      assertEquals(rows(reader(user.options ++ way).load(target)), rows(expected))
      assertEquals(user.unwraps, each(3, times = 2))
    }

  for (way <- some)
    test(s"merging the schemas of all files asks for no more: ${nameOf(way)}") {
      made("table", 2, 4)
      append(target, 3, 4)
      val user = KeyGuard()
      val merged = reader(user.options ++ way + ("mergeSchema" -> "true")).load(target)
      assertEquals(merged.columns.toSeq, Seq("id", "c0", "c1", "c2"))
      assertEquals(user.unwraps, Map("footer" -> 2))
      assertEquals(merged.collect().length, 2 * 4 * perFile)
      assertEquals(user.unwraps, Map("footer" -> 2, "k0" -> 2, "k1" -> 2, "k2" -> 1))
    }

  for (way <- others)
    test(s"with single wrapping, each data key is asked for once: ${nameOf(way)}") {
      val (writer, user) = (KeyGuard(), KeyGuard())
      write(wide(3, 6), writer.options ++ encrypting(3) + ("doubleWrapping" -> "false"))
      // Before there is a job, each master key is tried.
      assertEquals(writer.wraps, each(3, times = 1 + 6))
      assertEquals(rows(reader(user.options ++ way).load(target)), rows(content(3, 6)))
      assertEquals(user.unwraps, each(3, times = 6))
      assertEquals(user.sent.distinct, user.sent)
    }

  test("a table of one key asks for it once") {
    val user = KeyGuard()
    write(wide(3, 20), user.options + ("uniformKey" -> "only"))
    assertEquals(user.wraps, Map("only" -> 1))
    assertEquals(rows(reader(user.options).load(target)), rows(content(3, 20)))
    assertEquals(user.unwraps, Map("only" -> 1))
  }

  test("a table of one key with single wrapping sends no wrapped key twice") {
    val user = KeyGuard()
    write(wide(3, 2), kms ++ Map("uniformKey" -> "only", "doubleWrapping" -> "false"))
    assertEquals(rows(reader(user.options).load(target)), rows(content(3, 2)))
    assert(user.sent.nonEmpty && user.sent.distinct == user.sent, user.sent)
  }

  // ---- streams

  for (name <- Seq("pages", "spark"))
    test(s"a stream of batches asks once for each key, and for those of what is new: $name") {
      val (user, path) = (KeyGuard(), made("table", 3, 3))
      def stream() = arriving(path, user, Map("reader" -> name)).writeStream.format("noop")
      run(stream(), 3)
      assertEquals(user.unwraps, each(3))
      append(path, 3, 3)
      user.clear()
      run(stream(), 3)
      assertEquals(user.unwraps, each(3))
    }

  test("a stream asks again in each batch when the lifetime is over") {
    val (user, path) = (KeyGuard(), made("table", 3, 3))
    run(arriving(path, user, noCache).writeStream.format("noop"), 3)
    assertEquals(user.unwraps.keySet, each(3).keySet)
    assert(user.unwraps.values.forall(_ >= 3), user.unwraps)
  }

  test("each batch that is written asks once for each master key") {
    val (source, sink, path) = (KeyGuard(), KeyGuard(), made("source", 3, 3))
    val stream = arriving(path, source).writeStream.format("pme-parquet")
    run(stream.options(sink.options ++ encrypting(3)), 3, target)
    assertEquals((source.unwraps, sink.wraps), (each(3), each(3, times = 3)))
    assertEquals(source.wraps ++ sink.unwraps, Map.empty[String, Int])
  }
}
