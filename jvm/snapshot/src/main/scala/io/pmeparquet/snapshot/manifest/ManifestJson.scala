package io.pmeparquet.snapshot.manifest

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Base64

import scala.collection.mutable
import scala.collection.JavaConverters._
import scala.util.Try

import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}
import com.fasterxml.jackson.databind.JsonNode

import io.pmeparquet.{PmeErrors, PmeException, StrictJson}
import io.pmeparquet.parquet.summary.SummaryKind

/**
 * Manifests as bytes: two lines of JSON. A reader knows every field: one that it does not know, or a name that appears
 * twice, is refused.
 */
private[snapshot] object ManifestJson {
  val FormatName = "pme-parquet snapshot"

  import StrictJson.mapper

  /** The first line, without its end. */
  def content(manifest: Manifest): Array[Byte] = {
    val node = mapper.createObjectNode()
    val version = FormatVersion.of(manifest)
    node.put("format", FormatName).put("formatVersion", version.number)
    if (version.namesFormat) node.put("fileFormat", manifest.format.field)
    node.put("version", manifest.version).put("previous", manifest.previous.orNull)
    node.put("table", manifest.table).put("location", manifest.location)
    node.put("created", manifest.created).put("creator", manifest.creator).put("writer", manifest.writer)
    val policy = node.putObject("policy")
    if (version.hasErasures) policy.put("byPartition", manifest.policy.byPartition)
    policy.put("footerKey", manifest.policy.footerKey.orNull)
    val columns = policy.putArray("columns")
    manifest.policy.columns.foreach { case (path, key) =>
      val column = columns.addObject()
      texts(column.putArray("column"), path)
      column.put("key", key.orNull)
    }
    texts(node.putArray("partitionColumns"), manifest.partitionColumns)
    node.put("files", manifest.files).put("rows", manifest.rows).put("bytes", manifest.bytes)
    val parts = node.putArray("parts")
    manifest.parts.foreach { part =>
      val one = parts.addObject()
      stored(one, part.list).put("files", part.files).put("first", part.first).put("last", part.last)
      val files = one.putArray("indexes")
      part.indexes.foreach { case (field, file) => stored(files.addObject().put("field", field), file) }
    }
    val indexes = node.putArray("indexes")
    manifest.indexes.foreach { index =>
      val one = indexes.addObject().put("kind", index.kind.name)
      texts(one.putArray("column"), index.column)
      one.put("field", index.field).put("type", index.columnType).put("key", index.key.orNull)
      val parameters = one.putObject("parameters")
      index.kind.parameters.foreach { case (name, value) => parameters.put(name, value) }
    }
    if (version.hasWrites) {
      val writes = node.putObject("writes")
      manifest.writes.toSeq.sorted.foreach { case (series, number) => writes.put(series, number) }
    }
    if (version.hasErasures) {
      val erasures = node.putArray("erasures")
      manifest.erasures.foreach { one =>
        val erasure = erasures.addObject()
        texts(erasure.putArray("keys"), one.keys)
        erasure.put("erased", one.erased).put("certificate", one.certificate).put("sha256", one.sha256)
      }
    }
    mapper.writeValueAsBytes(node)
  }

  private def stored(node: ObjectNode, file: FileEntry): ObjectNode =
    node.put("name", file.name).put("length", file.length).put("sha256", file.sha256)

  /** The whole file. */
  def file(content: Array[Byte], seal: SealLine): Array[Byte] = {
    val node = mapper.createObjectNode()
    put(node, seal)
    seal.former.foreach(put(node.putObject("former"), _))
    content ++ LineEnd ++ mapper.writeValueAsBytes(node) ++ LineEnd
  }

  private def put(node: ObjectNode, seal: SealLine): Unit = {
    node.put("algorithm", seal.algorithm).put("key", seal.key)
    seal.wrappedKey.foreach(node.put("wrappedKey", _))
    node.put("value", Base64.getEncoder.encodeToString(seal.value))
    ()
  }

  /**
   * The two lines of a file: the bytes of the content, which are not trusted yet, and the seal.
   *
   * @throws io.pmeparquet.PmeException `PME_SNAPSHOT_DAMAGED`
   */
  def lines(file: Array[Byte], where: String): (Array[Byte], SealLine) = {
    val end = file.indexOf('\n'.toByte)
    val isWhole = end >= 0 && file.last == '\n' && file.indexOf('\n'.toByte, end + 1) == file.length - 1
    if (!isWhole) throw PmeErrors.snapshotDamaged(where, "the manifest is not two whole lines")
    // It is parsed before anything is verified.
    if (file.length - end > MostSealBytes)
      throw PmeErrors.snapshotDamaged(where, "its seal is longer than any seal is")
    val fields = new JsonFields(parsed(file.slice(end + 1, file.length - 1), where), "the seal", where)
    val former = fields.optional("former")(name => seal(fields.inner(name)))
    (file.take(end), seal(fields).copy(former = former))
  }

  private def seal(fields: JsonFields): SealLine = {
    val value = fields.text("value")
    val line = SealLine(
      fields.text("algorithm"),
      fields.text("key"),
      fields.optional("wrappedKey")(fields.text),
      // Java passes over bits behind the last byte, by which a manifest could have several digests.
      Try(Base64.getDecoder.decode(value))
        .filter(Base64.getEncoder.encodeToString(_) == value)
        .getOrElse(throw fields.unusable("'value' is not base64"))
    )
    fields.end()
    line
  }

  /**
   * @param content the first line, whose seal has been verified
   * @throws io.pmeparquet.PmeException `PME_SNAPSHOT_DAMAGED`
   */
  def manifest(content: Array[Byte], where: String): Manifest = {
    val fields = new JsonFields(parsed(content, where), "the manifest", where)
    if (fields.text("format") != FormatName) throw fields.unusable(s"it is not a '$FormatName'")
    val version = versionOf(fields, where)
    val named = if (version.namesFormat) fields.text("fileFormat") else DataFormat.Parquet.field
    val format = DataFormat.all
      .find(one => one.field == named && version.fixed.forall(_ == one))
      .getOrElse(throw fields.unusable("its files have a format that this format version does not have"))
    val manifest = Manifest(
      fields.number("version"),
      fields.nullable("previous"),
      fields.text("table"),
      fields.text("location"),
      fields.text("created"),
      fields.text("creator"),
      fields.text("writer"),
      policy(fields.inner("policy"), version),
      fields.texts("partitionColumns"),
      fields.number("files"),
      fields.number("rows"),
      fields.number("bytes"),
      fields.objects("parts").map(part),
      fields.objects("indexes").map(index),
      format,
      if (version.hasWrites) fields.inner("writes").numbers(mayBeEmpty = version.hasErasures) else Map.empty,
      if (version.hasErasures) fields.objects("erasures").map(erasure) else Nil
    )
    fields.end()
    if (manifest.parts.map(_.files).sum != manifest.files)
      throw fields.unusable("its parts do not list as many files as it states")
    requireWhole(manifest, fields)
    manifest
  }

  private def versionOf(fields: JsonFields, where: String): FormatVersion = {
    val number = fields.number("formatVersion")
    FormatVersion.all.find(_.number == number).getOrElse {
      throw PmeErrors.unsupported(
        where,
        s"a snapshot of format version $number",
        s"this version of pme-parquet reads versions ${FormatVersion.all.map(_.number).mkString(", ")}",
        "Use a later version of pme-parquet."
      )
    }
  }

  private val MostSealBytes = 64 * 1024

  private def policy(fields: JsonFields, version: FormatVersion): TablePolicy = {
    val policy = TablePolicy(
      fields.nullable("footerKey"),
      fields.objects("columns").map { column =>
        val one = column.texts("column") -> column.nullable("key")
        column.end()
        one
      },
      version.hasErasures && fields.flag("byPartition")
    )
    fields.end()
    // What cannot be parsed now would fail each file.
    try policy.keys.foreach(policy.isTemplate)
    catch { case _: PmeException => throw fields.unusable("a key by partition is not written as one") }
    policy
  }

  private def erasure(fields: JsonFields): ErasedKeys = {
    val erasure = ErasedKeys(
      fields.texts("keys"),
      fields.text("erased"),
      fields.text("certificate"),
      fields.text("sha256")
    )
    fields.end()
    if (erasure.keys.isEmpty) throw fields.unusable("it names no key")
    erasure
  }

  private def part(fields: JsonFields): PartEntry = {
    val part = PartEntry(
      stored(fields, PartName, "a part"),
      fields.number("files"),
      fields.text("first"),
      fields.text("last"),
      fields.objects("indexes").map { one =>
        val file = one.text("field") -> stored(one, IndexName, "a file of an index")
        one.end()
        file
      }
    )
    fields.end()
    part
  }

  /** @param names the names that such a file can have: a name becomes a path */
  private def stored(fields: JsonFields, names: String, what: String): FileEntry = {
    val file = FileEntry(fields.text("name"), fields.number("length"), fields.text("sha256"))
    if (!file.name.matches(names)) throw fields.unusable(s"$what has a name that it cannot have")
    file
  }

  private def index(fields: JsonFields): IndexEntry = {
    val kind = fields.text("kind")
    val column = fields.texts("column")
    val field = fields.text("field")
    val columnType = fields.text("type")
    val key = fields.nullable("key")
    val parameters = fields.textMap("parameters")
    fields.end()
    if (!field.matches("index_[0-9]{1,4}")) throw fields.unusable("an index has a field that no index has")
    val parsed =
      try SummaryKind.parse(kind, parameters)
      catch {
        case _: PmeException =>
          throw fields.unusable(
            s"an index of kind '${kind.take(MostShown)}' is not one of this format version"
          )
      }
    IndexEntry(parsed, column, field, columnType, key)
  }

  /** Requires that each part has one file for each index. */
  private def requireWhole(manifest: Manifest, fields: JsonFields): Unit = {
    val named = manifest.indexes.map(_.field)
    if (named.distinct.size != named.size) throw fields.unusable("two indexes have the same field")
    if (
      manifest.parts
        .exists(part => part.indexes.size != named.size || part.indexes.map(_._1).toSet != named.toSet)
    )
      throw fields.unusable("a part does not have one file for each index")
  }

  private val Uuid = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
  val PartName: String = s"part-$Uuid\\.parquet"
  val IndexName: String = s"index-$Uuid\\.parquet"
  private val MostShown = 100

  private def parsed(bytes: Array[Byte], where: String): JsonNode =
    StrictJson.parsed("the manifest", PmeErrors.snapshotDamaged(where, _))(_.readTree(bytes)) match {
      case node: ObjectNode => node
      case _ => throw PmeErrors.snapshotDamaged(where, "a line of the manifest is not a JSON object")
    }

  private def texts(array: ArrayNode, values: Seq[String]): Unit = values.foreach(array.add)

  private val LineEnd = "\n".getBytes(UTF_8)
}

/**
 * A version of the format of manifests: which fields there are.
 *
 * @param fixed the format of data files, if all of this version have it
 * @param namesFormat whether there is a field for the format of data files
 * @param hasWrites whether there is a field for series of writes
 * @param hasErasures whether there are fields for erasures and for keys by partition
 */
private[manifest] final case class FormatVersion(
    number: Int,
    fixed: Option[DataFormat],
    namesFormat: Boolean,
    hasWrites: Boolean,
    hasErasures: Boolean = false
)

private[manifest] object FormatVersion {
  private val First = FormatVersion(1, Some(DataFormat.Parquet), namesFormat = false, hasWrites = false)
  private val OfOrc = FormatVersion(2, Some(DataFormat.Orc), namesFormat = true, hasWrites = false)
  private val OfSeries = FormatVersion(3, None, namesFormat = true, hasWrites = true)
  private val OfErasures =
    FormatVersion(4, None, namesFormat = true, hasWrites = true, hasErasures = true)

  val all: Seq[FormatVersion] = Seq(First, OfOrc, OfSeries, OfErasures)

  /** The oldest version that can say what a manifest says, so that older readers read it. */
  def of(manifest: Manifest): FormatVersion =
    if (manifest.policy.byPartition || manifest.erasures.nonEmpty) OfErasures
    else if (manifest.writes.nonEmpty) OfSeries
    else if (manifest.format == DataFormat.Parquet) First
    else OfOrc
}

/** The fields of a JSON object. Each must be read. */
private[manifest] final class JsonFields(node: JsonNode, what: String, where: String) {
  private val left = mutable.LinkedHashSet(node.fieldNames.asScala.toSeq: _*)

  def text(name: String): String = of(name, "text")(_.isTextual).asText

  def nullable(name: String): Option[String] =
    Some(of(name, "text or null")(one => one.isTextual || one.isNull)).filter(_.isTextual).map(_.asText)

  /** A number that is not negative. */
  def number(name: String): Long =
    of(name, "a whole number")(one => one.isIntegralNumber && one.canConvertToLong && one.asLong >= 0).asLong

  def texts(name: String): Seq[String] = elements(name, "texts")(_.isTextual).map(_.asText)

  def objects(name: String): Seq[JsonFields] =
    elements(name, "objects")(_.isObject).map(new JsonFields(_, s"'$name' of $what", where))

  def inner(name: String): JsonFields =
    new JsonFields(of(name, "an object")(_.isObject), s"'$name' of $what", where)

  /** An object whose fields are texts, in their order. */
  def textMap(name: String): Seq[(String, String)] =
    of(name, "an object of texts")(one =>
      one.isObject && one.elements.asScala.forall(_.isTextual)
    ).fields.asScala
      .map(field => field.getKey -> field.getValue.asText)
      .toVector

  def flag(name: String): Boolean = of(name, "true or false")(_.isBoolean).asBoolean

  /** All fields of this object, which are numbers. */
  def numbers(mayBeEmpty: Boolean): Map[String, Long] = {
    if (left.isEmpty && !mayBeEmpty) throw unusable("it has no entry")
    left.toSeq.map(name => name -> number(name)).toMap
  }

  /** @param read reads the field if it is there */
  def optional[A](name: String)(read: String => A): Option[A] = if (node.has(name)) Some(read(name)) else None

  /** @throws PmeException if there are fields that nobody has read */
  def end(): Unit =
    left.headOption.foreach(name => throw unusable(s"it has a field '${name.take(40)}' that is not known"))

  def unusable(why: String): PmeException =
    PmeErrors.snapshotDamaged(where, s"$what cannot be used: $why")

  private def elements(name: String, of: String)(fits: JsonNode => Boolean): Seq[JsonNode] =
    this
      .of(name, s"a list of $of")(one => one.isArray && one.elements.asScala.forall(fits))
      .elements
      .asScala
      .toVector

  private def of(name: String, kind: String)(fits: JsonNode => Boolean): JsonNode = {
    left -= name
    Option(node.get(name)).filter(fits).getOrElse(throw unusable(s"'$name' is not $kind"))
  }
}
