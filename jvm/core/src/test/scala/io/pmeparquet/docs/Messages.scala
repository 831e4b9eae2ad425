package io.pmeparquet.docs

import java.lang.reflect.{Method, Parameter}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}

import io.pmeparquet.{Audience, Condition, PmeErrors, PmeException}

/**
 * All messages of the JVM's failures, for `docs/errors.md`: the templates of [[PmeErrors]], and what the sources put into
 * them. What a message gets when it is made is shown as ‹its name›.
 *
 * @param sources the folder `jvm`
 */
private[docs] final class Messages(sources: Path) {
  import Messages._

  /** By condition, sorted. */
  def byCondition: Map[Condition, Seq[String]] =
    (templates.values.map(_.message(Map.empty)) ++ mains.flatMap(of))
      .groupBy(_._1)
      .map { case (condition, found) => condition -> found.map(_._2).toSeq.distinct.sorted }

  private def of(file: Path): Seq[(Condition, String)] = {
    val text = new String(Files.readAllBytes(file), UTF_8)
    for {
      call <- Call.findAllMatchIn(text).toSeq
      template <- templates.get(Option(call.group(1)).getOrElse(OfClients(call.group(2)))).toSeq
      texts = template.textsOf(argumentsAt(text, call.end), ofClient = call.group(2) != null)
      if texts.nonEmpty
    } yield template.message(texts)
  }

  private def mains: Seq[Path] = {
    val found = Files.walk(sources)
    try
      found
        .toArray(new Array[Path](_))
        .filter(file => file.toString.contains("/src/main/") && !file.toString.contains("/testkit/"))
        .filter(file => file.toString.endsWith(".scala") || file.toString.endsWith(".java"))
        .sorted
        .toSeq
    finally found.close()
  }
}

private object Messages {
  private val Call = """(?:PmeErrors\.(\w+)|KmsFailure\.(\w+))\(""".r

  /** What becomes of a failure of a KMS client, and which of its arguments is the reason. */
  private val OfClients = Map(
    "missing" -> "keyUnusable",
    "notAuthentic" -> "wrappedKeyRefused",
    "unavailable" -> "kmsUnavailable",
    "badSetting" -> "contradiction"
  ).withDefaultValue("")

  private val CorrectIt = "\"Correct this setting.\""

  /** These take a whole message, or what another method of [[PmeErrors]] chooses. */
  private val Passed = Set(
    "badEncrypted",
    "changesUnconfirmed",
    "columnReadable",
    "declared",
    "encryptionWithOthers",
    "entryReadable",
    "expectOfNothing",
    "fail",
    "fileDamaged",
    "keysOfColumnDiffer",
    "keysUnused",
    "noColumnToIndex",
    "noIndexForKey",
    "noIndexToDrop",
    "noSuchColumn",
    "optionOfDefinition",
    "otherFactory",
    "partitionsDiffer",
    "refused",
    "writeFailed",
    "writtenByHive"
  )

  private lazy val templates: Map[String, Template] = PmeErrors.getClass.getMethods.toSeq
    .filter(method => method.getReturnType == classOf[PmeException] && !Passed(method.getName))
    .filterNot(_.isBridge)
    .map(method => method.getName -> new Template(method))
    .toMap

  private final class Template(method: Method) {
    private val parameters = method.getParameters.toSeq

    /** What a call gives for parameters, as far as that is text of the source. */
    def textsOf(arguments: Seq[String], ofClient: Boolean): Map[String, String] = {
      val named =
        if (!ofClient) parameters.map(_.getName).zip(arguments)
        else if (parameters.exists(_.getName == "options"))
          Seq("options", "why").zip(arguments) :+ ("remedy" -> CorrectIt)
        else Seq("why").zip(arguments)
      named.collect { case (name, argument) if isText(argument) => name -> shown(argument) }.toMap
    }

    def message(texts: Map[String, String]): (Condition, String) = {
      val made = method
        .invoke(PmeErrors, parameters.map(parameter => argument(parameter, texts.get(parameter.getName))): _*)
        .asInstanceOf[PmeException]
      made.condition -> parameters.foldLeft(
        if (texts.isEmpty) forAll(made) else made.problem(Audience.Python)
      ) { (text, parameter) =>
        text.replace(numberOf(parameter).toString, s"‹${parameter.getName}›")
      }
    }

    /** Python's words, and the remedies of SQL and of the command line where they differ. */
    private def forAll(made: PmeException) = {
      val remedies = Seq("SQL" -> made.remedy(Audience.Sql), "command line" -> made.remedy(Audience.Cli))
      val others = remedies.filter(_._2 != made.remedy(Audience.Python)).groupBy(_._2).toSeq.map {
        case (remedy, of) => s"<br>${of.map(_._1).mkString(" and ")}: $remedy"
      }
      made.problem(Audience.Python) + others.sorted.mkString
    }

    private def numberOf(parameter: Parameter) = Int.box(Number + parameters.indexOf(parameter))

    private def argument(parameter: Parameter, text: Option[String]): AnyRef = {
      val name = text.getOrElse(s"‹${parameter.getName}›")
      val number = numberOf(parameter)
      parameter.getType.getSimpleName -> parameter.getName match {
        case ("String", _) => name
        case ("int", _) => number
        case ("long", _) => Long.box(number.longValue)
        case ("Seq", "unfit") => Seq(number)
        case ("Seq", "differing") => Seq(("‹option›", "‹before›", "‹now›"))
        case ("Seq", _) => Seq(name)
        case ("Option", "unknown") => None
        case ("Option", _) => Some(name)
        case ("Condition", _) => Condition.NotAuthentic
        case ("PmeException", _) => new PmeException(Condition.KeyDenied, name)
        case ("Throwable", _) => null
        case (other, _) => throw new IllegalStateException(s"no placeholder for a $other")
      }
    }
  }

  /** Stands for a number until the text is made; no message has it. */
  private val Number = 770000

  /** The arguments of a call, as the source has them from a place on. */
  private[docs] def argumentsAt(text: String, begin: Int): Seq[String] = {
    val arguments = Seq.newBuilder[String]
    var (at, start, depth) = (begin, begin, 0)
    while (depth >= 0) {
      text.charAt(at) match {
        case '"' => at = endOfLiteral(text, at)
        case '(' | '[' | '{' => depth += 1
        case ')' | ']' | '}' => depth -= 1
        case _ => ()
      }
      if (depth < 0 || (depth == 0 && text.charAt(at) == ',')) {
        arguments += text.substring(start, at).trim
        start = at + 1
      }
      at += 1
    }
    arguments.result()
  }

  /** Where a literal closes; what is interpolated may hold literals. */
  private def endOfLiteral(text: String, open: Int): Int = {
    var at = open + 1
    while (text.charAt(at) != '"') {
      if (text.charAt(at) == '\\') at += 1
      else if (text.startsWith("${", at)) at = endOfBlock(text, at + 1)
      at += 1
    }
    at
  }

  private def endOfBlock(text: String, open: Int): Int = {
    var (at, depth) = (open, 0)
    do {
      text.charAt(at) match {
        case '"' => at = endOfLiteral(text, at)
        case '{' => depth += 1
        case '}' => depth -= 1
        case _ => ()
      }
      at += 1
    } while (depth > 0)
    at - 1
  }

  /** Literals, with values between them or none; not one of two texts, nor what a call makes of one. */
  private def isText(argument: String) =
    argument.contains('"') && !argument.matches(
      "(?s)if\\b.*|[\\w.]+\\(.*|.*\\?\\s*\".*|.*\\.(?:map|fold)\\b.*"
    )

  /** An expression of literals and values as text: values by the last of their names. */
  private[docs] def shown(expression: String): String = {
    val text = new StringBuilder
    var at = 0
    while (at < expression.length)
      expression.charAt(at) match {
        case '"' =>
          val end = endOfLiteral(expression, at)
          val content = expression.substring(at + 1, end)
          text ++= (if (at > 0 && expression.charAt(at - 1) == 's') interpolated(content)
                    else content.replace("\\", ""))
          at = end + 1
        case letter if letter.isLetter && !expression.startsWith("s\"", at) =>
          val value = expression.substring(at).takeWhile(c => c != '+' && c != '"')
          text ++= nameOf(value)
          at += value.length
        case _ => at += 1
      }
    text.toString
  }

  private def interpolated(text: String): String = {
    val out = new StringBuilder
    var at = 0
    while (at < text.length)
      if (text.startsWith("$$", at)) {
        out += '$'
        at += 2
      } else if (text.startsWith("${", at)) {
        val end = endOfBlock(text, at + 1)
        out ++= nameOf(text.substring(at + 2, end))
        at = end + 1
      } else if (text.charAt(at) == '$') {
        val name = text.substring(at + 1).takeWhile(c => c.isLetterOrDigit || c == '_')
        out ++= nameOf(name)
        at += 1 + name.length
      } else {
        if (text.charAt(at) != '\\') out += text.charAt(at)
        at += 1
      }
    out.toString
  }

  /** `source.describe` becomes a describe; if there is no such name, a value. */
  private def nameOf(value: String): String = value match {
    case ForReader(name) => Audience.Python.getClass.getMethod(name).invoke(Audience.Python).toString
    case _ => lastNameOf(value)
  }

  private val ForReader = """Audience\.current\.(\w+)""".r

  private def lastNameOf(value: String): String =
    """^[\w.]*?(\w+)(?:\(\))?\s*$""".r
      .findFirstMatchIn(value.trim.replaceFirst("\\.get(?:\\(\\))?$", ""))
      .fold("‹…›") { found =>
        s"‹${Getter.replaceFirstIn(found.group(1), "").replaceFirst("^[A-Z]$", "…")}›"
      }

  private val Getter = "^(?:get|to)(?=[A-Z])".r
}
