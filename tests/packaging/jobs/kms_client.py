"""Makes a cloud's KMS client, as parquet-java does, with nothing but the resolved jars on it. Argument: the cloud."""

import base64
import json
import sys
from typing import Any

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
    conf.set("parquet.encryption.kms.gcp.credentials", service_account(jvm))
    client = jvm.org.apache.hadoop.util.ReflectionUtils.newInstance(kind, conf)
    client.initialize(conf, "DEFAULT", "DEFAULT", "DEFAULT")
    print("LOADED")
    spark.stop()


def service_account(jvm: Any) -> str:
    """Return the JSON of a service account's key that was made just now."""
    pair = jvm.java.security.KeyPairGenerator.getInstance("RSA").generateKeyPair()
    key = base64.encodebytes(pair.getPrivate().getEncoded()).decode()
    return json.dumps(
        {
            "type": "service_account",
            "client_id": "1",
            "client_email": "nobody@tests.invalid",
            "private_key_id": "1",
            "private_key": f"-----BEGIN PRIVATE KEY-----\n{key}-----END PRIVATE KEY-----\n",
            "token_uri": "http://127.0.0.1:1/token",
        }
    )


if __name__ == "__main__":
    main(sys.argv[1])
