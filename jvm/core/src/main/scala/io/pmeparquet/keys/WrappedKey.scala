package io.pmeparquet.keys

/** A key as the KMS wrapped it; with double wrapping it is a key-encryption key, and has an id. */
final case class WrappedKey(masterKeyId: String, wrapped: String, kekId: Option[String])
