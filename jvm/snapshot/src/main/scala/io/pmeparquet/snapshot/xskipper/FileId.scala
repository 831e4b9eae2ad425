package io.pmeparquet.snapshot.xskipper

import org.apache.hadoop.fs.Path

/**
 * What a store calls a data file: `<path>#<modification time>`, without scheme and bucket, or `cos://<bucket>/<path>#…`.
 *
 * @param bucket none if the id names none: the file may then be in any
 * @param path absolute, and decoded
 * @param modified in milliseconds since 1970
 */
private[pmeparquet] final case class FileId(bucket: Option[String], path: String, modified: Long) {

  /** Without the time. */
  private[xskipper] def text: String = bucket.fold(path)(name => s"${FileId.Cos}$name$path")
}

private[pmeparquet] object FileId {
  private[xskipper] val Cos = "cos://"

  /** None for a text that is no id, or says nothing of the file's time. */
  def parse(text: String): Option[FileId] = {
    // A path may have a number sign, too.
    val at = text.lastIndexOf('#')
    val time = if (at < 0) "" else text.substring(at + 1)
    if (at <= 0 || !time.matches("[1-9][0-9]{0,17}")) None
    else {
      val place = text.substring(0, at)
      if (place.startsWith("/")) Some(FileId(None, place, time.toLong))
      else if (!place.startsWith(Cos)) None
      else {
        val rest = place.substring(Cos.length)
        val slash = rest.indexOf('/')
        if (slash <= 0) None else Some(FileId(Some(rest.take(slash)), rest.drop(slash), time.toLong))
      }
    }
  }

  /**
   * The ids that describe a file.
   *
   * @param file qualified
   * @param store the directory of the store, qualified: an id without a bucket can only mean a file where the store
   *   itself is, or a file of another bucket with the same path would be taken for it
   */
  def of(file: Path, modified: Long, store: Path): Seq[FileId] = {
    val uri = file.toUri
    def isWhereStoreIs = {
      def place(path: Path) =
        (Option(path.toUri.getScheme).map(_.toLowerCase), Option(path.toUri.getAuthority))
      place(file) == place(store)
    }
    val unnamed = if (isWhereStoreIs) Seq(FileId(None, uri.getPath, modified)) else Nil
    val named = Option(uri.getAuthority).filter(_ => uri.getScheme == "cos").map { authority =>
      FileId(Some(containerOf(authority)), uri.getPath, modified)
    }
    unnamed ++ named
  }

  /** The id that a store has for a file. */
  def text(path: Path, modified: Long): String = s"${path.toUri.getPath}#$modified"

  /** Xskipper's id of a table. */
  def table(path: Path): String = path.toUri.getPath.stripSuffix("/")

  /** The bucket in the authority `<bucket>.<service>`. */
  private def containerOf(authority: String) = {
    val dot = authority.lastIndexOf('.')
    if (dot <= 0) authority else authority.take(dot)
  }
}
