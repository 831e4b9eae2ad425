/**
 * Xskipper's Parquet metadata stores: reads those without a version and of versions 0 to 4, and writes version 4. A
 * store says what the data files of a table can contain; it is not signed. Start at {@code XskipperStore} to read and at
 * {@code StoreWriter} to write; docs/snapshots.md says what is used of it.
 */
package io.pmeparquet.snapshot.xskipper;
