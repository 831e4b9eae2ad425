package io.pmeparquet.policy;

import java.util.List;
import java.util.Map;

/**
 * Tags of columns from another catalog than Spark's, for policies: the class that the session's option {@code tagSource}
 * names. The driver makes one for each resolution of options, with its constructor without parameters.
 *
 * <p>What it says is added to the tags that patterns and Spark's catalog give. It takes none of them away.
 */
public interface TagSource {

  /**
   * The tags of a table's columns.
   *
   * @param table catalog, database and name
   * @return the tags by column, written as in {@code columnKeys}; empty for a table without tags, never null
   * @throws Exception if the catalog does not answer; the read or write fails
   */
  Map<String, List<String>> tags(List<String> table) throws Exception;
}
