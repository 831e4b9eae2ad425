package io.pmeparquet.kms.client;

/** What a {@code KmsClient} of parquet-java implements as well if its KMS makes and destroys keys. */
public interface KeyAdministrationClient {
  Keys keys();

  /** Its methods throw as those of {@code KmsClient} do; clients of ours throw a {@link KmsFailure}. */
  interface Keys {
    /** The KMS has the key. */
    String USABLE = "usable";

    /** The KMS does not know the key. */
    String MISSING = "missing";

    /** The key is destroyed for good. */
    String DESTROYED = "destroyed";

    /** The key will be destroyed; where the KMS says when, a space and the day follow. */
    String SCHEDULED = "scheduled";

    /** Returns one of these states. */
    String state(String keyId);

    /** Returns the name of the key itself, to which several ids may lead; the id if there is no such key. */
    String nameOf(String keyId);

    /** Creates a key that wraps. There is none of this name. */
    void create(String keyId);

    /** Destroys a usable key, or schedules that. Returns its state then. */
    String destroy(String keyId);

    /** Returns whether the KMS does not know keys that it destroyed. */
    default boolean forgets() {
      return false;
    }

    /** Returns when a destroyed key is gone, and who can bring it back until then, as a clause. */
    String consequence();
  }
}
