/**
 * Encrypted ORC: what a read accepts and a write makes, on the orc-core that Spark brings. Knows no Spark. ORC's own
 * classes encrypt and decrypt; this module gives them keys, and looks at each file before they do. docs/orc.md.
 */
package io.pmeparquet.orc;
