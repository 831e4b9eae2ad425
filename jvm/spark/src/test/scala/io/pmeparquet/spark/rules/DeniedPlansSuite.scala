package io.pmeparquet.spark.rules

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.DataFrame

import io.pmeparquet.spark.{EachSpark, GuardedSuite}
import io.pmeparquet.spark.read.{EncryptedFileFormat, PmeScan}

/** What plans tell the scans of a masked table, before anything runs. */
abstract class DeniedPlansSuite extends GuardedSuite with EachSpark {
  private val refusedColumns = Set("ssn", "address", "phones", "tags")

  protected def lookedAt(frame: DataFrame): Set[String] = lookedAt(frame.queryExecution.optimizedPlan)

  /** Those of the refused columns that conditions look at, as the scans of the plan know it. */
  protected def lookedAt(plan: LogicalPlan): Set[String] = {
    val found = PlanFields.nodes(plan).flatMap {
      case FileRelation(_, format: EncryptedFileFormat) => Some(format.notes.conditions)
      case leaf: DataSourceV2ScanRelation =>
        leaf.scan match {
          case scan: PmeScan => Some(scan.conditions)
          case _ => None
        }
      case _ => None
    }
    assert(found.nonEmpty && found.forall(_.isDefined), plan)
    found.flatten.flatten.toSet.intersect(refusedColumns)
  }
}
