package io.pmeparquet

/**
 * The texts of all failures: ''where: what happened: why, if known. What to do.'' No text holds a key, a secret or a tag.
 *
 * Parameters named `why` are clauses without a full stop, `remedy` is one or more sentences.
 */
object PmeErrors
    extends OptionErrors
    with ColumnErrors
    with KeyErrors
    with FileErrors
    with CopyErrors
    with RotationErrors
    with SnapshotErrors
    with OrcErrors
    with DeltaErrors
    with TableErrors
    with HudiErrors
