package io.pmeparquet.orc.keys

import java.security.{Key, SecureRandom}
import java.util.{Collections, Random}

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.orc.{EncryptionAlgorithm, OrcConf}
import org.apache.orc.impl.{CryptoUtils, HadoopShims, KeyProvider, LocalKey}
import org.slf4j.LoggerFactory

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.parquet.scope.ScopeRegistry

/**
 * START HERE. What ORC asks for keys: the provider of one scope. A key that this reader may not use is an exception of
 * ours. ORC takes null and `IOException` for "show the mask", so this returns null only where the read says what happens
 * to such columns.
 */
private[orc] final class PmeKeyProvider(scopeId: String) extends KeyProvider {
  import PmeKeyProvider._

  // ORC keeps providers for as long as the JVM runs. Scopes, which hold keys, end earlier.
  private def scope: OrcScope = OrcProviders.scope(scopeId).getOrElse {
    throw PmeErrors.kmsUnavailable(Where, "the read or write that this key belongs to has ended")
  }

  override def getKeyNames: java.util.List[String] =
    Collections.unmodifiableList(scope.writeKeys.map(_.key.name).asJava)

  override def getCurrentKeyVersion(name: String): HadoopShims.KeyMetadata = {
    val own = scope.writeKey(name)
    new HadoopShims.KeyMetadata(own.key.name, own.key.version, algorithmOf(own.bits))
  }

  override def createLocalKey(key: HadoopShims.KeyMetadata): LocalKey = {
    val (made, encrypted) = scope.newLocalKey(nameOf(key), Where)
    new LocalKey(key.getAlgorithm, made.insecureBytes, encrypted)
  }

  override def decryptLocalKey(key: HadoopShims.KeyMetadata, encrypted: Array[Byte]): Key = {
    val name = nameOf(key)
    val of = scope
    try of.localKey(name, encrypted, s"$Where, key '${name.text}'").toSecretKey
    catch {
      case refused: PmeException if of.settings.accepts(refused.condition) && of.mayMask(name, encrypted) =>
        if (of.settings.showMasks && !of.settings.isQuiet && of.isFirstMask(name))
          log.warn(PmeErrors.masksShown(name.text))
        null
    }
  }

  /** What a file says of its provider. ORC has no kind for others than Hadoop's and clouds', and readers ignore it. */
  override def getKind: HadoopShims.KeyProviderKind = HadoopShims.KeyProviderKind.HADOOP

  override def toString: String = "PmeKeyProvider"
}

private object PmeKeyProvider {
  val Where = "ORC file"
  val log: org.slf4j.Logger = LoggerFactory.getLogger("io.pmeparquet")

  def nameOf(key: HadoopShims.KeyMetadata): OrcKeyName = OrcKeyName(key.getKeyName, key.getVersion)

  def algorithmOf(bits: Int): EncryptionAlgorithm =
    if (bits == 256) EncryptionAlgorithm.AES_CTR_256 else EncryptionAlgorithm.AES_CTR_128
}

/**
 * The provider of reads and writes that bring no scope. Spark infers schemas with it, which needs no key; a rule has put
 * our format in the place of Spark's before anything else happens.
 */
private object NoScope extends KeyProvider {
  override def getKeyNames: java.util.List[String] = Collections.emptyList()
  override def getCurrentKeyVersion(name: String): HadoopShims.KeyMetadata = refuse()
  override def createLocalKey(key: HadoopShims.KeyMetadata): LocalKey = refuse()
  override def decryptLocalKey(key: HadoopShims.KeyMetadata, encrypted: Array[Byte]): Key = refuse()
  override def getKind: HadoopShims.KeyProviderKind = HadoopShims.KeyProviderKind.HADOOP
  override def toString: String = "PmeKeyProvider without keys"
  private def refuse(): Nothing = throw PmeErrors.orcProviderAlone
}

/** The provider of each scope, which ORC finds by its kind. */
private[pmeparquet] object OrcProviders {

  /** The value of `orc.key.provider` that leads ORC to a scope. */
  def kindOf(scope: OrcScope): String = PmeKeyProviderFactory.Prefix + scope.id

  /** What ORC asks for keys, for a caller that opens files itself. */
  def of(scope: OrcScope): KeyProvider = new PmeKeyProvider(scope.id)

  /** The scope with an id, if this JVM has it. */
  private[keys] def scope(id: String): Option[OrcScope] =
    ScopeRegistry.live(id).collect { case orc: OrcScope => orc }

  /**
   * Makes ORC's provider for a scope in this JVM. ORC keeps providers in a map that is not made for threads, and without a
   * provider its reader would never stop trying.
   *
   * @throws io.pmeparquet.PmeException if ORC finds no provider of ours
   */
  def prepare(scope: OrcScope, conf: Configuration): Unit =
    scope.prepareOnce(conf)(prepare(kindOf(scope), conf))

  private def prepare(kind: String, conf: Configuration): Unit = synchronized {
    val own = new Configuration(conf)
    own.set(OrcConf.KEY_PROVIDER.getAttribute, kind)
    val thread = Thread.currentThread()
    val before = thread.getContextClassLoader
    // ORC looks for providers with the thread's class loader, which need not be that of this jar.
    thread.setContextClassLoader(getClass.getClassLoader)
    val made =
      try CryptoUtils.getKeyProvider(own, new SecureRandom)
      finally thread.setContextClassLoader(before)
    if (!made.isInstanceOf[PmeKeyProvider]) throw PmeErrors.orcProviderAlone
  }
}

/** Makes a provider for each scope. ORC finds this by its service interface, and caches what it makes by the kind. */
final class PmeKeyProviderFactory extends KeyProvider.Factory {
  override def create(kind: String, conf: Configuration, random: Random): KeyProvider =
    if (kind == PmeKeyProviderFactory.Kind) NoScope
    else if (kind.startsWith(PmeKeyProviderFactory.Prefix)) {
      val id = kind.substring(PmeKeyProviderFactory.Prefix.length)
      OrcProviders.scope(id).foreach(_.useConf(conf))
      new PmeKeyProvider(id)
    } else null
}

object PmeKeyProviderFactory {

  /** The value of `orc.key.provider` that users set. */
  val Kind = "pme"
  private[keys] val Prefix = Kind + ":"
}
