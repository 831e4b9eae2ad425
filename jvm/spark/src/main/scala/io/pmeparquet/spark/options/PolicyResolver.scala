package io.pmeparquet.spark.options

import java.util.Locale

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.SparkSession

import io.pmeparquet.{PmeErrors, Secret}
import io.pmeparquet.options.PmeOptions
import io.pmeparquet.policy.Policy

/**
 * Policies with the tags that catalogs give columns. ''Driver only.''
 *
 * @param ofSession options of the session, by lower-case names
 * @param table catalog, database and name, if known
 * @param written the schema of what is written, whose metadata may have tags
 */
private[options] final class PolicyResolver(
    session: SparkSession,
    ofSession: Map[String, String],
    conf: => Configuration,
    secret: (String, String) => Secret,
    table: Option[Seq[String]],
    written: Option[StructType]
) {

  /** The class that the session names for tags. */
  private def tagSource: Option[String] = ofSession.get(PmeOptions.TagSource.name.toLowerCase(Locale.ROOT))

  /** @param named the place that this read or write names */
  def policies(named: Option[String]): Seq[Policy] = {
    val own = ofSession.get(PmeOptions.Policy.name).map(_.trim)
    lazy val access = new PolicyAccess(conf, ofSession, secret)
    val found = (own ++ named.map(_.trim)).toSeq.distinct.map { one =>
      tagged(access.policy(one, isSessions = own.contains(one)))
    }
    if (found.map(_.name).distinct.size < found.size)
      throw PmeErrors.contradiction(
        PmeOptions.Policy.name,
        s"${found.map(_.describe).mkString(" and ")} have one name",
        "Remove one of them."
      )
    found
  }

  private def tagged(policy: Policy): Policy = {
    val ofSpark = policy.catalogTag.toSeq.flatMap { name =>
      table.toSeq.flatMap(TableTags.ofCatalog(session, _, name)) ++
        written.toSeq.flatMap(TableTags.ofSchema(_, name))
    }
    val ofOthers = for {
      source <- tagSource.toSeq
      named <- table.toSeq
      tag <- TableTags.ofSource(source.trim, named)
    } yield tag
    policy.tagged((ofSpark ++ ofOthers).distinct).copy(hasTagSource = tagSource.isDefined)
  }
}
