"""Steps of a job that logs at DEBUG: they write down everything that Spark shows of tables under keys of four KMSs.

`prepare` puts the keys into the job's directory ``secrets``.
"""

from __future__ import annotations

import functools
import json
from base64 import b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING

import pme_parquet as pme
from tests.kms.aws import ELSEWHERE, REGION, USER
from tests.support import needs
from tests.support.expect import DONE
from tests.support.frames import call, people
from tests.support.session import PASSWORD_VARIABLE, created, set_secrets
from tests.support.source import FORMAT, plan

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from pme_parquet._kms.services import Kms
    from tests.kms.transit_server import TransitServer
    from tests.support.kms.moto_server import Moto

MASTERS = {
    name: bytes((seed * 37 + at * 11) % 256 for at in range(16))
    for seed, name in enumerate(("footer", "pii", "pay"), 1)
}
WRONG_PASSWORD = "battery-staple-77ab"
WRONG_SECRET_ID = "wrong-secret-id-90aa"
VAULT_KEYS = ("v-footer", "v-pii", "v-pay")
AWS_SECRETS = {
    "AWS_SECRET_ACCESS_KEY": "aws-secret-of-the-job-4e8b",
    "AWS_SESSION_TOKEN": "aws-session-of-the-job-91cd",
}
# Of the job's environment. Its executors do without them.
VARIABLES = {"PME_WRONG_PASSWORD": WRONG_PASSWORD, "AWS_ACCESS_KEY_ID": USER} | AWS_SECRETS
MINUTE = 60
# A literal secret in place of a reference.
LITERAL = "aGVsbG8taHVudGVyMi1rZXk="
# Of all KMSs but one, `make test` tries what has to do with the KMS, and `make test-all` everything.
FULL = ("by_keystore", "by_static", "by_vault") if needs.ALL else ("by_keystore",)
# Those that also rotate, copy and fail. `make test` only writes and reads with static keys.
JOBS = ("by_keystore", "by_vault", "by_aws", *(("by_static",) if needs.ALL else ()))


def prepare(work: Path, vault: TransitServer, moto: Moto) -> None:
    """Put keys, and how to reach their services, into a new directory."""
    work.mkdir()
    role = vault.approle(VAULT_KEYS)
    (work / "vault.json").write_text(json.dumps({"url": vault.url, "role": role.role_id}))
    (work / "aws.json").write_text(json.dumps({"region": REGION, "endpoint": moto.url}))
    (work / "secret-id.keys").write_text(role.secret_id)
    (work / "wrong-id.keys").write_text(WRONG_SECRET_ID)
    (work / "static.keys").write_text(key_lines(MASTERS))
    (work / "wrong.keys").write_text(key_lines({name: bytes(16) for name in MASTERS}))
    set_secrets()
    created(pme.Keystore(str(work / "keys.p12"), password=pme.env(PASSWORD_VARIABLE)), MASTERS)


def key_lines(masters: dict[str, bytes]) -> str:
    return "".join(f"{name}={b64encode(key).decode()}\n" for name, key in masters.items())


class Job:
    """Writes and reads with one KMS and keeps everything that Spark prints about it."""

    def __init__(self, spark: SparkSession, work: Path, name: str, enc: pme.Encryption) -> None:
        self.spark, self.name, self.enc = spark, name, enc
        self.shown = work.parent / "shown" / f"{name}.txt"
        self.path = str(work / "data" / name)

    def show(self, text: str) -> None:
        with self.shown.open("a", encoding="utf-8") as file:
            file.write(text + "\n")

    def failing(self, action: Callable[[], object]) -> None:
        """Keep the whole text of the error that the action must raise."""
        outcome = DONE
        try:
            action()
        except Exception as error:  # noqa: BLE001 - the text of any error is searched
            outcome = f"{error!r}\n{error}\n{getattr(error, '__cause__', None)}"
        assert outcome != DONE, "this was to fail"
        self.show(outcome)

    def write(self) -> DataFrame:
        """Write, and show a read of it."""
        spark, options = self.spark, self.enc.options()
        people(spark).write.format(FORMAT).options(**options).save(self.path)
        frame = spark.read.format(FORMAT).options(**options).load(self.path)
        frame.createOrReplaceTempView(f"{self.name}_view")
        counted = frame.where("id > 3").groupBy("country").count()
        self.show(f"{plan(counted)}\n{counted.collect()}")
        return frame

    def run(self) -> None:
        """Write in batch, in SQL and as a stream; read; show plans and tables."""
        spark, options, frame = self.spark, self.enc.options(), self.write()
        if self.name not in FULL:
            return
        clause = ", ".join(f"'{name}' '{value}'" for name, value in options.items())
        statements = [
            f"CREATE TABLE {self.name} USING `{FORMAT}` OPTIONS ({clause}) AS SELECT * FROM {self.name}_view",
            f"INSERT INTO {self.name} SELECT * FROM {self.name}_view",
            f"EXPLAIN EXTENDED SELECT name FROM {self.name} WHERE id > 2",
            f"EXPLAIN EXTENDED INSERT INTO {self.name} SELECT * FROM {self.name}_view",
            f"EXPLAIN FORMATTED SELECT count(*) FROM {self.name}_view",
            f"SHOW CREATE TABLE {self.name}",
            f"DESCRIBE EXTENDED {self.name}",
            f"DESCRIBE FORMATTED {self.name} name",
            f"SHOW TBLPROPERTIES {self.name}",
        ]
        spark.conf.set("spark.datasource.pme-parquet.trustedTables", f"spark_catalog.default.{self.name}")
        for statement in statements:
            self.show("\n".join(str(row) for row in spark.sql(statement).collect()))
        stream = spark.readStream.format(FORMAT).options(**options).schema(frame.schema).load(self.path)
        sink = stream.writeStream.format(FORMAT).options(**options).trigger(availableNow=True)
        query = sink.option("checkpointLocation", f"{self.path}-checkpoint").start(f"{self.path}-stream")
        assert query.awaitTermination(MINUTE)
        self.show(str(query.lastProgress))

    def look_after(self, old: str, new: str) -> None:
        """Rotate its keys to another master key and back, list their use, and copy the table under new ones."""
        spark, kms = self.spark, self.enc.kms
        assert kms is not None
        assert not isinstance(kms, (str, Mapping))
        self.show(str(pme.rotate(spark, self.path, kms=kms, master_keys={old: new})))
        self.show(str(pme.key_usage(spark, self.path, kms=kms).collect()))
        rotate = call("pme_rotate", self.path, options=kms.options(), master_keys={new: old})
        usage = call("pme_key_usage", self.path, options=kms.options())
        for function in (rotate, usage) if self.name in FULL else (rotate,):
            for statement in (f"EXPLAIN EXTENDED SELECT * FROM {function}", f"SELECT * FROM {function}"):
                self.show("\n".join(str(row) for row in spark.sql(statement).collect()))
        self.show(f"copied: {pme.rekey(spark, self.path, f'{self.path}-copy', self.enc, kms=kms)}")

    def fail(self, wrong: dict[str, str], literal: dict[str, str]) -> None:
        """Fail in the ways that put a secret near an error message."""
        reader = self.spark.read.format(FORMAT)
        options = self.enc.options()
        self.failing(lambda: reader.options(**{**options, **wrong}).load(self.path).collect())
        self.failing(lambda: reader.options(**{**options, **literal}).load(self.path).collect())
        self.failing(lambda: reader.options(**{**options, "kms.keystore.pasword": "x"}).load(self.path).collect())
        writer = people(self.spark).write.format(FORMAT).mode("overwrite")
        self.failing(lambda: writer.options(**{**options, "columnKeys": "footer: nobody"}).save(self.path))
        self.failing(lambda: writer.options(**{**options, "footerKey": "absent"}).save(self.path))
        for bad in (wrong, literal):
            given = {**options, **bad}
            self.failing(functools.partial(pme.rotate, self.spark, self.path, options=given))
            self.failing(functools.partial(pme.rekey, self.spark, self.path, f"{self.path}-2", self.enc, options=given))
        self.failing(lambda: pme.key_usage(self.spark, self.path, options={**options, **literal}))


def with_columns(kms: Kms, prefix: str) -> pme.Encryption:
    """Return an encryption with keys for columns, under names with this prefix, and key material beside the files."""
    columns = {f"{prefix}pii": ["name", "address"], f"{prefix}pay": ["salary"]}
    return pme.Encryption(kms=kms, footer_key=f"{prefix}footer", column_keys=columns, key_material="external")


def run(spark: SparkSession, work: Path) -> None:
    """Run the jobs with the keys in a directory."""
    keystore = pme.Keystore(str(work / "keys.p12"), password=pme.env(PASSWORD_VARIABLE))
    static = pme.Static(pme.file(str(work / "static.keys")))
    by_keystore = Job(spark, work, "by_keystore", pme.Encryption(kms=keystore, footer_key="footer"))
    by_static = Job(spark, work, "by_static", with_columns(static, ""))
    place = json.loads((work / "vault.json").read_text())
    vault = pme.Vault(**place, auth="approle", secret_id=pme.file(str(work / "secret-id.keys")))
    by_vault = Job(spark, work, "by_vault", with_columns(vault, "v-"))
    aws = pme.AwsKms(**json.loads((work / "aws.json").read_text()))
    by_aws = Job(spark, work, "by_aws", with_columns(aws, "alias/"))
    by_keystore.run()
    by_keystore.look_after("footer", "pay")
    by_keystore.fail({"kms.keystore.password": "env:PME_WRONG_PASSWORD"}, {"kms.keystore.password": LITERAL})
    by_static.run()
    if by_static.name in JOBS:
        by_static.look_after("pii", "pay")
        by_static.fail({"kms.static.keys": f"file:{work / 'wrong.keys'}"}, {"kms.static.keys": f"footer={LITERAL}"})
    by_vault.run()
    by_vault.look_after("v-pii", "v-pay")
    by_vault.fail({"kms.vault.secretId": f"file:{work / 'wrong-id.keys'}"}, {"kms.vault.secretId": LITERAL})
    by_aws.run()
    by_aws.look_after("alias/pii", "alias/pay")
    by_aws.fail({"kms.aws.region": ELSEWHERE}, {"kms.aws.secretAccessKey": LITERAL})
    # The test needs these to find the keys that the keystore's keys wrapped.
    moved = pme.rotate(spark, by_keystore.path, kms=keystore, new_kms=static, key_material="external")
    by_keystore.show(str(moved))
