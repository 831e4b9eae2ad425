package io.pmeparquet.parquet.summary;

import java.util.Iterator;
import java.util.Map;

import org.apache.parquet.filter2.predicate.FilterPredicate;

/**
 * A kind of index of your own: what to keep of the values that a file has in one column, and what that proves.
 *
 * <p>A class that implements it is public and has a public constructor without parameters. A seal makes one instance
 * for each column of each file, a query one instance for each index. Both call {@link #configure} first, and all calls of
 * one instance come from one thread at a time. An exception ends the seal or the query.
 */
public interface SummaryClass {

  /**
   * Takes the settings of the index.
   *
   * @param settings as the index was declared
   * @throws IllegalArgumentException if they are not usable
   */
  default void configure(Map<String, String> settings) {
    if (!settings.isEmpty()) {
      throw new IllegalArgumentException("it takes no settings, and got " + settings.keySet());
    }
  }

  /**
   * Summarizes the column's values in one file.
   *
   * @param values all values that are not null, in the order of rows: {@code Integer}, {@code Long}, {@code Float},
   *     {@code Double}, {@code Boolean} or {@code byte[]}, as the physical type in Parquet is. Decimals, dates, timestamps
   *     and unsigned integers come as Parquet stores them
   * @return the summary, at most 128 KiB. Null if there is none for this file: no query then leaves it out
   */
  byte[] summarize(Iterator<Object> values);

  /**
   * Whether a summary proves that no value of its file fulfils a comparison. A wrong {@code true} loses rows.
   *
   * @param summary what {@link #summarize} returned for the file
   * @param comparison one comparison of this column: {@code Eq}, {@code NotEq}, {@code Lt}, {@code LtEq}, {@code Gt},
   *     {@code GtEq}, {@code In}, {@code NotIn}, {@code UserDefined} or {@code LogicalNotUserDefined} of
   *     {@code org.apache.parquet.filter2.predicate.Operators}. Rows whose value is null cannot fulfil it. No value in it is
   *     NaN; NaN in a file is greater than all other values, and 0.0 equals -0.0
   * @return false if in doubt
   */
  boolean holdsNone(byte[] summary, FilterPredicate comparison);
}
