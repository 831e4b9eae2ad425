/** Keys of ORC files. Start at {@code PmeKeyProvider}, which ORC calls. */
package io.pmeparquet.orc.keys;
