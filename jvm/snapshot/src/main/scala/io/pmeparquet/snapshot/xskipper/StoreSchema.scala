package io.pmeparquet.snapshot.xskipper

import scala.collection.JavaConverters._

import com.fasterxml.jackson.databind.JsonNode

import io.pmeparquet.{PmeErrors, PmeException, StrictJson}

/**
 * What a file of a store says of itself, in the Spark schema of its footer.
 *
 * @param version 0 for a file that states none
 * @param table Xskipper's id of the table
 * @param partitions names of partition columns, without `virtual_`
 */
private[snapshot] final case class StoreSchema(
    version: Int,
    table: Option[String],
    encryption: Option[StoreEncryption],
    indexes: Seq[StoreIndex],
    partitions: Seq[String]
) {

  /** Where the table's files are, as ids of files begin; none if the store names a table of a catalog, or none. */
  private val places: Seq[String] = table.toSeq.filter(_.contains('/')).flatMap { place =>
    // Version 0 has neither the first slash nor the scheme.
    if (place.startsWith("/") || place.contains("://")) Seq(place)
    else Seq(s"/$place", s"${FileId.Cos}$place")
  }

  /** Whether the store can speak of a file: not if it names another table. */
  def isOfTable(file: FileId): Boolean =
    places.isEmpty || places.exists(place => file.text.startsWith(place.stripSuffix("/") + "/"))
}

/** @param columnKeys as `encryption.column.keys`: key labels with their columns */
private[snapshot] final case class StoreEncryption(
    columnKeys: String,
    footerKey: String,
    plaintextFooter: Boolean
) {

  /** The label of each column in the list; two for a column are none that a file can have. */
  private lazy val labels: Map[String, Seq[String]] = columnKeys
    .split(';')
    .toSeq
    .filter(_.nonEmpty)
    .flatMap { group =>
      val (label, columns) = group.span(_ != ':')
      columns.drop(1).split(',').toSeq.map(_ -> label)
    }
    .groupBy(_._1)
    .map { case (column, found) => column -> found.map(_._2).distinct }

  /** @param leaf a column's path, with dots between its parts */
  def labelOf(leaf: String): Option[String] = labels.get(leaf).map(_.mkString(","))
}

/**
 * @param kind Xskipper's name: `minmax`, `valuelist`, `bloomfilter`, or that of a plugin
 * @param columns that it is of, in lower case, with dots between the parts of nested ones
 * @param field the name of its column in the file
 * @param content of that column
 * @param key label of the key that it is encrypted with; none if it is not encrypted
 */
private[pmeparquet] final case class StoreIndex(
    kind: String,
    columns: Seq[String],
    field: String,
    content: StoreContent,
    parameters: Map[String, String],
    key: Option[String]
)

/** What the column of an index holds. */
private[pmeparquet] sealed trait StoreContent

private[pmeparquet] object StoreContent {
  final case class MinMax(of: StoredType) extends StoreContent
  final case class ValueList(of: StoredType) extends StoreContent

  /** Java objects, which tell the type of their values themselves. */
  final case class Serialized(kind: SerializedKind) extends StoreContent

  /** @param why as a clause */
  final case class Unknown(why: String) extends StoreContent
}

private[snapshot] object StoreSchema {

  /** The entry of the footer's key-value metadata. */
  val Key = "org.apache.spark.sql.parquet.row.metadata"
  val IdField = "obj_name"
  val NewestVersion = 4

  /** A schema of thousands of indexes is smaller. */
  private val MostChars = 4 * 1024 * 1024

  /** @throws io.pmeparquet.PmeException if it is not the schema of a store of a known version */
  def parse(text: String, where: String): StoreSchema = new StoreSchemaText(where).of(text)

  private final class StoreSchemaText(where: String) {
    def of(text: String): StoreSchema = {
      val fields = elements(parsed(text), "fields")
      val names = fields.map(string(_, "name"))
      if (names.distinct.size != names.size) throw unusable("two columns have the same name")
      val id = fields
        .find(field => string(field, "name") == IdField && field.path("type").asText == "string")
        .getOrElse(throw unusable(s"it has no column '$IdField'"))
        .path("metadata")
      val version = versionOf(id)
      val indexed = fields.filter(_.path("metadata").has("index"))
      StoreSchema(
        version,
        (id +: indexed.map(_.path("metadata").path("index")))
          .map(_.path("tableIdentifier"))
          .find(_.isTextual)
          .map(_.asText),
        if (id.has("encryption")) Some(encryption(id.get("encryption"))) else None,
        indexed.map(index(_, version)),
        names.filter(_.startsWith("virtual_")).map(_.stripPrefix("virtual_"))
      )
    }

    private def parsed(text: String): JsonNode = {
      if (text.length > MostChars) throw unusable(s"its schema has ${text.length} characters")
      StrictJson.parsed("its schema", unusable)(_.readTree(text))
    }

    private def versionOf(id: JsonNode): Int =
      if (!id.has("version")) 0
      else {
        val version = id.get("version")
        val isKnown = version.isIntegralNumber && version.canConvertToInt && version.asInt >= 0 &&
          version.asInt <= NewestVersion
        if (!isKnown)
          throw unusable(
            s"its version is ${version.asText.take(20)}, and this version of pme-parquet reads 0 to $NewestVersion"
          )
        version.asInt
      }

    private def encryption(node: JsonNode) = {
      val plaintext = node.path("encryption.plaintext.footer")
      if (!plaintext.isMissingNode && !Set("true", "false")(plaintext.asText))
        throw unusable("its encryption.plaintext.footer is neither true nor false")
      StoreEncryption(
        string(node, "encryption.column.keys"),
        string(node, "encryption.footer.key"),
        plaintext.asText == "true"
      )
    }

    private def index(field: JsonNode, version: Int): StoreIndex = {
      val stated = field.get("metadata").get("index")
      val kind = string(stated, "name")
      val columns = elements(stated, "cols").map(textOf(_, "cols"))
      val name = string(field, "name")
      val content =
        if (name != IndexName.of(version, columns, kind))
          StoreContent.Unknown("its column has not the name that its version makes")
        else if (columns.size != 1) StoreContent.Unknown("it is of several columns")
        else contentOf(kind, field.path("type"))
      StoreIndex(
        kind,
        columns,
        name,
        content,
        parameters(stated.path("params"), version),
        if (stated.has("key_metadata")) Some(string(stated, "key_metadata")) else None
      )
    }

    private def contentOf(kind: String, of: JsonNode): StoreContent = (kind, of.path("type").asText) match {
      case ("minmax", "struct") =>
        val bounds = elements(of, "fields")
        val types = bounds.map(bound => StoredType.of(bound.path("type").asText))
        if (bounds.map(string(_, "name")) != Seq("min", "max") || types.distinct.size != 1)
          StoreContent.Unknown("it has not the fields min and max of one type")
        else known(types.head)(StoreContent.MinMax(_))
      case ("valuelist", "array") =>
        known(StoredType.of(of.path("elementType").asText))(StoreContent.ValueList(_))
      case (_, "udt") =>
        SerializedKind
          .of(kind, of.path("class").asText)
          .fold[StoreContent](StoreContent.Unknown("its kind is not known"))(StoreContent.Serialized(_))
      case _ => StoreContent.Unknown("its kind is not known")
    }

    private def known(of: Option[StoredType])(content: StoredType => StoreContent): StoreContent =
      of.fold[StoreContent](StoreContent.Unknown("it has values of a type that is not evaluated"))(content)

    /** Lists of `name:value` up to version 2, then objects. */
    private def parameters(node: JsonNode, version: Int): Map[String, String] =
      if (node.isMissingNode) Map.empty
      else if (version <= 2 && node.isArray)
        node.elements.asScala.map { one =>
          val (name, value) = textOf(one, "params").span(_ != ':')
          name -> value.drop(1)
        }.toMap
      else if (node.isObject)
        node.fields.asScala.map(field => field.getKey -> textOf(field.getValue, "params")).toMap
      else throw unusable("the parameters of an index are not those of its version")

    private def elements(node: JsonNode, name: String): Vector[JsonNode] = {
      if (!node.path(name).isArray) throw unusable(s"'$name' is not a list")
      node.get(name).elements.asScala.toVector
    }

    private def string(node: JsonNode, name: String): String = textOf(node.path(name), name)

    private def textOf(node: JsonNode, name: String): String =
      if (node.isTextual) node.asText else throw unusable(s"'$name' is not text")

    private def unusable(why: String): PmeException = PmeErrors.xskipperUnusable(where, why)
  }
}

/** The names of index columns in a store, which each version makes in its own way ("Column name generation"). */
private[pmeparquet] object IndexName {

  /**
   * @param version of the store
   * @param columns that the index is of, with dots between the parts of nested ones
   * @param kind Xskipper's name of the index
   */
  def of(version: Int, columns: Seq[String], kind: String): String = version match {
    case 0 => s"${columns.mkString(":")}_$kind"
    case 1 => s"${columns.mkString("_")}_$kind"
    case _ =>
      val cleaned = columns.map(_.replace("#", "##").replace(".", "$#$"))
      s"${cleaned.mkString("_")}_${kind}_${cleaned.map(_.length).mkString("-")}"
  }

  /** The column of a partition column's values, from version 4 on. */
  def ofPartition(column: String): String = s"virtual_$column"
}
