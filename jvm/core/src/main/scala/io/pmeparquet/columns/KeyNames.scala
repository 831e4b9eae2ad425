package io.pmeparquet.columns

import io.pmeparquet.PmeErrors

/**
 * The names of the master keys of a write or a read. Some may be templates. ''Crosses the wire.''
 *
 * @param texts as options have them
 */
final case class KeyNames(texts: Set[String]) {
  @transient private lazy val templates =
    texts.map(text => text -> KeyTemplate.of(text, ColumnKeys.OptionName)).toMap

  /** The columns whose values names depend on; none if all are plain. */
  def columns: Seq[String] = values.map(_.column).distinct

  /** What stands between braces in any of them, in the order of their texts. */
  def values: Seq[KeyTemplate.Value] = texts.toSeq.sorted.flatMap(templates(_).values).distinct

  /** Whether it is one of them, or one of the templates can make it. */
  def contains(name: String): Boolean =
    texts.contains(name) || templates.values.exists(one => one.isTemplate && one.makes(name))

  /**
   * The plain name of a key for the files of one place.
   *
   * @param text one of the texts
   * @param where a file, for messages
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION` if there is none, or if another text can mean the same key: a value
   *   could be chosen so that one key protects what two should
   */
  def nameOf(text: String, place: FilePlace, caseSensitive: Boolean, where: String): String = {
    val template = templates(text)
    val name = template.name(place, caseSensitive, where)
    if (template.isTemplate)
      templates.values.find(one => one.text != text && one.makes(name)).foreach { other =>
        throw PmeErrors.keyTemplatesAlike(where, text, other.text, name)
      }
    name
  }
}
