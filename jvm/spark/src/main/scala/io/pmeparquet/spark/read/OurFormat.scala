package io.pmeparquet.spark.read

import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.execution.datasources.FileFormat

import io.pmeparquet.spark.options.{FormatOrigin, OptionOrigin}

/** What rules tell the formats of this project: where options come from, and what conditions look at. ''Driver only.'' */
private[spark] trait OurFormat extends FileFormat {

  /** What this instance knows about the origin of its options. */
  private[spark] def whose: FormatOrigin

  /** The same format, which knows another origin. */
  private[spark] def withWhose(other: FormatOrigin): OurFormat

  /** Under which settings the files are read; none in a deserialized instance. */
  private[spark] def reader: Option[ReaderIdentity]

  /** The same format, for another reader. */
  private[spark] def withReader(other: ReaderIdentity): OurFormat

  /** Where the options of the relation or write come from. */
  private[spark] final def origin: OptionOrigin = whose.origin

  /** The format of a relation or write, with the origin that a rule has found. */
  private[spark] final def withOrigin(known: OurFormat => OptionOrigin): OurFormat =
    changed(whose.orFound(known(this)))

  private[spark] final def notedOnce(isStatement: Boolean): OurFormat = changed(whose.notedOnce(isStatement))

  // Spark plans anew what is not the same.
  private def changed(other: FormatOrigin) = if (other == whose) this else withWhose(other)

  /** Where the options of a relation of this table, or of a write to it, come from. */
  private[spark] final def originAt(table: CatalogTable): OptionOrigin = whose.of(table)

  private[spark] final def originOfNew: OptionOrigin = whose.ofNew

  /** The format of a scan, with more columns that conditions look at: Spark plans a recursive query part by part. */
  private[spark] def withConditions(columns: Set[String]): OurFormat

  /** The columns that the scan reads as NULL because their keys are refused. */
  private[spark] def masked: MaskedColumns
}
