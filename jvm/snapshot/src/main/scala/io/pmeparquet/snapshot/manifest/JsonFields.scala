package io.pmeparquet.snapshot.manifest

import scala.collection.mutable
import scala.collection.JavaConverters._

import com.fasterxml.jackson.databind.JsonNode

import io.pmeparquet.{PmeErrors, PmeException}

/** The fields of a JSON object, each of which must be read. */
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
