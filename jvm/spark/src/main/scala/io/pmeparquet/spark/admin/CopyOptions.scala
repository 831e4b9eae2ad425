package io.pmeparquet.spark.admin

import io.pmeparquet.options.PmeOptions

/** The options that copies add to the user's. ''Driver only.'' */
private[admin] object CopyOptions {

  /** The same options, with `plaintextFiles=allow`: the table may have files that are not encrypted yet. */
  def allowingPlaintext(options: Map[String, String]): Map[String, String] = {
    val name = PmeOptions.PlaintextFiles.name
    options.filterNot(_._1.equalsIgnoreCase(name)) + (name -> "allow")
  }
}
