package io.pmeparquet.options

import java.util.Locale

import io.pmeparquet.{Audience, PmeErrors}
import io.pmeparquet.columns.ColumnKeys

/** Which snapshot of a table a read accepts: the values of option `snapshot`. */
sealed trait SnapshotChoice

object SnapshotChoice {

  /** The newest, if the table has snapshots. */
  case object Auto extends SnapshotChoice

  /** The newest. */
  case object Required extends SnapshotChoice
  case object Off extends SnapshotChoice
  final case class Version(number: Long) extends SnapshotChoice

  /** @param prefix of the digest of a manifest, in lower-case hexadecimal digits */
  final case class Digest(prefix: String) extends SnapshotChoice

  /** @throws io.pmeparquet.PmeException `PME_BAD_OPTION` */
  def parse(text: String): SnapshotChoice = text.trim.toLowerCase(java.util.Locale.ROOT) match {
    case "auto" | Update => Auto
    case "require" => Required
    case "off" => Off
    // A long row of digits is a digest that happens to have no letter.
    case number if number.matches("[0-9]{1,10}") && number.toLong > 0 => Version(number.toLong)
    case digest if digest.matches("[0-9a-f]{12,64}") => Digest(digest)
    case _ =>
      throw PmeErrors.badOption(
        PmeOptions.Snapshot.name,
        text,
        "auto, require, off, update, the number of a version, or at least 12 digits of its digest"
      )
  }

  private[options] val Update = "update"
}

/**
 * The checked options of one read or seal about snapshots, without keys.
 *
 * @param location the directory of the snapshots; none for the usual one
 * @param minimum the oldest state of the table that is accepted
 * @param footerKey the master key that the options name for footers, which a seal with an HMAC must then be under
 * @param hasVerifyKey whether only signatures of a certain key are accepted
 * @param indexKeys the master keys of indexes, for whoever seals
 * @param indexClasses the classes that a read may load for indexes
 */
final case class SnapshotSettings(
    choice: SnapshotChoice,
    location: Option[String],
    minimum: Option[MinimumSnapshot],
    footerKey: Option[String],
    hasVerifyKey: Boolean,
    indexKeys: Option[ColumnKeys],
    indexClasses: Set[String]
) {
  def isOff: Boolean = choice == SnapshotChoice.Off

  /** Whether a read takes the newest version. */
  def isNewest: Boolean = choice == SnapshotChoice.Auto || choice == SnapshotChoice.Required

  /** Whether a read takes the version with one digest, which says all of it. */
  def isDigest: Boolean = choice match {
    case SnapshotChoice.Digest(_) => true
    case _ => false
  }

  /**
   * Requires that a read may skip files by a store of Xskipper's, which nobody signs: whoever can write to it could hide
   * rows that a signature promises.
   *
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION`
   */
  def requireUnsignedAllowed(): Unit =
    if (hasVerifyKey && !isOff)
      throw PmeErrors.contradiction(
        s"${PmeOptions.XskipperStore.name} and ${PmeOptions.VerifyKey.name}",
        "a store of Xskipper is not signed, so whoever can write to it could hide rows of a signed table",
        s"Remove ${PmeOptions.XskipperStore.name} and use the indexes of the snapshot (${Audience.current.seal}), or read without the " +
          "snapshot (snapshot=off)."
      )

  /** Whether a table without a snapshot is refused, and the option that says so. */
  def requiredBy: Option[String] = choice match {
    case SnapshotChoice.Off => None
    case SnapshotChoice.Auto =>
      if (minimum.isDefined) Some(PmeOptions.MinSnapshot.name)
      else if (hasVerifyKey) Some(PmeOptions.VerifyKey.name)
      else None
    case _ => Some(PmeOptions.Snapshot.name)
  }
}

object SnapshotSettings {

  /** Whether a write with these options seals the table after its commit. */
  def sealsAfterWrite(values: OptionValues): Boolean =
    textOf(values).trim.equalsIgnoreCase(SnapshotChoice.Update)

  /** @throws io.pmeparquet.PmeException `PME_BAD_OPTION` for a value that is not valid, or contradicts another */
  def of(values: OptionValues): SnapshotSettings = {
    val choice = SnapshotChoice.parse(textOf(values)) match {
      // `update` is about writes. It takes back nothing that the session or a policy requires of reads.
      case SnapshotChoice.Auto if sealsAfterWrite(values) =>
        (values.ofPolicies(PmeOptions.Snapshot) ++ values.textOfSession(PmeOptions.Snapshot))
          .map(SnapshotChoice.parse)
          .find(_ == SnapshotChoice.Required)
          .getOrElse(SnapshotChoice.Auto)
      case other => other
    }
    val minimum = values.text(PmeOptions.MinSnapshot).map(MinimumSnapshot.parse)
    choice match {
      case SnapshotChoice.Version(number) if minimum.flatMap(_.number).exists(_ > number) =>
        throw PmeErrors.contradiction(
          "snapshot and minSnapshot",
          s"version $number is older than ${minimum.get.text}",
          "Change one of them."
        )
      case SnapshotChoice.Off => requireOff(values)
      case _ => ()
    }
    SnapshotSettings(
      choice,
      values.text(PmeOptions.SnapshotLocation).map(_.trim).filter(_.nonEmpty),
      minimum,
      footerKey(values.ofRead),
      values.find(PmeOptions.VerifyKey).isDefined,
      values.text(PmeOptions.IndexKeys).map { text =>
        val name = PmeOptions.IndexKeys.name
        ColumnKeys.parse(text, name).requirePlain(name, "indexes")
      },
      values
        .text(PmeOptions.IndexClasses)
        .fold(Set.empty[String])(_.split(',').map(_.trim).filter(_.nonEmpty).toSet)
    )
  }

  /** A read's own option may turn off what its session requires, and a log says so. Nothing else turns off a requirement. */
  private def requireOff(values: OptionValues): Unit = {
    def isOfRead(option: OptionSpec) = values.find(option).map(_.level == Level.Option)
    val isOwn = isOfRead(PmeOptions.Snapshot).contains(true)
    if (isOfRead(PmeOptions.VerifyKey).exists(_ || !isOwn))
      throw PmeErrors.contradiction(
        "snapshot and verifyKey",
        "snapshot=off accepts any files, and verifyKey only those that its key has signed",
        "Remove one of them."
      )
    if (isOfRead(PmeOptions.MinSnapshot).contains(true) && !isOwn)
      throw PmeErrors.contradiction(
        "snapshot and minSnapshot",
        "the session's snapshot=off accepts any files, and this read's minSnapshot asks for a snapshot",
        "Remove one of them, or set snapshot=require for this read."
      )
  }

  /** A footer key of the session alone is a default of writes. */
  private def footerKey(values: OptionValues): Option[String] =
    values.text(PmeOptions.UniformKey).orElse {
      val binds = values.columnKeys.isDefined
      values.find(PmeOptions.FooterKey).filter(found => binds || found.level == Level.Option).map(_.value)
    }

  private def textOf(values: OptionValues) =
    values.text(PmeOptions.Snapshot).orElse(PmeOptions.Snapshot.default).get
}

/** The oldest state of a table that a reader accepts: the values of option `minSnapshot`. */
sealed trait MinimumSnapshot {

  /** The number of the oldest version; none if a digest names it. */
  def number: Option[Long]

  /** As users write it. */
  def text: String

  /** Whether no other table satisfies it. */
  def isOfOneTable: Boolean = true
}

object MinimumSnapshot {

  /** A version of any table and any history: whoever can put back another table's snapshots can satisfy it. */
  final case class Version(oldest: Long) extends MinimumSnapshot {
    override def number: Option[Long] = Some(oldest)
    override def text: String = oldest.toString
    override def isOfOneTable: Boolean = false
  }

  /** @param table the id that all versions of the table have */
  final case class OfTable(table: String, oldest: Long) extends MinimumSnapshot {
    override def number: Option[Long] = Some(oldest)
    override def text: String = s"$table:$oldest"
  }

  /** @param prefix of the digest of a manifest from which the version must come, in lower-case hexadecimal digits */
  final case class Ancestor(prefix: String) extends MinimumSnapshot {
    override def number: Option[Long] = None
    override def text: String = prefix
  }

  /** @throws io.pmeparquet.PmeException `PME_BAD_OPTION` */
  def parse(text: String): MinimumSnapshot = text.trim.toLowerCase(Locale.ROOT) match {
    case number if number.matches("[0-9]{1,10}") && number.toLong > 0 => Version(number.toLong)
    case TableVersion(table, number) if number.toLong > 0 => OfTable(table, number.toLong)
    case digest if digest.matches("[0-9a-f]{12,64}") => Ancestor(digest)
    case _ =>
      throw PmeErrors.badOption(
        PmeOptions.MinSnapshot.name,
        text,
        "'<table id>:<version>', at least 12 digits of a version's digest, or the number of a version, from 1"
      )
  }

  private val TableVersion = "([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}):([0-9]{1,10})".r
}
