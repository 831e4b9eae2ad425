package io.pmeparquet.options

import java.util.Locale

import io.pmeparquet.PmeErrors

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
