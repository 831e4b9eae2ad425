/**
 * What keeps protected columns of Delta tables out of Delta's log: {@code CommitGuard} looks at each commit, and {@code
 * DeltaRules} at each command before it runs.
 */
package io.pmeparquet.spark.delta;
