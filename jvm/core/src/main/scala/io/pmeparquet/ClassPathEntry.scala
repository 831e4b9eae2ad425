package io.pmeparquet

import java.io.{IOException, InputStream}
import java.net.{JarURLConnection, URI, URL}
import java.nio.file.{FileSystemNotFoundException, Paths}
import java.util.Properties

import scala.collection.JavaConverters._

/** A jar or a directory that classes are loaded from. Two are equal when they are the same file. */
final class ClassPathEntry private (val url: URL) {

  /** Where it is, without what a URL may say of who may fetch it. */
  def shown: String =
    if (url.getProtocol == "file") identity
    else s"${url.getProtocol}://${Option(url.getHost).getOrElse("")}${Option(url.getPath).getOrElse("")}"

  def fileName: String = url.getPath.stripSuffix("/").split('/').last

  /** What tells two jars of one name apart; none of what is no file here. */
  lazy val digest: Option[String] =
    if (url.getPath.endsWith("/")) None
    else reading(url)(Sha256.ofAll)

  /** A file of properties that is in it. */
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
      // A jar that is kept open by the JDK's cache could not be replaced.
      connection.setUseCaches(false)
      val in = connection.getInputStream
      try Some(read(in))
      finally in.close()
    } catch {
      // The second where a class loader did not escape what is in a path.
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

  /** All that a resource can be loaded from, each once. The first of them is the one that is. */
  def holding(resource: String, loaders: ClassLoader*): Seq[ClassPathEntry] =
    loaders.distinct
      .flatMap(_.getResources(resource).asScala)
      .map(url => at(of(url, resource)))
      .distinct

  /** What a class was loaded from; none for those of the JVM itself. */
  def of(loaded: Class[_]): Option[ClassPathEntry] =
    Option(loaded.getProtectionDomain.getCodeSource)
      .flatMap(source => Option(source.getLocation))
      .map(at)

  /** @param url of a jar, or of a directory with a slash at its end */
  private[pmeparquet] def at(url: URL): ClassPathEntry = new ClassPathEntry(url)

  /** The name under which a class is a resource. */
  def resourceOf(className: String): String = className.replace('.', '/') + ".class"

  private def of(url: URL, resource: String): URL = url.openConnection() match {
    case jar: JarURLConnection => jar.getJarFileURL
    case _ => URI.create(url.toString.stripSuffix(resource)).toURL
  }
}
