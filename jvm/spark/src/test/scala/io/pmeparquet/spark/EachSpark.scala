package io.pmeparquet.spark

/**
 * Marks a suite whose tests depend on Spark's version: it judges Spark's plans, or what Spark resolves. `make test` runs
 * it on the oldest and on the newest Spark. The tests of all other suites take turns between these two.
 */
trait EachSpark { this: SparkSuite => }
