package io.pmeparquet.kms.gcp;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;

import io.pmeparquet.kms.client.KeyAdministrationClient;
import io.pmeparquet.kms.client.KmsFailure;
import io.pmeparquet.kms.client.KmsRest;

/**
 * Keys of Cloud KMS themselves. Keys stay, and their versions are destroyed: {@code cryptoKeyVersions.list},
 * {@code cryptoKeyVersions.destroy}, {@code cryptoKeys.create}.
 */
final class GcpKeys implements KeyAdministrationClient.Keys {
  private static final Set<String> DESTRUCTIBLE = Set.of("ENABLED", "DISABLED");

  /** Of versions that never had material. */
  private static final Set<String> EMPTY = Set.of("GENERATION_FAILED", "IMPORT_FAILED");

  private static final Pattern PAGE = Pattern.compile("[0-9A-Za-z._~=+/-]{1,2048}");
  private static final int MOST_PAGES = 100;

  private final GcpApi api;
  private final UnaryOperator<String> fullName;

  /** @param fullName makes the full name of a key's id */
  GcpKeys(GcpApi api, UnaryOperator<String> fullName) {
    this.api = api;
    this.fullName = fullName;
  }

  @Override
  public String consequence() {
    return "after the time that the key says (destroyScheduledDuration, 30 days by default), in which Cloud KMS uses it "
        + "no more, and its administrators can restore the versions; imported key material can be imported again";
  }

  @Override
  public String state(String keyId) {
    List<Version> versions = versionsOf(fullName.apply(keyId));
    return versions == null ? MISSING : stateOf(versions);
  }

  @Override
  public String nameOf(String keyId) {
    return fullName.apply(keyId);
  }

  @Override
  public void create(String keyId) {
    String name = fullName.apply(keyId);
    int at = name.lastIndexOf("/cryptoKeys/");
    String id = name.substring(at + "/cryptoKeys/".length());
    api.requireServed(
        api.post(
            name.substring(0, at) + "/cryptoKeys?cryptoKeyId=" + id, Map.of("purpose", "ENCRYPT_DECRYPT")));
  }

  @Override
  public String destroy(String keyId) {
    String name = fullName.apply(keyId);
    KmsRest.Answer key = api.get(name);
    api.requireServed(key);
    String primary = key.text("primary", "name");
    List<Version> versions = versionsOf(name);
    // The primary last: until then the key wraps, and whoever destroys the others is seen to be not done.
    versions.sort(Comparator.comparing(version -> version.name.equals(primary)));
    for (Version version : versions) {
      if (DESTRUCTIBLE.contains(version.state)) {
        KmsRest.Answer answer = api.post(version.name + ":destroy", Map.of());
        if (GcpApi.isUnready(answer)) {
          throw KmsFailure.missing(api.kms + " does not destroy its version " + version.name, null);
        }
        api.requireServed(answer);
      }
    }
    return stateOf(versionsOf(name));
  }

  private static String stateOf(List<Version> versions) {
    List<String> days = new ArrayList<>();
    for (Version version : versions) {
      if (version.state.equals("DESTROY_SCHEDULED")) {
        days.add(version.destroyed);
      } else if (!version.state.equals("DESTROYED")) {
        return USABLE;
      }
    }
    if (versions.isEmpty()) {
      return USABLE;
    }
    days.removeIf(String::isEmpty);
    boolean isScheduled = versions.stream().anyMatch(version -> version.state.equals("DESTROY_SCHEDULED"));
    return !isScheduled ? DESTROYED : days.isEmpty() ? SCHEDULED : SCHEDULED + " " + Collections.max(days);
  }

  /** All versions of a key; null if Cloud KMS has no such key. */
  private List<Version> versionsOf(String name) {
    List<Version> found = new ArrayList<>();
    String page = "";
    for (int pages = 0; pages < MOST_PAGES; pages++) {
      KmsRest.Answer answer = api.get(name + "/cryptoKeyVersions?pageSize=1000" + page);
      if ("NOT_FOUND".equals(answer.text("error", "status"))) {
        return null;
      }
      api.requireServed(answer);
      for (KmsRest.Answer one : answer.objects("cryptoKeyVersions")) {
        Version version = Version.of(one, name, api);
        if (!EMPTY.contains(version.state)) {
          found.add(version);
        }
      }
      String next = answer.text("nextPageToken");
      if (next == null || next.isEmpty()) {
        return found;
      }
      if (!PAGE.matcher(next).matches()) {
        throw api.strange(answer, null);
      }
      page = "&pageToken=" + next.replace("+", "%2B").replace("/", "%2F").replace("=", "%3D");
    }
    throw KmsFailure.unavailable(api.kms + " lists more versions of a key than can be", null);
  }

  private record Version(String name, String state, String destroyed) {
    private static final Pattern DAY = Pattern.compile("[0-9TZ:.+-]{10,40}");

    static Version of(KmsRest.Answer answer, String key, GcpApi api) {
      String name = answer.text("name");
      String state = answer.text("state");
      if (state == null || name == null || !name.matches(Pattern.quote(key) + "/cryptoKeyVersions/[1-9][0-9]{0,9}")) {
        throw api.strange(answer, null);
      }
      String day = answer.text("destroyTime");
      return new Version(name, state, day == null || !DAY.matcher(day).matches() ? "" : day);
    }
  }
}
