package io.pmeparquet

/** Hudi tables, which store values outside of Parquet files as well. */
private[pmeparquet] trait HudiErrors extends ErrorTexts {

  /**
   * @param what of Hudi, which stores values
   * @param remedy what to do instead
   */
  def hudiReadable(table: String, what: String, remedy: String): PmeException =
    refused(table, s"$what would be readable, because the crypto factory encrypts Parquet files only", remedy)

  def hudiSession(table: String): PmeException =
    refused(
      table,
      "the session and the application differ in parquet.crypto.factory.class or in the keys that they name, and Hudi asks " +
        "the application",
      "Set them for the whole application (spark.hadoop.pme-parquet.…), and not with SET."
    )

  /** @param command the class of Hudi's command or procedure */
  def hudiUnknown(command: String): PmeException =
    refused(
      "Hudi",
      s"it is not known which table $command writes, or what of it would be readable",
      "Write with format(\"hudi\"), INSERT, UPDATE, DELETE or MERGE, with the settings of docs/hudi.md. Or run it in a " +
        "session without parquet.crypto.factory.class, if the table may be plaintext."
    )
}
