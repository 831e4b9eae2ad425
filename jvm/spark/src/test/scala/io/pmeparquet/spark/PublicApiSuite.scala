package io.pmeparquet.spark

import java.io.File
import java.net.URLClassLoader
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, Paths}

import scala.collection.JavaConverters._
import scala.reflect.runtime.universe._

import munit.FunSuite
import org.apache.spark.sql.catalyst.expressions.{Literal, NamedArgumentExpression}

import io.pmeparquet.delta.DeltaEncryption
import io.pmeparquet.spark.admin.sql.TableFunctions

/**
 * Compares classes that users name, implement, catch or call with `api/scala.txt`. Its headings are what is public;
 * everything else is internal, whatever its modifiers. `make api-update` writes what follows each heading.
 */
class PublicApiSuite extends FunSuite {
  private val Listed = "(?m)^(?:class|object|trait) (\\S+)".r
  private val InText = "io\\.pmeparquet(?:\\.[a-z]\\w*)*(?:\\.[A-Z]\\w*)".r
  private val mirror = runtimeMirror(new WithoutHadoopsAnnotations)

  private lazy val root: Path =
    Iterator
      .iterate(Paths.get("").toAbsolutePath)(_.getParent)
      .find(folder => Files.exists(folder.resolve("build.sbt")))
      .get
  private lazy val file = root.resolve("api").resolve("scala.txt")

  /** Compares what follows the first line. */
  private def same(name: String, sections: Seq[String]): Unit = {
    val file = root.resolve("api").resolve(name)
    val expected = text(file).takeWhile(_ != '\n') + sections.mkString("\n\n", "\n\n", "\n")
    if (sys.env.contains("UPDATE_API")) Files.write(file, expected.getBytes(UTF_8))
    assertEquals(text(file), expected, "Users may depend on what is gone. If it may change: make api-update")
  }

  private def text(path: Path) = new String(Files.readAllBytes(path), UTF_8)
  private lazy val golden = text(file)
  private lazy val listed: Seq[String] = Listed.findAllMatchIn(golden).map(_.group(1)).toSeq.distinct.sorted

  test("api/scala.txt says what the classes say") {
    same("scala.txt", listed.flatMap(described))
  }

  test("api/sql.txt says which functions SQL has, and their columns") {
    val functions = TableFunctions.ofExtension(DeltaEncryption.functions).map { case (name, info, builder) =>
      val names = info.getUsage.takeWhile(_ != ')').split("[(,]").tail.map(_.trim)
      // A copy in place of no target is another call.
      val needed =
        names.filter(one => !one.contains("=>") || one.startsWith("target =>")).map(_.takeWhile(_ != ' '))
      val arguments = needed.toSeq.map(name => NamedArgumentExpression(name, Literal(name)))
      val columns = builder(arguments).output.map { column =>
        // Later Sparks say it of fields, too.
        val of = column.dataType.sql.toLowerCase.replace(" not null", "")
        s"  ${column.name}: $of${if (column.nullable) "" else " not null"}"
      }
      val call = info.getUsage.takeWhile(_ != ')') + ")"
      (call +: columns).mkString("\n")
    }
    same("sql.txt", functions.sorted)
  }

  test("classes of ours in public signatures are public") {
    val named = InText.findAllIn(golden.linesIterator.drop(1).mkString("\n")).toSet
    assertEquals((named -- listed).toSeq.sorted, Nil)
  }

  test("classes of ours that pages, examples and messages name are public") {
    val pages = Files.list(root.resolve("docs")).iterator.asScala.filter(_.toString.endsWith(".md")).toSeq
    val others =
      Seq("README.md", "jvm/core/src/main/resources/io/pmeparquet/error-conditions.json").map(root.resolve(_))
    val read = (pages.filterNot(_.endsWith("architecture.md")) ++ others).map(text)
    assertEquals((read.flatMap(InText.findAllIn(_)).toSet -- listed).toSeq.sorted, Nil)
  }

  /** A class and its companion, if there are such; one in a jar of its own by its source. */
  private def described(name: String): Seq[String] = {
    val found = Seq(loaded(mirror.staticClass(name)), loaded(mirror.staticModule(name).moduleClass)).flatten
    val (own, empty) = found.map(one(_, name)).partition(_.contains("\n"))
    if (found.isEmpty) Seq(inOtherJar(name)) else if (own.isEmpty) empty.take(1) else own
  }

  private def isOurs(symbol: Symbol) = symbol.fullName.startsWith("io.pmeparquet.")
  private def isPublic(symbol: Symbol) = symbol.isPublic && symbol.privateWithin == NoSymbol

  private def loaded(symbol: => Symbol): Option[ClassSymbol] =
    try {
      val found = symbol.asClass
      // A class without a companion has a module without an info.
      Some(found)
        .filter(isPublic)
        .filter(_.info match { case ClassInfoType(_, _, _) => true; case _ => false })
    } catch { case _: ScalaReflectionException | _: scala.reflect.internal.MissingRequirementError => None }

  private def one(symbol: ClassSymbol, name: String): String = {
    val kind = if (symbol.isModuleClass) "object" else if (symbol.isTrait) "trait" else "class"
    val parents = parentsOf(symbol).filter(isPublic).map(_.fullName).filterNot(Unsaid)
    val above = if (parents.isEmpty) "" else parents.mkString(" extends ", " with ", "")
    val members = declaredBy(symbol).filter(isSaid(_, symbol)).map(signature)
    (s"$kind $name$above" +: members.distinct.sorted.map("  " + _)).mkString("\n")
  }

  private val Unsaid =
    Set(
      "java.lang.Object",
      "scala.Any",
      "scala.Product",
      "scala.Serializable",
      "java.io.Serializable",
      "scala.Equals"
    )

  private def parentsOf(symbol: ClassSymbol): Seq[ClassSymbol] =
    symbol.info.asInstanceOf[ClassInfoType].parents.map(_.typeSymbol.asClass)

  /** What a class and its ancestors of ours declare: the mirror cannot load all of Spark's and Hadoop's. */
  private def declaredBy(symbol: ClassSymbol): Seq[Symbol] =
    symbol.info.decls.toSeq ++ parentsOf(symbol).filter(isOurs).flatMap { parent =>
      declaredBy(parent).filterNot(_.isConstructor)
    }

  private def isSaid(member: Symbol, of: ClassSymbol): Boolean = {
    val name = member.name.toString
    val isMade = member.isSynthetic || member.isImplementationArtifact || name.contains("$")
    val isOfNone = member.isConstructor && (of.isModuleClass || of.isTrait || of.isAbstract)
    (member.isMethod || member.isModule) && isPublic(member) && !isMade && !isOfNone && !OfEveryClass(name)
  }

  private val OfEveryClass = Set("equals", "hashCode", "toString")

  private def signature(member: Symbol): String =
    if (member.isModule) s"object ${member.name.decodedName}"
    else {
      val method = member.asMethod
      val info = method.info
      val params = method.typeParams.map(_.name.decodedName.toString)
      val types = if (params.isEmpty) "" else params.mkString("[", ", ", "]")
      val lists = info.paramLists.map { list =>
        list
          .map { one =>
            val default = if (one.asTerm.isParamWithDefault) " = …" else ""
            // Java's parameters have no names in class files.
            s"${one.name.decodedName}: ${shown(one.info)}$default".replaceFirst("^x\\$\\d+: ", "")
          }
          .mkString("(", ", ", ")")
      }
      if (method.isConstructor) s"new${lists.mkString}"
      else {
        val kind =
          if (method.isAccessor || method.isVal) "val" else if (method.isAbstract) "abstract def" else "def"
        s"$kind ${method.name.decodedName}$types${lists.mkString}: ${shown(info.finalResultType)}"
      }
    }

  /** Not by `toString`, which loads the class: the mirror cannot load those with Hadoop's annotations. */
  private def shown(kind: Type): String = kind match {
    case TypeRef(_, symbol, _) if symbol.isParameter || symbol.asType.isExistential =>
      symbol.name.decodedName.toString
    case TypeRef(_, symbol, List(argument)) if symbol == definitions.ByNameParamClass =>
      s"=> ${shown(argument)}"
    case TypeRef(_, symbol, _) if isOurs(symbol) && symbol.asType.isAliasType => shown(kind.dealias)
    case TypeRef(_, symbol, arguments) =>
      nameOf(symbol) + (if (arguments.isEmpty) "" else arguments.map(shown).mkString("[", ", ", "]"))
    case SingleType(_, symbol) => s"${nameOf(symbol)}.type"
    case ExistentialType(_, under) => shown(under)
    case AnnotatedType(_, under) => shown(under)
    case RefinedType(parents, _) => parents.map(shown).mkString(" with ")
    case other => fail(s"no text for a ${other.getClass}")
  }

  /** Without the packages that every Scala source sees. */
  private def nameOf(symbol: Symbol): String =
    symbol.fullName.replaceFirst(
      "^(?:scala\\.collection(?:\\.immutable)?|java\\.lang|scala\\.Predef|scala)\\.(?=[A-Z])",
      ""
    )

  /** Nothing of these jars is on this class path. They have no public methods but those of interfaces of others. */
  private def inOtherJar(name: String): String = {
    val source = s"src/main/java/${name.replace('.', '/')}.java"
    val folders =
      Files.list(root.resolve("jvm")).iterator.asScala.filter(folder => Files.exists(folder.resolve(source)))
    val found = folders.toSeq.headOption.getOrElse(
      fail(s"there is no public class $name: delete its heading in api/scala.txt")
    )
    val Declared = s"public (?:final )?class ${name.split('.').last} (?:extends|implements) (\\w+)".r
    val declared =
      Declared.findFirstMatchIn(text(found.resolve(source))).getOrElse(fail(s"$name is not public"))
    s"class $name extends ${declared.group(1)}\n  in pme-parquet-${found.getFileName}"
  }
}

/**
 * Hadoop's annotations annotate each other, and Scala's mirror cannot load that. Java leaves annotations out whose classes
 * are missing.
 */
private final class WithoutHadoopsAnnotations
    extends URLClassLoader(
      System.getProperty("java.class.path").split(File.pathSeparator).map(new File(_).toURI.toURL),
      ClassLoader.getPlatformClassLoader
    ) {
  override def loadClass(name: String, resolve: Boolean): Class[_] =
    if (name.startsWith("org.apache.hadoop.classification.")) throw new ClassNotFoundException(name)
    else super.loadClass(name, resolve)
}
