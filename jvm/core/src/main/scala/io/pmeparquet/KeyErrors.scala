package io.pmeparquet

import io.pmeparquet.Condition._

/** Master keys, key metadata, and the KMS. */
private[pmeparquet] trait KeyErrors extends ErrorTexts {

  def keyNotFound(where: String, key: String, kms: String, cause: Throwable = null): PmeException =
    keyUnusable(where, key, s"$kms does not have it${spaces(key)}", cause)

  // Text forms of `columnKeys` drop such spaces, JSON and options keep them.
  private def spaces(key: String) =
    if (key == key.trim) "" else "; the id begins or ends with a space, which is part of it"

  def keyUnusable(where: String, key: String, why: String, cause: Throwable = null): PmeException =
    fail(
      KeyNotFound,
      s"$where: master key '$key' cannot be used: $why. " +
        "Create the key or correct its id; on read, use the KMS that the data was written with.",
      cause
    )

  def keyDenied(where: String, key: String, kms: String, cause: Throwable): PmeException =
    fail(
      KeyDenied,
      s"$where: $kms does not let this user use master key '$key'. " +
        "Ask for access, or leave out the columns that it protects.",
      cause
    )

  def kmsUnavailable(where: String, why: String, cause: Throwable = null): PmeException =
    fail(
      KmsUnavailable,
      s"$where: the KMS cannot be used: $why. Check address, path, password and network.",
      cause
    )

  /** @param where "keystore keys", or another file of a KMS */
  def fileIsDirectory(where: String): PmeException =
    fail(KmsUnavailable, s"$where: the KMS cannot be used: it is a directory. Name a file in it.")

  def keyOfWrongSize(where: String, bits: Int): PmeException =
    fail(
      KeyMetadata,
      s"$where: the key is $bits bits long, which is not a valid length of an AES key. Use a key of 128, 192 or 256 bits."
    )

  def wrappedKeyNotAuthentic(where: String, key: String, cause: Throwable = null): PmeException =
    wrappedKeyRefused(
      where,
      key,
      "its authentication tag does not match, so either the master key of that name is not the writer's, or the key " +
        "material was altered (AES-GCM cannot tell which)",
      cause
    )

  def wrappedKeyRefused(where: String, key: String, why: String, cause: Throwable): PmeException =
    fail(
      NotAuthentic,
      s"$where: a key wrapped with '$key' cannot be unwrapped: $why. Check that this is the KMS of the writer.",
      cause
    )

  def keyMetadata(where: String, why: String, cause: Throwable = null): PmeException =
    fail(
      KeyMetadata,
      s"$where: the key metadata cannot be used: $why. " +
        "Check how the file was written, and that its key material is complete.",
      cause
    )

  def archivedMaterial(file: String): PmeException =
    refused(
      file,
      "its keys are in a file beside it (keyMaterial=external), and the stream moves the file without them " +
        "(cleanSource=archive), so nobody could open it in the archive",
      "Set cleanSource=off, or have such files written with keyMaterial=internal."
    )

  def noKeyMetadata(where: String): PmeException =
    fail(
      NoKey,
      s"$where: the file has no key metadata, so its key is not known. " +
        "Name the key with footerKey or uniformKey in the options of this read, and set keyManagement=direct."
    )

  def noColumnKeyMetadata(where: String): PmeException =
    fail(
      NoKey,
      s"$where: the column has a key of its own, but no key metadata, so its key is not known. " +
        "Name the column's key with columnKeys in the options of this read, and set keyManagement=direct."
    )

  /** For a column without key metadata, in a reader of parquet-java's, which takes no key from the options. */
  def keyOfAnotherReader(where: String): PmeException =
    refused(
      where,
      "reader=spark cannot read it: the column has a key of its own, but no key metadata, and only reader=pages takes the key " +
        "from columnKeys",
      "Set reader=pages, or remove the option."
    )

  /** For a file that asks for a master key itself, or a request on its behalf. */
  def directKeyRefused(where: String, key: String): PmeException =
    fail(
      KeyMetadata,
      s"$where: the file names key '$key' as its data key, but master keys are used as data keys only with " +
        "keyManagement=direct. Find out who wrote the file. If the table was written that way, set keyManagement=direct."
    )

  /** For a request that its read or write has no grant for. */
  def keyRequestRefused(where: String, what: String): PmeException =
    fail(
      KeyDenied,
      s"$where: the driver refused $what: the read or write that it came from does not need it. " +
        "Check who can connect to the driver's port."
    )
}
