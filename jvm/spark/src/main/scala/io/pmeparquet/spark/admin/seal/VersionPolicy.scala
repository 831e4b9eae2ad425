package io.pmeparquet.spark.admin.seal

import io.pmeparquet.{Audience, PmeErrors, PmeException}
import io.pmeparquet.columns.{ColumnProtection, FilePlace, KeyNames, KeyTemplate}
import io.pmeparquet.parquet.inspect.FileFacts
import io.pmeparquet.parquet.storage.ListedFile
import io.pmeparquet.snapshot.{TableSnapshot, Version}
import io.pmeparquet.snapshot.manifest.TablePolicy

/**
 * What a new version states of keys: one name for each column, which all files have, or a template that names the key of each
 * file. ''Driver only.''
 *
 * @param continued the version before, if its files stay
 * @param templates that may name the keys of files, if it does not
 * @param relative the path of a file in the table
 * @param listed the paths of all files of the new version
 */
private[admin] final class VersionPolicy(
    table: String,
    continued: Option[TableSnapshot],
    templates: Seq[KeyTemplate],
    relative: ListedFile => String,
    listed: Seq[String]
) {
  import VersionPolicy._

  private val before = continued.map(_.version.manifest.policy)

  /** @throws io.pmeparquet.PmeException if two files protect a column in different ways */
  def of(opened: Seq[(ListedFile, FileFacts)]): TablePolicy = {
    // Most files are alike, and each kind of file needs to be looked at once.
    val kinds = opened
      .map { case (file, found) => (placeOf(file), found.footerKey, found.columns) -> file.path }
      .reverse
      .toMap
      .toSeq
    val footers = kinds.map { case ((place, footer, _), file) => FoundKey(footer, place, file) }
    val found = kinds.flatMap { case ((place, footer, protections), file) =>
      protections.map { case (path, protection) =>
        (path: Seq[String]) -> FoundKey(keyOf(protection, footer), place, file)
      }
    }
    val byColumn = found.groupBy(_._1).map { case (path, some) => path -> some.map(_._2) }
    val old = before.toSeq.flatMap(_.columns).toMap
    val footerKey = stated("the footer", before.map(_.footerKey), footers)
    val columns = (old.keySet ++ byColumn.keySet).toSeq.sortBy(_.mkString("\u0000")).map { path =>
      path -> stated(s"column '${path.mkString(".")}'", old.get(path), byColumn.getOrElse(path, Nil))
    }
    val keys = (footerKey -> footers) +: columns.map { case (path, key) =>
      key -> byColumn.getOrElse(path, Nil)
    }
    policyOf(footerKey, columns, keys)
  }

  private def policyOf(
      footerKey: Option[String],
      columns: Seq[(Seq[String], Option[String])],
      keys: Seq[(Option[String], Seq[FoundKey])]
  ): TablePolicy = {
    val named = footerKey.toSeq ++ columns.flatMap(_._2)
    if (!before.exists(_.byPartition) && !named.exists(key => templates.exists(_.text == key)))
      TablePolicy(footerKey, columns)
    else {
      val policy = TablePolicy.ofTemplates(footerKey, columns)
      val names = KeyNames(policy.keys)
      // A name that two of the keys can mean is refused.
      val met =
        for { (key, files) <- keys; text <- key.toSeq; one <- files } yield (text, one.place) -> one.file
      if (policy.byPartition)
        met.toMap.foreach { case ((text, place), file) =>
          names.nameOf(text, place, caseSensitive = false, file)
        }
      continued.foreach(requireSameNames(table, listed, _, policy))
      policy
    }
  }

  /** Directories say nothing where no key depends on them. */
  private def placeOf(file: ListedFile): FilePlace =
    if (templates.isEmpty && !before.exists(_.byPartition)) Anywhere
    else TablePolicy.placeOf(relative(file))

  private def keyOf(protection: ColumnProtection, footer: Option[String]): Option[String] = protection match {
    case ColumnProtection.Plaintext => None
    case ColumnProtection.FooterKey => footer
    case ColumnProtection.ColumnKey(id) => Some(id)
  }

  /** @param old what the version before states, if it knows the column */
  private def stated(what: String, old: Option[Option[String]], found: Seq[FoundKey]): Option[String] =
    old match {
      case Some(key) =>
        found.find(one => nameFor(key, one.place) != one.key || key.isEmpty != one.key.isEmpty).foreach {
          other =>
            throw differing(what, Seq(key -> "the files of the version before", other.key -> other.file))
        }
        key
      case None =>
        val keys = found.groupBy(_.key).toSeq.sortBy(_._1)
        templateOf(found) match {
          case Some(template) => Some(template.text)
          case None if keys.size > 1 =>
            throw differing(what, keys.map { case (key, files) => key -> files.head.file })
          case None => keys.headOption.flatMap(_._1)
        }
    }

  private def nameFor(key: Option[String], place: FilePlace) =
    key.flatMap(text => before.fold(Option(text))(_.nameAt(text, place)))

  /** The template that names the key of each of some files. */
  private def templateOf(found: Seq[FoundKey]): Option[KeyTemplate] =
    if (found.isEmpty) None
    else templates.find(template => found.forall(one => one.key.exists(isNamed(_, template, one))))

  private def isNamed(key: String, template: KeyTemplate, found: FoundKey) =
    try template.name(found.place, caseSensitive = false, found.file) == key
    catch { case _: PmeException => false }

  private def differing(what: String, several: Seq[(Option[String], String)]): PmeException = {
    val places = several.map { case (key, file) => s"${key.fold("no key")(id => s"'$id'")} in $file" }
    PmeErrors.unsupported(
      table,
      "sealing a table whose files differ in their keys",
      s"$what has ${places.mkString(", ")}",
      s"Give all files the same keys (${Audience.current.rekey}), or find out who wrote those that differ. If partitions " +
        "name the keys, say how: footerKey and columnKeys, as t-{tenant}."
    )
  }
}

private[admin] object VersionPolicy {
  private final case class FoundKey(key: Option[String], place: FilePlace, file: String)

  /** The templates among the names that options have, and those of the version before. */
  def templates(named: Set[String], before: Option[TablePolicy]): Seq[KeyTemplate] = {
    val old = before.filter(_.byPartition).toSeq.flatMap(_.keys)
    (named.toSeq.sorted ++ old.sorted).distinct.map(KeyTemplate.of(_, "footerKey")).filter(_.isTemplate)
  }

  /**
   * Requires that further keys of the next version take no name from those of the version before: a name that two keys can mean
   * is none, and readers would refuse files that nobody has touched.
   *
   * @param files the paths of those that stay, and perhaps of others
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION`
   */
  def requireSameNames(table: String, files: Seq[String], before: TableSnapshot, now: TablePolicy): Unit = {
    val old = before.version.manifest.policy
    if (old.byPartition && !now.keys.subsetOf(old.keys)) {
      val names = KeyNames(now.keys)
      for {
        place <- files.iterator.map(TablePolicy.placeOf).toSet[FilePlace]
        key <- old.keys if now.keys(key) && old.nameAt(key, place).isDefined
      } names.nameOf(key, place, caseSensitive = false, s"$table, ${place.partition}")
    }
  }

  /**
   * Requires that the next version could state the keys of all files after a rotation.
   *
   * @param target the new master key for each old one
   */
  def requireRotatable(table: String, before: TableSnapshot, target: String => Option[String]): Unit = {
    requireNoErased(table, before, target)
    requireNames(table, before, target)
  }

  /**
   * Requires that a rotation to other names needs no key that is gone: erased files would keep the old names, and a version states
   * one name for all.
   */
  private def requireNoErased(
      table: String,
      before: TableSnapshot,
      target: String => Option[String]
  ): Unit = {
    val manifest = before.version.manifest
    def renamed(key: String) = target(key).filter(_ != key)
    requireNotErased(table, before.version, manifest.policy.keys.flatMap(renamed(_)))
    val gone = manifest.erasures.flatMap(_.keys).find(renamed(_).isDefined)
    val closed =
      if (manifest.policy.keys.exists(renamed(_).isDefined))
        before.files.find(file => before.isErased(file.path)).map(_.path)
      else None
    gone.map(key => s"key '$key' was destroyed").orElse(closed.map(file => s"nobody can open $file")).foreach {
      why =>
        throw PmeErrors.unsupported(
          table,
          "a rotation to other master keys after an erasure",
          why,
          "Leave destroyed keys out of it, and delete erased files and seal the table first."
        )
    }
  }

  /**
   * What a snapshot states of a destroyed key depends on its name, so no new file may have a key of that name.
   *
   * @throws io.pmeparquet.PmeException if a version states that one of these keys was destroyed
   */
  def requireNotErased(table: String, before: Version, names: Set[String]): Unit =
    for (erased <- before.manifest.erasures; name <- erased.keys.find(names))
      throw PmeErrors.unsupported(
        table,
        s"new files under key '$name'",
        s"version ${before.number} of its snapshots states that the key of this name was destroyed by an erasure " +
          s"(${erased.certificate})",
        "Give these rows a key of another name, so that nobody takes it for the old one."
      )

  /** Requires that templates of the version before, which the next one has as well, name the keys after a rotation. */
  private def requireNames(table: String, before: TableSnapshot, target: String => Option[String]): Unit = {
    val policy = before.version.manifest.policy
    if (policy.byPartition) {
      def renamed(key: String) = if (policy.isTemplate(key)) key else target(key).getOrElse(key)
      val next = policy.copy(
        policy.footerKey.map(renamed),
        policy.columns.map { case (column, key) => column -> key.map(renamed) }
      )
      for {
        place <- before.files.iterator.map(file => TablePolicy.placeOf(file.path)).toSet[FilePlace]
        key <- policy.keys
        name <- policy.nameAt(key, place)
        wanted = target(name).getOrElse(name)
        if !next.nameAt(renamed(key), place).contains(wanted)
      }
        throw PmeErrors.unsupported(
          table,
          s"a rotation of '$name' to '$wanted'",
          s"its snapshot states that partitions name this key: '$key'",
          s"Rotate to new versions of the same keys, or copy the table (${Audience.current.rekey}) and seal the copy."
        )
    }
  }

  private val Anywhere = FilePlace.of("")
}
