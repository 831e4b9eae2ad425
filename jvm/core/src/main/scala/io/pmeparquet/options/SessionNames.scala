package io.pmeparquet.options

/** Names of settings of the formats in a session: `spark.datasource.pme-parquet.<option>`, for all formats of ours. */
object SessionNames {
  val Prefix = "spark.datasource.pme-parquet."

  // Spark gives each data source a prefix of its name, so people try these.
  private val Ours = "(?i)(spark\\.hadoop\\.)?spark\\.datasource\\.pme[-_]?(parquet|orc)\\.(.*)".r

  /** The option of a setting that was meant for a format of ours. */
  def optionOf(name: String): Option[String] = name match {
    // Each read asks for all names of Hadoop's configuration, of which few begin so.
    case other if !other.regionMatches(true, 0, "spark.", 0, "spark.".length) => None
    case Ours(_, _, option) => Some(option)
    case _ => None
  }

  /** Whether a format of ours reads the setting, if the session has it. */
  def isRead(name: String): Boolean = name.regionMatches(true, 0, Prefix, 0, Prefix.length)
}
