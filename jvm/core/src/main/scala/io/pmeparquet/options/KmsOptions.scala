package io.pmeparquet.options

import io.pmeparquet.keys.AuditMode
import io.pmeparquet.options.Use.Both

/** The options of KMSs. */
private[options] trait KmsOptions {
  // Names are registered in `KmsAccess` of `jvm/kms` and in `ClientKind`; a test compares them with this description.
  val Kms = OptionSpec(
    "kms",
    Both,
    "Where master keys live: `keystore`, `static`, `vault`, `aws`, `gcp`, `azure`, `hadoop`, or the name of a class " +
      "that is an `org.apache.parquet.crypto.keytools.KmsClient` or an " +
      "`org.apache.iceberg.encryption.KeyManagementClient`.",
    "`static`, and `keystore` with a file, hold master keys in memory of whoever calls the KMS. Other " +
      "services keep them, and can log who used which.",
    default = Some("keystore"),
    parquetName = Some("kms.client.class")
  )
  val KeystorePath = OptionSpec(
    "kms.keystore.path",
    Both,
    "The Java keystore, with one AES secret key per alias. The driver reads it from any Hadoop file system. With " +
      "`kms.keystore.type=PKCS11`: the configuration of the JVM's SunPKCS11 provider, which names native code. Without a " +
      "path, that provider must be installed.",
    "Whoever has the keystore's file and its password has all keys."
  )
  val KeystoreType = OptionSpec(
    "kms.keystore.type",
    Both,
    "The keystore's type: `PKCS12`, `BCFKS` where BouncyCastle is on the class path, `PKCS11` for a token or HSM, or " +
      "any other type of an installed security provider.",
    OptionSpec.NoEffect,
    default = Some("PKCS12")
  )
  val KeystorePassword =
    OptionSpec(
      "kms.keystore.password",
      Both,
      "Reference to the password of the keystore and its keys, or to the PIN of a PKCS#11 token.",
      "Settings and plans hold the reference, not the secret.",
      secret = true
    )
  val StaticKeys = OptionSpec(
    "kms.static.keys",
    Both,
    "Reference to a secret with the keys, as lines `name=base64key`. For tests and first steps only.",
    "Whoever can read the secret has all keys.",
    secret = true
  )
  val VaultUrl = OptionSpec(
    "kms.vault.url",
    Both,
    "Address of HashiCorp Vault or OpenBao: `https://HOST:PORT`. `http://` is for loopback addresses only, because each " +
      "call sends the token.",
    "Keys, and the credentials of calls, go to this address."
  )
  val VaultMount = OptionSpec(
    "kms.vault.mount",
    Both,
    "Where the transit engine is mounted.",
    OptionSpec.NoEffect,
    default = Some("transit")
  )
  val VaultNamespace =
    OptionSpec(
      "kms.vault.namespace",
      Both,
      "The namespace of the transit engine and of the login.",
      OptionSpec.NoEffect
    )
  val VaultAuth = OptionSpec(
    "kms.vault.auth",
    Both,
    "How to authenticate to Vault: with a token, or with a login of a Kubernetes service account or an AppRole.",
    OptionSpec.NoEffect,
    values = Seq("token", "kubernetes", "approle")
  )
  val VaultToken =
    OptionSpec(
      "kms.vault.token",
      Both,
      "With `kms.vault.auth=token`: reference to the token.",
      "Settings and plans hold the reference, not the secret.",
      secret = true
    )
  val VaultRole =
    OptionSpec(
      "kms.vault.role",
      Both,
      "The Kubernetes role or the AppRole's `role_id` to log in with.",
      OptionSpec.NoEffect
    )
  val VaultSecretId =
    OptionSpec(
      "kms.vault.secretId",
      Both,
      "With `kms.vault.auth=approle`: reference to the `secret_id`.",
      "Settings and plans hold the reference, not the secret.",
      secret = true
    )
  val VaultJwt = OptionSpec(
    "kms.vault.jwt",
    Both,
    "With `kms.vault.auth=kubernetes`: reference to the service account's token.",
    "Settings and plans hold the reference, not the secret.",
    default = Some("file:/var/run/secrets/kubernetes.io/serviceaccount/token"),
    secret = true
  )
  val VaultAuthMount = OptionSpec(
    "kms.vault.authMount",
    Both,
    "Where the login method is mounted, if not under its own name.",
    OptionSpec.NoEffect
  )
  val VaultCaCert = OptionSpec(
    "kms.vault.caCert",
    Both,
    "A PEM file of CA certificates to trust for Vault in place of the JVM's. The driver reads it from any Hadoop file system.",
    "Whoever can change this file can pose as Vault."
  )

  // Those of KMSs with a client of parquet-java's interface: `ClientKind`.
  val AwsRegion = OptionSpec(
    "kms.aws.region",
    Both,
    "The region of AWS KMS. The default is the region that the AWS SDK finds in the process. For a key that is named by " +
      "its ARN, the region of the ARN is used.",
    OptionSpec.NoEffect
  )
  val AwsEndpoint = OptionSpec(
    "kms.aws.endpoint",
    Both,
    "Address of AWS KMS, if it is not the default of the region: a VPC endpoint or a test server.",
    "Keys go to this address, in calls that credentials sign."
  )
  val AwsEncryptionContext = OptionSpec(
    "kms.aws.encryptionContext",
    Both,
    "JSON object of strings that keys are bound to. AWS KMS unwraps a key only with the context that it was wrapped with, " +
      "and logs the context, so it must not hold secrets.",
    "AWS's logs show it in clear."
  )
  val GcpKeyRing = OptionSpec(
    "kms.gcp.keyRing",
    Both,
    "Key ring of keys that are not named in full: `projects/P/locations/L/keyRings/R`.",
    OptionSpec.NoEffect
  )
  val GcpEndpoint = OptionSpec(
    "kms.gcp.endpoint",
    Both,
    "Address of Cloud KMS, if it is not Google's default: a private endpoint or a test server.",
    "Keys, and the credentials of calls, go to this address."
  )
  val GcpCredentials = OptionSpec(
    "kms.gcp.credentials",
    Both,
    "Reference to the JSON of a service account's key. Without it, the application default credentials are used.",
    "Settings and plans hold the reference, not the secret.",
    secret = true
  )
  val AzureVaultUrl = OptionSpec(
    "kms.azure.vaultUrl",
    Both,
    "Address of the key vault or managed HSM: `https://NAME.vault.azure.net`.",
    "Keys, and the credentials of calls, go to this address."
  )
  val AzureTenantId =
    OptionSpec(
      "kms.azure.tenantId",
      Both,
      "With a client secret: the tenant to log in to.",
      OptionSpec.NoEffect
    )
  val AzureClientId = OptionSpec(
    "kms.azure.clientId",
    Both,
    "With a client secret: the application to log in as. Without one: the user-assigned managed identity to use in place " +
      "of the machine's own.",
    OptionSpec.NoEffect
  )
  val AzureClientSecret = OptionSpec(
    "kms.azure.clientSecret",
    Both,
    "Reference to the application's client secret. Without it, the machine's managed identity is used.",
    "Settings and plans hold the reference, not the secret.",
    secret = true
  )
  val AzureAuthority = OptionSpec(
    "kms.azure.authority",
    Both,
    "Where to log in with a client secret, if not at `https://login.microsoftonline.com`: another cloud, or a test server.",
    "The client secret goes to this address."
  )
  val AzureAlgorithm = OptionSpec(
    "kms.azure.algorithm",
    Both,
    "The wrapping algorithm: `RSA-OAEP-256` and `RSA-OAEP` for RSA keys, the others for AES keys of a managed HSM.",
    OptionSpec.NoEffect,
    values = Seq("RSA-OAEP-256", "RSA-OAEP", "A128KW", "A192KW", "A256KW")
  )
  val HadoopUri = OptionSpec(
    "kms.hadoop.uri",
    Both,
    "Address of a Hadoop KMS: `kms://https@HOST:PORT/kms`. The default is Hadoop's `hadoop.security.key.provider.path`.",
    "Keys, and the credentials of calls, go to this address."
  )
  val ClientProperties = OptionSpec(
    "kms.properties",
    Both,
    "With a class that is an `org.apache.iceberg.encryption.KeyManagementClient`: JSON object of the strings that " +
      "initialize it.",
    "The values are not references: a secret in them is in settings and plans.",
    isStable = false
  )

  val KmsTimeout = OptionSpec(
    "kms.timeoutSeconds",
    Both,
    "Time limit of one KMS call that wraps or unwraps a key, including login and retries. A login to Vault, and opening a " +
      "PKCS#11 token, may take the same time in addition.",
    "A query waits this long, or twice as long with a login, for a KMS that does not answer.",
    default = Some("30")
  )
  val CallFrom = OptionSpec(
    "kms.callFrom",
    Both,
    "Who calls the KMS. `driver`: executors ask the driver, which calls the KMS once for each key; executors hold no " +
      "credentials and need no route to the KMS. `executor`: each executor calls the KMS, with credentials that it receives.",
    "`executor` gives each executor the credentials, and each calls the KMS for itself.",
    values = Seq("driver", "executor")
  )
  val Audit = OptionSpec(
    "audit",
    Both,
    "Whether each decision of the KMS is recorded: who, when, for which table, query and purpose, which master key, granted " +
      "or refused. `try`: in the log `io.pmeparquet.audit`, for Spark's listeners, and in `audit.file`; a warning says what " +
      "could not be recorded. `require`: a key is given out only when its use is in `audit.file`. The strictest of option, " +
      "session and application counts.",
    "With `require`, a full disk or a lost record stops reads and writes. A key that is in memory for its lifetime is " +
      "recorded once.",
    values = AuditMode.all.map(_.name)
  )
  val AuditFile = OptionSpec(
    "audit.file",
    Both,
    "The record's file, an absolute path on the machine of the driver. JSON lines, each with the SHA-256 of the line before " +
      "it. Several applications may write to one file. An option cannot name another file than the session.",
    "It has names of tables, keys and users, and no key or value."
  )

  private[pmeparquet] val auditOptions: Seq[OptionSpec] = Seq(Audit, AuditFile)

  private[pmeparquet] val kmsOptions: Seq[OptionSpec] = Seq(
    Kms,
    KeystorePath,
    KeystoreType,
    KeystorePassword,
    StaticKeys,
    VaultUrl,
    VaultMount,
    VaultNamespace,
    VaultAuth,
    VaultToken,
    VaultRole,
    VaultSecretId,
    VaultJwt,
    VaultAuthMount,
    VaultCaCert,
    AwsRegion,
    AwsEndpoint,
    AwsEncryptionContext,
    GcpKeyRing,
    GcpEndpoint,
    GcpCredentials,
    AzureVaultUrl,
    AzureTenantId,
    AzureClientId,
    AzureClientSecret,
    AzureAuthority,
    AzureAlgorithm,
    HadoopUri,
    ClientProperties,
    KmsTimeout,
    CallFrom
  )
}
