package io.pmeparquet.kms.azure;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.apache.hadoop.conf.Configuration;
import org.apache.parquet.crypto.keytools.KmsClient;

import io.pmeparquet.kms.client.KeyAdministrationClient;
import io.pmeparquet.kms.client.KmsClientSettings;
import io.pmeparquet.kms.client.KmsFailure;
import io.pmeparquet.kms.client.KmsRest;
import io.pmeparquet.kms.client.SigningClient;

/**
 * Azure Key Vault, or a managed HSM, as a KMS client of parquet-java: {@code kms=azure}, and for Spark's own {@code
 * parquet} source {@code parquet.encryption.kms.client.class}. It speaks the REST API, version 7.4: {@code wrapkey} and
 * {@code unwrapkey}.
 *
 * <p>A wrapped key is {@code azure:VERSION:VALUE}: Key Vault needs the version of a key to unwrap with. Nothing
 * else of where a call goes is taken from it, and the instance id, the instance URL and the token that parquet-java hands
 * over are not looked at: a file may name them.
 *
 * <p>It signs with EC keys on the curve P-256.
 */
public final class AzureKmsClient implements KmsClient, SigningClient, KeyAdministrationClient {
  private static final String USE = "wrapping keys";
  private static final Pattern KEY = Pattern.compile("(" + AzureApi.NAME + ")(?:/(" + AzureApi.VERSION + "))?");
  private static final Pattern WRAPPED =
      Pattern.compile("azure:(" + AzureApi.VERSION + "):([0-9A-Za-z_-]{1,8192})");

  private String algorithm;
  private AzureApi api;
  private AzureSigner signer;

  @Override
  public void initialize(Configuration conf, String instanceId, String instanceUrl, String token) {
    KmsClientSettings settings = new KmsClientSettings(conf);
    algorithm = settings.choice("kms.azure.algorithm");
    api = AzureApi.of(settings);
    signer = new AzureSigner(api);
  }

  @Override
  public String wrapKey(byte[] keyBytes, String masterKeyId) {
    Matcher key = parsed(masterKeyId);
    KmsRest.Answer answer = api.post(key.group() + "/wrapkey", algorithm, AzureApi.encoded(keyBytes));
    if (AzureApi.isBadParameter(answer)) {
      throw KmsFailure.badSetting(
          "kms.azure.algorithm",
          api.kms + " does not wrap with " + algorithm + " and the key '" + key.group(1) + "'");
    }
    api.requireServed(answer, USE);
    String wrapped = "azure:" + api.versionIn(answer, key.group(1), "kid") + ":" + answer.text("value");
    if (!WRAPPED.matcher(wrapped).matches()) {
      throw api.strange(answer, null);
    }
    return wrapped;
  }

  @Override
  public byte[] unwrapKey(String wrappedKey, String masterKeyId) {
    Matcher key = parsed(masterKeyId);
    Matcher wrapped = WRAPPED.matcher(wrappedKey);
    if (!wrapped.matches()) {
      throw KmsFailure.notAuthentic("it does not have the form that this client writes", null);
    }
    KmsRest.Answer answer =
        api.post(key.group(1) + "/" + wrapped.group(1) + "/unwrapkey", algorithm, wrapped.group(2));
    if (AzureApi.isBadParameter(answer)) {
      throw KmsFailure.notAuthentic(api.kms + " says that this key did not wrap it with " + algorithm, null);
    }
    api.requireServed(answer, USE);
    return api.bytesIn(answer, "value");
  }

  /** Key Vault would sign with a version that came after the one whose public key was asked for. */
  @Override
  public String pinned(String keyId) {
    Matcher key = parsed(keyId);
    return key.group(2) != null ? key.group() : key.group() + "/" + signer.newestVersion(key.group());
  }

  @Override
  public byte[] publicKey(String keyId) {
    return signer.publicKey(parsed(keyId).group());
  }

  @Override
  public byte[] sign(byte[] message, String keyId) {
    return signer.sign(message, parsed(keyId).group());
  }

  @Override
  public Keys keys() {
    return new AzureKeys(api, id -> parsed(id).group(1), algorithm.startsWith("RSA"));
  }

  /** A key's name, and a version of it: of letters and signs that mean nothing else in an address. */
  private static Matcher parsed(String masterKeyId) {
    Matcher key = KEY.matcher(masterKeyId.trim());
    if (!key.matches()) {
      throw KmsFailure.missing("its id is not of the form NAME or NAME/VERSION", null);
    }
    return key;
  }
}
