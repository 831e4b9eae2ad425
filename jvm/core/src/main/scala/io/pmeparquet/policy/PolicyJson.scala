package io.pmeparquet.policy

import scala.collection.mutable
import scala.collection.JavaConverters._

import com.fasterxml.jackson.databind.JsonNode

import io.pmeparquet.{PmeErrors, PmeException, StrictJson}
import io.pmeparquet.columns.{ColumnKeys, ColumnPattern, KeyTemplate}

/**
 * Policies as JSON. Everything that is not known is refused: a misspelt field would be a rule that nobody obeys.
 * `policy.schema.json` describes the same for editors, and a test compares the two.
 */
object PolicyJson {
  val FormatName = "pme-parquet policy"
  val Version = 1

  /** Patterns of columns, of all tags: each is compared with each column of a table. */
  val MaxPatterns = 2000
  val MaxBytes = 1 << 20

  /**
   * @param where it comes from, for messages
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION`
   */
  def parse(bytes: Array[Byte], where: String): Policy = {
    def refused(why: String) = PmeErrors.badPolicy(where, why)
    if (bytes.length > MaxBytes) throw refused(s"it has more than $MaxBytes bytes")
    val root = StrictJson.parsed("it", refused)(_.readTree(bytes))
    new Reader(where).policy(root)
  }

  private final class Reader(where: String) {
    private def refused(why: String): PmeException = PmeErrors.badPolicy(where, why)

    def policy(root: JsonNode): Policy = {
      val fields = new Fields("it", root)
      if (fields.text("format") != FormatName) throw refused(s"its format is not '$FormatName'")
      if (fields.number("version") != Version) throw refused(s"its version is not $Version")
      val name = plain("name", fields.text("name"))
      val number = fields.number("number")
      if (number < 1) throw refused("its number is less than 1")
      val tags = fields.items("tags").map(tag)
      val (defaults, readers) = (fields.inner("defaults"), fields.inner("readers"))
      val catalogTag =
        fields.optional("catalogTag").map(_ => plain("'catalogTag'", fields.text("catalogTag")))
      fields.end()
      val made = Policy(name, number, tags, defaultsOf(defaults, tags), readersOf(readers), catalogTag, where)
      check(made)
      made
    }

    private def tag(node: JsonNode): PolicyTag = {
      val fields = new Fields("a tag", node)
      val name = plain("a tag", fields.text("tag"))
      val in = new Fields(s"tag '$name'", node)
      val made = PolicyTag(name, key(in, "key"), in.items("columns").map(pattern(name, _)))
      in.skip("tag")
      in.end()
      made
    }

    private def pattern(tag: String, node: JsonNode): ColumnPattern =
      if (!node.isTextual) throw refused(s"tag '$tag': its columns must be texts")
      else
        try ColumnKeys.parsePattern(node.textValue, s"policy, tag '$tag'")
        catch {
          case bad: PmeException =>
            throw PmeErrors.badPolicy(where, s"tag '$tag' has no pattern '${shown(node.textValue)}'", bad)
        }

    private def key(fields: Fields, name: String) = keyOf(fields.text(name))

    private def keyOf(text: String) = {
      if (text.trim.isEmpty || text != text.trim) throw refused("a key is empty, or has spaces around it")
      try KeyTemplate.of(text, "policy")
      catch {
        case bad: PmeException => throw PmeErrors.badPolicy(where, s"'${shown(text)}' names no key", bad)
      }
      text
    }

    private def defaultsOf(fields: Fields, tags: Seq[PolicyTag]): PolicyDefaults = {
      val made = PolicyDefaults(
        fields.optional("footerKey").map(_ => key(fields, "footerKey")),
        fields.optional("uniformKey").map(_ => key(fields, "uniformKey")),
        fields.choice("unlistedColumns", Seq("error", "footerKey", "plaintext")),
        fields.choice("algorithm", Seq("AES_GCM_V1", "AES_GCM_CTR_V1")),
        fields.flag("plaintextFooter"),
        fields.bits("dataKeyBits"),
        fields.bits("kekBits"),
        fields.optional("aadPrefix").map(_ => fields.text("aadPrefix"))
      )
      val saysUnlisted = fields.optional("unlistedColumns").isDefined
      fields.end()
      (made.footerKey, made.uniformKey) match {
        case (Some(_), Some(_)) | (None, None) =>
          throw refused("its defaults must have one of footerKey and uniformKey")
        case (None, Some(_)) if tags.nonEmpty || saysUnlisted =>
          throw refused("with uniformKey there are neither tags nor unlistedColumns")
        case (Some(_), None) if tags.isEmpty && made.unlistedColumns != "footerKey" =>
          throw refused("without tags, unlistedColumns must be footerKey")
        case _ => made
      }
    }

    private def readersOf(fields: Fields): PolicyReaders = {
      val made = PolicyReaders(
        fields.choice("columns", Seq("bind", "any")) == "bind",
        fields.choice("plaintextFiles", Seq("error", PolicyReaders.Allow)),
        fields.choice("clearLevels", Seq("error", PolicyReaders.Allow)),
        fields.optional("snapshot").map(_ => fields.choice("snapshot", Seq("require"))),
        fields.optional("verifyKey").map(_ => fields.text("verifyKey"))
      )
      fields.end()
      made
    }

    private def check(made: Policy): Unit = {
      val names = made.tags.map(_.tag)
      names.diff(names.distinct).headOption.foreach(twice => throw refused(s"it has the tag '$twice' twice"))
      if (made.tags.map(_.columns.size).sum > MaxPatterns)
        throw refused(s"it has more than $MaxPatterns patterns of columns")
    }

    /** Names appear in messages and plans. */
    private def plain(what: String, text: String) =
      if (text.matches("[\\p{L}\\p{N}][\\p{L}\\p{N} _.:-]{0,99}")) text
      else throw refused(s"the name of $what must have 1 to 100 letters, digits, and signs of ' _.:-'")

    private def shown(text: String) = text.take(100).filterNot(Character.isISOControl)

    /** The fields of an object. Somebody must ask for each of them. */
    private final class Fields(what: String, node: JsonNode) {
      if (!node.isObject) throw refused(s"$what must be an object")
      private val known = mutable.Set.empty[String]

      def skip(name: String): Unit = { known += name; () }

      def optional(name: String): Option[JsonNode] = {
        known += name
        Option(node.get(name))
      }

      private def required(name: String) =
        optional(name).getOrElse(throw refused(s"$what has no field '$name'"))

      private def typed[A](name: String, value: JsonNode, kind: String)(
          read: PartialFunction[JsonNode, A]
      ): A =
        read.applyOrElse(value, (_: JsonNode) => throw refused(s"$what: '$name' must be $kind"))

      def text(name: String): String = typed(name, required(name), "a text that is not empty") {
        case one if one.isTextual && one.textValue.nonEmpty => one.textValue
      }

      def number(name: String): Long = typed(name, required(name), "a whole number") {
        case one if one.isIntegralNumber && one.canConvertToLong => one.longValue
      }

      def items(name: String): Seq[JsonNode] =
        optional(name).fold(Seq.empty[JsonNode])(typed(name, _, "a list") {
          case one if one.isArray => one.elements.asScala.toList
        })

      def inner(name: String): Fields =
        new Fields(s"'$name'", optional(name).getOrElse(StrictJson.mapper.createObjectNode()))

      def flag(name: String): Boolean = optional(name).exists(typed(name, _, "true or false") {
        case one if one.isBoolean => one.booleanValue
      })

      def bits(name: String): Option[Int] = optional(name).map(typed(name, _, "128, 192 or 256") {
        case one if one.isInt && Set(128, 192, 256)(one.intValue) => one.intValue
      })

      /** @param values the default first */
      def choice(name: String, values: Seq[String]): String =
        optional(name).fold(values.head)(typed(name, _, s"one of: ${values.mkString(", ")}") {
          case one if one.isTextual && values.contains(one.textValue) => one.textValue
        })

      def end(): Unit = node.fieldNames.asScala.find(!known(_)).foreach { name =>
        throw refused(s"$what has an unknown field '${shown(name)}'")
      }
    }
  }
}
