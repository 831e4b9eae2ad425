/**
 * Describes a file: what protects each column (`FoundProtection`), what each master key protects (`FileUsage`,
 * `KeyUse`), where the modules are (`FileLayout`), and what a snapshot lists of it (`FileFacts`, the only one that
 * reads values). Start with `FileUsage`.
 */
package io.pmeparquet.parquet.inspect;
