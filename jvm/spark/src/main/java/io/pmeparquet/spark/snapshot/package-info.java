/**
 * Reads by snapshots: finds a table's snapshot, compares it with what Spark has listed, and hands tasks what it says of
 * each file. Knows Spark's file indexes. Start at {@code SnapshotReads}.
 */
package io.pmeparquet.spark.snapshot;
