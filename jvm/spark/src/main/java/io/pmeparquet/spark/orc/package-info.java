/** Encrypted ORC, over Spark's own {@code orc}. Start at {@code OrcFormat}. */
package io.pmeparquet.spark.orc;
