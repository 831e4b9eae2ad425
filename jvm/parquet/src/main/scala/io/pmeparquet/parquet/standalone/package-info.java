/**
 * The crypto factory without Spark: what a Hadoop configuration says becomes a scope of this process.
 *
 * <p>{@code ConfigurationScopes} is the way in. {@code PmeCryptoFactory} calls it where nobody has handed it a scope.
 */
package io.pmeparquet.parquet.standalone;
