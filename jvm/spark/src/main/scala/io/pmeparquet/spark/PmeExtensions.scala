package io.pmeparquet.spark

import org.apache.spark.sql.SparkSessionExtensions

import io.pmeparquet.spark.admin.TableFunctions

/**
 * For applications of several sessions, and for sessions that look after tables in SQL before they use the format:
 * {{{
 * spark.sql.extensions=io.pmeparquet.spark.PmeExtensions
 * }}}
 * By itself the format adds what it needs to the session that is active when it is first used, which need not be the one
 * that a frame is of. With this every session has it before its first statement is run, and refuses to hand options of
 * ours to another format ([[OtherFormats]]).
 *
 * ''Driver only.''
 */
final class PmeExtensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    TableFunctions.ofExtension.foreach(extensions.injectTableFunction)
    extensions.injectPostHocResolutionRule(new NoteStatements(_))
    extensions.injectCheckRule { session => plan =>
      SessionSetup.install(session)
      OtherFormats.check(session, plan)
    }
  }
}
