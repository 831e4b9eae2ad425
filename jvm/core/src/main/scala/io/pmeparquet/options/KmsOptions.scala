package io.pmeparquet.options

import io.pmeparquet.options.Use.Both

/** The options that say where master keys live and how to reach them. */
private[options] trait KmsOptions extends KmsClientOptions {
  val Kms = OptionSpec(
    "kms",
    Both,
    "Where master keys live: `keystore`, `static`, `vault`, `aws`, `gcp`, `azure`, `hadoop`, or the name of a class " +
      "that is an `org.apache.parquet.crypto.keytools.KmsClient` or an " +
      "`org.apache.iceberg.encryption.KeyManagementClient`.",
    default = Some("keystore"),
    parquetName = Some("kms.client.class")
  )
  val KeystorePath = OptionSpec(
    "kms.keystore.path",
    Both,
    "The Java keystore: one AES secret key per alias. Read on the driver, from any Hadoop file system. With " +
      "`kms.keystore.type=PKCS11`: the configuration of the JVM's provider SunPKCS11, which names native code; without " +
      "it, the provider must be installed."
  )
  val KeystoreType = OptionSpec(
    "kms.keystore.type",
    Both,
    "The keystore's type: `PKCS12`, `BCFKS` where BouncyCastle is on the class path, `PKCS11` for a token or HSM, or " +
      "any type an installed security provider has.",
    default = Some("PKCS12")
  )
  val KeystorePassword =
    OptionSpec(
      "kms.keystore.password",
      Both,
      "Reference to the password of keystore and keys; of a PKCS#11 token, its PIN.",
      secret = true
    )
  val StaticKeys = OptionSpec(
    "kms.static.keys",
    Both,
    "Reference to a secret that lists the keys, as lines `name=base64key`. For tests and first steps.",
    secret = true
  )
  val VaultUrl = OptionSpec(
    "kms.vault.url",
    Both,
    "Address of HashiCorp Vault or OpenBao, as `https://HOST:PORT`. `http://` is for loopback addresses, since the " +
      "token travels with each call."
  )
  val VaultMount = OptionSpec(
    "kms.vault.mount",
    Both,
    "Where the transit engine is mounted.",
    default = Some("transit")
  )
  val VaultNamespace = OptionSpec("kms.vault.namespace", Both, "The namespace that engine and login are in.")
  val VaultAuth = OptionSpec(
    "kms.vault.auth",
    Both,
    "How Vault knows the user: by a token that somebody made, or by a login with a Kubernetes service account or an " +
      "AppRole.",
    values = Seq("token", "kubernetes", "approle")
  )
  val VaultToken =
    OptionSpec("kms.vault.token", Both, "With `kms.vault.auth=token`: reference to the token.", secret = true)
  val VaultRole =
    OptionSpec("kms.vault.role", Both, "The Kubernetes role, or the AppRole's `role_id`, to log in with.")
  val VaultSecretId =
    OptionSpec(
      "kms.vault.secretId",
      Both,
      "With `kms.vault.auth=approle`: reference to the `secret_id`.",
      secret = true
    )
  val VaultJwt = OptionSpec(
    "kms.vault.jwt",
    Both,
    "With `kms.vault.auth=kubernetes`: reference to the service account's token.",
    default = Some("file:/var/run/secrets/kubernetes.io/serviceaccount/token"),
    secret = true
  )
  val VaultAuthMount = OptionSpec(
    "kms.vault.authMount",
    Both,
    "Where the login method is mounted, if not under its own name."
  )
  val VaultCaCert = OptionSpec(
    "kms.vault.caCert",
    Both,
    "A PEM file of the certificates that are trusted to vouch for Vault, in place of the JVM's. Read on the driver, " +
      "from any Hadoop file system."
  )
  val KmsTimeout = OptionSpec(
    "kms.timeoutSeconds",
    Both,
    "All the time that one call of a KMS, to wrap or unwrap a key, may take, with login and further attempts. With " +
      "Vault, a login may take as long again, and so may opening a PKCS#11 token.",
    default = Some("30")
  )
  val CallFrom = OptionSpec(
    "kms.callFrom",
    Both,
    "Who talks to the KMS. `driver`: executors ask the driver, which asks the KMS once for each key; they hold no " +
      "credential and need no route to the KMS. `executor`: each executor for itself, with the credentials it is handed.",
    values = Seq("driver", "executor")
  )

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
