/**
 * Snapshots of tables: sealed lists of their files. Knows directories, manifests, seals and parts, and no Spark. Start at
 * {@code TableSnapshots} to read and at {@code NewVersion} to make one; docs/snapshot-format.md has the format.
 */
package io.pmeparquet.snapshot;
