package io.pmeparquet.columns

import scala.collection.JavaConverters._

import io.pmeparquet.{PmeErrors, StrictJson}
import io.pmeparquet.columns.ColumnNames.isSame

/**
 * What a file states of values that name its keys where no directory does: what names have for each placeholder of a
 * template, as `tenant` -> `acme`, or `tenant:bucket(64)` -> `17`. It is as good as the footer that it is in.
 */
final case class KeyValues(texts: Map[String, String]) {
  def isEmpty: Boolean = texts.isEmpty

  /** The value of a column, if the file states it itself, and once. */
  def value(column: String, caseSensitive: Boolean): Option[String] =
    only(KeyValues.placeholder(column, None), caseSensitive)

  /** The number of a value's bucket, as text. */
  def bucket(column: String, buckets: Int, caseSensitive: Boolean): Option[String] =
    only(KeyValues.placeholder(column, Some(buckets)), caseSensitive)

  /** The numbers of buckets in which all values of a column are, each with how many buckets there are. */
  def buckets(column: String, caseSensitive: Boolean): Seq[(Int, String)] =
    texts.keys.toSeq
      .collect { case KeyValues.Bucketed(name, count) if isSame(name, column, caseSensitive) => count.toInt }
      .flatMap(count => bucket(column, count, caseSensitive).map(count -> _))

  /** Whether it states anything of a column. */
  def mentions(column: String, caseSensitive: Boolean): Boolean = texts.keys.exists {
    case KeyValues.Bucketed(name, _) => isSame(name, column, caseSensitive)
    case name => isSame(name, column, caseSensitive)
  }

  private def only(placeholder: String, caseSensitive: Boolean): Option[String] =
    texts.toSeq.filter { case (name, _) => isSame(name, placeholder, caseSensitive) } match {
      case Seq((_, text)) => Some(text)
      case _ => None
    }

  /** The value of the footer's entry. */
  def json: String = {
    val made = StrictJson.mapper.createObjectNode()
    texts.toSeq.sorted.foreach { case (placeholder, text) => made.put(placeholder, text) }
    made.toString
  }
}

object KeyValues {
  val none: KeyValues = KeyValues(Map.empty)

  /** The key of the footer's entry. */
  val Entry = "pme.key.values"

  /**
   * What a footer states.
   *
   * @param entry the value of its [[Entry]], if it has one
   * @throws io.pmeparquet.PmeException `PME_DAMAGED_FILE` if that is not what a writer of this project writes
   */
  def of(entry: Option[String], file: String): KeyValues =
    entry.fold(none) { text =>
      def damaged(why: String) = PmeErrors.fileDamaged(file, s"its entry $Entry: $why")
      val root = StrictJson.parsed("it", damaged)(_.readTree(text))
      if (!root.isObject || !root.elements.asScala.forall(_.isTextual))
        throw damaged("it is no JSON object of texts")
      KeyValues(root.fields.asScala.map(field => field.getKey -> field.getValue.textValue).toMap)
    }

  /** What a template has between braces. */
  def placeholder(column: String, buckets: Option[Int]): String =
    column + buckets.fold("")(count => s":bucket($count)")

  private val Bucketed = "(?s)(.*):bucket\\(([1-9][0-9]{0,5})\\)".r
}
