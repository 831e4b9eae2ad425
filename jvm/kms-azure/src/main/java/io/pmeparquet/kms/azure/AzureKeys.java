package io.pmeparquet.kms.azure;

import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.UnaryOperator;

import io.pmeparquet.kms.client.KeyAdministrationClient;
import io.pmeparquet.kms.client.KmsFailure;
import io.pmeparquet.kms.client.KmsRest;

/**
 * Keys of Key Vault themselves: {@code DeleteKey}, {@code GetDeletedKey}, {@code CreateKey}. Vaults delete softly: a key can
 * be recovered until its day, and is purged then. This purges nothing before.
 */
final class AzureKeys implements KeyAdministrationClient.Keys {
  private static final String USE = "administration";
  private static final int RSA_BITS = 3072;

  private final AzureApi api;
  private final UnaryOperator<String> nameOf;
  private final boolean wrapsWithRsa;

  /**
   * @param nameOf the name of a key in its id
   * @param wrapsWithRsa what new keys have to wrap with
   */
  AzureKeys(AzureApi api, UnaryOperator<String> nameOf, boolean wrapsWithRsa) {
    this.api = api;
    this.nameOf = nameOf;
    this.wrapsWithRsa = wrapsWithRsa;
  }

  @Override
  public String consequence() {
    return "with all its versions; until the vault purges it (by default after 90 days, or when somebody purges it, where "
        + "purge protection allows that), it can be recovered, and so can backups of the key";
  }

  @Override
  public String state(String keyId) {
    String name = nameOf.apply(keyId);
    KmsRest.Answer answer = api.get(name);
    if (!isOfNoKey(answer)) {
      api.requireServed(answer, USE);
      return USABLE;
    }
    KmsRest.Answer deleted = api.getDeleted(name);
    if (isOfNoKey(deleted)) {
      return MISSING;
    }
    api.requireServed(deleted, USE);
    return scheduled(deleted);
  }

  /** Names of keys are alike in every case. */
  @Override
  public String nameOf(String keyId) {
    return (api.kms + "/keys/" + nameOf.apply(keyId)).toLowerCase(Locale.ROOT);
  }

  @Override
  public void create(String keyId) {
    List<String> uses = List.of("wrapKey", "unwrapKey");
    Map<String, ?> body =
        wrapsWithRsa
            ? Map.of("kty", "RSA", "key_size", RSA_BITS, "key_ops", uses)
            : Map.of("kty", "oct-HSM", "key_size", 256, "key_ops", uses);
    api.requireServed(api.create(nameOf.apply(keyId), body), USE);
  }

  @Override
  public String destroy(String keyId) {
    KmsRest.Answer answer = api.delete(nameOf.apply(keyId));
    // A repeated request finds no key any more.
    if (!isOfNoKey(answer)) {
      api.requireServed(answer, USE);
      return answer.text("recoveryId") == null ? DESTROYED : scheduled(answer);
    }
    String now = state(keyId);
    if (now.equals(MISSING)) {
      throw KmsFailure.missing(api.kms + " does not have it", null);
    }
    return now;
  }

  private static String scheduled(KmsRest.Answer answer) {
    String seconds = answer.value("scheduledPurgeDate");
    boolean isKnown = seconds != null && seconds.matches("[0-9]{1,11}");
    return isKnown ? SCHEDULED + " " + Instant.ofEpochSecond(Long.parseLong(seconds)) : SCHEDULED;
  }

  private static boolean isOfNoKey(KmsRest.Answer answer) {
    return answer.status() == 404 && "KeyNotFound".equals(answer.text("error", "code"));
  }
}
