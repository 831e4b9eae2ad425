package io.pmeparquet.spark

import io.pmeparquet.spark.session.FormatName

/** `pme_parquet`: the same source by a name that SQL reads without backquotes. */
final class PmeParquetInSql extends PmeDataSource {
  override def shortName(): String = FormatName.FormatInSql
}
