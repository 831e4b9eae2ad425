/**
 * Makes the settings of one read or write from its options, the session and Hadoop's configuration. It decides
 * precedence, resolves secrets, knows where an option comes from, and makes the scope of a read or write. Knows Spark's
 * session and catalog tables, and nothing of plans, files or rows. Start with `ResolvedOptions`, which every way into the
 * format makes; `OptionOrigin` says where options come from.
 */
package io.pmeparquet.spark.options;
