/**
 * What one file can contain of one column, so that a query can leave the file out: kinds of summaries
 * ({@code SummaryKind}), what proves that no row matches ({@code FileEvaluation}), and classes of the user's
 * ({@code SummaryClass}). Knows nothing of snapshots. Start with {@code FileEvaluation}.
 */
package io.pmeparquet.parquet.summary;
