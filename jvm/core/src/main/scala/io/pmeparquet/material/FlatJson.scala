package io.pmeparquet.material

import java.io.{IOException, StringWriter}

import scala.collection.mutable

import com.fasterxml.jackson.core.{JsonFactory, JsonParser, JsonToken}

/**
 * Flat JSON objects of strings and booleans: the format of key metadata and key material. Everything else is refused,
 * including duplicate names.
 */
private[pmeparquet] object FlatJson {

  sealed trait Value
  final case class Text(value: String) extends Value
  final case class Flag(value: Boolean) extends Value

  final class Malformed(message: String, cause: Throwable = null) extends Exception(message, cause)

  private val factory = new JsonFactory().enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION)

  def parse(json: String): Map[String, Value] = {
    val parser = factory.createParser(json)
    try {
      if (parser.nextToken() != JsonToken.START_OBJECT) throw new Malformed("it is not a JSON object")
      val fields = mutable.LinkedHashMap.empty[String, Value]
      while (parser.nextToken() == JsonToken.FIELD_NAME) {
        val name = parser.getCurrentName
        parser.nextToken() match {
          case JsonToken.VALUE_STRING => fields += name -> Text(parser.getText)
          case JsonToken.VALUE_TRUE => fields += name -> Flag(true)
          case JsonToken.VALUE_FALSE => fields += name -> Flag(false)
          case _ => throw new Malformed("the value of a field is neither a string nor true or false")
        }
      }
      if (parser.currentToken() != JsonToken.END_OBJECT || parser.nextToken() != null)
        throw new Malformed("there is text after the end of the JSON object")
      fields.toMap
    } catch {
      case failed: IOException => throw new Malformed("it is not JSON", failed)
    } finally parser.close()
  }

  def write(fields: Seq[(String, Value)]): String = {
    val text = new StringWriter
    val generator = factory.createGenerator(text)
    generator.writeStartObject()
    fields.foreach {
      case (name, Text(value)) => generator.writeStringField(name, value)
      case (name, Flag(value)) => generator.writeBooleanField(name, value)
    }
    generator.writeEndObject()
    generator.close()
    text.toString
  }
}
