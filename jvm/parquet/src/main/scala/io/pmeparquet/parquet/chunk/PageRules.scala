package io.pmeparquet.parquet.chunk

/** How pages are taken from a chunk. */
private[parquet] final case class PageRules(
    allowClearLevels: Boolean,
    verifyChecksums: Boolean,
    vectorized: Boolean
)
