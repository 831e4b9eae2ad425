package io.pmeparquet.parquet.chunk

/** How to read the pages of a chunk. */
private[parquet] final case class PageRules(
    allowClearLevels: Boolean,
    verifyChecksums: Boolean,
    vectorized: Boolean
)
