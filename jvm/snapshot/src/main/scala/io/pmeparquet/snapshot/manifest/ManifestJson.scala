package io.pmeparquet.snapshot.manifest

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Base64

import scala.util.Try

import com.fasterxml.jackson.core.{JsonFactory, JsonParser}
import com.fasterxml.jackson.databind.{DeserializationFeature, JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}

import io.pmeparquet.PmeErrors

/**
 * Manifests as bytes: two lines of JSON. A reader knows every field: one that it does not know, or a name that appears
 * twice, is refused.
 */
private[snapshot] object ManifestJson {
  val FormatName = "pme-parquet snapshot"
  val FormatVersion = 1

  private val mapper = new ObjectMapper(
    new JsonFactory().enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION)
  ).enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)

  /** The first line, without its end. */
  def content(manifest: Manifest): Array[Byte] = {
    val node = mapper.createObjectNode()
    node.put("format", FormatName).put("formatVersion", FormatVersion)
    node.put("version", manifest.version).put("previous", manifest.previous.orNull)
    node.put("table", manifest.table).put("location", manifest.location)
    node.put("created", manifest.created).put("creator", manifest.creator).put("writer", manifest.writer)
    val policy = node.putObject("policy")
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
      parts
        .addObject()
        .put("name", part.name)
        .put("length", part.length)
        .put("sha256", part.sha256)
        .put("files", part.files)
        .put("first", part.first)
        .put("last", part.last)
    }
    val indexes = node.putArray("indexes")
    manifest.indexes.foreach { index =>
      val one = indexes.addObject().put("kind", IndexEntry.MinMax)
      texts(one.putArray("column"), index.column)
      one.put("field", index.field).put("type", index.columnType)
    }
    mapper.writeValueAsBytes(node)
  }

  /** The whole file. */
  def file(content: Array[Byte], seal: SealLine): Array[Byte] = {
    val node = mapper.createObjectNode()
    node.put("algorithm", seal.algorithm).put("key", seal.key)
    seal.wrappedKey.foreach(node.put("wrappedKey", _))
    node.put("value", Base64.getEncoder.encodeToString(seal.value))
    content ++ LineEnd ++ mapper.writeValueAsBytes(node) ++ LineEnd
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
    val seal = new JsonFields(parsed(file.slice(end + 1, file.length - 1), where), "the seal", where)
    val value = seal.text("value")
    val line = SealLine(
      seal.text("algorithm"),
      seal.text("key"),
      seal.optional("wrappedKey")(seal.text),
      // Java passes over bits behind the last byte, by which a manifest could have several digests.
      Try(Base64.getDecoder.decode(value))
        .filter(Base64.getEncoder.encodeToString(_) == value)
        .getOrElse(throw seal.unusable("'value' is not base64"))
    )
    seal.end()
    (file.take(end), line)
  }

  /**
   * @param content the first line, whose seal has been verified
   * @throws io.pmeparquet.PmeException `PME_SNAPSHOT_DAMAGED`
   */
  def manifest(content: Array[Byte], where: String): Manifest = {
    val fields = new JsonFields(parsed(content, where), "the manifest", where)
    if (fields.text("format") != FormatName) throw fields.unusable(s"it is not a '$FormatName'")
    val format = fields.number("formatVersion")
    if (format != FormatVersion)
      throw PmeErrors.unsupported(
        where,
        s"a snapshot of format version $format",
        s"this version of pme-parquet reads version $FormatVersion",
        "Use a later version of pme-parquet."
      )
    val manifest = Manifest(
      fields.number("version"),
      fields.nullable("previous"),
      fields.text("table"),
      fields.text("location"),
      fields.text("created"),
      fields.text("creator"),
      fields.text("writer"),
      policy(fields.inner("policy")),
      fields.texts("partitionColumns"),
      fields.number("files"),
      fields.number("rows"),
      fields.number("bytes"),
      fields.objects("parts").map(part),
      fields.objects("indexes").map(index)
    )
    fields.end()
    if (manifest.parts.map(_.files).sum != manifest.files)
      throw fields.unusable("its parts do not list as many files as it states")
    if (manifest.indexes.map(_.field).distinct.size != manifest.indexes.size)
      throw fields.unusable("two indexes have the same field")
    manifest
  }

  private val MostSealBytes = 64 * 1024

  private def policy(fields: JsonFields): TablePolicy = {
    val policy = TablePolicy(
      fields.nullable("footerKey"),
      fields.objects("columns").map { column =>
        val one = column.texts("column") -> column.nullable("key")
        column.end()
        one
      }
    )
    fields.end()
    policy
  }

  private def part(fields: JsonFields): PartEntry = {
    val part = PartEntry(
      fields.text("name"),
      fields.number("length"),
      fields.text("sha256"),
      fields.number("files"),
      fields.text("first"),
      fields.text("last")
    )
    fields.end()
    // It becomes a path.
    if (!part.name.matches(PartName)) throw fields.unusable("a part has a name that no part has")
    part
  }

  private def index(fields: JsonFields): IndexEntry = {
    val kind = fields.text("kind")
    if (kind != IndexEntry.MinMax)
      throw fields.unusable(s"'$kind' is not a kind of index of this format version")
    val index = IndexEntry(fields.texts("column"), fields.text("field"), fields.text("type"))
    fields.end()
    if (!index.field.matches("index_[0-9]{1,4}"))
      throw fields.unusable("an index has a field that no index has")
    index
  }

  val PartName = "part-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\\.parquet"

  private def parsed(bytes: Array[Byte], where: String): JsonNode =
    try
      mapper.readTree(bytes) match {
        case node: ObjectNode => node
        case _ => throw PmeErrors.snapshotDamaged(where, "a line of the manifest is not a JSON object")
      }
    catch {
      // Jackson's message may repeat content.
      case bad @ (_: IOException | _: IllegalStateException) =>
        throw PmeErrors.snapshotDamaged(where, s"the manifest is not JSON (${bad.getClass.getSimpleName})")
      case _: StackOverflowError =>
        throw PmeErrors.snapshotDamaged(where, "the manifest is nested too deeply")
    }

  private def texts(array: ArrayNode, values: Seq[String]): Unit = values.foreach(array.add)

  private val LineEnd = "\n".getBytes(UTF_8)
}
