package io.pmeparquet.kms.audit

import com.fasterxml.jackson.databind.node.ObjectNode
import com.fasterxml.jackson.databind.ObjectMapper

import io.pmeparquet.{Condition, PmeException}
import io.pmeparquet.keys.{KeyAudit, KeyCaller, KeyPurpose}

/** What a KMS was asked to do with a master key. */
sealed abstract class KeyAction(val name: String)

object KeyAction {
  case object Wrap extends KeyAction("wrap")
  case object Unwrap extends KeyAction("unwrap")

  /** Wraps again within the KMS. */
  case object Rewrap extends KeyAction("rewrap")

  /** Gives the master key itself. */
  case object Direct extends KeyAction("direct")

  /** Gives what signs with the key. */
  case object Sign extends KeyAction("sign")

  /** Makes the master key. */
  case object Create extends KeyAction("create")

  /** Destroys the master key, or schedules that. */
  case object Destroy extends KeyAction("destroy")
}

/**
 * What became of it.
 *
 * @param name `granted`; `asked`, before a key is destroyed; `refused`: the KMS said no, or has no such key; `failed`: it gave no answer
 * @param condition why no key was given, if one of our conditions says it
 */
final case class KeyResult(name: String, condition: Option[String]) {
  def isGranted: Boolean = name == KeyResult.Granted
}

object KeyResult {
  val Granted = "granted"

  /** What comes before something that cannot be undone. */
  val Asked: KeyResult = KeyResult("asked", None)

  def of(failed: Option[Throwable]): KeyResult = failed match {
    case None => KeyResult(Granted, None)
    case Some(ours: PmeException) =>
      KeyResult(
        if (ours.condition == Condition.KmsUnavailable) "failed" else "refused",
        Some(ours.condition.name)
      )
    case Some(_) => KeyResult("failed", None)
  }
}

/**
 * One decision of a KMS. It holds neither keys nor values.
 *
 * @param keys how many keys of this master key the call was about
 * @param where the file or job that needed it first; others may use the key while it is in memory
 * @param requests by which ids the KMS's own log knows the calls
 */
final case class KeyEvent(
    audit: KeyAudit,
    caller: KeyCaller,
    kms: String,
    masterKey: String,
    action: KeyAction,
    keys: Int,
    result: KeyResult,
    where: String,
    requests: Seq[String]
) {

  /** One configuration of the crypto factory serves reads and writes, and only writes wrap. */
  def purpose: KeyPurpose =
    if (audit.purpose == KeyPurpose.Read && action == KeyAction.Wrap) KeyPurpose.Write else audit.purpose

  /** As the members of a JSON object. */
  private[audit] def into(node: ObjectNode): ObjectNode = {
    node.put("user", caller.user).put("application", caller.application)
    node.put("query", caller.query.orNull).put("purpose", purpose.name)
    val place = KeyEvent.placeOf(where)
    node.put("table", audit.table.orElse(place.map(_._1)).map(KeyEvent.short).orNull)
    node.put("column", place.flatMap(_._2).map(KeyEvent.short).orNull).put("where", KeyEvent.short(where))
    node.put("kms", KeyEvent.short(kms)).put("master_key", KeyEvent.short(masterKey))
    node.put("action", action.name).put("keys", keys)
    node.put("result", result.name).put("condition", result.condition.orNull)
    val ids = node.putArray("requests")
    requests.foreach(ids.add)
    node
  }

  /** As one line of JSON, for logs. */
  def json: String = KeyEvent.mapper.writeValueAsString(into(KeyEvent.mapper.createObjectNode))
}

private[audit] object KeyEvent {
  val mapper = new ObjectMapper

  /**
   * The directory of a table without its partitions, and the column, if a file is why a key was needed. Of several keys of
   * a file that are asked for together, no column is named.
   *
   * @param where `<file>`, `<file>, footer`, `<file>, column '<name>'`, `write to <table>` or `erasure of <table>`
   */
  def placeOf(where: String): Option[(String, Option[String])] = {
    val (file, column) = where.indexOf(Column) match {
      case -1 => where.stripSuffix(" or column").stripSuffix(", footer") -> None
      case at => where.take(at) -> Some(where.drop(at + Column.length).stripSuffix("'"))
    }
    val directory = OfTable.find(file.startsWith) match {
      case Some(before) => file.stripPrefix(before)
      case None => file.take(file.lastIndexOf('/').max(0))
    }
    if (directory.isEmpty) None
    else Some(directory.replaceFirst("(/[^/=]+=[^/]*)+$", "") -> column)
  }

  private val Column = ", column '"
  private val OfTable = Seq("write to ", "erasure of ")

  /** Names of files and keys are texts of others. */
  private val MostChars = 2000
  def short(text: String): String = if (text.length > MostChars) text.take(MostChars) + "…" else text
}
