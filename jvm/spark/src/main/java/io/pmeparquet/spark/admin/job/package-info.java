/**
 * Spark jobs over the files of a table. They work on each of many files, keep the failure of each file, and count
 * progress. They do not know what the work is. Start with `FileJob`; `Progress` is what Python's progress bar asks.
 */
package io.pmeparquet.spark.admin.job;
