package io.pmeparquet.kms.local

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, IOException}
import java.security.{GeneralSecurityException, KeyStore}
import java.util.Collections
import javax.crypto.KeyGenerator

import scala.collection.JavaConverters._

import io.pmeparquet.{PmeErrors, Secret}
import io.pmeparquet.keys.{KeyAdministration, KeyState}

/**
 * Makes and destroys keys of a keystore's file, which each call reads again. In the place of a destroyed key remains a
 * [[Tombstone]], under the same alias: readers say that the key was destroyed, and nobody makes another key of that name.
 *
 * @param name the name of the keystore in messages
 */
private[kms] final class KeystoreAdministration(
    name: String,
    storeType: String,
    file: KeystoreFile,
    password: Secret
) extends KeyAdministration {
  import KeystoreAdministration._

  private def describe = s"keystore $name"

  override def consequence: String =
    "at once, in this file; copies of the file, and backups, keep the key, and whoever puts one back can read again"

  override def state(id: String, where: String): KeyState = stateIn(loaded(file.read(where)), id, where)

  override def states(ids: Seq[String], where: String): Map[String, KeyState] = {
    val store = loaded(file.read(where))
    ids.map(id => id -> stateIn(store, id, where)).toMap
  }

  override def namesOf(ids: Seq[String], where: String): Map[String, String] = {
    val store = loaded(file.read(where))
    ids.map(id => id -> nameIn(store, id, where)).toMap
  }

  override def nameOf(id: String, where: String): String = nameIn(loaded(file.read(where)), id, where)

  private def nameIn(store: KeyStore, id: String, where: String): String = aliasIn(store, id).getOrElse {
    if (store.containsAlias(id))
      throw PmeErrors.keyUnusable(where, id, s"several names in $describe differ from it in case only")
    id
  }

  override def destroy(id: String, where: String): KeyState = {
    file.change(where) { content =>
      val store = loaded(content)
      stateIn(store, id, where) match {
        case KeyState.Usable =>
          val alias = nameIn(store, id, where)
          store.deleteEntry(alias)
          store.setCertificateEntry(alias, Tombstone.certificate)
          Some(stored(store, entriesOf(loaded(content)) + (alias -> Destroyed)))
        case KeyState.Missing => throw PmeErrors.keyNotFound(where, id, describe)
        case _ => None
      }
    }
    KeyState.Destroyed
  }

  override def create(ids: Seq[String], where: String): Unit = file.change(where) { content =>
    val store = loaded(content)
    val generator = KeyGenerator.getInstance("AES")
    generator.init(KeyBits)
    val protection = new KeyStore.PasswordProtection(password.insecureValue.toCharArray)
    ids.foreach { id =>
      stateIn(store, id, where) match {
        case KeyState.Missing => ()
        case KeyState.Usable => throw PmeErrors.keyUnusable(where, id, s"$describe already has it")
        case _ => throw PmeErrors.nameOfDestroyedKey(where, id, describe)
      }
      store.setEntry(id, new KeyStore.SecretKeyEntry(generator.generateKey()), protection)
      if (!aliasIn(store, id).contains(id))
        throw PmeErrors.keyUnusable(where, id, s"$describe would store it under another name")
    }
    Some(stored(store, entriesOf(loaded(content)) ++ ids.map(_ -> SecretKey)))
  }

  private def stateIn(store: KeyStore, id: String, where: String): KeyState =
    if (Tombstone.isIn(store, id)) KeyState.Destroyed
    else if (!store.containsAlias(id)) KeyState.Missing
    else if (kindOf(store, id) == SecretKey) KeyState.Usable
    else throw PmeErrors.keyUnusable(where, id, s"its entry in $describe is not a secret key")

  private def loaded(content: Array[Byte]): KeyStore = {
    val store = KeystoreType.instance(storeType)
    try store.load(new ByteArrayInputStream(content), password.insecureValue.toCharArray)
    catch {
      case failed @ (_: IOException | _: GeneralSecurityException) =>
        throw PmeErrors.kmsUnavailable(describe, s"it cannot be opened as $storeType", failed)
    }
    store
  }

  /** The content of a file with these entries, and no others. */
  private def stored(store: KeyStore, expected: Map[String, String]): Array[Byte] = {
    val out = new ByteArrayOutputStream
    store.store(out, password.insecureValue.toCharArray)
    val bytes = out.toByteArray
    if (entriesOf(loaded(bytes)) != expected)
      throw PmeErrors.kmsUnavailable(
        describe,
        "its provider would change other entries, so it was not changed"
      )
    bytes
  }
}

private object KeystoreAdministration {
  private val KeyBits = 256

  private val SecretKey = "secret key"
  private val PrivateKey = "private key"
  private val Destroyed = "destroyed"
  private val Certificate = "certificate"

  private def aliases(store: KeyStore): Seq[String] = Collections.list(store.aliases()).asScala.toSeq

  /** The alias by which the keystore finds it, as far as that is certain: PKCS12 ignores case. */
  private[local] def aliasIn(store: KeyStore, id: String): Option[String] =
    if (!store.containsAlias(id)) None
    else
      aliases(store).find(_ == id).orElse {
        aliases(store).filter(_.equalsIgnoreCase(id)) match {
          case Seq(one) => Some(one)
          case _ => None
        }
      }

  private def entriesOf(store: KeyStore): Map[String, String] =
    aliases(store).map(alias => alias -> kindOf(store, alias)).toMap

  private def kindOf(store: KeyStore, alias: String): String =
    if (store.entryInstanceOf(alias, classOf[KeyStore.SecretKeyEntry])) SecretKey
    else if (store.entryInstanceOf(alias, classOf[KeyStore.PrivateKeyEntry])) PrivateKey
    else if (Tombstone.isIn(store, alias)) Destroyed
    else Certificate
}
