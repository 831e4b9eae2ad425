package io.pmeparquet.options

import io.pmeparquet.options.Use.Both

/** The options of the KMSs that are reached by a KMS client: [[ClientKind]]. */
private[options] trait KmsClientOptions {
  val AwsRegion = OptionSpec(
    "kms.aws.region",
    Both,
    "The region of AWS KMS; by default what the AWS SDK finds in the process. A key that is named by its ARN is asked " +
      "for in the ARN's region."
  )
  val AwsEndpoint = OptionSpec(
    "kms.aws.endpoint",
    Both,
    "Address of AWS KMS, if it is not the region's own: of a VPC endpoint or a test server."
  )
  val AwsEncryptionContext = OptionSpec(
    "kms.aws.encryptionContext",
    Both,
    "JSON object of texts that keys are bound to: AWS KMS unwraps a key only with the context it was wrapped with, " +
      "and logs it. It is no secret."
  )
  val GcpKeyRing = OptionSpec(
    "kms.gcp.keyRing",
    Both,
    "`projects/P/locations/L/keyRings/R`: where keys are that are not named in full."
  )
  val GcpEndpoint = OptionSpec(
    "kms.gcp.endpoint",
    Both,
    "Address of Cloud KMS, if it is not Google's own: of a private endpoint or a test server."
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
    "With a client secret: the application to log in as. Without one: the user-assigned managed identity to use, " +
      "if it is not the machine's own."
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
    "Where to log in with a client secret, if it is not `https://login.microsoftonline.com`: for other clouds, or a " +
      "test server."
  )
  val AzureAlgorithm = OptionSpec(
    "kms.azure.algorithm",
    Both,
    "How keys wrap: `RSA-OAEP-256` and `RSA-OAEP` with RSA keys, the others with the AES keys of a managed HSM.",
    values = Seq("RSA-OAEP-256", "RSA-OAEP", "A128KW", "A192KW", "A256KW")
  )
  val HadoopUri = OptionSpec(
    "kms.hadoop.uri",
    Both,
    "Address of a Hadoop KMS: `kms://https@HOST:PORT/kms`; by default Hadoop's `hadoop.security.key.provider.path`."
  )
  val ClientProperties = OptionSpec(
    "kms.properties",
    Both,
    "With a class that is an `org.apache.iceberg.encryption.KeyManagementClient`: JSON object of the texts that it is " +
      "initialized with."
  )
}

/**
 * A KMS that is reached by a class that is a KMS client of parquet-java's, under a short name. The client finds each
 * option in its Hadoop configuration behind `parquet.encryption.`, so it serves Spark's own `parquet` source as well.
 *
 * @param title what messages call the KMS
 * @param jar the artifact that the class is in, if it is not the connector's
 * @param addresses options that say where calls, and so credentials, go
 */
final case class ClientKind(
    name: String,
    title: String,
    className: String,
    jar: Option[String],
    options: Seq[OptionSpec],
    addresses: Seq[OptionSpec] = Nil
)

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

  /** @param kms its short name, or its class's */
  def named(kms: String): Option[ClientKind] =
    all.find(kind => kind.name.equalsIgnoreCase(kms) || kind.className == kms)
}
