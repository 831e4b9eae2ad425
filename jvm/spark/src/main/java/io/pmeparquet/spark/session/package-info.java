/**
 * What the whole connector asks of Spark, and what Spark must know of us: the names, configurations, failures and
 * version differences that other packages need. Knows Spark's session, and no other package of the connector. Start
 * with `SparkAccess` for configurations, `PmeSparkException` for failures, and `FormatName` for the names that Spark
 * looks up.
 */
package io.pmeparquet.spark.session;
