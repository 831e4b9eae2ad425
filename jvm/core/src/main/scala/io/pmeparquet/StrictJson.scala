package io.pmeparquet

import java.io.IOException

import com.fasterxml.jackson.core.{JsonFactory, JsonParser}
import com.fasterxml.jackson.databind.{DeserializationFeature, JsonNode, ObjectMapper}

/** JSON in which no name appears twice and nothing follows. */
private[pmeparquet] object StrictJson {
  val mapper: ObjectMapper = new ObjectMapper(
    new JsonFactory().enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION)
  ).enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)

  /** @param refused the error for a reason */
  def parsed(what: String, refused: String => PmeException)(read: ObjectMapper => JsonNode): JsonNode =
    try read(mapper)
    catch {
      // Jackson's message may repeat content.
      case bad @ (_: IOException | _: IllegalStateException) =>
        throw refused(s"$what is not JSON (${bad.getClass.getSimpleName})")
      case _: StackOverflowError => throw refused(s"$what is nested too deeply")
    }
}
