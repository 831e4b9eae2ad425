/**
 * What every other package needs: errors (`Condition` names them, `PmeErrors` words them, `PmeException` carries
 * them), keys and secrets that no text form shows (`AesKey`, `Secret`), and small tools. Knows the JDK and Jackson.
 * Start with `PmeErrors` if a message is wrong, and with `Condition` to add an error.
 */
package io.pmeparquet;
