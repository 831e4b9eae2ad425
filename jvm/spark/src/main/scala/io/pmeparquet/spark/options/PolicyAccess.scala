package io.pmeparquet.spark.options

import java.io.IOException
import java.net.{URI, URISyntaxException}
import java.nio.file.Files
import java.security.PublicKey

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.hadoop.security.UserGroupInformation

import io.pmeparquet.{PmeErrors, PmeException, RecentValues, Secret, Sha256}
import io.pmeparquet.kms.http.{BoundedGet, ServerAddress, UrlPath}
import io.pmeparquet.options.{OptionSpec, PmeOptions}
import io.pmeparquet.policy._
import io.pmeparquet.snapshot.manifest.VerifyKey
import io.pmeparquet.spark.session.FormatName

/**
 * Gets policies from where they are, and trusts those that the session's key has signed, or that only their owner can
 * change. Whoever could change a policy could leave columns in plaintext. ''Driver only.''
 *
 * @param ofSession options of the session, by lower-case names; no option of a read, write or table counts here
 * @param secret resolves a reference
 */
private[options] final class PolicyAccess(
    conf: => Configuration,
    ofSession: Map[String, String],
    secret: (String, String) => Secret
) {
  import PolicyAccess._

  private def setting(option: OptionSpec) = ofSession.get(option.name.toLowerCase(java.util.Locale.ROOT))

  private lazy val key: Option[PublicKey] = setting(PmeOptions.PolicyKey).map { reference =>
    VerifyKey.ofPem(PmeOptions.PolicyKey.name, secret(PmeOptions.PolicyKey.name, reference))
  }
  private lazy val minimum = setting(PmeOptions.MinPolicy).map(MinimumPolicy.parse)

  /**
   * @param location a path or address
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION` if the policy cannot be read or is not trusted
   */
  def policy(location: String): Policy = {
    val fetched = if (isAddress(location)) ofAddress(location) else ofPath(location)
    key match {
      case Some(public) if !fetched.signature.exists(PolicySignature.verifies(public, fetched.bytes, _)) =>
        val why =
          if (fetched.signature.isEmpty) s"it has no signature beside it (${PolicySignature.Suffix})"
          else "policyKey does not verify its signature"
        throw PmeErrors.policyRefused(
          fetched.where,
          why,
          "Ask the owner of the policy to sign it, and find out who changed it."
        )
      case None if !fetched.isOwned => throw unsigned(fetched.where)
      case _ => ()
    }
    val digest = Sha256.hex(Sha256.ofBytes(fetched.bytes))
    val made = parsed.get((fetched.where, digest))(PolicyJson.parse(fetched.bytes, fetched.where))
    minimum.foreach(_.require(made))
    SeenPolicies.ofProcess.note(made, key, digest)
    made
  }

  private def ofPath(location: String): Fetched = {
    val path =
      try {
        val named = new Path(location)
        named.getFileSystem(conf).makeQualified(named)
      } catch {
        case bad @ (_: IllegalArgumentException | _: IOException) =>
          throw PmeErrors.policyUnreadable(location, s"it is no path (${bad.getClass.getSimpleName})", bad)
      }
    if (path.toUri.getScheme == "file") local(path)
    else
      remote(path.toString)(
        ofFileSystem(path, PolicyJson.MaxBytes),
        mayBeMissing(ofFileSystem(path.suffix(PolicySignature.Suffix), PolicySignature.MaxBytes))
      )
  }

  /** Read each time: a check of its owner is worth as long as nobody else can change the file, and so without end. */
  private def local(path: Path): Fetched = {
    val file = new java.io.File(path.toUri.getPath).toPath
    if (key.isEmpty) OwnedFile.require(file)
    else if (!Files.isRegularFile(file))
      throw PmeErrors.policyUnreadable(file.toString, "there is no such file")
    def read(of: java.nio.file.Path, most: Int) = limited(of.toString, most)(Files.newInputStream(of))
    val bytes = read(file, PolicyJson.MaxBytes)
    val beside = file.resolveSibling(s"${file.getFileName}${PolicySignature.Suffix}")
    val signature =
      if (key.isEmpty || !Files.exists(beside)) None else Some(read(beside, PolicySignature.MaxBytes))
    Fetched(path.toString, bytes, signature, isOwned = key.isEmpty)
  }

  private def ofFileSystem(path: Path, most: Int): Array[Byte] =
    limited(path.toString, most)(path.getFileSystem(conf).open(path))

  private def mayBeMissing(read: => Array[Byte]): Option[Array[Byte]] =
    try Some(read)
    catch { case _: PmeException => None }

  private def ofAddress(text: String): Fetched = {
    val address = plain(text)
    val allowed =
      setting(PmeOptions.PolicyAddresses).toSeq.flatMap(_.split(',')).map(_.trim).filter(_.nonEmpty)
    if (!allowed.exists(one => one == address || (one.endsWith("/") && address.startsWith(one))))
      throw PmeErrors.policyRefused(
        address,
        "the session does not allow this address",
        s"Set ${FormatName.SessionPrefix}${PmeOptions.PolicyAddresses.name} in the session."
      )
    if (key.isEmpty) throw unsigned(address)
    def get(from: String, most: Int) =
      BoundedGet.bytes(from, most).fold(why => throw PmeErrors.policyUnreadable(from, why), identity)
    remote(address)(
      get(address, PolicyJson.MaxBytes),
      mayBeMissing(get(address + PolicySignature.Suffix, PolicySignature.MaxBytes))
    )
  }

  /** An address without user, query, and parts that lead elsewhere than they seem to. */
  private def plain(text: String): String = {
    def bad = PmeErrors.badOption(
      PmeOptions.Policy.name,
      "…",
      "https://HOST/PATH, or http:// with a loopback address"
    )
    val uri =
      try new URI(text.trim)
      catch { case _: URISyntaxException => throw bad }
    val more = Seq(uri.getUserInfo, uri.getQuery, uri.getFragment).exists(_ != null)
    if (more || !ServerAddress.isSafe(uri) || !UrlPath.isPlain(uri.getRawPath.stripPrefix("/"))) throw bad
    uri.toString
  }

  /** What other machines keep is asked for again after a while. A policy and its signature are kept together. */
  private def remote(where: String)(bytes: => Array[Byte], signature: => Option[Array[Byte]]): Fetched = {
    if (key.isEmpty) throw unsigned(where)
    val user = UserGroupInformation.getCurrentUser.getUserName
    recent.get((where, user))(Fetched(where, bytes, signature, isOwned = false))
  }

  private def unsigned(where: String) = PmeErrors.policyRefused(
    where,
    "others may be able to change it, and the session has no key that verifies signatures",
    s"Sign the policy, and set ${FormatName.SessionPrefix}${PmeOptions.PolicyKey.name}, or use a local file."
  )
}

private object PolicyAccess {

  /** @param isOwned whether only its owner can change it */
  private final case class Fetched(
      where: String,
      bytes: Array[Byte],
      signature: Option[Array[Byte]],
      isOwned: Boolean
  )

  private val LifetimeMillis = 10000L
  private val MaxKept = 64
  private val recent = new RecentValues[(String, String), Fetched](MaxKept, LifetimeMillis)
  private val parsed = new RecentValues[(String, String), Policy](MaxKept, Long.MaxValue)

  private def isAddress(location: String) = location.trim.matches("(?i)https?:.*")

  private def limited(where: String, most: Int)(open: => java.io.InputStream): Array[Byte] =
    try {
      val stream = open
      try {
        val bytes = stream.readNBytes(most + 1)
        if (bytes.length > most) throw PmeErrors.policyUnreadable(where, s"it has more than $most bytes")
        bytes
      } finally stream.close()
    } catch {
      case failed: IOException =>
        throw PmeErrors.policyUnreadable(where, s"reading failed (${failed.getClass.getSimpleName})", failed)
    }
}
