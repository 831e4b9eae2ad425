package io.pmeparquet.spark.options

import java.util.regex.Pattern

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.types._
import org.apache.spark.sql.SparkSession

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.columns.{ColumnKeys, ColumnPattern, LeafColumn, NamePattern}
import io.pmeparquet.policy.TagSource

/**
 * The tags that catalogs give columns. They add to those of a policy's patterns, and take none away. What seems meant as a
 * tag and is none is an error: without it a column would have the key of others. ''Driver only.''
 */
private[options] object TableTags {
  type Tags = Seq[(ColumnPattern, String)]

  /**
   * The tags of a table in Spark's catalog: of its columns' metadata and comments, and of its properties
   * `<name>.<column>`.
   *
   * @param table catalog, database and name
   * @param name of the metadata
   */
  def ofCatalog(session: SparkSession, table: Seq[String], name: String): Tags = table match {
    case Seq(_, database, named) =>
      val found = session.sessionState.catalog.getTableMetadata(TableIdentifier(named, Some(database)))
      val ofProperties = found.properties.toSeq.sortBy(_._1).collect {
        case (property, tags) if property.startsWith(s"$name.") =>
          val where = s"property $property"
          val column = ColumnKeys.parsePattern(property.stripPrefix(s"$name."), where)
          split(tags, where).map(column -> _)
        case (property, _) if mentions(property, name) => throw noTag(s"property $property")
      }
      ofSchema(found.schema, name) ++ ofProperties.flatten
    case _ => Nil
  }

  /** The tags in the metadata and comments of columns, also within structs, lists and maps. */
  def ofSchema(schema: DataType, name: String, path: Seq[String] = Nil): Tags = schema match {
    case struct: StructType =>
      struct.fields.toSeq.flatMap { field =>
        val inner = path :+ field.name
        tagsOf(field, name).map(patternOf(inner) -> _) ++ ofSchema(field.dataType, name, inner)
      }
    case list: ArrayType => ofSchema(list.elementType, name, path :+ "element")
    case map: MapType =>
      ofSchema(map.keyType, name, path :+ "key") ++ ofSchema(map.valueType, name, path :+ "value")
    case _ => Nil
  }

  private def tagsOf(field: StructField, name: String): Seq[String] = {
    val (metadata, comment) =
      (s"the metadata of column '${field.name}'", s"the comment of column '${field.name}'")
    val own =
      if (!field.metadata.contains(name)) Nil
      else
        try split(Option(field.metadata.getString(name)).getOrElse(""), metadata)
        catch { case _: ClassCastException => throw noTag(metadata) }
    val others = new MetadataBuilder().withMetadata(field.metadata).remove(name).remove("comment").build()
    if (mentions(others.json, name)) throw noTag(metadata)
    val word = s"(?<!\\S)${Pattern.quote(name)}=(\\S+)".r
    val text = field.getComment().getOrElse("")
    if (mentions(word.replaceAllIn(text, " "), name)) throw noTag(comment)
    own ++ word.findAllMatchIn(text).flatMap(found => split(found.group(1), comment))
  }

  /** Whether a text has a word that begins like this, in any letters. */
  private def mentions(text: String, name: String) =
    s"(?iu)(?<![\\p{L}\\p{N}])${Pattern.quote(name)}".r.findFirstIn(text).isDefined

  private def noTag(where: String) =
    PmeErrors.badOption(
      where,
      "…",
      "the tags of one column, separated by commas, as docs/policy-and-audit.md shows them"
    )

  private def patternOf(path: Seq[String]) =
    ColumnPattern(path.map(LeafColumn.quoted).mkString("."), path.map(NamePattern(_, quoted = true)))

  private def split(tags: String, where: String): Seq[String] = {
    val found = tags.split(',').map(_.trim).filter(_.nonEmpty).toSeq
    if (found.isEmpty) throw noTag(where)
    found
  }

  /** @param className of a [[TagSource]], which only the session names */
  def ofSource(className: String, table: Seq[String]): Tags =
    try {
      val loader = Thread.currentThread.getContextClassLoader
      val made =
        Class.forName(className, true, loader).asSubclass(classOf[TagSource]).getConstructor().newInstance()
      made.tags(table.asJava).asScala.toSeq.sortBy(_._1).flatMap { case (column, tags) =>
        val pattern = ColumnKeys.parsePattern(column, "tagSource")
        tags.asScala.map(pattern -> _)
      }
    } catch {
      case ours: PmeException => throw ours
      case failed @ (NonFatal(_) | _: LinkageError) =>
        throw PmeErrors.policyRefused(
          s"tagSource $className",
          s"it does not say the tags of table ${TrustedTables.spelled(table)} (${failed.getClass.getSimpleName})",
          "Check the class, and the catalog that it asks."
        )
    }
}
