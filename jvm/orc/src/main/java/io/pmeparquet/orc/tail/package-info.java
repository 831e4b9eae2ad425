/**
 * What an ORC file states about itself: its tail and the footers of its stripes, read with a bound for every length. Start
 * at {@code OrcTail}.
 */
package io.pmeparquet.orc.tail;
