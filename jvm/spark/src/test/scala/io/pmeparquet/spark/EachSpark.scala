package io.pmeparquet.spark

/**
 * Marks a suite whose tests depend on Spark's version: they look at Spark's plans, or at what Spark resolves.
 * `make test` runs it on the oldest and on the newest Spark. Each test of another suite runs on one of them.
 */
trait EachSpark { this: SparkSuite => }
