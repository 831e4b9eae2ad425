/**
 * Delta tables. {@code PmeLogStore} is the store of Delta's log that a session names: {@code CommitGuard} looks at each
 * commit that goes through it, and {@code DeltaRules} at each command before it runs, so that nothing of a protected
 * column gets into the log. {@code DeltaEncryption} encrypts a table and gives it other keys. Start with either.
 */
package io.pmeparquet.delta;
