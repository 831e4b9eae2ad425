package io.pmeparquet.policy

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import java.nio.file.attribute.PosixFilePermissions
import java.security.{KeyPair, KeyPairGenerator, Signature}
import java.util.Base64

import munit.FunSuite

import io.pmeparquet.{Condition, PmeException}
import io.pmeparquet.policy.Policies.{json, of}

/** Nobody but its owner or signer decides what a policy says, and an older one does not come back. */
class PolicyTrustSuite extends FunSuite {
  private def refused(words: String*)(block: => Any): Unit = {
    val failed = intercept[PmeException](block)
    assertEquals(failed.condition, Condition.BadOption: Condition)
    words.foreach(word => assert(failed.getMessage.contains(word), failed.getMessage))
  }

  private val places = FunFixture[Path](
    _ => {
      val made = Files.createTempDirectory("pme-policy").toRealPath()
      Files.write(made.resolve("p.json"), json().getBytes(UTF_8))
      made
    },
    _ => ()
  )

  private def mode(path: Path, text: String): Unit = {
    Files.setPosixFilePermissions(path, PosixFilePermissions.fromString(text))
    ()
  }

  places.test("a file of its user alone is trusted, also below a directory such as /tmp") { place =>
    OwnedFile.require(place.resolve("p.json"))
  }

  places.test(
    "a file or directory that others can write to is refused, and so is a link, '..' and a directory"
  ) { place =>
    val file = place.resolve("p.json")
    mode(file, "rw-rw-r--")
    refused("others can write")(OwnedFile.require(file))
    mode(file, "rw-r--r--")
    mode(place, "rwxrwxrwx")
    refused("others can write")(OwnedFile.require(file))
    mode(place, "rwx------")
    val link = Files.createSymbolicLink(place.resolve("link.json"), file)
    refused("links")(OwnedFile.require(link))
    val through = Files.createSymbolicLink(place.resolve("dir"), place)
    refused("links")(OwnedFile.require(through.resolve("p.json")))
    refused("..")(OwnedFile.require(place.resolve(s"../${place.getFileName}/p.json")))
    refused("not a file")(OwnedFile.require(place))
    refused("no such file")(OwnedFile.require(place.resolve("other.json")))
  }

  private def pair(algorithm: String): KeyPair = {
    val generator = KeyPairGenerator.getInstance(algorithm)
    if (algorithm == "EC") generator.initialize(256)
    generator.generateKeyPair()
  }

  private def signed(keys: KeyPair, bytes: Array[Byte]): Array[Byte] = {
    val signer =
      Signature.getInstance(if (keys.getPublic.getAlgorithm == "EC") "SHA256withECDSA" else "Ed25519")
    signer.initSign(keys.getPrivate)
    signer.update(bytes)
    signer.sign()
  }

  for (algorithm <- Seq("Ed25519", "EC"))
    test(s"only the signature of the policy's bytes by this key is one: $algorithm") {
      val (keys, bytes) = (pair(algorithm), json().getBytes(UTF_8))
      val value = signed(keys, PolicySignature.message(bytes))
      def verifies(signature: Array[Byte], policy: Array[Byte] = bytes) =
        PolicySignature.verifies(keys.getPublic, policy, Base64.getEncoder.encode(signature))
      assert(verifies(value))
      assert(!verifies(value, json(number = 2).getBytes(UTF_8)))
      assert(!verifies(value :+ 0.toByte))
      assert(!verifies(signed(pair(algorithm), PolicySignature.message(bytes))))
      // A signature that the key made for something else.
      assert(!verifies(signed(keys, bytes)))
      assert(!PolicySignature.verifies(keys.getPublic, bytes, "no base64!".getBytes(UTF_8)))
    }

  test(
    "an older policy is refused, and so is another one with the same number or in the place of a signed one"
  ) {
    val (seen, key) = (new SeenPolicies, Some(pair("Ed25519").getPublic))
    seen.note(of(json(number = 3)), key, "a")
    seen.note(of(json(number = 3)), key, "a")
    refused("number 3")(seen.note(of(json(number = 2)), key, "b"))
    refused("another policy")(seen.note(of(json(number = 3)), key, "b"))
    refused("'company' was there")(seen.note(of(json(name = "other", number = 9)), key, "c"))
    // Elsewhere, too, because it is the same policy of the same signer.
    refused("number 3")(seen.note(of(json(number = 2)).copy(where = "elsewhere"), key, "b"))
    seen.note(of(json(number = 4)), key, "d")
    seen.note(of(json(number = 1)), Some(pair("Ed25519").getPublic), "e")
  }

  test("the owner of a file may change it without a new number, and not go back to an older one") {
    val seen = new SeenPolicies
    seen.note(of(json(number = 3)), None, "a")
    seen.note(of(json(number = 3)), None, "b")
    refused("number 3")(seen.note(of(json(number = 2)), None, "c"))
    seen.note(of(json(number = 2)).copy(where = "elsewhere"), None, "c")
  }

  test("a session may require a policy by its name and least number") {
    val minimum = MinimumPolicy.parse("company:2")
    minimum.require(of(json(number = 2)), isSessions = true)
    refused("company:2")(minimum.require(of(json(number = 1)), isSessions = true))
    refused("company:2")(minimum.require(of(json(name = "other", number = 7)), isSessions = true))
    // A second policy has another name, and must be no older one either.
    minimum.require(of(json(name = "other", number = 1)), isSessions = false)
    refused("company:2")(minimum.require(of(json(number = 1)), isSessions = false))
    Seq("2", "company", "company:", ":2", "company:x").foreach(text => refused()(MinimumPolicy.parse(text)))
  }
}
