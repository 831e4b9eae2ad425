/**
 * Gives the data keys of a file new master keys, and changes no page. `KeyedFile` and `KeyedChunk` find the keys in a
 * footer, `FileRotation` inspects a file and later changes it, `RotationPlan` says how, `RotationMark` keeps rotations
 * with other aims out of a table. Knows wrapped keys only, and never a data key in the clear. Start with
 * `FileRotation`.
 */
package io.pmeparquet.parquet.rotation;
