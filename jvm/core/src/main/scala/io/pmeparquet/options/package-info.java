/**
 * The options of `format("pme-parquet")`: each one is declared once, and `docs/options.md` is made from the
 * declarations. `OptionValues` finds a value by level (read or write, session, Hadoop configuration), `Settings`
 * checks values against each other and makes `WriteSettings` and `ReadSettings`. Knows no Spark and opens no KMS.
 * Start with `PmeOptions`; the options of KMSs are in `KmsOptions` and `ClientKind`.
 */
package io.pmeparquet.options;
