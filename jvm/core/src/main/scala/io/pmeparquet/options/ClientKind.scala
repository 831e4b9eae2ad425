package io.pmeparquet.options

import io.pmeparquet.options.Use.Both

/**
 * The short name of a KMS whose client is a `KmsClient` of parquet-java. The client finds each option in its Hadoop
 * configuration with the prefix `parquet.encryption.`, so it also works with Spark's own `parquet` source.
 *
 * @param title the name of the KMS in messages
 * @param jar the artifact of the class, if it is not the connector
 * @param addresses options that determine where calls, and so credentials, go
 */
final case class ClientKind(
    name: String,
    title: String,
    className: String,
    jar: Option[String],
    options: Seq[OptionSpec],
    addresses: Seq[OptionSpec] = Nil
)

/** The register of these KMSs. `KmsAccess` of `jvm/kms` has those that need code of their own. */
object ClientKind {
  import PmeOptions._

  val all: Seq[ClientKind] = Seq(
    ClientKind(
      "aws",
      "AWS KMS",
      "io.pmeparquet.kms.aws.AwsKmsClient",
      Some("pme-parquet-kms-aws"),
      Seq(AwsRegion, AwsEndpoint, AwsEncryptionContext),
      Seq(AwsEndpoint)
    ),
    ClientKind(
      "gcp",
      "Google Cloud KMS",
      "io.pmeparquet.kms.gcp.GcpKmsClient",
      Some("pme-parquet-kms-gcp"),
      Seq(GcpKeyRing, GcpEndpoint, GcpCredentials),
      Seq(GcpEndpoint)
    ),
    ClientKind(
      "azure",
      "Azure Key Vault",
      "io.pmeparquet.kms.azure.AzureKmsClient",
      Some("pme-parquet-kms-azure"),
      Seq(AzureVaultUrl, AzureTenantId, AzureClientId, AzureClientSecret, AzureAuthority, AzureAlgorithm),
      Seq(AzureVaultUrl, AzureAuthority)
    ),
    ClientKind("hadoop", "Hadoop KMS", "io.pmeparquet.kms.HadoopKmsClient", None, Seq(HadoopUri))
  )

  /** @param kms its short name, or the name of its class */
  def named(kms: String): Option[ClientKind] =
    all.find(kind => kind.name.equalsIgnoreCase(kms) || kind.className == kms)
}

/** The options of KMSs with a KMS client: [[ClientKind]]. */
private[options] trait KmsClientOptions {
  val AwsRegion = OptionSpec(
    "kms.aws.region",
    Both,
    "The region of AWS KMS. The default is the region that the AWS SDK finds in the process. For a key that is named by " +
      "its ARN, the region of the ARN is used."
  )
  val AwsEndpoint = OptionSpec(
    "kms.aws.endpoint",
    Both,
    "Address of AWS KMS, if it is not the default of the region: a VPC endpoint or a test server."
  )
  val AwsEncryptionContext = OptionSpec(
    "kms.aws.encryptionContext",
    Both,
    "JSON object of strings that keys are bound to. AWS KMS unwraps a key only with the context that it was wrapped with, " +
      "and logs the context, so it must not hold secrets."
  )
  val GcpKeyRing = OptionSpec(
    "kms.gcp.keyRing",
    Both,
    "Key ring of keys that are not named in full: `projects/P/locations/L/keyRings/R`."
  )
  val GcpEndpoint = OptionSpec(
    "kms.gcp.endpoint",
    Both,
    "Address of Cloud KMS, if it is not Google's default: a private endpoint or a test server."
  )
  val GcpCredentials = OptionSpec(
    "kms.gcp.credentials",
    Both,
    "Reference to the JSON of a service account's key. Without it, the application default credentials are used.",
    secret = true
  )
  val AzureVaultUrl = OptionSpec(
    "kms.azure.vaultUrl",
    Both,
    "Address of the key vault or managed HSM: `https://NAME.vault.azure.net`."
  )
  val AzureTenantId = OptionSpec("kms.azure.tenantId", Both, "With a client secret: the tenant to log in to.")
  val AzureClientId = OptionSpec(
    "kms.azure.clientId",
    Both,
    "With a client secret: the application to log in as. Without one: the user-assigned managed identity to use in place " +
      "of the machine's own."
  )
  val AzureClientSecret = OptionSpec(
    "kms.azure.clientSecret",
    Both,
    "Reference to the application's client secret. Without it, the machine's managed identity is used.",
    secret = true
  )
  val AzureAuthority = OptionSpec(
    "kms.azure.authority",
    Both,
    "Where to log in with a client secret, if not at `https://login.microsoftonline.com`: another cloud, or a test server."
  )
  val AzureAlgorithm = OptionSpec(
    "kms.azure.algorithm",
    Both,
    "The wrapping algorithm: `RSA-OAEP-256` and `RSA-OAEP` for RSA keys, the others for AES keys of a managed HSM.",
    values = Seq("RSA-OAEP-256", "RSA-OAEP", "A128KW", "A192KW", "A256KW")
  )
  val HadoopUri = OptionSpec(
    "kms.hadoop.uri",
    Both,
    "Address of a Hadoop KMS: `kms://https@HOST:PORT/kms`. The default is Hadoop's `hadoop.security.key.provider.path`."
  )
  val ClientProperties = OptionSpec(
    "kms.properties",
    Both,
    "With a class that is an `org.apache.iceberg.encryption.KeyManagementClient`: JSON object of the strings that " +
      "initialize it."
  )
}
