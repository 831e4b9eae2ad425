/**
 * Whether a file decompresses and decodes, and whether its statistics agree with its values: all that can be checked
 * without authentication, which ORC does not have. Start at {@code OrcVerification}.
 */
package io.pmeparquet.orc.verify;
