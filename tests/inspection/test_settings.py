"""A session's settings of file systems, as options of fsspec's packages."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import pytest

from pme_parquet._access import access
from pme_parquet._access.session import translated
from pme_parquet._access.settings import Settings
from tests.support.expect import refused

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "swordfish-4711"
S3A = "org.apache.hadoop.fs.s3a."
SDK = "software.amazon.awssdk.auth.credentials."
DEFAULTS = {
    "fs.defaultFS": "file:///",
    "fs.s3a.impl": f"{S3A}S3AFileSystem",
    "fs.s3a.connection.ssl.enabled": "true",
    "fs.s3a.path.style.access": "false",
    "fs.s3a.aws.credentials.provider": f"""{S3A}TemporaryAWSCredentialsProvider,
    {S3A}SimpleAWSCredentialsProvider,
    {SDK}EnvironmentVariableCredentialsProvider,
    {S3A}auth.IAMInstanceCredentialsProvider""",
}
KEYS = {"fs.s3a.access.key": "AKIA", "fs.s3a.secret.key": SECRET}
SIGNED = {"anon": False, "key": "AKIA", "secret": SECRET}
AWS = {"endpoint_url": None, "config_kwargs": {"ignore_configured_endpoint_urls": True}}
ACCOUNT = "abfss://c@lake.dfs.core.windows.net/people"
WHERE = "pme.inspect"


@pytest.fixture(autouse=True)
def _no_clouds(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("AWS_", "AZURE_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)


def of(path: str, settings: dict[str, str], variables: dict[str, str] | None = None) -> tuple[dict[str, Any], str]:
    options, words = translated(path, Settings((DEFAULTS | settings).get, (variables or {}).get), WHERE)
    assert SECRET not in words
    return options or {}, words


def test_settings_of_s3a() -> None:
    options, words = of("s3a://bucket/people", KEYS | {"fs.s3a.endpoint.region": "eu-west-1"})
    assert options == AWS | SIGNED | {"client_kwargs": {"region_name": "eu-west-1"}}
    assert words == (
        "settings of the Spark session: endpoint of AWS, region eu-west-1, credentials of fs.s3a.access.key"
    )


def test_settings_of_a_bucket_win() -> None:
    own = {
        "endpoint": "127.0.0.1:9000",
        "connection.ssl.enabled": "false",
        "path.style.access": "true",
        "requester.pays.enabled": "true",
        "access.key": "own",
        "session.token": f"{SECRET}-2",
    }
    settings = KEYS | {f"fs.s3a.bucket.mine.{name}": value for name, value in own.items()}
    options, words = of("s3a://mine/people", settings)
    assert options == {
        "endpoint_url": "http://127.0.0.1:9000",
        "config_kwargs": {"ignore_configured_endpoint_urls": True, "s3": {"addressing_style": "path"}},
        "requester_pays": True,
        **SIGNED,
        "key": "own",
        "token": f"{SECRET}-2",
    }
    assert "endpoint http://127.0.0.1:9000, path style, requester pays" in words
    assert "fs.s3a.bucket.mine.access.key" in words
    assert of("s3a://other/people", settings)[0] == AWS | SIGNED


@pytest.mark.parametrize(
    ("endpoint", "url", "region"),
    [
        ("s3.eu-west-2.amazonaws.com", "https://s3.eu-west-2.amazonaws.com", "eu-west-2"),
        ("https://minio:9000", "https://minio:9000", None),
        ("s3.amazonaws.com", None, None),
    ],
)
def test_endpoints(endpoint: str, url: str | None, region: str | None) -> None:
    options, _ = of("s3a://bucket/t", KEYS | {"fs.s3a.endpoint": endpoint})
    assert options["endpoint_url"] == url
    assert options.get("client_kwargs") == ({"region_name": region} if region else None)


@pytest.mark.parametrize(
    ("providers", "variables", "expected"),
    [
        (f"{S3A}AnonymousAWSCredentialsProvider", {}, {"anon": True}),
        (
            f"{SDK}EnvironmentVariableCredentialsProvider",
            {"AWS_ACCESS_KEY_ID": "A", "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_SESSION_TOKEN": "T"},
            {"anon": False, "key": "A", "secret": SECRET, "token": "T"},
        ),
        (
            f"{S3A}SimpleAWSCredentialsProvider, {SDK}AnonymousCredentialsProvider",
            {},
            {"anon": True},
        ),
        ("com.amazonaws.auth.InstanceProfileCredentialsProvider", {}, {"anon": False}),
    ],
)
def test_credentials_providers(providers: str, variables: dict[str, str], expected: dict[str, Any]) -> None:
    options, _ = of("s3a://bucket/t", {"fs.s3a.aws.credentials.provider": providers}, variables)
    assert options == AWS | expected


def test_a_profile_is_the_drivers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = f"aws_access_key_id = A\naws_secret_access_key = {SECRET}\n"
    (tmp_path / "credentials").write_text(f"[team]\n{keys}[role]\n{keys}role_arn = arn\n[empty]\n", encoding="utf-8")
    variables = {"AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "credentials"), "AWS_CONFIG_FILE": os.devnull}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    provider = {"fs.s3a.aws.credentials.provider": f"{SDK}ProfileCredentialsProvider"}
    options, _ = of("s3a://bucket/t", provider, variables | {"AWS_PROFILE": "team"})
    assert options == AWS | {"anon": False, "profile": "team"}
    (tmp_path / "damaged").write_text(f"aws_secret_access_key = {SECRET}\n", encoding="utf-8")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "damaged"))
    with refused("PME_BAD_OPTION", "pme.inspect: ", "damaged", "AWS profiles", never=(SECRET,)):
        of("s3a://bucket/t", provider, variables | {"AWS_CONFIG_FILE": str(tmp_path / "damaged")})
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    with refused("PME_UNSUPPORTED", "AWS_SHARED_CREDENTIALS_FILE", "storage_options"):
        of("s3a://bucket/t", provider, {})
    # botocore would become the role, and for a profile without keys it would ask the machine.
    with refused("PME_UNSUPPORTED", "profile role has role_arn", never=(SECRET,)):
        of("s3a://bucket/t", provider, variables | {"AWS_PROFILE": "role"})
    for none in ("empty", "missing"):
        with refused("PME_BAD_OPTION", "none of the providers"):
            of("s3a://bucket/t", provider, variables | {"AWS_PROFILE": none})
    # s3fs would find this file before it asks the machine.
    with refused("PME_UNSUPPORTED", "credentials", "before those of this machine"):
        of("s3a://bucket/t", {})


def test_a_container_is_not_taken_for_the_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    variable = "AWS_CONTAINER_CREDENTIALS_FULL_URI"
    inside = {variable: "http://169.254.170.23/v1/credentials"}
    container = {"fs.s3a.aws.credentials.provider": f"{SDK}ContainerCredentialsProvider"}
    instance = {"fs.s3a.aws.credentials.provider": f"{SDK}InstanceProfileCredentialsProvider"}
    with refused("PME_BAD_OPTION", "none of the providers"):
        of("s3a://bucket/t", container)
    with refused("PME_UNSUPPORTED", variable, "only"):
        of("s3a://bucket/t", container, inside)
    monkeypatch.setenv(variable, inside[variable])
    assert of("s3a://bucket/t", container, inside)[0] == AWS | {"anon": False}
    with refused("PME_UNSUPPORTED", variable, "before those of the instance"):
        of("s3a://bucket/t", instance, inside)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"fs.s3a.aws.credentials.provider": "com.example.Mine"}, "com.example.Mine"),
        ({"fs.s3a.aws.credentials.provider": f"{S3A}auth.AssumedRoleCredentialProvider"}, "AssumedRole"),
        ({"fs.s3a.encryption.algorithm": "SSE-C"}, "fs.s3a.encryption.algorithm=SSE-C"),
        ({"fs.s3a.bucket.bucket.encryption.algorithm": "CSE-KMS"}, "fs.s3a.bucket.bucket.encryption.algorithm"),
        ({"fs.s3a.delegation.token.binding": "x.Y"}, "fs.s3a.delegation.token.binding"),
        ({"fs.s3a.proxy.host": "proxy"}, "fs.s3a.proxy.host"),
        ({"fs.s3a.accesspoint.arn": "arn:aws:s3:x"}, "fs.s3a.accesspoint.arn"),
        ({"fs.s3a.impl": "com.example.Fs"}, "fs.s3a.impl=com.example.Fs"),
        ({"fs.s3a.security.credential.provider.path": "jceks://hdfs/k"}, "fs.s3a.security.credential.provider.path"),
        ({"hadoop.security.credential.provider.path": "jceks://hdfs/k"}, "pme.env"),
    ],
)
def test_a_setting_without_a_counterpart_is_refused(settings: dict[str, str], named: str) -> None:
    with refused("PME_UNSUPPORTED", "pme.inspect: ", named, "storage_options", never=(SECRET,)):
        of("s3a://bucket/t", KEYS | settings)


def test_a_chain_without_credentials_is_refused() -> None:
    with refused("PME_BAD_OPTION", "fs.s3a.aws.credentials.provider", "fs.s3a.access.key"):
        of("s3a://bucket/t", {"fs.s3a.aws.credentials.provider": f"{S3A}SimpleAWSCredentialsProvider"})


def test_s3_is_s3a_only_if_a_setting_makes_it_so() -> None:
    with refused("PME_UNSUPPORTED", "fs.s3.impl"):
        of("s3://bucket/t", KEYS)
    with refused("PME_UNSUPPORTED", "com.amazon.ws.emr.hadoop.fs.EmrFileSystem"):
        of("s3://bucket/t", KEYS | {"fs.s3.impl": "com.amazon.ws.emr.hadoop.fs.EmrFileSystem"})
    assert of("s3://bucket/t", KEYS | {"fs.s3.impl": f"{S3A}S3AFileSystem"})[0] == AWS | SIGNED


def test_settings_of_abfs() -> None:
    account = {"account_name": "lake", "anon": False}
    key = {"fs.azure.account.key.lake.dfs.core.windows.net": SECRET}
    assert of(ACCOUNT, key)[0] == account | {"account_key": SECRET}
    oauth = {
        "fs.azure.account.auth.type": "OAuth",
        "fs.azure.account.oauth.provider.type": "org.apache.hadoop.fs.azurebfs.oauth2.ClientCredsTokenProvider",
        "fs.azure.account.oauth2.client.id": "me",
        "fs.azure.account.oauth2.client.secret": SECRET,
        "fs.azure.account.oauth2.client.endpoint": "https://login.microsoftonline.com/tenant-1/oauth2/token",
    }
    login = {"client_id": "me", "client_secret": SECRET, "tenant_id": "tenant-1"}
    assert of(ACCOUNT, key | oauth)[0] == account | login
    sas = {"fs.azure.account.auth.type": "SAS", "fs.azure.sas.fixed.token": f"?{SECRET}"}
    assert of(ACCOUNT, sas)[0] == account | {"sas_token": SECRET}
    with refused("PME_BAD_OPTION", "fs.azure.account.key is not set"):
        of(ACCOUNT, {})
    with refused("PME_UNSUPPORTED", "MsiTokenProvider"):
        of(ACCOUNT, oauth | {"fs.azure.account.oauth.provider.type": "x.MsiTokenProvider"})
    with refused("PME_UNSUPPORTED", "fs.azure.account.auth.type=Custom"):
        of(ACCOUNT, key | {"fs.azure.account.auth.type": "Custom"})
    with refused("PME_UNSUPPORTED", "public cloud"):
        of("abfss://c@lake.dfs.core.chinacloudapi.cn/t", key)
    with refused("PME_UNSUPPORTED", "client-provided-key", never=(SECRET,)):
        of(ACCOUNT, key | {"fs.azure.encryption.encoded.client-provided-key": SECRET})
    # ABFS would ask this address, and adlfs the public cloud.
    with refused("PME_UNSUPPORTED", "fs.azure.abfs.endpoint=127.0.0.1:1"):
        of(ACCOUNT, key | {"fs.azure.abfs.endpoint": "127.0.0.1:1"})


def test_adlfs_must_find_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", SECRET)
    with refused("PME_UNSUPPORTED", "AZURE_STORAGE_CONNECTION_STRING", never=(SECRET,)):
        of(ACCOUNT, {"fs.azure.account.key": SECRET})


def test_settings_of_gcs(tmp_path: Path) -> None:
    google = {"endpoint_url": "https://storage.googleapis.com"}
    assert of("gs://bucket/t", {"fs.gs.auth.type": "APPLICATION_DEFAULT"})[0] == google | {"token": "google_default"}
    key = tmp_path / "key.json"
    key.write_text('{"type": "service_account"}', encoding="utf-8")
    file = {"fs.gs.auth.type": "SERVICE_ACCOUNT_JSON_KEYFILE", "fs.gs.auth.service.account.json.keyfile": str(key)}
    assert of("gs://bucket/t", file)[0] == google | {"token": str(key)}
    with refused("PME_UNSUPPORTED", "fs.gs.auth.type=USER_CREDENTIALS"):
        of("gs://bucket/t", {"fs.gs.auth.type": "USER_CREDENTIALS"})
    with refused("PME_UNSUPPORTED", "fs.gs.auth.type", "it is not set"):
        of("gs://bucket/t", {})
    for name in ("fs.gs.encryption.key", "fs.gs.delegation.token.binding", "fs.gs.storage.service.path"):
        with refused("PME_UNSUPPORTED", name, never=(SECRET,)):
            of("gs://bucket/t", {"fs.gs.auth.type": "COMPUTE_ENGINE", name: SECRET})


def test_an_endpoint_of_gcs_without_tls_is_asked_once_for_what_needs_it() -> None:
    anyone = {"fs.gs.auth.type": "UNAUTHENTICATED"}
    private = {"endpoint_url": "https://storage.example", "token": "anon"}
    assert of("gs://bucket/t", anyone | {"fs.gs.storage.root.url": "https://storage.example/"})[0] == private
    local = {"endpoint_url": "http://127.0.0.1:4443", "token": "anon", "retry_timeout": 0}
    assert of("gs://bucket/t", anyone | {"fs.gs.storage.root.url": "http://127.0.0.1:4443/"})[0] == local


@pytest.mark.parametrize("content", [None, "", "[]", '{"type": "authorized_user"}'])
def test_what_is_no_key_file_is_not_given_to_gcsfs(tmp_path: Path, content: str | None) -> None:
    """It would send the name of an absent file to Google, and log in as the user of another one."""
    key = tmp_path / "key.json"
    if content is not None:
        key.write_text(content, encoding="utf-8")
    file = {"fs.gs.auth.type": "SERVICE_ACCOUNT_JSON_KEYFILE", "fs.gs.auth.service.account.json.keyfile": str(key)}
    with refused("PME_BAD_OPTION", "fs.gs.auth.service.account.json.keyfile", "service account"):
        of("gs://bucket/t", file)


@pytest.mark.parametrize(
    "path",
    ["s3a://bucket/t?versionId=1", f"{ACCOUNT}?versionid=1", "gs://bucket/t#1", "gs://bucket/t?a=b&generation=1"],
)
def test_a_name_that_fsspec_takes_for_a_version_is_refused(path: str) -> None:
    settings = KEYS | {"fs.azure.account.key": SECRET, "fs.gs.auth.type": "UNAUTHENTICATED"}
    with refused("PME_UNSUPPORTED", path, "a version of an object", never=(SECRET,)):
        of(path, settings)
    assert of(re.sub(r"[?#].*", "?a#b", path), settings)[0]


def test_paths_of_no_store() -> None:
    assert of("/data/people", {}) == ({}, "")
    assert of("file:///data/people", {"fs.defaultFS": "hdfs://nn"}) == ({}, "")
    with refused("PME_BAD_OPTION", "hdfs://nn", "fs.defaultFS"):
        of("people", {"fs.defaultFS": "hdfs://nn"})
    for other in ("oss://bucket/t", "zip://a::s3://bucket/t.zip"):
        with refused("PME_UNSUPPORTED", "s3a, abfs and gs"):
            of(other, KEYS)


def test_settings_of_fsspec_are_not_mixed_with_a_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    from fsspec.config import conf

    monkeypatch.setitem(conf, "s3", {"token": SECRET, "endpoint_url": "http://elsewhere"})
    # The endpoint is the session's, whatever fsspec has; its token would be added.
    with refused("PME_UNSUPPORTED", "FSSPEC_", "token", never=(SECRET,)):
        of("s3a://bucket/t", KEYS)
    assert access("s3a://bucket/t", None, None, WHERE).words == (
        "found by fsspec for s3a, with its settings endpoint_url http://elsewhere, token"
    )
