package io.pmeparquet.columns

import java.io.IOException

import scala.collection.mutable

import com.fasterxml.jackson.core.{JsonFactory, JsonParser, JsonToken}

import io.pmeparquet.PmeErrors

/** The value of `columnKeys`: which master key protects which columns, in the order of the option. */
final case class ColumnKeys(entries: Seq[ColumnKeys.Entry]) {

  /** @throws io.pmeparquet.PmeException `PME_UNSUPPORTED` if a name of a key is a template */
  def requirePlain(option: String, where: String): ColumnKeys = {
    entries.map(_.masterKeyId).foreach(KeyTemplate.requirePlain(_, option, where))
    this
  }

  /** With other names of keys, as those that templates make for one file. */
  def named(name: String => String): ColumnKeys =
    ColumnKeys(entries.map(entry => entry.copy(masterKeyId = name(entry.masterKeyId))))

  /** The entries that cover any of the columns: not all files of a table need to have all its columns. */
  def of(leaves: Seq[LeafColumn], caseSensitive: Boolean): ColumnKeys =
    ColumnKeys(entries.filter(entry => leaves.exists(entry.pattern.covers(_, entry.asIn(caseSensitive)))))
}

object ColumnKeys {

  /**
   * @param tag the tag of a policy that gives columns this key; none for an entry of the option. Entries of policies may
   *   match no column, and of several of one policy that match one, the first counts
   */
  final case class Entry(masterKeyId: String, pattern: ColumnPattern, tag: Option[Tag] = None) {
    def isOfPolicy: Boolean = tag.isDefined

    /** Whether letters count. A policy means a column in any letters, or a setting of the session could get around it. */
    def asIn(caseSensitive: Boolean): Boolean = caseSensitive && !isOfPolicy
  }

  /** @param policy its name */
  final case class Tag(policy: String, name: String) {
    override def toString: String = s"tag '$name' of policy '$policy'"
  }

  val OptionName = "columnKeys"

  /**
   * `key: col, col.*; key2: col`, or JSON `{"key": ["col"]}` for key ids with `:` and unusual column names.
   *
   * @param option whose value it is, for messages
   */
  def parse(text: String, option: String = OptionName): ColumnKeys = {
    val entries =
      if (isJson(text)) parseJson(text, option) else new Grammar(text, option).parse()
    if (entries.isEmpty) throw PmeErrors.badColumnKeys(option, 0, "it names no column")
    entries.foreach(entry => KeyTemplate.of(entry.masterKeyId, option))
    ColumnKeys(entries)
  }

  /** The name of a key may begin with a brace, too: `{country}: name`. */
  private def isJson(text: String) = text.trim.startsWith("{") &&
    text.trim.drop(1).trim.headOption.forall(first => first == '"' || first == '}')

  /** A single column name, as in JSON: `` a.b.`c.d` ``. */
  def parsePattern(text: String, option: String = OptionName): ColumnPattern = {
    val grammar = new Grammar(text, option)
    val pattern = grammar.column()
    grammar.expectEnd()
    pattern
  }

  private val factory = new JsonFactory().enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION)

  private def parseJson(text: String, option: String): Seq[Entry] = {
    val parser = factory.createParser(text)
    def unreadable(why: String) =
      PmeErrors.badColumnKeys(option, parser.getTokenLocation.getCharOffset.toInt.max(0), why)
    val entries = mutable.ArrayBuffer.empty[Entry]
    try {
      parser.nextToken()
      while (parser.nextToken() == JsonToken.FIELD_NAME) {
        val key = parser.getCurrentName
        if (key.trim.isEmpty) throw unreadable("a key id is empty")
        if (parser.nextToken() != JsonToken.START_ARRAY)
          throw unreadable("a key id must be followed by a list of columns")
        while (parser.nextToken() == JsonToken.VALUE_STRING)
          entries += Entry(key, parsePattern(parser.getText, option))
        if (parser.currentToken() != JsonToken.END_ARRAY)
          throw unreadable("a list of columns must hold names only")
      }
      if (parser.currentToken() != JsonToken.END_OBJECT || parser.nextToken() != null)
        throw unreadable("there is text after the end of the JSON object")
    } catch { case bad: IOException => throw unreadable(s"it is not JSON (${bad.getClass.getSimpleName})") }
    finally parser.close()
    entries.toSeq
  }

  /** The text grammar, parsed from left to right. */
  private final class Grammar(text: String, option: String) {
    private var at = 0

    def parse(): Seq[Entry] = {
      val entries = mutable.ArrayBuffer.empty[Entry]
      skipBlanks()
      while (at < text.length) {
        val key = keyId()
        entries += Entry(key, column())
        while (accept(',')) entries += Entry(key, column())
        if (at < text.length && !accept(';')) fail("a ',' or ';' is expected here")
        skipBlanks()
      }
      entries.toSeq
    }

    private def keyId(): String = {
      val end = endOfKeyId()
      if (end < 0) fail("a key id and ':' are expected here")
      val key = text.substring(at, end).trim
      if (key.isEmpty || key.exists(c => c == ',' || c == ';')) fail("a key id and ':' are expected here")
      at = end + 1
      key
    }

    /** The first colon that is in no braces. */
    private def endOfKeyId(): Int = {
      var depth = 0
      text.indexWhere(
        char => {
          if (char == '{') depth += 1 else if (char == '}') depth -= 1
          char == ':' && depth <= 0
        },
        at
      )
    }

    def column(): ColumnPattern = {
      skipBlanks()
      val start = at
      val names = mutable.ArrayBuffer(name())
      while (at < text.length && text.charAt(at) == '.') {
        at += 1
        names += name()
      }
      val spelled = text.substring(start, at).trim
      skipBlanks()
      // 'address.*' means the same as 'address': everything below it.
      ColumnPattern(spelled, names.toSeq)
    }

    private def name(): NamePattern =
      if (at < text.length && text.charAt(at) == '`') NamePattern(quotedName(), quoted = true)
      else NamePattern(plainName(), quoted = false)

    private def plainName(): String = {
      val start = at
      while (at < text.length && Ends.indexOf(text.charAt(at).toInt) < 0) at += 1
      val name = text.substring(start, at).trim
      if (name.isEmpty) fail("a column name is expected here")
      name
    }

    private def quotedName(): String = {
      val name = new StringBuilder
      at += 1
      var open = true
      while (open) {
        if (at >= text.length) fail("a '`' is not closed")
        val c = text.charAt(at)
        at += 1
        if (c != '`') name += c
        else if (at < text.length && text.charAt(at) == '`') { name += c; at += 1 }
        else open = false
      }
      name.toString
    }

    def expectEnd(): Unit = if (at < text.length) fail("nothing more is expected here")

    private def accept(c: Char): Boolean = {
      skipBlanks()
      val found = at < text.length && text.charAt(at) == c
      if (found) at += 1
      found
    }
    private def skipBlanks(): Unit = while (at < text.length && Character.isWhitespace(text.charAt(at)))
      at += 1
    private def fail(why: String): Nothing = throw PmeErrors.badColumnKeys(option, at, why)

    private def Ends = ".,;:"
  }
}
