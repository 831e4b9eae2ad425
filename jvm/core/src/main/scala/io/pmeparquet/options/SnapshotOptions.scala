package io.pmeparquet.options

import io.pmeparquet.options.Use.{Both, Read, Write}

/** The options of table snapshots: `docs/snapshots.md`. */
private[options] trait SnapshotOptions {
  val Snapshot = OptionSpec(
    "snapshot",
    Both,
    "Whether a table is read by its newest snapshot, the sealed list of its files. `auto`: if it has one. `require`: a " +
      "table without one is refused. `off`: snapshots are ignored. A version number, or the digest of a version: " +
      "only that version is read. `update`, on write: the write seals the table again after its commit; a read with it " +
      "is as its session says, or `auto`.",
    "With a snapshot, a read opens its list first. With `off`, files that were added, removed or put back " +
      "are not noticed.",
    default = Some("auto"),
    ofTable = OfTable.Only("update", beside = Set("auto", "require", "update", "off"))
  )
  val SnapshotLocation = OptionSpec(
    "snapshotLocation",
    Both,
    "The directory of the table's snapshots, if it is not `_pme_snapshots` in the table's directory.",
    OptionSpec.NoEffect,
    ofTable = OfTable.UnlessSessionSays
  )
  val MinSnapshot = OptionSpec(
    "minSnapshot",
    Read,
    "The oldest state of the table that is accepted: `<table id>:<version>` (as `pme.seal` prints it), or at least 12 " +
      "digits of the digest of a version from which the newest must come. The number of a version alone says less: another " +
      "table or another history can have it, too. A table without a snapshot is refused.",
    OptionSpec.NoEffect,
    ofTable = OfTable.UnlessSessionSays
  )
  val VerifyKey = OptionSpec(
    "verifyKey",
    Both,
    "Reference to the public key, in PEM, that verifies the signature of snapshots. A table without a snapshot, or with " +
      "one that this key does not verify, is refused.",
    "One check of a signature for each version that a read opens.",
    secret = true
  )
  val SigningKey = OptionSpec(
    "signingKey",
    Write,
    "Name of the private key in the KMS that signs snapshots: Ed25519, or ECDSA with P-256. Without one, a key that the " +
      "footer's master key wraps makes an HMAC, which stops only those who cannot use that master key.",
    "One signature of the KMS for each version."
  )
  val WriteSeries = OptionSpec(
    "writeSeries",
    Write,
    "Name of a series of writes to a sealed table, as a job or a stream makes them, with `writeNumber`. Each version of the " +
      "table states the number of the last write of each series. A write whose number the newest version states does " +
      "nothing; one with a smaller number fails. So a scheduler may repeat a write whose outcome it does not know.",
    "Names and numbers of series are readable in the manifests."
  )
  val WriteNumber = OptionSpec(
    "writeNumber",
    Write,
    "Number of this write in its `writeSeries`: a whole number from 0 to 2<sup>63</sup> − 1 that grows from write to write, " +
      "such as 20261130 for a day, or the id of a stream's batch.",
    OptionSpec.NoEffect
  )
  val IndexKeys = OptionSpec(
    "indexKeys",
    Write,
    "Master keys of the indexes of a snapshot, written as `columnKeys`. By default an index has the key of its data column. " +
      "With another key, a reader can skip files by a column that it cannot read.",
    "Whoever has the key of an index learns what it says of the column: ranges, values, or a Bloom " +
      "filter.",
    isStable = false
  )
  val IndexClasses = OptionSpec(
    "indexClasses",
    Both,
    "Names of the classes, separated by commas, that a read may load to skip files by indexes of your own kinds, and that a " +
      "seal may load to keep such indexes. Other classes that a snapshot names are not loaded.",
    "The code of these classes runs in the session.",
    isStable = false,
    ofTable = OfTable.No
  )
  val XskipperStore = OptionSpec(
    "xskipperStore",
    Read,
    "The directory of a Parquet metadata store of Xskipper, by which a read skips files. A store is not " +
      "signed. With `verifyKey`, it is refused.",
    "Whoever can write to the store can hide rows from this read.",
    isStable = false
  )

  protected def snapshotOptions: Seq[OptionSpec] =
    Seq(
      Snapshot,
      SnapshotLocation,
      MinSnapshot,
      VerifyKey,
      SigningKey,
      WriteSeries,
      WriteNumber,
      IndexKeys,
      IndexClasses,
      XskipperStore
    )
}
