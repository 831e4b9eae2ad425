package io.pmeparquet.kms.local

import java.security.{KeyStore, KeyStoreException, Provider}

import io.pmeparquet.PmeErrors

/** Empty keystores of a type that an installed provider has, or BouncyCastle on the class path. */
private[local] object KeystoreType {
  private val BouncyCastleType = "BCFKS"
  private val BouncyCastleProvider = "org.bouncycastle.jce.provider.BouncyCastleProvider"

  def instance(storeType: String): KeyStore =
    try KeyStore.getInstance(storeType)
    catch {
      case _: KeyStoreException if storeType.equalsIgnoreCase(BouncyCastleType) =>
        KeyStore.getInstance(storeType, bouncyCastle())
      case failed: KeyStoreException =>
        throw PmeErrors.unsupported(
          "option kms.keystore.type",
          s"'$storeType'",
          "no installed security provider has this keystore type",
          "Use PKCS12, or add the provider to the class path and to java.security." + causeOf(failed)
        )
    }

  // The provider is used for this keystore only and is not installed, so other code in the JVM is not affected.
  private def bouncyCastle(): Provider =
    try
      Thread
        .currentThread()
        .getContextClassLoader
        .loadClass(BouncyCastleProvider)
        .getDeclaredConstructor()
        .newInstance()
        .asInstanceOf[Provider]
    catch {
      case failed: ReflectiveOperationException =>
        throw PmeErrors.unsupported(
          "option kms.keystore.type",
          s"'$BouncyCastleType'",
          "BouncyCastle is not on the class path",
          "Add org.bouncycastle:bcprov-jdk18on to --packages, or use PKCS12." + causeOf(failed)
        )
    }

  private def causeOf(failed: Exception): String = s" (${failed.getClass.getSimpleName})"
}
