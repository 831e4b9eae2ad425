package io.pmeparquet.kms.aws;

import java.net.URI;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Pattern;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.hadoop.conf.Configuration;
import software.amazon.awssdk.core.exception.SdkException;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.regions.providers.DefaultAwsRegionProviderChain;

import io.pmeparquet.kms.client.KmsClientSettings;
import io.pmeparquet.kms.client.KmsFailure;

/**
 * The client's settings: the options {@code kms.aws.*}, each behind {@code parquet.encryption.}.
 *
 * @param region where keys are that are not named by an ARN, if it is not what the SDK finds
 * @param context what wrapped keys are bound to
 * @param timeout all that one call may take
 */
record AwsSettings(Optional<String> region, Optional<URI> endpoint, Map<String, String> context, Duration timeout) {
  private static final String REGION = "kms.aws.region";
  private static final String ENDPOINT = "kms.aws.endpoint";
  private static final String CONTEXT = "kms.aws.encryptionContext";

  /** A region becomes a part of a host's name: a text with a dot or a slash in it could name anybody's host. */
  private static final Pattern REGION_NAME = Pattern.compile("[a-z0-9-]{1,32}");

  private static final Pattern KEY_ARN = Pattern.compile("arn:[a-z0-9-]+:kms:([a-z0-9-]{1,32}):[^:]*:.+");

  static AwsSettings of(Configuration conf) {
    KmsClientSettings settings = new KmsClientSettings(conf);
    Optional<String> region = settings.text(REGION);
    if (region.isPresent() && !REGION_NAME.matcher(region.get()).matches()) {
      throw KmsFailure.badSetting(REGION, "'" + region.get() + "' is not the name of a region");
    }
    return new AwsSettings(
        region,
        settings.address(ENDPOINT).map(URI::create),
        settings.text(CONTEXT).map(AwsSettings::context).orElse(Map.of()),
        Duration.ofMillis(settings.timeoutMillis()));
  }

  /** A key that is named by its ARN is in the ARN's region, whatever else is set; where nothing is, in the process's. */
  Optional<Region> regionOf(String keyId) {
    if (!keyId.startsWith("arn:")) {
      return region.map(Region::of);
    }
    var arn = KEY_ARN.matcher(keyId);
    if (!arn.matches()) {
      throw KmsFailure.missing("'" + keyId + "' is not the ARN of an AWS KMS key", null);
    }
    return Optional.of(Region.of(arn.group(1)));
  }

  /** What the SDK finds. */
  static Region regionOfProcess() {
    try {
      return DefaultAwsRegionProviderChain.builder().build().getRegion();
    } catch (SdkException failed) {
      throw KmsFailure.badSetting(
          REGION, "it is not set, the AWS SDK found no region in the process, and the key's id is not an ARN", failed);
    }
  }

  private static Map<String, String> context(String text) {
    JsonNode json = json(text);
    if (!json.isObject()) {
      throw noContext();
    }
    Map<String, String> pairs = new TreeMap<>();
    json.fields()
        .forEachRemaining(
            pair -> {
              if (!pair.getValue().isTextual()) {
                throw noContext();
              }
              pairs.put(pair.getKey(), pair.getValue().textValue());
            });
    return pairs;
  }

  private static JsonNode json(String text) {
    try {
      return new ObjectMapper().readTree(text);
    } catch (JsonProcessingException failed) {
      // Without the cause, whose message repeats a part of the text.
      throw noContext();
    }
  }

  private static KmsFailure noContext() {
    return KmsFailure.badSetting(CONTEXT, "it is not a JSON object of strings");
  }
}
