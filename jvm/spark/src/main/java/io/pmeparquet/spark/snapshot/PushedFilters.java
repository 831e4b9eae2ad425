package io.pmeparquet.spark.snapshot;

import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.DataSourceStrategy$;
import org.apache.spark.sql.sources.Filter;
import scala.Option;

/** Spark's translation of expressions to filters of sources, which Scala code outside Spark may not call. */
final class PushedFilters {
  private PushedFilters() {}

  static Option<Filter> of(Expression expression) {
    return DataSourceStrategy$.MODULE$.translateFilter(expression, true);
  }
}
