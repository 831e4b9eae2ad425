package io.pmeparquet.kms.aws;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.function.BiFunction;

import software.amazon.awssdk.auth.credentials.AwsCredentialsProvider;
import software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider;
import software.amazon.awssdk.awscore.AwsRequestOverrideConfiguration;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.core.exception.SdkException;
import software.amazon.awssdk.core.retry.RetryMode;
import software.amazon.awssdk.http.urlconnection.UrlConnectionHttpClient;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.kms.KmsClient;
import software.amazon.awssdk.services.kms.model.KeyMetadata;
import software.amazon.awssdk.services.kms.model.MessageType;
import software.amazon.awssdk.services.kms.model.SigningAlgorithmSpec;

import io.pmeparquet.kms.client.Deadline;
import io.pmeparquet.kms.client.KmsFailure;

/**
 * The calls of AWS KMS that are needed, with an SDK client for each region.
 *
 * <p>parquet-java never closes its KMS clients. So this does not close the SDK's clients, and what they
 * hold is left to the garbage collector, but for the timer's thread and the credentials, which are the process's own.
 */
final class AwsCalls {
  private static final AwsCredentialsProvider CREDENTIALS = DefaultCredentialsProvider.builder().build();
  private static final ScheduledThreadPoolExecutor TIMER = timer();

  /** The time limit of a call is the timer's to keep; the socket's own comes after it. */
  private static final Duration BACKSTOP = Duration.ofSeconds(5);

  /** What keys are for, in messages. */
  private static final String WRAPPING = "symmetric encryption";

  private static final String SIGNING = "signatures by ECDSA on the curve P-256";

  private final AwsSettings settings;
  private final Map<Region, KmsClient> clients = new ConcurrentHashMap<>();
  private Region ofProcess;

  AwsCalls(AwsSettings settings) {
    this.settings = settings;
  }

  byte[] encrypt(byte[] key, String keyId) {
    return call(
        keyId,
        WRAPPING,
        (client, limit) ->
            client
                .encrypt(
                    request ->
                        request
                            .keyId(keyId)
                            .plaintext(SdkBytes.fromByteArray(key))
                            .encryptionContext(settings.context())
                            .overrideConfiguration(limit))
                .ciphertextBlob());
  }

  /** Names the key, though the ciphertext does as well: one of another key is refused. */
  byte[] decrypt(byte[] wrapped, String keyId) {
    return call(
        keyId,
        WRAPPING,
        (client, limit) ->
            client
                .decrypt(
                    request ->
                        request
                            .keyId(keyId)
                            .ciphertextBlob(SdkBytes.fromByteArray(wrapped))
                            .encryptionContext(settings.context())
                            .overrideConfiguration(limit))
                .plaintext());
  }

  /** Returns the key as a {@code SubjectPublicKeyInfo} in DER. */
  byte[] publicKey(String keyId) {
    return call(
        keyId,
        SIGNING,
        (client, limit) ->
            client.getPublicKey(request -> request.keyId(keyId).overrideConfiguration(limit)).publicKey());
  }

  /** Returns the signature of the message's SHA-256, in DER. */
  byte[] sign(byte[] message, String keyId) {
    return call(
        keyId,
        SIGNING,
        (client, limit) ->
            client
                .sign(
                    request ->
                        request
                            .keyId(keyId)
                            .message(SdkBytes.fromByteArray(message))
                            .messageType(MessageType.RAW)
                            .signingAlgorithm(SigningAlgorithmSpec.ECDSA_SHA_256)
                            .overrideConfiguration(limit))
                .signature());
  }

  /** What AWS KMS says of a key, by whatever id. */
  KeyMetadata describe(String keyId) {
    return answer(
        keyId,
        WRAPPING,
        (client, limit) ->
            client.describeKey(request -> request.keyId(keyId).overrideConfiguration(limit)).keyMetadata());
  }

  /** With the waiting period that AWS KMS has by default. */
  void scheduleDeletion(String arn) {
    answer(
        arn,
        WRAPPING,
        (client, limit) -> client.scheduleKeyDeletion(request -> request.keyId(arn).overrideConfiguration(limit)));
  }

  /** Creates a key, and an alias that leads to it. */
  void create(String alias) {
    KeyMetadata made =
        answer(
            alias,
            WRAPPING,
            (client, limit) ->
                client
                    .createKey(request -> request.description(alias).overrideConfiguration(limit))
                    .keyMetadata());
    answer(
        alias,
        WRAPPING,
        (client, limit) ->
            client.createAlias(
                request -> request.aliasName(alias).targetKeyId(made.keyId()).overrideConfiguration(limit)));
  }

  private byte[] call(
      String keyId, String use, BiFunction<KmsClient, AwsRequestOverrideConfiguration, SdkBytes> call) {
    return answer(keyId, use, call).asByteArray();
  }

  /** @param call gets what limits its time */
  private <A> A answer(
      String keyId, String use, BiFunction<KmsClient, AwsRequestOverrideConfiguration, A> call) {
    Deadline deadline = Deadline.in(settings.timeout().toMillis());
    KmsClient client = clientFor(keyId, deadline);
    // The SDK takes no limit of 0.
    Duration left = Duration.ofMillis(Math.max(1, deadline.leftMillis()));
    A answer;
    try {
      answer = call.apply(client, AwsRequestOverrideConfiguration.builder().apiCallTimeout(left).build());
    } catch (SdkException failed) {
      throw AwsFailures.ofCall(failed, keyId, use, settings.timeout());
    }
    if (answer == null) {
      throw AwsFailures.noAnswer();
    }
    return answer;
  }

  /**
   * Gets credentials before the call: a failure in the call would not show whether the credentials or the KMS failed.
   * It waits without a limit for some sources of credentials, a process for instance.
   */
  private KmsClient clientFor(String keyId, Deadline deadline) {
    SignerLog.keepSecrets();
    Region region;
    try {
      region =
          deadline.call(
              "the search for AWS credentials and region",
              () -> {
                CREDENTIALS.resolveCredentials();
                return settings.regionOf(keyId).orElseGet(this::regionOfProcess);
              });
    } catch (ExecutionException failed) {
      throw failed.getCause() instanceof KmsFailure ours ? ours : AwsFailures.ofCredentials(failed.getCause());
    }
    return clients.computeIfAbsent(region, this::open);
  }

  /** Found once: it may be the instance's, which a call over the network returns. */
  private synchronized Region regionOfProcess() {
    if (ofProcess == null) {
      ofProcess = AwsSettings.regionOfProcess();
    }
    return ofProcess;
  }

  private KmsClient open(Region region) {
    var builder =
        KmsClient.builder()
            .region(region)
            .credentialsProvider(CREDENTIALS)
            .httpClient(UrlConnectionHttpClient.builder().socketTimeout(settings.timeout().plus(BACKSTOP)).build())
            .overrideConfiguration(
                client -> client.retryStrategy(RetryMode.STANDARD).scheduledExecutorService(TIMER));
    settings.endpoint().ifPresent(builder::endpointOverride);
    return builder.build();
  }

  private static ScheduledThreadPoolExecutor timer() {
    var made =
        new ScheduledThreadPoolExecutor(
            1,
            task -> {
              Thread thread = new Thread(task, "pme-parquet-kms-aws-timer");
              thread.setDaemon(true);
              return thread;
            });
    made.setRemoveOnCancelPolicy(true);
    return made;
  }
}
