/**
 * Describes a file: what protects each column (`FoundProtection`), what each master key protects (`FileUsage`,
 * `KeyUse`), and what a snapshot lists of it (`FileFacts`, the only one that reads values). Start with `FileUsage`.
 */
package io.pmeparquet.parquet.inspect;
