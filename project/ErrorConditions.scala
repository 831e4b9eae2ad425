import sbt._
import sjsonnew.shaded.scalajson.ast.unsafe._
import sjsonnew.support.scalajson.unsafe.Parser

/**
 * Makes Scala from `error-conditions.json`: the conditions, the audiences with their names, and a method for each message,
 * so that the compiler checks every call. A template has `<parameter>`, `<parameter:list>`, `<parameter:number>` and
 * `<parameter:named>` (an option, as its reader writes it), `<option NAME>`, and `<name>` of a function; `\<` is a bracket.
 */
object ErrorConditions {
  private val Audiences = Seq("python", "sql", "cli")
  private val Place = """(?<!\\)<([^<>]+)>""".r

  def sources(resource: File, directory: File): Seq[File] = {
    val all = fields(Parser.parseUnsafe(IO.read(resource)))
    val names = fields(all("names")).map { case (name, by) => name -> byAudience(by) }
    val conditions = fields(all("conditions"))
    Seq(
      "Condition" -> conditionsOf(conditions),
      "Audience" -> audiencesOf(names, fields(all("cliOptions"))),
      "DeclaredErrors" -> errorsOf(conditions, names.keySet)
    ).map { case (name, code) =>
      val file = directory / s"$name.scala"
      IO.write(file, s"package io.pmeparquet\n\n$code")
      file
    }
  }

  private def conditionsOf(conditions: Map[String, JValue]) = {
    val objects = conditions.toSeq.map { case (name, declared) =>
      val of = fields(declared)
      val texts = Seq(name, text(of("sqlState")), text(of("description")), text(of("remedy")))
      s"  case object ${objectOf(name)} extends Condition(${texts.map(quoted).mkString(", ")})"
    }
    s"""/** The stable name of a failure that users can cause or fix. */
       |sealed abstract class Condition(val name: String, val sqlState: String, val meaning: String, val remedy: String)
       |    extends Serializable {
       |  override def toString: String = name
       |}
       |
       |object Condition {
       |${objects.mkString("\n")}
       |  val all: Seq[Condition] = Seq(${conditions.keys.toSeq.map(objectOf).mkString(", ")})
       |}
       |""".stripMargin
  }

  private def audiencesOf(names: Map[String, Map[String, String]], cliOptions: Map[String, JValue]) = {
    val objects = Audiences.map { audience =>
      val values = names.toSeq.map { case (name, by) => s"""    def `$name` = ${quoted(by(audience))}""" }
      val options = if (audience == "cli") cliOptions.map { case (name, by) =>
        s"${quoted(name)} -> ${quoted(text(by))}"
      }
      else Nil
      s"""  case object ${audience.capitalize} extends Audience(${quoted(audience)}) {
         |${values.mkString("\n")}
         |    protected val options: Map[String, String] = Map(${options.mkString(", ")})
         |  }""".stripMargin
    }
    s"""/** Whoever reads a message, and how functions and options are called there. */
       |sealed abstract class Audience(val name: String) extends Serializable {
       |${names.keys.map(name => s"  def `$name`: String").mkString("\n")}
       |  protected def options: Map[String, String]
       |
       |  /** An option as it is written there. */
       |  def option(name: String): String = options.getOrElse(name, s"option $$name")
       |
       |  /** One option, or several in a text such as "a and b". */
       |  def optionOrOptions(names: String): String =
       |    if (names.contains(' ')) s"options $$names" else option(names)
       |}
       |
       |object Audience extends CurrentAudience {
       |${objects.mkString("\n")}
       |  val all: Seq[Audience] = Seq(${Audiences.map(_.capitalize).mkString(", ")})
       |}
       |""".stripMargin
  }

  private def errorsOf(conditions: Map[String, JValue], names: Set[String]) = {
    val methods = for {
      (condition, declared) <- conditions.toSeq
      (name, message) <- fields(fields(declared)("messages"))
    } yield methodOf(objectOf(condition), name, fields(message), names)
    s"""/** A method for each message of `error-conditions.json`. */
       |private[pmeparquet] trait DeclaredErrors extends ErrorTexts {
       |${methods.mkString("\n\n")}
       |}
       |""".stripMargin
  }

  private def methodOf(condition: String, name: String, declared: Map[String, JValue], names: Set[String]) = {
    val message = text(declared("message"))
    val remedies = byAudience(declared("remedy"))
    val places = (message +: Audiences.map(remedies)).flatMap(Place.findAllMatchIn(_).map(_.group(1)))
    val types = places
      .filterNot(place => place.startsWith("option ") || names(place))
      .map(_.split(':'))
      .groupBy(_.head)
      .map { case (parameter, uses) => parameter -> typeOf(uses.flatMap(_.drop(1))) }
    val found = places.map(_.takeWhile(_ != ':')).filter(types.contains).distinct
    val order = declared.get("parameters").fold(found)(items)
    if (types.contains("reader")) sys.error(s"$name: 'reader' is a name of the generated code")
    if (order.toSet != found.toSet) sys.error(s"$name: its parameters are ${found.mkString(", ")}")
    val parameters = order.map(parameter => s"$parameter: ${types(parameter)}")
    val values = order.map(parameter => s"${quoted(parameter)} -> ${shown(parameter, types(parameter))}")
    def code(template: String) = codeOf(template, types, names)
    val remedy =
      if (remedies.values.toSet.size == 1) code(remedies.values.head)
      else
        Audiences
          .map(audience => s"case Audience.${audience.capitalize} => ${code(remedies(audience))}")
          .mkString("reader match {\n      ", "\n      ", "\n    }")
    val (signature, cause) =
      if (order.isEmpty) (name, "null")
      else (s"$name(${parameters.mkString(", ")}, cause: Throwable = null)", "cause")
    s"""  def $signature: PmeException =
       |    declared(Condition.$condition, Map[String, String](${values.mkString(
        ", "
      )}), $cause) { reader => (
       |      ${code(message)},
       |      $remedy
       |    ) }""".stripMargin
  }

  private def codeOf(template: String, types: Map[String, String], names: Set[String]) = {
    val texts = Place.split(template).map(part => quoted(part.replace("\\<", "<"))).toSeq
    val values = Place.findAllMatchIn(template).map(_.group(1)).map { place =>
      val parameter = place.takeWhile(_ != ':')
      if (place.startsWith("option ")) s"reader.option(${quoted(place.stripPrefix("option "))})"
      else if (names(place)) s"reader.`$place`"
      else if (place == "options:named") s"reader.optionOrOptions($parameter)"
      else if (place.endsWith(":named")) s"reader.option($parameter)"
      else shown(parameter, types(parameter))
    }
    texts
      .zipAll(values.toSeq, quoted(""), quoted(""))
      .flatMap { case (text, value) => Seq(text, value) }
      .filter(_ != quoted(""))
      .mkString(" + ")
  }

  private def typeOf(kinds: Seq[String]) = kinds.filter(_ != "named").headOption match {
    case Some("list") => "Seq[String]"
    case Some("number") => "Long"
    case Some(other) => sys.error(s"there is no kind '$other' of parameters")
    case None => "String"
  }

  private def shown(parameter: String, kind: String) =
    if (kind == "Seq[String]") s"listed($parameter)"
    else if (kind == "Long") s"$parameter.toString"
    else parameter

  /** Python's, unless SQL has its own; SQL's, unless the command line has its own. */
  private def byAudience(declared: JValue): Map[String, String] = declared match {
    case JObject(_) =>
      val own = fields(declared)
      val sql = own.getOrElse("sql", own("python"))
      Map("python" -> own("python"), "sql" -> sql, "cli" -> own.getOrElse("cli", sql)).map {
        case (by, said) => by -> text(said)
      }
    case shared => Audiences.map(_ -> text(shared)).toMap
  }

  private def objectOf(condition: String) =
    condition.stripPrefix("PME_").split('_').map(_.toLowerCase.capitalize).mkString

  private def fields(value: JValue): Map[String, JValue] = value match {
    case JObject(found) =>
      scala.collection.immutable.ListMap(found.map(field => field.field -> field.value): _*)
    case other => sys.error(s"this is not an object: $other")
  }

  private def items(value: JValue): Seq[String] = value match {
    case JArray(found) => found.map(text)
    case other => sys.error(s"this is not a list: $other")
  }

  private def text(value: JValue): String = value match {
    case JString(found) => found
    case lines => items(lines).mkString(" ")
  }

  private def quoted(text: String) = "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"") + "\""
}
