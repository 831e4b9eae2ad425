"""Makes a cloud's KMS client, as parquet-java does, with nothing but the resolved jars on it. Argument: the cloud."""

import sys

from pyspark.sql import SparkSession

CLASSES = {"aws": "AwsKmsClient", "gcp": "GcpKmsClient", "azure": "AzureKmsClient"}


def main(cloud: str) -> None:
    spark = SparkSession.builder.getOrCreate()
    jvm = spark._jvm
    assert jvm is not None
    conf = jvm.org.apache.hadoop.conf.Configuration()
    conf.set("parquet.encryption.kms.aws.region", "eu-central-1")
    conf.set("parquet.encryption.kms.azure.vaultUrl", "https://acme.vault.azure.net")
    kind = conf.getClassByName(f"io.pmeparquet.kms.{cloud}.{CLASSES[cloud]}")
    client = jvm.org.apache.hadoop.util.ReflectionUtils.newInstance(kind, conf)
    client.initialize(conf, "DEFAULT", "DEFAULT", "DEFAULT")
    print("LOADED")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
