package io.pmeparquet.cipher

import javax.crypto.AEADBadTagException

import io.pmeparquet.AesKey

/**
 * Known answers that a provider must give before it is used. GCM: test cases 4 and 16 of McGrew and Viega's submission to
 * NIST, with keys of 128 and 256 bits. CTR: the same, because GCM encrypts with CTR (SP 800-38D §7.1).
 */
private object KnownAnswers {
  private final case class Gcm(key: String, nonce: String, aad: String, plain: String, ciphertext: String)

  private val plain =
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525" +
      "b16aedf5aa0de657ba637b39"
  private val aad = "feedfacedeadbeeffeedfacedeadbeefabaddad2"

  private val gcm = Seq(
    Gcm(
      "feffe9928665731c6d6a8f9467308308",
      "cafebabefacedbaddecaf888",
      aad,
      plain,
      "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa05" +
        "1ba30b396a0aac973d58e091" + "5bc94fbc3221a5db94fae95ae7121a47"
    ),
    Gcm(
      "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
      "cafebabefacedbaddecaf888",
      aad,
      plain,
      "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838" +
        "c5f61e6393ba7a0abcc9f662" + "76fc6ece0f4e1768cddf8853bb2d551b"
    )
  )

  /** @return what went wrong, if anything did */
  def check(provider: CipherSource): Option[String] = {
    val wrong = gcm.filterNot(opens(provider, _)).map(one => s"AES-GCM with ${one.key.length * 4} bits")
    val lax = gcm.filterNot(refusesBentTag(provider, _)).map(_ => "a wrong tag is taken for right")
    val ctr = if (decryptsCtr(provider)) Nil else Seq("AES-CTR")
    (wrong ++ lax ++ ctr).headOption
  }

  private def opens(provider: CipherSource, one: Gcm): Boolean = {
    val (out, length) = open(provider, one, hex(one.nonce + one.ciphertext))
    java.util.Arrays.equals(out.take(length), hex(one.plain))
  }

  private def refusesBentTag(provider: CipherSource, one: Gcm): Boolean = {
    val bent = hex(one.nonce + one.ciphertext)
    bent(bent.length - 1) = (bent.last ^ 1).toByte
    try {
      open(provider, one, bent)
      false
    } catch { case _: AEADBadTagException => true }
  }

  private def open(provider: CipherSource, one: Gcm, module: Array[Byte]): (Array[Byte], Int) = {
    val out = new Array[Byte](module.length)
    val aad = hex(one.aad)
    out -> new AesGcm(key(one.key), provider).open(module, 0, module.length, aad, aad.length, out, 0)
  }

  // GCM uses counter 1 for its tag and encrypts from 2 on; a first block of any content uses up 1.
  private def decryptsCtr(provider: CipherSource): Boolean = gcm.forall { one =>
    val ciphertext = hex(one.ciphertext)
    val module = hex(one.nonce) ++ new Array[Byte](16) ++ ciphertext.dropRight(ModuleFrame.TagBytes)
    val out = new Array[Byte](module.length)
    val length =
      new AesCtr(key(one.key), provider).open(module, 0, module.length, Array.emptyByteArray, 0, out, 0)
    java.util.Arrays.equals(java.util.Arrays.copyOfRange(out, 16, length), hex(one.plain))
  }

  private def key(text: String): AesKey = AesKey.of(hex(text), "self-test")

  private def hex(text: String): Array[Byte] = text.grouped(2).map(Integer.parseInt(_, 16).toByte).toArray
}
