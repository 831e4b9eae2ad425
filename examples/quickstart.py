"""The README's example: write a DataFrame encrypted and read it back.

    export PME_KEYSTORE_PASSWORD='a long password'
    pme-parquet keys create keys.p12 footer pii
    python quickstart.py

The script writes the table ``people`` to the current directory.
"""

from pyspark.sql import SparkSession

import pme_parquet as pme

spark = pme.configure(SparkSession.builder.master("local[2]")).getOrCreate()
keys = pme.Keystore("keys.p12", password=pme.env("PME_KEYSTORE_PASSWORD"))
enc = pme.Encryption(kms=keys, footer_key="footer", column_keys={"pii": ["name", "phone"]})

people = spark.createDataFrame([(1, "Ada", "555-0101"), (2, "Grace", "555-0102")], ["id", "name", "phone"])
pme.write(people, "people", enc, mode="overwrite")
pme.read(spark, "people", kms=keys).show()
