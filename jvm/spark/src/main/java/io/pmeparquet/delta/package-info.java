/** The store of Delta's log that a session names, {@code PmeLogStore}. */
package io.pmeparquet.delta;
