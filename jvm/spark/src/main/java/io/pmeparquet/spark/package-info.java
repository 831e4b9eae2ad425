/**
 * The connector: Parquet Modular Encryption for Spark. This package has only what Spark looks up by name: the data
 * source, its two tables, the file format and the extension. Packages, from the lowest: `session`, `keys`, `decode`,
 * `options`, `read`, `write`, `admin.job`, `admin.doctor`, `admin`, `rules`. Start with `PmeDataSource`.
 */
package io.pmeparquet.spark;
