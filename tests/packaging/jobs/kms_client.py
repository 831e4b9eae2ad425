"""Makes a cloud's KMS client, as parquet-java does, with only the resolved jars. Argument: the cloud."""

import json
import sys

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
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
    conf.set("parquet.encryption.kms.gcp.credentials", service_account())
    client = jvm.org.apache.hadoop.util.ReflectionUtils.newInstance(kind, conf)
    client.initialize(conf, "DEFAULT", "DEFAULT", "DEFAULT")
    print("LOADED")
    spark.stop()


def service_account() -> str:
    """Return the JSON of a new service account key."""
    key = rsa.generate_private_key(65537, 2048)
    return json.dumps(
        {
            "type": "service_account",
            "client_id": "1",
            "client_email": "nobody@tests.invalid",
            "private_key_id": "1",
            "private_key": key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode(),
            "token_uri": "http://127.0.0.1:1/token",
        }
    )


if __name__ == "__main__":
    main(sys.argv[1])
