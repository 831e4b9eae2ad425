package io.pmeparquet.kms.aws;

import software.amazon.awssdk.services.kms.model.KeyMetadata;
import software.amazon.awssdk.services.kms.model.KeyState;
import software.amazon.awssdk.services.kms.model.MultiRegionKeyType;

import io.pmeparquet.kms.client.KeyAdministrationClient;
import io.pmeparquet.kms.client.KmsFailure;

/** Keys of AWS KMS themselves: {@code DescribeKey}, {@code ScheduleKeyDeletion}, {@code CreateKey}. */
final class AwsKeys implements KeyAdministrationClient.Keys {
  private static final String ALIAS = "alias/";

  private final AwsCalls calls;

  AwsKeys(AwsCalls calls) {
    this.calls = calls;
  }

  @Override
  public String consequence() {
    return "after the waiting period of AWS KMS, 30 days, in which it uses the key no more, and its administrators can "
        + "cancel the deletion; key material that was imported can be imported again";
  }

  @Override
  public String state(String keyId) {
    KeyMetadata key = found(keyId);
    return key == null ? MISSING : stateOf(key);
  }

  /** Its ARN, to which aliases lead as well. */
  @Override
  public String nameOf(String keyId) {
    KeyMetadata key = found(keyId);
    return key == null ? keyId.trim() : key.arn();
  }

  @Override
  public String destroy(String keyId) {
    KeyMetadata key = calls.describe(keyId.trim());
    requireAlone(key);
    // By its ARN: somebody could lead the alias to another key meanwhile.
    calls.scheduleDeletion(key.arn());
    return stateOf(calls.describe(key.arn()));
  }

  @Override
  public void create(String keyId) {
    if (!keyId.trim().startsWith(ALIAS)) {
      throw KmsFailure.missing("AWS KMS chooses the ids of new keys; name the key by an alias, as alias/NAME", null);
    }
    calls.create(keyId.trim());
  }

  private KeyMetadata found(String keyId) {
    try {
      return calls.describe(keyId.trim());
    } catch (KmsFailure failed) {
      if (AwsFailures.isOfNoKey(failed)) {
        return null;
      }
      throw failed;
    }
  }

  private static String stateOf(KeyMetadata key) {
    if (key.keyState() == KeyState.PENDING_DELETION) {
      return key.deletionDate() == null ? SCHEDULED : SCHEDULED + " " + key.deletionDate();
    }
    return USABLE;
  }

  /** A replica in another region unwraps what its primary wrapped, and the other way round. */
  private static void requireAlone(KeyMetadata key) {
    var regions = key.multiRegionConfiguration();
    if (regions != null
        && (regions.multiRegionKeyType() == MultiRegionKeyType.REPLICA || !regions.replicaKeys().isEmpty())) {
      throw KmsFailure.missing(
          "it is a key of several regions, and the others would keep it; delete its replicas, and then the primary", null);
    }
  }
}
