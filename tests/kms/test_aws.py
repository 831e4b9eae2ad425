"""`kms=aws` against moto: what is written is read, keys have ids of each form, and contexts are kept to.

Moto enforces encryption contexts and regions. What it does not do as AWS KMS does is in ``test_aws_failures.py``.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyspark
import pytest

import pme_parquet as pme
from tests.support.expect import refused, save
from tests.support.kms.access import KEYS as VAULT_KEYS
from tests.support.kms.access import by_token, read, rows
from tests.support.kms.access import encryption as vault_encryption
from tests.support.kms.aws import (
    COLUMN_KEYS,
    CREDENTIALS,
    ELSEWHERE,
    FOOTER,
    KEYS,
    PAY,
    PII,
    REGION,
    USER,
    access,
    encryption,
    properties,
)
from tests.support.session import kms_jars

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

    from tests.support.kms.aws_server import AwsServer
    from tests.support.kms.moto_server import Moto
    from tests.support.kms.transit_server import TransitServer
    from tests.support.source import Conf

CLIENT = "io.pmeparquet.kms.aws.AwsKmsClient"
CONTEXT = {"team": "payroll", "stage": "tests"}


@pytest.fixture(autouse=True)
def _credentials(spark: SparkSession) -> Iterator[None]:
    with properties(spark, CREDENTIALS):
        yield


@pytest.mark.parametrize("scan", ["v1", "v2"])
def test_a_table_costs_one_call_for_each_key_and_direction(
    spark: SparkSession, aws: AwsServer, frame: DataFrame, target: str, scan: str
) -> None:
    kms = access(aws)
    save(frame.repartition(3), target, encryption(kms).options())
    assert aws.actions() == [("Encrypt", key) for key in sorted(KEYS)]
    aws.calls.clear()
    assert rows(read(spark, target, kms.options() | {"scan": scan})) == rows(frame)
    assert aws.actions() == [("Decrypt", key) for key in sorted(KEYS)]
    assert {(call.region, call.service, call.user) for call in aws.calls} == {(REGION, "kms", USER)}


def test_a_reader_asks_for_the_keys_of_the_columns_it_selects(
    spark: SparkSession, aws: AwsServer, aws_table: str, frame: DataFrame
) -> None:
    assert rows(read(spark, aws_table, access(aws).options()).select("id", "salary")) == rows(
        frame.select("id", "salary")
    )
    assert aws.actions() == [("Decrypt", FOOTER), ("Decrypt", PAY)]


def test_executors_call_the_kms_themselves_with_call_from_executor(
    spark: SparkSession, aws: AwsServer, aws_table: str, frame: DataFrame
) -> None:
    options = access(aws).options() | {"kms.callFrom": "executor"}
    assert rows(read(spark, aws_table, options)) == rows(frame)


@pytest.mark.parametrize("form", ["key id", "ARN", "alias ARN"])
def test_keys_have_ids_of_each_form(
    spark: SparkSession, aws: AwsServer, aws_keys: dict[str, str], frame: DataFrame, target: str, form: str
) -> None:
    def named(alias: str) -> str:
        arn = aws_keys[alias]
        return {
            "key id": arn.rpartition("/")[2],
            "ARN": arn,
            "alias ARN": f"{arn.rpartition(':')[0]}:{alias}",
        }[form]

    kms = access(aws)
    columns = {named(key): names for key, names in COLUMN_KEYS.items()}
    save(frame, target, pme.Encryption(kms=kms, footer_key=named(FOOTER), column_keys=columns).options())
    assert rows(read(spark, target, kms.options())) == rows(frame)
    assert {call.key for call in aws.calls} == {named(key) for key in KEYS}


def test_a_key_is_asked_for_in_its_arns_own_region(
    spark: SparkSession, aws: AwsServer, moto: Moto, frame: DataFrame, target: str
) -> None:
    arn = moto.create_key(ELSEWHERE)
    kms = access(aws)
    columns = {arn: ["ssn"]}
    save(frame, target, pme.Encryption(kms=kms, footer_key=FOOTER, column_keys=columns).options())
    assert rows(read(spark, target, kms.options())) == rows(frame)
    assert {(call.key, call.region) for call in aws.calls} == {(FOOTER, REGION), (arn, ELSEWHERE)}
    by_id = pme.Encryption(kms=kms, footer_key=arn.rpartition("/")[2])
    with refused("PME_KEY_NOT_FOUND", "AWS KMS", "region"):
        save(frame, f"{target}-2", by_id.options())


def test_the_region_is_that_of_the_process_where_none_is_set(
    spark: SparkSession, aws: AwsServer, aws_table: str, frame: DataFrame
) -> None:
    options = pme.AwsKms(endpoint=aws.url).options()
    with refused("PME_BAD_OPTION", "kms.aws.region"):
        read(spark, aws_table, options).collect()
    with properties(spark, {"aws.region": REGION}):
        assert rows(read(spark, aws_table, options | {"kms.timeoutSeconds": "29"})) == rows(frame)


def test_keys_open_only_in_the_context_that_they_were_wrapped_in(
    spark: SparkSession, aws: AwsServer, frame: DataFrame, target: str
) -> None:
    save(frame, target, encryption(access(aws, CONTEXT)).options())
    assert rows(read(spark, target, access(aws, CONTEXT).options())) == rows(frame)
    assert all(call.context == CONTEXT for call in aws.calls)
    for other in (None, {}, {"team": "payroll"}, CONTEXT | {"stage": "live"}):
        with refused("PME_NOT_AUTHENTIC", f"'{FOOTER}'", "encryption context"):
            read(spark, target, access(aws, other).options()).collect()


def test_a_key_that_aws_does_not_have_is_named(aws: AwsServer, frame: DataFrame, target: str) -> None:
    enc = pme.Encryption(kms=access(aws), footer_key=FOOTER, column_keys={"alias/nobodys": ["ssn"]})
    with refused("PME_KEY_NOT_FOUND", "'alias/nobodys'", "AWS KMS"):
        save(frame, target, enc.options())


def test_a_key_opens_nothing_of_another_key(spark: SparkSession, aws: AwsServer) -> None:
    # Moto answers "access denied" where AWS has IncorrectKeyException.
    client = client_of(spark, access(aws))
    wrapped = client.wrapKey(bytearray(16), PII)
    assert bytes(client.unwrapKey(wrapped, PII)) == bytes(16)
    with pytest.raises(Exception, match="does not let these credentials use key 'alias/pay'"):
        client.unwrapKey(wrapped, PAY)


def test_sparks_own_source_reads_what_ours_wrote_and_the_other_way_round(
    spark: SparkSession, aws: AwsServer, aws_keys: dict[str, str], frame: DataFrame, tmp_path: Path
) -> None:
    ours, theirs = str(tmp_path / "ours"), str(tmp_path / "theirs")
    kms = access(aws, CONTEXT)
    of_sparks = {
        "parquet.crypto.factory.class": "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory",
        "parquet.encryption.kms.client.class": CLIENT,
        "parquet.encryption.key.access.token": str(tmp_path),
        **{f"parquet.encryption.{name}": value for name, value in kms.options().items() if name != "kms"},
    }
    keys = {
        "parquet.encryption.footer.key": FOOTER,
        "parquet.encryption.column.keys": f"{PII}:ssn;{PAY}:salary",
    }
    frame.write.format("parquet").options(**of_sparks, **keys).save(theirs)
    assert rows(read(spark, theirs, kms.options())) == rows(frame)
    save(frame, ours, encryption(kms).options())
    assert rows(spark.read.format("parquet").options(**of_sparks).load(ours)) == rows(frame)
    assert {call.key for call in aws.calls} == set(KEYS)


def test_the_region_of_the_process_is_asked_for_once(spark: SparkSession, aws: AwsServer) -> None:
    client = client_of(spark, pme.AwsKms(endpoint=aws.url))
    with properties(spark, {"aws.region": REGION}):
        client.wrapKey(bytearray(16), PII)
    with properties(spark, {"aws.region": ELSEWHERE}):
        client.wrapKey(bytearray(16), PAY)
    assert [call.region for call in aws.calls] == [REGION, REGION]


def wrap_once(aws: AwsServer, variables: dict[str, str], seconds: int = 30) -> subprocess.CompletedProcess[str]:
    """Wrap a key in a process of its own: the SDK settles where credentials come from once."""
    jars = [*map(str, kms_jars()), str(pme.jar_path()), str(Path(pyspark.__file__).parent / "jars" / "*")]
    source = Path(__file__).with_name("WrapOnce.java")
    command = ["java", "-cp", os.pathsep.join(jars), str(source), aws.url, PII, str(seconds)]
    environment = os.environ | {"AWS_REGION": REGION} | variables
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_web_identity_gives_credentials_as_well(aws: AwsServer, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("token-of-the-cluster")
    identity = {
        "AWS_WEB_IDENTITY_TOKEN_FILE": str(token),
        "AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/reader",
        "AWS_ENDPOINT_URL_STS": aws.url,
    }
    done = wrap_once(aws, identity)
    assert done.stdout == "OPENED\n", done.stderr
    [login, *calls] = aws.calls
    assert "AssumeRoleWithWebIdentity" in login.action
    assert "token-of-the-cluster" in login.action
    assert [call.action for call in calls] == ["Encrypt", "Decrypt"]
    assert {call.user for call in calls}.isdisjoint({USER, ""})


def test_a_process_that_gives_no_credentials_in_time_is_not_waited_for(aws: AwsServer, tmp_path: Path) -> None:
    profile = tmp_path / "config"
    profile.write_text("[default]\ncredential_process = sleep 20\n")
    done = wrap_once(aws, {"AWS_CONFIG_FILE": str(profile)}, seconds=1)
    assert "the search for AWS credentials and region did not end within 1 s" in done.stderr
    assert not aws.calls


@pytest.mark.parametrize("scan", ["v1", "v2"])
def test_a_table_under_vault_and_one_under_aws_are_joined_and_neither_hears_of_the_other(
    spark: SparkSession,
    aws: AwsServer,
    server: TransitServer,
    aws_table: str,
    table: str,
    frame: DataFrame,
    tmp_path: Path,
    scan: str,
) -> None:
    vault = by_token(server, tmp_path)
    under_vault = read(spark, table, vault.options() | {"scan": scan})
    under_aws = read(spark, aws_table, access(aws).options() | {"scan": scan})
    joined = under_vault.join(under_aws, ["id", "ssn", "salary"])
    assert rows(joined) == rows(frame)
    assert aws.actions() == [("Decrypt", key) for key in sorted(KEYS)]
    assert sorted(server.paths()) == [f"transit/decrypt/{key}" for key in sorted(VAULT_KEYS)]
    assert all(call.accessor for call in server.calls)


def test_vault_and_aws_do_not_open_each_others_tables(
    spark: SparkSession,
    aws: AwsServer,
    server: TransitServer,
    aws_table: str,
    table: str,
    frame: DataFrame,
    tmp_path: Path,
) -> None:
    of_vault, of_aws = by_token(server, tmp_path).options(), access(aws).options()
    for _ in range(2):
        assert rows(read(spark, table, of_vault)) == rows(read(spark, aws_table, of_aws)) == rows(frame)
        with refused("PME_NOT_AUTHENTIC", "'footer'"):
            read(spark, table, of_aws).collect()
        with pytest.raises(pme.PmeError, match="'alias/footer'"):
            read(spark, aws_table, of_vault).collect()
    assert {call.key for call in aws.calls} == set(KEYS)


def test_one_table_is_copied_from_under_vault_to_under_aws(
    spark: SparkSession, aws: AwsServer, server: TransitServer, frame: DataFrame, tmp_path: Path
) -> None:
    before, after = str(tmp_path / "before"), str(tmp_path / "after")
    vault = by_token(server, tmp_path)
    save(frame, before, vault_encryption(vault).options())
    save(read(spark, before, vault.options()), after, encryption(access(aws)).options())
    assert rows(read(spark, after, access(aws).options())) == rows(frame)


def test_options_of_the_session_serve_a_table_that_has_none(
    spark: SparkSession, aws: AwsServer, aws_table: str, frame: DataFrame, conf: Conf
) -> None:
    session = {f"spark.datasource.pme-parquet.{name}": value for name, value in access(aws).options().items()}
    with conf(session):
        assert rows(read(spark, aws_table, {})) == rows(frame)


def client_of(spark: SparkSession, kms: pme.AwsKms) -> Any:
    """Return the client, as parquet-java makes one."""
    jvm = spark._jvm
    assert jvm is not None
    conf = jvm.org.apache.hadoop.conf.Configuration()
    for name, value in kms.options().items():
        conf.set(f"parquet.encryption.{name}", value)
    client = jvm.org.apache.hadoop.util.ReflectionUtils.newInstance(conf.getClassByName(CLIENT), conf)
    client.initialize(conf, "DEFAULT", "DEFAULT", "DEFAULT")
    return client
