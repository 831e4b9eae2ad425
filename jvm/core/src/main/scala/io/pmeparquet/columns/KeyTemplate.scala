package io.pmeparquet.columns

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.ByteBuffer
import java.util.regex.Pattern

import io.pmeparquet.{PmeErrors, Sha256}
import io.pmeparquet.columns.KeyTemplate._

/**
 * The name of a master key, or a template of such names over columns: `pii-{country}`, `t-{tenant:bucket(64)}`. Each file
 * has the key that the template names for the values in its directory, or for the values that its footer states.
 *
 * Different values never make one name by accident: a value has only characters that names of keys have in every KMS,
 * and does not contain what separates it from the next one. Buckets are meant to share keys.
 */
final case class KeyTemplate private (text: String, parts: Seq[Part]) {

  /** The columns that it needs values of; none for a plain name. */
  def columns: Seq[String] = values.map(_.column).distinct

  /** What stands between braces. */
  def values: Seq[Value] = parts.collect { case value: Value => value }.distinct

  def isTemplate: Boolean = columns.nonEmpty

  /**
   * The name of the key of a file.
   *
   * @param where the file, for messages
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION` if the value makes no name, `PME_KEY_METADATA` if the place has none
   */
  def name(place: FilePlace, caseSensitive: Boolean, where: String): String =
    parts.indices.map { at =>
      parts(at) match {
        case Literal(literal) => literal
        case value: Value =>
          def unusable(why: String) = PmeErrors.keyTemplateValue(where, text, value.column, why)
          def found = place
            .value(value.column, caseSensitive)
            .getOrElse(throw PmeErrors.noKeyValue(where, text, value.column))
            .filter(_.nonEmpty)
            .getOrElse(throw PmeErrors.emptyKeyValue(where, text, value.column))
          value.buckets.fold {
            unfit(found, separatorAfter(at)).foreach(why => throw unusable(why))
            found
          } { buckets =>
            statedBucket(place, value.column, buckets, caseSensitive).getOrElse(
              bucketOf(found, buckets).toString
            )
          }
      }
    }.mkString

  /** A value that a file states says more than the number of its bucket. */
  private def statedBucket(place: FilePlace, column: String, buckets: Int, caseSensitive: Boolean) =
    if (place.value(column, caseSensitive).isDefined) None
    else place.bucket(column, buckets, caseSensitive).filter(isNumberOfBucket(_, buckets))

  /** What ends a value if another one follows. */
  private def separatorAfter(at: Int): Option[Char] =
    if (parts.drop(at + 1).exists(_.isInstanceOf[Value]))
      parts.lift(at + 1).collect { case Literal(literal) => literal.head }
    else None

  private def endsBucketsByDigits = parts.indices.exists { at =>
    parts(at) match {
      case Value(_, Some(_)) => separatorAfter(at).exists(_.isDigit)
      case _ => false
    }
  }

  /** Whether it can make this name. */
  def makes(name: String): Boolean = pattern.matcher(name).matches()

  private lazy val pattern = Pattern.compile(
    parts.map {
      case Literal(literal) => Pattern.quote(literal)
      case Value(_, None) => ".+"
      case Value(_, Some(_)) => "[0-9]+"
    }.mkString,
    Pattern.DOTALL
  )
}

object KeyTemplate {
  sealed trait Part extends Serializable
  final case class Literal(text: String) extends Part

  /** @param buckets if set, the name has the number of the value's bucket in place of the value */
  final case class Value(column: String, buckets: Option[Int]) extends Part {
    def placeholder: String = KeyValues.placeholder(column, buckets)
  }

  /**
   * @param option whose value names the key, for messages
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION`
   */
  def of(text: String, option: String): KeyTemplate = {
    def unusable(why: String) = PmeErrors.keyTemplate(option, text.take(MostShown), why)
    val matcher = placeholder.matcher(text)
    val parts = Seq.newBuilder[Part]
    var at = 0
    def literal(end: Int): Unit = if (end > at) parts += literalOf(text.substring(at, end), unusable)
    while (matcher.find()) {
      if (matcher.start == at && at > 0) throw unusable("nothing separates two of its values")
      literal(matcher.start)
      parts += valueOf(matcher.group(1), unusable)
      at = matcher.end
    }
    literal(text.length)
    val made = KeyTemplate(text, parts.result())
    if (made.endsBucketsByDigits) throw unusable("a digit follows a bucket's number")
    made
  }

  /** @throws io.pmeparquet.PmeException `PME_UNSUPPORTED` if the name of a key is a template */
  def requirePlain(text: String, option: String, where: String): Unit =
    if (of(text, option).isTemplate)
      throw PmeErrors.unsupported(
        where,
        s"the template '$text' in $option",
        "templates name the keys of Parquet files that format(\"pme-parquet\") writes",
        "Name one key."
      )

  private def literalOf(text: String, unusable: String => Exception): Part =
    if (text.exists(char => char == '{' || char == '}')) throw unusable("a brace has no partner")
    else Literal(text)

  private def valueOf(text: String, unusable: String => Exception): Part = {
    val (column, function) = text.lastIndexOf(':') match {
      case -1 => (text.trim, None)
      case colon => (text.take(colon).trim, Some(text.drop(colon + 1).trim))
    }
    if (column.isEmpty) throw unusable("it names no column between braces")
    val buckets = function.map { one =>
      val found = Bucket.findFirstMatchIn(one).map(_.group(1).toInt).filter(_ >= 1)
      found.getOrElse(throw unusable("after ':' only bucket(1) to bucket(999999) are known"))
    }
    Value(column, buckets)
  }

  /** Why a value is no part of a key's name. */
  private def unfit(value: String, separator: Option[Char]): Option[String] =
    if (separator.exists(value.indexOf(_) >= 0))
      Some(s"its value '${shown(value)}' contains '${separator.get}', which separates it from the next one")
    else if (!value.forall(isFit) || value.forall(_ == '.'))
      Some(s"its value '${shown(value)}' has characters other than letters, digits and $Marks")
    else None

  private def isFit(char: Char) = Character.isLetterOrDigit(char) || Marks.indexOf(char.toInt) >= 0
  private def shown(value: String) = value.take(MostShown).filterNot(Character.isISOControl)

  /**
   * The bucket of a value, from 0: the first eight bytes of the SHA-256 of its text in UTF-8, as a number without sign,
   * modulo the number of buckets. Anybody can compute it.
   */
  def bucketOf(value: String, buckets: Int): Long =
    java.lang.Long
      .remainderUnsigned(ByteBuffer.wrap(Sha256.ofBytes(value.getBytes(UTF_8))).getLong, buckets.toLong)

  private def isNumberOfBucket(text: String, buckets: Int) =
    text.length <= 6 && text.nonEmpty && text.forall(char => char >= '0' && char <= '9') &&
      text == text.toInt.toString && text.toInt < buckets

  private val placeholder = Pattern.compile("\\{([^{}]*)\\}")
  private val Bucket = "^bucket\\(([0-9]{1,6})\\)$".r

  /** Names of keys may have these in some KMSs; the others refuse the name. */
  private val Marks = "_-.@+"
  private val MostShown = 100
}
