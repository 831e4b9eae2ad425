package io.pmeparquet.options

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
