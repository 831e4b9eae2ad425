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

import io.pmeparquet.kms.KmsFailure;

/**
 * What the client is told: the options {@code kms.aws.*}, each behind {@code parquet.encryption.}.
 *
 * @param region where keys are that are not named by an ARN, if it is not what the SDK finds
 * @param context what wrapped keys are bound to
 * @param timeout all that one call may take
 */
record AwsSettings(Optional<String> region, Optional<URI> endpoint, Map<String, String> context, Duration timeout) {
  private static final String REGION = "kms.aws.region";
  private static final String ENDPOINT = "kms.aws.endpoint";
  private static final String CONTEXT = "kms.aws.encryptionContext";
  private static final String TIMEOUT = "kms.timeoutSeconds";
  private static final int DEFAULT_TIMEOUT_SECONDS = 30;

  /** A region becomes a part of a host's name: a text with a dot or a slash in it could name anybody's host. */
  private static final Pattern REGION_NAME = Pattern.compile("[a-z0-9-]{1,32}");

  private static final Pattern KEY_ARN = Pattern.compile("arn:[a-z0-9-]+:kms:([a-z0-9-]{1,32}):[^:]*:.+");

  static AwsSettings of(Configuration conf) {
    Optional<String> region = text(conf, REGION);
    if (region.isPresent() && !REGION_NAME.matcher(region.get()).matches()) {
      throw KmsFailure.badSetting(REGION, "'" + region.get() + "' is no name of a region");
    }
    return new AwsSettings(region, text(conf, ENDPOINT).map(AwsSettings::address), context(conf), timeout(conf));
  }

  /** A key that is named by its ARN is in the ARN's region, whatever else is set. */
  Region regionOf(String keyId) {
    if (!keyId.startsWith("arn:")) {
      return region.map(Region::of).orElseGet(AwsSettings::regionOfProcess);
    }
    var arn = KEY_ARN.matcher(keyId);
    if (!arn.matches()) {
      throw KmsFailure.missing("'" + keyId + "' is no ARN of a key of AWS KMS", null);
    }
    return Region.of(arn.group(1));
  }

  private static Region regionOfProcess() {
    try {
      return DefaultAwsRegionProviderChain.builder().build().getRegion();
    } catch (SdkException failed) {
      throw KmsFailure.badSetting(
          REGION, "it is not set, the AWS SDK finds no region in the process, and the key's id is no ARN");
    }
  }

  private static URI address(String text) {
    try {
      return URI.create(text);
    } catch (IllegalArgumentException failed) {
      throw KmsFailure.badSetting(ENDPOINT, "it is no address");
    }
  }

  private static Map<String, String> context(Configuration conf) {
    Map<String, String> pairs = new TreeMap<>();
    JsonNode json = text(conf, CONTEXT).map(AwsSettings::json).orElseGet(new ObjectMapper()::createObjectNode);
    if (!json.isObject()) {
      throw noContext();
    }
    json.fieldNames()
        .forEachRemaining(
            name -> {
              if (!json.get(name).isTextual()) {
                throw noContext();
              }
              pairs.put(name, json.get(name).textValue());
            });
    return pairs;
  }

  private static JsonNode json(String text) {
    try {
      return new ObjectMapper().readTree(text);
    } catch (JsonProcessingException failed) {
      throw noContext();
    }
  }

  private static KmsFailure noContext() {
    return KmsFailure.badSetting(CONTEXT, "it is no JSON object whose values are texts");
  }

  private static Duration timeout(Configuration conf) {
    int seconds = conf.getInt("parquet.encryption." + TIMEOUT, DEFAULT_TIMEOUT_SECONDS);
    if (seconds < 1) {
      throw KmsFailure.badSetting(TIMEOUT, "it is no number of seconds from 1 on");
    }
    return Duration.ofSeconds(seconds);
  }

  private static Optional<String> text(Configuration conf, String option) {
    return Optional.ofNullable(conf.getTrimmed("parquet.encryption." + option)).filter(value -> !value.isEmpty());
  }
}
