/**
 * Describes a file: what protects each column (`FoundProtection`), what each master key protects (`FileUsage`,
 * `KeyUse`) and where the modules are (`FileLayout`). Reads footers and page headers, and no values. Start with
 * `FileUsage`.
 */
package io.pmeparquet.parquet.inspect;
