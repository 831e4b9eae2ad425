package io.pmeparquet.spark

import io.pmeparquet.spark.session.FormatName

/** `pme_orc`: the same source by a name that SQL reads without backquotes. */
final class PmeOrcInSql extends PmeOrcDataSource {
  override def shortName(): String = FormatName.OrcInSql
}
