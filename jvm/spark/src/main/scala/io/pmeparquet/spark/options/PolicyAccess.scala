package io.pmeparquet.spark.options

import java.io.{FileNotFoundException, IOException}
import java.net.{URI, URISyntaxException}
import java.nio.file.Files
import java.security.PublicKey

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}

import io.pmeparquet.{PmeErrors, PmeException, RecentValues, Secret, Sha256}
import io.pmeparquet.kms.client.ConfigurationDigest
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
   * @param isSessions whether the session names it
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION` if the policy cannot be read or is not trusted
   */
  def policy(location: String, isSessions: Boolean): Policy = {
    val fetched = if (isAddress(location)) ofAddress(location) else ofPath(location)
    val digest = Sha256.hex(Sha256.ofBytes(fetched.bytes))
    val made = parsed.get((fetched.where, digest))(PolicyJson.parse(fetched.bytes, fetched.where))
    minimum.foreach(_.require(made, isSessions))
    SeenPolicies.ofProcess.note(made, key, digest)
    made
  }

  /** With the signature that the session requires. */
  private def trusted(where: String, bytes: Array[Byte], signature: => Option[Array[Byte]]): Fetched = {
    for (public <- key) {
      val found = signature
      if (!found.exists(PolicySignature.verifies(public, bytes, _)))
        throw PmeErrors.policyRefused(
          where,
          if (found.isEmpty) s"it has no signature beside it (${PolicySignature.Suffix})"
          else "policyKey does not verify its signature",
          "Ask the owner of the policy to sign it, and find out who changed it."
        )
    }
    Fetched(where, bytes)
  }

  private def ofPath(location: String): Fetched = {
    def checked[A](step: => A): A =
      try step
      catch {
        case bad @ (_: IllegalArgumentException | _: IOException) =>
          throw PmeErrors.policyUnreadable(location, s"it is no path (${bad.getClass.getSimpleName})", bad)
      }
    val named = checked(new Path(location))
    val (own, default) = (named.toUri, FileSystem.getDefaultUri(conf))
    // No file system is opened, with the credentials of the session, for a policy that is not trusted anyway.
    if (Option(own.getScheme).getOrElse(default.getScheme) == "file")
      local(checked(named.getFileSystem(conf).makeQualified(named)))
    else {
      if (key.isEmpty) throw unsigned(named.toString)
      val isDefault = own.getScheme == null ||
        (own.getScheme == default.getScheme && Option(own.getAuthority).forall(_ == default.getAuthority))
      if (!isDefault) requireAllowed(named.toString)
      val path = checked(named.getFileSystem(conf).makeQualified(named))
      remote(path.toString)(
        ofFileSystem(path, PolicyJson.MaxBytes)
          .getOrElse(throw PmeErrors.policyUnreadable(path.toString, "there is no such file")),
        ofFileSystem(path.suffix(PolicySignature.Suffix), PolicySignature.MaxBytes)
      )
    }
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
    trusted(
      path.toString,
      bytes,
      if (Files.exists(beside)) Some(read(beside, PolicySignature.MaxBytes)) else None
    )
  }

  /** None only if there is no such file. */
  private def ofFileSystem(path: Path, most: Int): Option[Array[Byte]] =
    try Some(limited(path.toString, most)(path.getFileSystem(conf).open(path)))
    catch { case failed: PmeException if failed.getCause.isInstanceOf[FileNotFoundException] => None }

  private def ofAddress(text: String): Fetched = {
    val address = plain(text)
    requireAllowed(address)
    def get(from: String, most: Int) =
      BoundedGet.found(from, most).fold(why => throw PmeErrors.policyUnreadable(from, why), identity)
    remote(address)(
      get(address, PolicyJson.MaxBytes)
        .getOrElse(throw PmeErrors.policyUnreadable(address, "the server answered with status 404")),
      get(address + PolicySignature.Suffix, PolicySignature.MaxBytes)
    )
  }

  private def requireAllowed(address: String): Unit = {
    val allowed =
      setting(PmeOptions.PolicyAddresses).toSeq.flatMap(_.split(',')).map(_.trim).filter(_.nonEmpty)
    if (!allowed.exists(one => one == address || (one.endsWith("/") && address.startsWith(one))))
      throw PmeErrors.policyRefused(
        address,
        "the session does not allow this address",
        s"Set ${FormatName.SessionPrefix}${PmeOptions.PolicyAddresses.name} in the session."
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

  /** What other machines keep is asked for again after a while. Only who would get the same gets what is kept. */
  private def remote(where: String)(bytes: => Array[Byte], signature: => Option[Array[Byte]]): Fetched = {
    val public = key.getOrElse(throw unsigned(where))
    val asker = Seq(where, ConfigurationDigest.of(conf), Sha256.hex(Sha256.ofBytes(public.getEncoded)))
    recent.get(asker)(trusted(where, bytes, signature))
  }

  private def unsigned(where: String) = PmeErrors.policyRefused(
    where,
    "others may be able to change it, and the session has no key that verifies signatures",
    s"Sign the policy, and set ${FormatName.SessionPrefix}${PmeOptions.PolicyKey.name}, or use a local file."
  )
}

private object PolicyAccess {

  /** A trusted policy: only its owner can change it, or the session's key has signed it. */
  private final case class Fetched(where: String, bytes: Array[Byte])

  private val LifetimeMillis = 10000L
  private val MaxKept = 64
  private val recent = new RecentValues[Seq[String], Fetched](MaxKept, LifetimeMillis)
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
