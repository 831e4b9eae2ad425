package io.pmeparquet.kms.azure;

import java.io.IOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import java.util.stream.Collectors;

import io.pmeparquet.kms.client.Deadline;
import io.pmeparquet.kms.client.KmsClientSettings;
import io.pmeparquet.kms.client.KmsFailure;
import io.pmeparquet.kms.client.KmsLogin;
import io.pmeparquet.kms.client.KmsRest;

/**
 * Where access tokens of Azure's come from. They are asked for with a client secret, if there is one; or else as the
 * identity of the pod (AKS), the app (App Service) or the machine (IMDS), whichever there is.
 */
final class AzureLogin {
  private static final String TOKEN = "[!-~]{1,32768}";
  private static final long EARLY_SECONDS = 300;

  private AzureLogin() {}

  /** @param host the vault's: it says which cloud, and which of its services, a token is for */
  static KmsLogin of(KmsClientSettings settings, String host) {
    Supplier<KmsRest.Answer> login = loginOf(settings, host);
    return new KmsLogin("the login at Azure", settings.timeoutMillis(), isRefused -> passOf(login.get()));
  }

  private static Supplier<KmsRest.Answer> loginOf(KmsClientSettings settings, String host) {
    String service = host.replaceFirst("^[^.]+\\.", "");
    String resource = service.matches("(vault|managedhsm)\\..+") ? "https://" + service : "https://vault.azure.net";
    Optional<String> secret = settings.secret("kms.azure.clientSecret");
    if (secret.isPresent()) {
      return ofApplication(settings, resource, "client_secret", secret::get);
    }
    Optional<String> file = ofProcess("AZURE_FEDERATED_TOKEN_FILE");
    if (file.isPresent()) {
      // Read each time: the cluster replaces it before its token ends.
      return ofApplication(settings, resource, "client_assertion", () -> contentOf(file.get()));
    }
    return ofMachine(settings, resource);
  }

  /** To be used until shortly before it ends. */
  private static KmsLogin.Pass passOf(KmsRest.Answer answer) {
    if (answer.status() != 200) {
      String code = answer.text("error");
      String why = code != null && code.matches("[a-z_]{1,40}") ? " (" + code + ")" : "";
      throw KmsFailure.unavailable("the login at Azure was refused with status " + answer.status() + why, null);
    }
    String token = answer.text("access_token");
    if (token == null || !token.matches(TOKEN)) {
      throw KmsFailure.unavailable("the login at Azure gave an answer without a token", null);
    }
    long seconds = secondsOf(answer);
    return new KmsLogin.Pass(
        Map.of("Authorization", "Bearer " + token), Math.max(seconds - EARLY_SECONDS, seconds / 2));
  }

  /** How long a token serves: identities of machines may say instead when it ends, and all may say it as text. */
  private static long secondsOf(KmsRest.Answer answer) {
    String lasts = answer.value("expires_in");
    String ends = answer.value("expires_on");
    if (lasts != null && lasts.matches("\\d{1,9}")) {
      return Long.parseLong(lasts);
    }
    boolean known = ends != null && ends.matches("\\d{1,12}");
    return known ? Math.max(0, Long.parseLong(ends) - System.currentTimeMillis() / 1000) : 0;
  }

  /** The OAuth 2.0 client credentials flow, with a secret or with an assertion that somebody else signed. */
  private static Supplier<KmsRest.Answer> ofApplication(
      KmsClientSettings settings, String resource, String proofName, Supplier<String> proof) {
    String authority =
        settings
            .address("kms.azure.authority")
            .or(() -> ofProcess("AZURE_AUTHORITY_HOST"))
            .orElse("https://login.microsoftonline.com")
            .replaceFirst("/$", "");
    boolean isSecret = proofName.equals("client_secret");
    String tenant = required(settings, "kms.azure.tenantId", "AZURE_TENANT_ID", isSecret);
    if (!tenant.matches("[0-9A-Za-z][0-9A-Za-z.-]*")) {
      throw KmsFailure.badSetting("kms.azure.tenantId", "it is not the id or name of a tenant");
    }
    Map<String, String> fields = new LinkedHashMap<>();
    fields.put("grant_type", "client_credentials");
    fields.put("client_id", required(settings, "kms.azure.clientId", "AZURE_CLIENT_ID", isSecret));
    fields.put("scope", resource + "/.default");
    if (!isSecret) {
      fields.put("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
    }
    KmsRest http = new KmsRest("Azure's login at " + authority, settings.timeoutMillis());
    String url = authority + "/" + tenant + "/oauth2/v2.0/token";
    return () -> {
      Map<String, String> sent = new LinkedHashMap<>(fields);
      sent.put(proofName, proof.get());
      return http.postForm(url, Map.of(), encoded(sent));
    };
  }

  private static Supplier<KmsRest.Answer> ofMachine(KmsClientSettings settings, String resource) {
    Optional<String> appService = ofProcess("IDENTITY_ENDPOINT");
    Optional<String> appHeader = ofProcess("IDENTITY_HEADER");
    boolean isApp = appService.isPresent() && appHeader.isPresent();
    String imds = ofProcess("AZURE_POD_IDENTITY_AUTHORITY_HOST").orElse("http://169.254.169.254").replaceFirst("/$", "");
    String endpoint = isApp ? appService.get() : imds + "/metadata/identity/oauth2/token";
    Map<String, String> headers = isApp ? Map.of("X-IDENTITY-HEADER", appHeader.get()) : Map.of("Metadata", "true");
    Map<String, String> query = new LinkedHashMap<>();
    query.put("api-version", isApp ? "2019-08-01" : "2018-02-01");
    query.put("resource", resource);
    settings.text("kms.azure.clientId").or(() -> ofProcess("AZURE_CLIENT_ID")).ifPresent(id -> query.put("client_id", id));
    KmsRest http = KmsRest.direct("Azure's managed identity at " + endpoint, settings.timeoutMillis());
    return () -> http.get(endpoint + "?" + encoded(query), headers, Deadline.in(settings.timeoutMillis()));
  }

  /** A pod's identity comes with variables for these. */
  private static String required(KmsClientSettings settings, String option, String variable, boolean isSecret) {
    if (isSecret) {
      return settings.required(option, "with kms.azure.clientSecret");
    }
    return settings
        .text(option)
        .or(() -> ofProcess(variable))
        .orElseThrow(() -> KmsFailure.badSetting(option, "neither it nor the variable " + variable + " is set"));
  }

  /** A system property or a variable of the environment, under the name that Azure's SDKs have for it. */
  private static Optional<String> ofProcess(String name) {
    return Optional.ofNullable(System.getProperty(name, System.getenv(name)))
        .map(String::trim)
        .filter(value -> !value.isEmpty());
  }

  private static String contentOf(String file) {
    try {
      return Files.readString(Path.of(file)).trim();
    } catch (IOException failed) {
      throw KmsFailure.unavailable("the file of AZURE_FEDERATED_TOKEN_FILE cannot be read", failed);
    }
  }

  private static String encoded(Map<String, String> fields) {
    return fields.entrySet().stream()
        .map(field -> field.getKey() + "=" + URLEncoder.encode(field.getValue(), StandardCharsets.UTF_8))
        .collect(Collectors.joining("&"));
  }
}
