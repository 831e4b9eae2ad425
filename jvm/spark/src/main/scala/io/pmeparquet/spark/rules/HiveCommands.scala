package io.pmeparquet.spark.rules

import org.apache.spark.sql.catalyst.plans.logical.{Command, LogicalPlan}

/** Hive's commands are in a jar that not every Spark has, so nothing here names their classes. ''Driver only.'' */
private[rules] object HiveCommands {
  private val Package = "org.apache.spark.sql.hive."

  /** What a command of Hive was made with: the tables (`CatalogTable`) and places (`CatalogStorageFormat`) among others. */
  def unapplySeq(node: LogicalPlan): Option[Seq[Any]] = node match {
    case command: Command if command.getClass.getName.startsWith(Package) =>
      Some(command.productIterator.toSeq)
    case _ => None
  }
}
