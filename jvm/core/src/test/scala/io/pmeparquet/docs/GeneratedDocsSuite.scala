package io.pmeparquet.docs

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}

import munit.FunSuite

import io.pmeparquet.{Checkout, Condition}
import io.pmeparquet.options.{OptionSpec, ParquetNames, PmeOptions}

/** `docs/options.md` and `docs/errors.md` are made from the code. `UPDATE_DOCS=1` rewrites them. */
class GeneratedDocsSuite extends FunSuite {
  private val header =
    "<!-- Made from the code by GeneratedDocsSuite. Change the code, then run `make docs-update`. -->\n"

  test("docs/options.md says what the code says")(same("options.md", options))
  test("docs/errors.md says what the code says")(same("errors.md", errors))

  private def options: String = {
    val (ofParquet, own) = PmeOptions.all.partition(_.name.startsWith(PmeOptions.ParquetPrefix))
    val head = Seq("| option | values (default first) | for | meaning |", "|---|---|---|---|")
    val lines = Seq(
      header,
      "# Options of `format(\"pme-parquet\")`",
      "",
      "Precedence: option of this read or write > session conf `spark.datasource.pme-parquet.<option>` > Hadoop conf " +
        "`parquet.encryption.*`. Names are case-insensitive. Anything else (`compression`, `mergeSchema`, " +
        "`parquet.*`, …) means the same as for Spark's own `parquet` source. An unknown option is an error if it begins " +
        "with `kms`, or if at most two letters distinguish it from a name below (one, for a name of up to five letters): " +
        "`columKey`. A name that is farther away counts as Spark's, which ignores what it does not know: " +
        "[preview the plan](write.md#preview-a-write-plan), or use `pme.Encryption`, whose arguments Python checks. With " +
        "our prefix, in a session, each unknown name is an error.",
      "",
      "A *secret reference* is `env:NAME`, `file:PATH`, `conf:SPARK_CONF_KEY` or `hadoop-credential:ALIAS`, resolved " +
        "on the driver. A secret itself is refused as a value.",
      "",
      "**Effect** is what an option costs, or leaves readable or unnoticed. All options are there since version " +
        s"$first unless they say otherwise. Names and meanings stay until the next major version, unless an option is " +
        "*not stable yet*: then a minor version may change it, and `CHANGELOG.md` says so.",
      ""
    ) ++ head ++ own.map(row) ++ Seq("", "Options with parquet-java's names only:", "") ++ head ++
      ofParquet.map(row) ++ Seq(
        "",
        "## Names of parquet-java",
        "",
        "These names work as options, in the session and in the Hadoop configuration. If both names are set in the same " +
          "place to different values, that is an error.",
        "",
        "| parquet-java | here |",
        "|---|---|"
      ) ++ PmeOptions.all.flatMap(option => option.parquetName.map(_ => option)).map { option =>
        s"| `${ParquetNames.of(option).get}` | `${option.name}` |"
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
    val notes = Seq(
      s" **Effect:** ${if (option.effect == OptionSpec.NoEffect) "none." else option.effect}",
      if (option.since == first) "" else s" *Since ${option.since}.*",
      if (option.isStable) "" else " *Not stable yet.*"
    )
    val meaning = (option.doc + notes.mkString).replace("|", "\\|")
    s"| `${option.name}` | $values | ${option.use.text} | $meaning |"
  }

  private val first = "0.1.0"

  private def errors: String = {
    val lines = Seq(
      header,
      "# Errors",
      "",
      "Every failure that a user can cause or cure is a `PmeException` (on the JVM) or a subclass of " +
        "`pme_parquet.PmeError` (in Python), with one of these conditions at the beginning of its " +
        "message, in `getCondition`/`getErrorClass`, and in `.condition`. A message has the form *where: what happened: " +
        "why, if known. What to do.* No message contains a key, a secret or a tag.",
      "",
      "| condition | SQLSTATE | meaning | what to do |",
      "|---|---|---|---|"
    ) ++ Condition.all.map(c => s"| `${c.name}` | `${c.sqlState}` | ${c.meaning} | ${c.remedy} |") ++ Seq(
      "",
      "## All messages",
      "",
      "The messages of the JVM, by condition. Text between ‹ and › is replaced when an error is raised; ‹why› is a reason " +
        "from elsewhere, such as a library or the answer of a KMS. Where SQL and the command line have another remedy, it " +
        "follows Python's. The Python package raises some more."
    ) ++ Condition.all.flatMap(messages) :+ ""
    lines.mkString("\n")
  }

  private def messages(condition: Condition): Seq[String] =
    Seq("", s"### `${condition.name}`", "", "| message |", "|---|") ++
      allMessages
        .getOrElse(condition, Nil)
        .map(message => s"| ${message.replace("|", "\\|").replace("*", "\\*")} |")

  private lazy val allMessages = new Messages(docs.resolveSibling("jvm")).byCondition

  private def same(name: String, expected: String): Unit = {
    val file = docs.resolve(name)
    if (sys.env.contains("UPDATE_DOCS")) Files.write(file, expected.getBytes(UTF_8))
    val found = if (Files.exists(file)) new String(Files.readAllBytes(file), UTF_8) else ""
    assertEquals(found, expected)
  }

  private lazy val docs: Path = Checkout.root.resolve("docs")
}
