package io.pmeparquet.kms.aws;

import java.io.IOException;
import java.time.Duration;
import java.util.Locale;

import software.amazon.awssdk.awscore.exception.AwsServiceException;
import software.amazon.awssdk.core.exception.AbortedException;
import software.amazon.awssdk.core.exception.ApiCallTimeoutException;
import software.amazon.awssdk.core.exception.SdkException;
import software.amazon.awssdk.core.exception.SdkServiceException;

import io.pmeparquet.kms.client.KmsFailure;

/**
 * What failures of the SDK and of AWS KMS mean to who wants a key. The errors are those of the API reference's
 * "Decrypt", "DescribeKey", "Encrypt", "GetPublicKey", "ScheduleKeyDeletion", "Sign" and "Common Errors".
 *
 * <p>An answer that cannot be read may hold a key, and the SDK's exception a part of the answer: it is no cause of ours.
 */
final class AwsFailures {
  private AwsFailures() {}

  /** @param use what the key is needed for */
  static KmsFailure ofCall(SdkException failed, String keyId, String use, Duration timeout) {
    if (failed instanceof AwsServiceException answered) {
      return ofAnswer(answered, keyId, use);
    }
    if (failed instanceof SdkServiceException) {
      return noAnswer();
    }
    if (failed instanceof ApiCallTimeoutException) {
      return KmsFailure.unavailable(
          "AWS KMS gave no answer within " + timeout.toSeconds() + " s (kms.timeoutSeconds)", failed);
    }
    if (failed instanceof AbortedException) {
      return KmsFailure.unavailable("waiting for AWS KMS was interrupted", failed);
    }
    return ofConnection(failed);
  }

  static KmsFailure ofCredentials(Throwable failed) {
    return KmsFailure.unavailable(
        "the AWS SDK found no usable credentials: it searched system properties, the environment, web identity, "
            + "profiles, and the metadata of container and instance",
        failed);
  }

  static KmsFailure noAnswer() {
    return KmsFailure.unavailable("the endpoint is not AWS KMS: its answer cannot be read", null);
  }

  /** Whether AWS KMS says that it has no such key. */
  static boolean isOfNoKey(KmsFailure failed) {
    return failed.getCause() instanceof AwsServiceException answered
        && answered.awsErrorDetails() != null
        && "NotFoundException".equals(answered.awsErrorDetails().errorCode());
  }

  private static KmsFailure ofAnswer(AwsServiceException failed, String keyId, String use) {
    String code = failed.awsErrorDetails() == null ? null : failed.awsErrorDetails().errorCode();
    if (code == null) {
      return KmsFailure.unavailable("AWS KMS answered with status " + failed.statusCode() + " and no error code", null);
    }
    String key = "key '" + keyId + "'";
    switch (code) {
      case "AccessDeniedException":
        return KmsFailure.denied("AWS KMS does not let these credentials use " + key, failed);
      case "NotFoundException":
        return KmsFailure.missing("AWS KMS has no " + key + " in this region", failed);
      case "DisabledException":
        return KmsFailure.missing(key + " is disabled in AWS KMS", failed);
      case "KMSInvalidStateException":
        String said = failed.awsErrorDetails().errorMessage();
        if (said != null && said.toLowerCase(Locale.ROOT).contains("pending deletion")) {
          return KmsFailure.destroyed("AWS KMS says that " + key + " is pending deletion", failed);
        }
        return KmsFailure.missing(key + " is in a state in which AWS KMS does not use it, such as pending import", failed);
      case "InvalidKeyUsageException":
      case "UnsupportedOperationException":
        return KmsFailure.missing(key + " is not for " + use, failed);
      case "InvalidArnException":
        return KmsFailure.missing("AWS KMS does not accept the id of " + key, failed);
      case "InvalidCiphertextException":
      case "IncorrectKeyException":
        return KmsFailure.notAuthentic(
            "AWS KMS does not unwrap it with "
                + key
                + ": it was wrapped with another key or another encryption context, or was altered",
            failed);
      default:
        return KmsFailure.unavailable(
            failed.isThrottlingException()
                ? "AWS KMS throttles calls (" + code + "), also after retries"
                : "AWS KMS answered " + code,
            failed);
    }
  }

  private static KmsFailure ofConnection(SdkException failed) {
    for (Throwable cause = failed.getCause(); cause != null; cause = cause.getCause()) {
      if (cause instanceof IOException && !cause.getClass().getName().contains(".jackson.")) {
        return KmsFailure.unavailable("AWS KMS could not be reached (" + cause.getClass().getSimpleName() + ")", cause);
      }
    }
    return noAnswer();
  }
}
