/**
 * What the format adds to a session, and its rules over plans. A rule finds what Spark does not tell a file format:
 * where options come from, all conditions, a coming overwrite. Knows Spark's plans, and the format by its base
 * `EncryptedParquetFormat`, not by the classes that Spark looks up. Start with `SessionSetup`, which lists the rules;
 * the comment of each rule says why Spark needs it.
 */
package io.pmeparquet.spark.rules;
