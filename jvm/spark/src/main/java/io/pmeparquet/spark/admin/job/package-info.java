/**
 * Spark jobs over the files of a table. They work on each of many files, keep the failure of each file, and count
 * progress. They do not know what the work is. Start with `TableFiles`, which lists the files, and `FileJob`;
 * `Progress` is what Python's progress bar asks, and `ResultRows` makes a frame of what an operation found.
 */
package io.pmeparquet.spark.admin.job;
