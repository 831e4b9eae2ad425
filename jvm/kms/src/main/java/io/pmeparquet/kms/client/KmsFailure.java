package io.pmeparquet.kms.client;

import org.apache.parquet.crypto.ParquetCryptoRuntimeException;

/**
 * What a KMS client of ours throws if it cannot get a key. parquet-java's interface has only one name for that.
 * Spark's own {@code parquet} source shows the message as it is.
 *
 * <p>Java, and not Scala: clients are in jars that serve every Scala version.
 */
public final class KmsFailure extends ParquetCryptoRuntimeException {
  private static final long serialVersionUID = 1L;

  /** What a user would have to cure. */
  public enum Kind {
    /** The KMS has the key and does not let this user use it. */
    DENIED,
    /** The KMS has no such key, or has it no longer. */
    MISSING,
    /** The KMS has destroyed the key, or will, and does not use it any more. */
    DESTROYED,
    /** What is to be unwrapped was not wrapped so, or was altered. */
    NOT_AUTHENTIC,
    /** The KMS gives no answer, or none that is one; or the user cannot log in. */
    UNAVAILABLE,
    /** A setting cannot be used. */
    BAD_SETTING
  }

  public final Kind kind;

  /** With {@code BAD_SETTING}, the option's name. */
  public final String option;

  private KmsFailure(Kind kind, String why, String option, Throwable cause) {
    super(why, cause);
    this.kind = kind;
    this.option = option;
  }

  public static KmsFailure denied(String why, Throwable cause) {
    return new KmsFailure(Kind.DENIED, why, null, cause);
  }

  /** @param why a clause: "the key cannot be used: …" */
  public static KmsFailure missing(String why, Throwable cause) {
    return new KmsFailure(Kind.MISSING, why, null, cause);
  }

  /** @param why a clause: "master key 'k' is destroyed, or will be: …" */
  public static KmsFailure destroyed(String why, Throwable cause) {
    return new KmsFailure(Kind.DESTROYED, why, null, cause);
  }

  /** @param why a clause: "the wrapped key cannot be unwrapped: …" */
  public static KmsFailure notAuthentic(String why, Throwable cause) {
    return new KmsFailure(Kind.NOT_AUTHENTIC, why, null, cause);
  }

  /** @param why a clause: "the KMS cannot be used: …" */
  public static KmsFailure unavailable(String why, Throwable cause) {
    return new KmsFailure(Kind.UNAVAILABLE, why, null, cause);
  }

  /** @param why a clause: "option …: …" */
  public static KmsFailure badSetting(String option, String why) {
    return badSetting(option, why, null);
  }

  /**
   * @param why a clause that follows the option: "option …: it is not a region"
   * @param cause none whose message repeats the setting, in which somebody may have put a secret
   */
  public static KmsFailure badSetting(String option, String why, Throwable cause) {
    return new KmsFailure(Kind.BAD_SETTING, why, option, cause);
  }
}
