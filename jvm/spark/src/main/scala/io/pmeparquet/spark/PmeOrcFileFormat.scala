package io.pmeparquet.spark

import io.pmeparquet.spark.options.{Asker, FormatOrigin}
import io.pmeparquet.spark.orc.{OrcFormat, OrcState}
import io.pmeparquet.spark.read.SessionRules
import io.pmeparquet.spark.rules.SessionSetup

/**
 * The V1 side of encrypted ORC, which Spark looks up by name: all writes, SQL, streaming, and reads by default. Spark's
 * own `orc` reads and writes; [[OrcFormat]] gives it keys and looks at files first. From there: `OrcRead`,
 * `io.pmeparquet.orc.OrcAdmission`, and `io.pmeparquet.orc.keys.PmeKeyProvider`, which ORC asks for keys.
 *
 * ''Driver only''; the functions that it returns cross the wire.
 */
class PmeOrcFileFormat private (state: OrcState) extends OrcFormat(state) {
  SessionSetup.install()

  /** Spark calls this by reflection. */
  def this() = this(OrcState.of(FormatOrigin(Asker.here())))

  private[spark] override def of(state: OrcState): PmeOrcFileFormat = new PmeOrcFileFormat(state)

  private[spark] override def sessionRules: SessionRules = SessionSetup
}
