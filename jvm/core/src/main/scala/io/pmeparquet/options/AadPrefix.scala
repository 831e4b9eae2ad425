package io.pmeparquet.options

import java.nio.charset.StandardCharsets.UTF_8
import java.util.regex.{Matcher, Pattern}

import io.pmeparquet.cipher.ModuleAad
import io.pmeparquet.columns.FilePlace
import io.pmeparquet.material.KeyMaterial
import io.pmeparquet.PmeErrors

/**
 * The value of `aadPrefix`: text, or a template of `{table}`, `{path}`, `{partition}` and `{file}` (specification §4.4.1).
 *
 * `{path}` is the path of the table's directory without scheme and host ([[FilePlace]]), `{table}` its last part,
 * `{partition}` the `name=value` directories below it, as they are spelled, `{file}` the name of the file.
 */
final case class AadPrefix private (template: String) {

  /**
   * The prefix of a file to write.
   *
   * @param wrapsOnce whether the master key itself wraps the file's data keys
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION` for a prefix that is not safe ([[AadPrefix.isApart]])
   */
  def toWrite(directory: String, fileName: String, where: String, wrapsOnce: Boolean): Array[Byte] = {
    val prefix = bytesFor(directory, fileName)
    if (wrapsOnce && !AadPrefix.isApart(prefix))
      throw PmeErrors.aadPrefixLength(where, template, prefix.length, AadPrefix.unfitLengths.map(_.toString))
    prefix
  }

  /** Whether files of one table have different prefixes. */
  def differsByFile: Boolean = Seq("{file}", "{partition}").exists(template.contains(_))

  /**
   * @param directory path of the directory of the file, without scheme and host
   * @param fileName its name
   */
  def bytesFor(directory: String, fileName: String): Array[Byte] = {
    val place = FilePlace.of(directory)
    val values = Map(
      "table" -> place.table.substring(place.table.lastIndexOf('/') + 1),
      "path" -> place.table,
      "partition" -> place.partition,
      "file" -> fileName
    )
    val matcher = AadPrefix.placeholder.matcher(template)
    val text = new StringBuffer
    while (matcher.find()) matcher.appendReplacement(text, Matcher.quoteReplacement(values(matcher.group(1))))
    matcher.appendTail(text).toString.getBytes(UTF_8)
  }
}

object AadPrefix {

  /**
   * Whether modules with this prefix have other AADs than wrapped keys. The id of a KEK is the AAD of what it wraps. If the
   * AAD of a page had the same length, a page with known content could be passed off as a wrapped key. That needs a data key
   * that is wrapped by the master key itself, as KEKs are: files whose data keys are wrapped by a KEK, and files with direct
   * keys, may have any prefix.
   */
  def isApart(prefix: Array[Byte]): Boolean = !unfitLengths.contains(prefix.length)

  private val unfitLengths: Seq[Int] =
    (0 to KeyMaterial.KekIdBytes).filter(ModuleAad.canBe(KeyMaterial.KekIdBytes, _))

  private val placeholder = Pattern.compile("\\{([^{}]*)\\}")
  private val names = Seq("table", "path", "partition", "file")

  /** The AAD of every module contains the prefix; long ones are of no use. */
  private val MaxCharacters = 4096

  def parse(template: String): AadPrefix = {
    def unusable(why: String) =
      PmeErrors.badOption(
        "aadPrefix",
        template.take(100),
        s"text or a template of {table}, {path}, {partition} and {file} ($why)"
      )
    if (template.isEmpty) throw unusable("it is empty")
    if (template.length > MaxCharacters) throw unusable(s"it is longer than $MaxCharacters characters")
    val matcher = placeholder.matcher(template)
    while (matcher.find())
      if (!names.contains(matcher.group(1))) throw unusable(s"it names {${matcher.group(1)}}")
    new AadPrefix(template)
  }
}
