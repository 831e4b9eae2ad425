package io.pmeparquet

import java.io.{IOException, InputStream}
import java.net.{JarURLConnection, URI, URL}
import java.nio.file.{FileSystemNotFoundException, Paths}
import java.util.Properties

import scala.collection.JavaConverters._

/** A jar or a directory from which classes are loaded. Two are equal if they are the same file. */
final class ClassPathEntry private (val url: URL) {

  /** Its place, without credentials that a URL may contain. */
  def shown: String =
    if (url.getProtocol == "file") identity
    else s"${url.getProtocol}://${Option(url.getHost).getOrElse("")}${Option(url.getPath).getOrElse("")}"

  def fileName: String = url.getPath.stripSuffix("/").split('/').last

  /** Distinguishes two jars of the same name; none if it is not a local file. */
  lazy val digest: Option[String] =
    if (url.getPath.endsWith("/")) None
    else reading(url)(Sha256.ofAll)

  /** A properties file in it. */
  def properties(path: String): Option[Map[String, String]] = {
    val at = if (url.getPath.endsWith("/")) s"$url$path" else s"jar:$url!/$path"
    reading(URI.create(at).toURL) { in =>
      val found = new Properties
      found.load(in)
      found.asScala.toMap
    }
  }

  private def reading[A](url: => URL)(read: InputStream => A): Option[A] =
    try {
      val connection = url.openConnection()
      // A jar that the JDK's cache keeps open could not be replaced.
      connection.setUseCaches(false)
      val in = connection.getInputStream
      try Some(read(in))
      finally in.close()
    } catch {
      // The second if a class loader did not escape the path.
      case _: IOException | _: IllegalArgumentException => None
    }

  private lazy val identity: String =
    try Paths.get(url.toURI).toRealPath().toString
    catch {
      case _: IOException | _: FileSystemNotFoundException | _: IllegalArgumentException |
          _: java.net.URISyntaxException =>
        url.toString
    }

  override def equals(other: Any): Boolean = other match {
    case that: ClassPathEntry => identity == that.identity
    case _ => false
  }
  override def hashCode(): Int = identity.hashCode
  override def toString: String = shown
}

object ClassPathEntry {

  /** Every entry that has a resource, each once. The first is the one that classes are loaded from. */
  def holding(resource: String, loaders: ClassLoader*): Seq[ClassPathEntry] =
    loaders.distinct
      .flatMap(_.getResources(resource).asScala)
      .map(url => at(of(url, resource)))
      .distinct

  /** The entry from which a class was loaded; none for classes of the JVM. */
  def of(loaded: Class[_]): Option[ClassPathEntry] =
    Option(loaded.getProtectionDomain.getCodeSource)
      .flatMap(source => Option(source.getLocation))
      .map(at)

  /** @param url of a jar, or of a directory with a trailing slash */
  private[pmeparquet] def at(url: URL): ClassPathEntry = new ClassPathEntry(url)

  /** The resource name of a class. */
  def resourceOf(className: String): String = className.replace('.', '/') + ".class"

  private def of(url: URL, resource: String): URL = url.openConnection() match {
    case jar: JarURLConnection => jar.getJarFileURL
    case _ => URI.create(url.toString.stripSuffix(resource)).toURL
  }
}
