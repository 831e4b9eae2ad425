package io.pmeparquet.columns

import munit.FunSuite

import io.pmeparquet.{Condition, PmeException}

class KeyTemplateSuite extends FunSuite {
  private def template(text: String) = KeyTemplate.of(text, "columnKeys")
  private def name(text: String, directory: String, caseSensitive: Boolean = false) =
    template(text).name(FilePlace.of(directory), caseSensitive, "file")

  private def refused(words: String*)(block: => Any): Unit = failed(Condition.BadOption, words)(block)
  private def withoutValue(words: String*)(block: => Any): Unit = failed(Condition.KeyMetadata, words)(block)

  private def failed(condition: Condition, words: Seq[String])(block: => Any): Unit = {
    val failed = intercept[PmeException](block)
    assertEquals(failed.condition, condition)
    words.foreach(word => assert(failed.getMessage.contains(word), failed.getMessage))
  }

  test("a name without braces is that name everywhere") {
    val plain = template("arn:aws:kms:eu-west-1:1:key/1-2")
    assert(!plain.isTemplate)
    assertEquals(plain.name(FilePlace.of("/t"), caseSensitive = false, ""), plain.text)
  }

  test("values come from the directories of a file, as they are spelled, without escapes") {
    assertEquals(name("pii-{country}", "/data/t/country=DE/day=1"), "pii-DE")
    assertEquals(name("{ day }.{country}", "/data/t/country=DE/day=2026-01-01"), "2026-01-01.DE")
    assertEquals(name("t-{tenant}", "/t/tenant=a%40b"), "t-a@b")
    assertEquals(name("k-{a b}", "/t/a b=1"), "k-1")
    assertEquals(name("k-{city}", "/t/city=Köln"), "k-Köln")
    // Directories above the table's own are no partitions.
    withoutValue("the file is in no directory of one partition by")(name("k-{x}", "/x=1/t/day=2"))
    withoutValue("the file is in no directory of one partition by")(name("k-{x}", "/t/x=1/X=2"))
  }

  test("names of columns are compared as Spark compares them") {
    assertEquals(name("k-{Country}", "/t/country=DE"), "k-DE")
    withoutValue("column 'Country'")(name("k-{Country}", "/t/country=DE", caseSensitive = true))
  }

  test("a value that no name can have is refused: null, empty, or with other characters") {
    refused("NULL or empty")(name("k-{c}", "/t/c=__HIVE_DEFAULT_PARTITION__"))
    for (value <- Seq("a/b".replace("/", "%2F"), "a b", "a:b", "a\u0000b", "..", "{d}", "a%b", "\u2028"))
      refused("characters other than letters", "bucket(64)")(name("k-{c}", s"/t/c=$value"))
  }

  test("two places never have one name unless their values are equal") {
    val values = Seq("a", "b", "-", "a-", "-a", "a-b", "--", "1", "11")
    for (text <- Seq("{x}-{y}", "{x}--{y}", "k{x}-{y}-{x}", "{x}.{y}", "{x:bucket(20)}-{y}")) {
      val named = for {
        x <- values
        y <- values
        one <- scala.util.Try(name(text, s"/t/x=$x/y=$y")).toOption
      } yield one -> (if (text.contains("bucket")) s"${KeyTemplate.bucketOf(x, 20)}/$y" else s"$x/$y")
      assert(named.size > 10, text)
      named.groupBy(_._1).foreach { case (one, of) =>
        assertEquals(of.map(_._2).distinct.size, 1, s"$text: $one")
      }
    }
  }

  test("templates that could make one name of different values are refused") {
    refused("nothing separates")(template("{a}{b}"))
    refused("a digit follows")(template("{a:bucket(20)}1{b}"))
  }

  test("a bucket is a part of the SHA-256 of a value, and takes any value but null") {
    // First eight bytes of the digest: python3 -c "int.from_bytes(hashlib.sha256(b'x').digest()[:8]) % 64"
    assertEquals(Seq("", "acme", "Größe / 7").map(KeyTemplate.bucketOf(_, 64)), Seq(20L, 32L, 28L))
    assertEquals(name("t-{tenant:bucket(1)}", "/t/tenant=any thing%3A"), "t-0")
    refused("NULL or empty")(name("t-{c:bucket(2)}", "/t/c=__HIVE_DEFAULT_PARTITION__"))
  }

  test("what is no template is refused where it is parsed") {
    Seq("a{", "a}", "{a", "{{a}}").foreach(text => refused("a brace has no partner")(template(text)))
    Seq("{}", "{ }", "{:bucket(2)}").foreach(text => refused("names no column")(template(text)))
    Seq("{a:bucket(0)}", "{a:bucket(-1)}", "{a:bucket()}", "{a:hash(3)}", "{a:bucket(1000000)}").foreach(
      text => refused("bucket(1) to bucket(999999)")(template(text))
    )
  }

  test("a set of names has those that its templates can make, and no others") {
    val names = KeyNames(Set("footer", "t-{tenant}", "b-{x:bucket(8)}"))
    Seq("footer", "t-1", "t-a-b", "b-7").foreach(one => assert(names.contains(one), one))
    Seq("t-", "b-x", "other", "xt-1", "FOOTER", "b-1x").foreach(one => assert(!names.contains(one), one))
  }

  test("a name that another key of the options can have, too, is refused") {
    def named(text: String, others: String*)(directory: String) =
      KeyNames(others.toSet + text).nameOf(text, FilePlace.of(directory), caseSensitive = false, "file")
    // A tenant 'acme-pii' would have the key of another tenant's column as its own.
    refused("'t-{tenant}' can both have the name 't-acme-pii'")(
      named("t-{tenant}-pii", "t-{tenant}")("/t/tenant=acme")
    )
    refused("can both have the name 't-pii-DE'")(
      named("t-{tenant}", "t-pii-{country}")("/t/tenant=pii-DE/country=FR")
    )
    refused("can both have the name 't-admin'")(named("t-{tenant}", "t-admin")("/t/tenant=admin"))
    assertEquals(named("t-{tenant}", "pii-{tenant}", "admin")("/t/tenant=acme"), "t-acme")
    assertEquals(named("t-{tenant}", "t-{tenant}")("/t/tenant=acme"), "t-acme")
  }

  test("columnKeys takes templates in both of its forms") {
    def keysOf(text: String) = ColumnKeys.parse(text).entries.map(one => one.masterKeyId -> one.pattern.text)
    val expected = Seq("t-{tenant:bucket(64)}" -> "name", "{country}" -> "ssn", "{country}" -> "pay.base")
    assertEquals(keysOf("t-{tenant:bucket(64)}: name; {country}: ssn, pay.base"), expected)
    assertEquals(keysOf("{country}: ssn, pay.base").map(_._1).distinct, Seq("{country}"))
    assertEquals(
      keysOf("""{"t-{tenant:bucket(64)}": ["name"], "{country}": ["ssn", "pay.base"]}"""),
      expected
    )
    refused("a key id and ':' are expected")(ColumnKeys.parse("a{b: c"))
    refused("no partner")(ColumnKeys.parse("""{"a{b": ["c"]}"""))
  }

  test("a policy with templates asks each directory for the keys that they name there") {
    val policy = KeyBinding(
      Some("t-{tenant}"),
      ColumnKeys.parse("pii-{country}: ssn"),
      UnlistedColumns.UseFooterKey,
      caseSensitive = false
    )
    val at = policy.at(FilePlace.of("/t/tenant=1/country=DE"), "file")
    assertEquals(at.footerKey, Some("t-1"))
    assertEquals(at.keys.entries.map(_.masterKeyId), Seq("pii-DE"))
    // Whoever forgets to ask for a place accepts nothing.
    val leaf = LeafColumn(Seq("ssn"), Seq("ssn"))
    val unplaced = policy.of(Seq(leaf)).head
    assert(!unplaced.isMetBy(ColumnProtection.ColumnKey("pii-DE"), Some("t-1")))
  }
}
