package io.pmeparquet.docs

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, Paths}

import munit.FunSuite

import io.pmeparquet.options.{OptionSpec, PmeOptions}
import io.pmeparquet.Condition

/** `docs/options.md` and `docs/errors.md` are made from the code. `UPDATE_DOCS=1` rewrites them. */
class GeneratedDocsSuite extends FunSuite {
  private val header =
    "<!-- Made from the code by GeneratedDocsSuite. Change the code, then run `make docs-update`. -->\n"

  test("docs/options.md says what the code says")(same("options.md", options))
  test("docs/errors.md says what the code says")(same("errors.md", errors))

  private def options: String = {
    val rows = PmeOptions.all.map(row)
    val lines = Seq(
      header,
      "# Options of `format(\"pme-parquet\")`",
      "",
      "Precedence: option of this read or write > session conf `spark.datasource.pme-parquet.<option>` > Hadoop conf " +
        "`parquet.encryption.*`. Names are case-insensitive. Anything else (`compression`, `mergeSchema`, " +
        "`parquet.*`, …) means what it means to Spark's own `parquet` source. An unknown option that begins with " +
        "`kms`, or that is a slip away from a name below, is an error.",
      "",
      "A *secret reference* is `env:NAME`, `file:PATH`, `conf:SPARK_CONF_KEY` or `hadoop-credential:ALIAS`, resolved " +
        "on the driver. A secret written out as a value is refused.",
      "",
      "| option | values (default first) | for | since | meaning |",
      "|---|---|---|---|---|"
    ) ++ rows ++ Seq(
      "",
      "## Names of parquet-java",
      "",
      "Taken as options, from the session and from the Hadoop configuration. Where both names are set at the same " +
        "place and differ, that is an error.",
      "",
      "| parquet-java | here |",
      "|---|---|"
    ) ++ PmeOptions.all.flatMap(option => option.parquetName.map(_ => option)).map { option =>
      s"| `${PmeOptions.parquetNameOf(option).get}` | `${option.name}` |"
    } ++ Seq(
      "",
      "`complete.columns` is `true` for `unlistedColumns=footerKey` and `false` for `plaintext`, which is its default; " +
        "`key.material.store.internally` is `true` for `keyMaterial=internal` and `false` for `external`.",
      ""
    )
    lines.mkString("\n")
  }

  private def row(option: OptionSpec): String = {
    val values =
      if (option.secret) "secret reference"
      else if (option.values.nonEmpty) option.values.map(v => s"`$v`").mkString(", ")
      else option.default.fold("text")(v => s"`$v`, or text")
    val doc = option.doc.replace("|", "\\|")
    s"| `${option.name}` | $values | ${option.use.text} | ${option.since} | $doc |"
  }

  private def errors: String = {
    val lines = Seq(
      header,
      "# Errors",
      "",
      "Every failure that a user can cause or cure is a `PmeException` (on the JVM) or a subclass of " +
        "`pme_parquet.PmeError` (in Python), with one of these conditions at the head of its message, in " +
        "`getCondition`/`getErrorClass`, and in `.condition`. Messages say *where: what, because why. What to do.* " +
        "None holds a key, a secret or a tag.",
      "",
      "| condition | meaning | what to do |",
      "|---|---|---|"
    ) ++ Condition.all.map(c => s"| `${c.name}` | ${c.meaning} | ${c.remedy} |") :+ ""
    lines.mkString("\n")
  }

  private def same(name: String, expected: String): Unit = {
    val file = docs.resolve(name)
    if (sys.env.contains("UPDATE_DOCS")) Files.write(file, expected.getBytes(UTF_8))
    val found = if (Files.exists(file)) new String(Files.readAllBytes(file), UTF_8) else ""
    assertEquals(found, expected)
  }

  private lazy val docs: Path =
    Iterator
      .iterate(Paths.get("").toAbsolutePath)(_.getParent)
      .takeWhile(_ != null)
      .find(folder => Files.exists(folder.resolve("build.sbt")))
      .map(_.resolve("docs"))
      .getOrElse(fail("no build.sbt above the folder the tests run in"))
}
