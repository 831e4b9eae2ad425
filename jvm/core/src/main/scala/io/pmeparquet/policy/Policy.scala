package io.pmeparquet.policy

import io.pmeparquet.columns.{ColumnKeys, ColumnPattern}
import io.pmeparquet.PmeErrors

/**
 * A policy: which keys protect which columns of all tables of a session, and what reads and writes must require
 * (docs/policy-and-audit.md). It says the same as options do, so everything that reads options follows it.
 *
 * @param name of the policy, which does not change
 * @param number grows with each change
 * @param tags the strictest first: a column with several tags has the key of the first
 * @param catalogTag the name by which Spark's catalog shows tags of columns, in their metadata or comments, or in
 *   properties of their table; none if it does not count
 * @param where it comes from, for messages
 * @param part what of it holds
 * @param hasTagSource whether a class of the session's also gives columns tags
 */
final case class Policy(
    name: String,
    number: Long,
    tags: Seq[PolicyTag],
    defaults: PolicyDefaults,
    readers: PolicyReaders,
    catalogTag: Option[String],
    where: String,
    part: PolicyPart = PolicyPart.Whole,
    hasTagSource: Boolean = false
) {

  /** Whether catalogs give columns tags, which only somebody sees who knows the table. */
  def asksCatalogs: Boolean = catalogTag.isDefined || hasTagSource

  /** For messages. */
  def describe: String = s"policy '$name' $number ($where)"

  /** The keys of columns by the patterns of its tags, in the order of the tags. */
  def columnKeys: ColumnKeys =
    ColumnKeys(
      for (tag <- tags; pattern <- tag.columns)
        yield ColumnKeys.Entry(tag.key, pattern, Some(ColumnKeys.Tag(name, tag.tag)))
    )

  /** Every name of a key in it, which may be a template. */
  def keys: Seq[String] =
    (defaults.footerKey.toSeq ++ defaults.uniformKey ++ tags.map(_.key)).distinct

  /**
   * With columns that a catalog gives tags.
   *
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION` for a tag that the policy does not have
   */
  def tagged(found: Seq[(ColumnPattern, String)]): Policy = {
    found.find { case (_, tag) => !tags.exists(_.tag == tag) }.foreach { case (column, tag) =>
      throw PmeErrors.policyRefused(
        describe,
        s"a catalog gives column ${column.text} the tag '$tag', which the policy does not have",
        "Correct the tag in the catalog, or ask the owner of the policy."
      )
    }
    copy(tags = tags.map { tag =>
      tag.copy(columns = tag.columns ++ found.collect { case (column, given) if given == tag.tag => column })
    })
  }

  /** Whether files must have its keys. */
  def bindsKeys: Boolean = part == PolicyPart.Whole

  /** The same for reads, which it may leave free to accept other keys. */
  def forReads: Policy =
    if (bindsKeys && !readers.bindsColumns) copy(part = PolicyPart.WithoutKeys) else this

  /** The same for who reads files to bring them to the policy: they need not have anything of it yet. */
  def forSources: Policy = copy(part = PolicyPart.SealsOnly)
}

/** What of a policy holds. */
sealed trait PolicyPart

object PolicyPart {
  case object Whole extends PolicyPart
  case object WithoutKeys extends PolicyPart
  case object SealsOnly extends PolicyPart
}

/**
 * @param key name of the master key of columns with this tag, or a template
 * @param columns patterns, as in `columnKeys`
 */
final case class PolicyTag(tag: String, key: String, columns: Seq[ColumnPattern])

/**
 * What holds for files and for columns without a tag. The values are those of the options.
 *
 * @param footerKey none with `uniformKey`
 * @param unlistedColumns what happens to columns without a tag: unless the policy says it, a write fails
 */
final case class PolicyDefaults(
    footerKey: Option[String],
    uniformKey: Option[String],
    unlistedColumns: String,
    algorithm: String,
    plaintextFooter: Boolean,
    dataKeyBits: Option[Int],
    kekBits: Option[Int],
    aadPrefix: Option[String]
)

/**
 * What a read requires.
 *
 * @param bindsColumns whether files must have the keys of the policy
 * @param verifyKey reference to a public key
 */
final case class PolicyReaders(
    bindsColumns: Boolean,
    plaintextFiles: String,
    clearLevels: String,
    snapshot: Option[String],
    verifyKey: Option[String]
)

object PolicyReaders {
  val Allow = "allow"
}
