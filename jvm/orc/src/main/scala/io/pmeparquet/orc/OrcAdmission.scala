package io.pmeparquet.orc

import java.util.Locale

import scala.collection.mutable

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.columns.ColumnProtection
import io.pmeparquet.columns.ColumnProtection.ColumnKey
import io.pmeparquet.orc.blocks.VerifiedFile
import io.pmeparquet.orc.keys.{OrcKeyName, OrcProviders, OrcScope}
import io.pmeparquet.orc.tail.{KeyCheck, OpenedOrc, OrcTail, OrcType, OrcVariant}

/**
 * Looks at an ORC file before Spark's reader does: are its lengths within bounds, is it protected as the read requires,
 * and does this reader have the keys of the columns that it wants? ''Crosses the wire.''
 *
 * @param wanted the columns that the read wants
 * @param byPosition whether the read takes columns by position whatever their names
 */
final class OrcAdmission(
    scope: OrcScope,
    wanted: Seq[OrcAdmission.Wanted],
    caseSensitive: Boolean,
    byPosition: Boolean = false
) extends Serializable {
  import OrcAdmission._

  /**
   * @param start where the split starts, in bytes
   * @param length of the split
   * @param fileLength of the file
   * @param listed the file as a snapshot lists it, from which ORC's reader reads then
   * @return the wanted columns whose keys this reader is refused, if the read accepts that
   * @throws io.pmeparquet.PmeException if the file is refused
   */
  def check(
      path: Path,
      start: Long,
      length: Long,
      fileLength: Long,
      conf: Configuration,
      listed: Option[VerifiedFile] = None
  ): Seq[Refused] = listed match {
    case None => OpenedOrc.using(path, fileLength, conf)(check(_, start, length, conf))
    case Some(file) =>
      OpenedOrc.using(path, file.length, () => file.open())(admitted(_, start, length, conf))
  }

  /** The same for a file that is open. */
  def check(file: OpenedOrc, start: Long, length: Long, conf: Configuration): Seq[Refused] = {
    val path = file.path
    // ORC's reader takes the end of the file as it is now.
    if (path.getFileSystem(conf).getFileStatus(path).getLen != file.length)
      throw PmeErrors.changedMeanwhile(path.toString)
    admitted(file, start, length, conf)
  }

  private def admitted(file: OpenedOrc, start: Long, length: Long, conf: Configuration): Seq[Refused] = {
    OrcProviders.prepare(scope, conf)
    val path = file.path
    AcidFiles.refuse(file.tail)
    requirePolicy(file.tail, path.toString)
    file.checkStripes(start, length)
    refused(file.tail, path.toString)
  }

  /** The wanted columns whose keys this reader is refused. */
  def refused(tail: OrcTail, where: String): Seq[Refused] =
    if (tail.encryption.isEmpty) Nil
    else {
      val known = mutable.Map.empty[OrcVariant, Option[PmeException]]
      def ofVariant(variant: OrcVariant) = known.getOrElseUpdate(variant, refusal(tail, variant, where))
      // Where ORC is refused the first local key under a master key, it shows the masks of all its columns.
      val firsts = tail.variants.reverseIterator.map(variant => variant.key -> variant).toMap
      def ofKey(variant: OrcVariant) = {
        val first = firsts(variant.key)
        ofVariant(variant).orElse(ofVariant(first)).map { denied =>
          noteRefused(first)
          noteRefused(variant)
          denied
        }
      }
      val columnOf = columnsOf(tail)
      wanted.flatMap { one =>
        columnOf(one).toSeq.flatMap { column =>
          // A nested column can have a key of its own.
          tail.variantsAround(column).flatMap { variant =>
            ofKey(variant)
              .map(denied => Refused(one.name, displayOf(tail, variant), variant.key.name, denied))
              .toSeq
          }
        }
      }
    }

  /** Why this reader is refused the key of a variant; none if it has the key, and the key is right. */
  private def refusal(tail: OrcTail, variant: OrcVariant, where: String) = {
    val name = OrcKeyName(variant.key.name, variant.key.version)
    val column = displayOf(tail, variant)
    try {
      val key = scope.localKey(name, variant.encryptedKey, s"$where, column '$column'")
      KeyCheck.require(tail, variant, key.toSecretKey)
      None
    } catch {
      case failed: PmeException if scope.settings.accepts(failed.condition) => Some(failed)
    }
  }

  private def noteRefused(variant: OrcVariant): Unit =
    scope.noteRefused(OrcKeyName(variant.key.name, variant.key.version), variant.encryptedKey)

  private def displayOf(tail: OrcTail, variant: OrcVariant) = tail.types(variant.root).leaf.display

  private def columnsOf(tail: OrcTail): Wanted => Option[OrcType] = {
    val columns = tail.types.head.children.map(tail.types(_))
    val isOrdered = isByPosition(tail)
    lazy val find = named(tail.types.head.fieldNames.zip(columns))
    one => {
      val column = if (isOrdered) columns.lift(one.position) else find(one.name)
      column.flatMap(below(tail, _, one.fields))
    }
  }

  /** Whether Spark reads the file by position: it does so for old files of Hive, too. */
  private def isByPosition(tail: OrcTail) =
    byPosition || tail.types.head.fieldNames.forall(_.startsWith("_col"))

  /** Finds a field by its name; the first of several that differ in letter case alone. */
  private def named(fields: Seq[(String, OrcType)]): String => Option[OrcType] = {
    def key(name: String) = if (caseSensitive) name else name.toLowerCase(Locale.ROOT)
    val known = fields.reverseIterator.map { case (name, column) => key(name) -> column }.toMap
    name => known.get(key(name))
  }

  /** The field of a struct that the read wants; none if the file lacks it. */
  private def below(tail: OrcTail, column: OrcType, fields: List[String]): Option[OrcType] = fields match {
    case name :: rest if column.kind == "STRUCT" =>
      named(column.fieldNames.zip(column.children.map(tail.types(_))))(name).flatMap(below(tail, _, rest))
    case _ => Some(column)
  }

  private def requirePolicy(tail: OrcTail, where: String): Unit = {
    val settings = scope.settings
    val isPlaintext = tail.variants.isEmpty
    if (!settings.allowPlaintextFiles && isPlaintext) throw PmeErrors.orcPlaintext(where)
    // `plaintextFiles=allow` lets files without encryption through, and no file in which only some columns lack it.
    if (!isPlaintext) settings.columns.foreach { policy =>
      if (isByPosition(tail)) throw PmeErrors.orcByPosition(where)
      val protection = tail.protection
      protection.zip(policy.of(protection.map(_.column.leaf))).foreach { case (column, asked) =>
        val found = column.keys.map(key => OrcKeyName(key.name, key.version))
        val isMet = asked.accepted.exists {
          case ColumnKey(key) => found.nonEmpty && found.forall(_.isMeantBy(key))
          case ColumnProtection.Plaintext => found.isEmpty
          case ColumnProtection.FooterKey => false
        }
        if (!isMet)
          throw PmeErrors.orcColumnKey(
            where,
            column.column.leaf.display,
            askedText(asked.accepted),
            foundText(found),
            asked.by
          )
      }
    }
  }

  private def askedText(accepted: Seq[ColumnProtection]) = accepted
    .collectFirst { case ColumnKey(key) => s"key '$key'" }
    .getOrElse(if (accepted.isEmpty) "a key that columnKeys names" else "no encryption")

  private def foundText(found: Seq[OrcKeyName]) =
    if (found.isEmpty) PmeErrors.OrcPlaintext
    else s"under ${found.map(key => s"'${key.text}'").mkString(", ")}"
}

object OrcAdmission {

  /**
   * A top-level column that a read wants, or a field in it.
   *
   * @param position of the column in the table's schema
   * @param fields the names of the structs' fields that lead to the wanted one; none for the whole column
   */
  final case class Wanted(name: String, position: Int, fields: List[String] = Nil)

  /**
   * A column that this reader is refused.
   *
   * @param wanted the read's column that it is, or is a part of
   * @param display its name in messages
   */
  final case class Refused(wanted: String, display: String, masterKey: String, denied: PmeException)
}
