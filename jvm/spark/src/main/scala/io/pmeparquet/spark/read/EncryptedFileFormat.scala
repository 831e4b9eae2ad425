package io.pmeparquet.spark.read

import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.execution.datasources.FileFormat

import io.pmeparquet.spark.options.{FormatOrigin, OptionOrigin}
import io.pmeparquet.spark.snapshot.{SealState, WriteSeal}

/**
 * What rules note on the formats of this project, Parquet and ORC: where options come from, what conditions look at, and
 * who reads. ''Driver only.''
 */
private[spark] trait EncryptedFileFormat extends FileFormat {

  /** The class of this format. */
  private[spark] type Noted <: EncryptedFileFormat

  private[spark] def notes: FormatNotes

  /** The same format with other notes. */
  private[spark] def withNotes(notes: FormatNotes): Noted

  /** What this instance knows about the origin of its options. */
  private[spark] final def whose: FormatOrigin = notes.whose

  /** Under which settings the files are read; none in a deserialized instance. */
  private[spark] final def reader: Option[ReaderIdentity] = notes.reader

  /** The same format, for another reader. */
  private[spark] final def withReader(other: ReaderIdentity): Noted =
    withNotes(notes.copy(readBy = Some(other)))

  /** Where the options of the relation or write come from. */
  private[spark] final def origin: OptionOrigin = whose.origin

  /** The format of a relation for which [[UseSnapshots]] has looked for snapshots. */
  private[spark] final def withSeal(found: SealState): Noted = withNotes(notes.copy(sealing = found))

  private[spark] final def sealState: SealState = notes.sealState

  /** The format of a write, once a rule knows whether it seals the table after its commit. */
  private[spark] final def withWriteSeal(writing: WriteSeal): Noted = withNotes(notes.copy(writing = writing))

  private[spark] final def writeSeal: WriteSeal = notes.writeSeal

  /** The format of a relation or write, with the origin that a rule has found. */
  private[spark] final def withOrigin(known: EncryptedFileFormat => OptionOrigin): EncryptedFileFormat =
    changed(whose.orFound(known(this)))

  private[spark] final def notedOnce(isStatement: Boolean): EncryptedFileFormat =
    changed(whose.notedOnce(isStatement))

  // If the format is not the same, Spark plans again.
  private def changed(other: FormatOrigin): EncryptedFileFormat =
    if (other == whose) this else withNotes(notes.copy(whose = other))

  /** Where the options of a relation of this table, or of a write to it, come from. */
  private[spark] final def originAt(table: CatalogTable): OptionOrigin = whose.of(table)

  private[spark] final def originOfNew: OptionOrigin = whose.ofNew

  /** The format of a scan, with more columns that conditions look at: Spark plans a recursive query part by part. */
  private[spark] final def withConditions(columns: Set[String]): Noted = withNotes(
    notes.copy(
      conditions = Some(notes.conditions.getOrElse(Set.empty) ++ columns),
      masked = new MaskedColumns
    )
  )

  /** The columns that the scan reads as NULL because their keys are refused. */
  private[spark] final def masked: MaskedColumns = notes.masked
}

/**
 * The notes of one instance of a format.
 *
 * @param whose where the options come from
 * @param conditions the scan's columns that conditions look at; none: no rule has looked yet
 * @param masked the columns that the scan masks, noted while it runs
 * @param readBy under which settings the files are read
 * @param sealing whether the relation is read by snapshots
 * @param writing whether the write seals the table after its commit
 */
private[spark] final case class FormatNotes(
    whose: FormatOrigin,
    conditions: Option[Set[String]] = None,
    @transient masked: MaskedColumns = new MaskedColumns,
    @transient readBy: Option[ReaderIdentity] = None,
    @transient sealing: SealState = SealState.NotEvaluated,
    @transient writing: WriteSeal = WriteSeal.NotEvaluated
) {

  /** The reader. Deserialized notes have none, because the field is transient. */
  def reader: Option[ReaderIdentity] = Option(readBy).flatten

  // Transient fields are null in a deserialized instance.
  def sealState: SealState = Option(sealing).getOrElse(SealState.NotEvaluated)
  def writeSeal: WriteSeal = Option(writing).getOrElse(WriteSeal.NotEvaluated)

  /** What decides whether two formats are equal. What was masked does not count. */
  def identity: Seq[Any] = Seq(whose, conditions, reader, sealState.digests)
}

private[spark] object FormatNotes {

  /** The notes of an instance that Spark creates. */
  def of(whose: FormatOrigin): FormatNotes =
    FormatNotes(whose, readBy = Some(ReaderIdentity.ofCaller(whose.asker)))
}

/** Adds the format's rules to a session. A read calls it if its session has no rules yet. ''Driver only.'' */
private[spark] trait SessionRules {

  /** Adds the rules to the active session, if there is one. */
  def install(): Unit
}
