"""S3A's settings, as options of s3fs. A setting of a bucket (`fs.s3a.bucket.NAME.…`) wins over that of all buckets."""

from __future__ import annotations

import configparser
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pme_parquet._access.settings import INSTEAD, Narrowed, in_a_provider, missing, untranslated
from pme_parquet._display.words import printable
from pme_parquet._storage import shown
from pme_parquet.errors import BadOptionError

if TYPE_CHECKING:
    from pme_parquet._access.settings import Settings

_S3A = "org.apache.hadoop.fs.s3a.S3AFileSystem"
_CENTRAL = "s3.amazonaws.com"
_REGION = re.compile(r"s3[.-](?:dualstack\.)?([a-z]{2}(?:-[a-z]+)+-[0-9])\.amazonaws\.com(?:\.cn)?")
# S3A finds the region elsewhere then. It decides on no endpoint but one of AWS.
_FOUND = ("sdk", "ec2", "external")
# With another value than these, s3fs would ask elsewhere, as somebody else, or get bytes that only S3A understands.
_ONLY = {
    "accesspoint.arn": ((), "the access point would not be asked"),
    "access.grants.enabled": (("false",), "s3fs has no access grants"),
    "aws.credentials.provider.mapping": ((), "credentials would come from elsewhere"),
    "custom.signers": ((), "s3fs signs as AWS does"),
    "delegation.token.binding": ((), "s3fs has no delegation tokens"),
    "encryption.algorithm": (("SSE-S3", "AES256", "SSE-KMS", "DSSE-KMS"), "s3fs would need the key of each object"),
    "endpoint.fips": (("false",), "another endpoint would be asked"),
    "http.signer.enabled": (("false",), "s3fs signs as AWS does"),
    "proxy.host": ((), "the proxy would be bypassed"),
    "s3.client.factory.impl": (("org.apache.hadoop.fs.s3a.DefaultS3ClientFactory",), "its client is not s3fs's"),
    "server-side-encryption-algorithm": (("SSE-S3", "AES256", "SSE-KMS", "DSSE-KMS"), "as encryption.algorithm"),
    "signing-algorithm": ((), "s3fs signs as AWS does"),
}
_HADOOP = "org.apache.hadoop.fs.s3a."
_SDK = "software.amazon.awssdk.auth.credentials."
_OLD = "com.amazonaws.auth."
# What each provider does; classes of AWS's first SDK stand for those of the second, as in S3A.
_PROVIDERS = {
    f"{_HADOOP}TemporaryAWSCredentialsProvider": "temporary",
    f"{_HADOOP}SimpleAWSCredentialsProvider": "simple",
    f"{_HADOOP}AnonymousAWSCredentialsProvider": "anonymous",
    f"{_HADOOP}auth.ProfileAWSCredentialsProvider": "profile of settings",
    f"{_HADOOP}auth.IAMInstanceCredentialsProvider": "instance",
    f"{_SDK}AnonymousCredentialsProvider": "anonymous",
    f"{_SDK}EnvironmentVariableCredentialsProvider": "environment",
    f"{_SDK}ProfileCredentialsProvider": "profile",
    f"{_SDK}InstanceProfileCredentialsProvider": "instance alone",
    f"{_SDK}ContainerCredentialsProvider": "container",
    f"{_OLD}AnonymousAWSCredentials": "anonymous",
    f"{_OLD}EnvironmentVariableCredentialsProvider": "environment",
    f"{_OLD}profile.ProfileCredentialsProvider": "profile",
    f"{_OLD}InstanceProfileCredentialsProvider": "instance alone",
    f"{_OLD}EC2ContainerCredentialsProviderWrapper": "instance",
}
_CHAIN = "aws.credentials.provider"
# S3A's own default, for a configuration without Hadoop's default values.
_DEFAULT = f"{_HADOOP}TemporaryAWSCredentialsProvider,{_HADOOP}SimpleAWSCredentialsProvider"
_JCEKS = ("security.credential.provider.path", "hadoop.security.credential.provider.path")
_VARIABLES = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
# Roles, single sign-on and programs: botocore would log in as somebody else with them.
_OTHER_LOGINS = ("role_", "sso_", "credential_", "web_identity_", "source_profile", "login_")
# With one of these, botocore does not get as far as the credentials of the machine.
_EARLIER = ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN")
_CONTAINER = ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI")
_FILES = {"AWS_SHARED_CREDENTIALS_FILE": "~/.aws/credentials", "AWS_CONFIG_FILE": "~/.aws/config"}
_Found = tuple[dict[str, Any], str]


def translated(below: str, scheme: str, settings: Settings, where: str) -> tuple[dict[str, Any], list[str]]:
    """The options of s3fs, and the same in words.

    Args:
        below: the URL after its scheme.
        scheme: which Hadoop knows, S3A's or another that is set to S3A.
        settings: of the session.
        where: the function that the user called.
    """
    implementation = settings.get(f"fs.{scheme}.impl")
    if implementation != _S3A and (implementation or scheme != "s3a"):
        why = "only S3A's settings are understood" if implementation else "S3A serves s3a://, and no setting says more"
        raise untranslated(where, f"fs.{scheme}.impl", implementation, why)
    own = f"fs.s3a.bucket.{below.partition('/')[0]}."
    bucket = Narrowed(settings, lambda name: own + name, lambda name: f"fs.s3a.{name}")
    bucket.require_harmless(_ONLY, where, are_secret=False)
    options, words = _endpoint(bucket)
    # Otherwise variables and files of AWS could name another one.
    config: dict[str, Any] = {"ignore_configured_endpoint_urls": True}
    if bucket.is_set("path.style.access"):
        config["s3"] = {"addressing_style": "path"}
        words.append("path style")
    options["config_kwargs"] = config
    if bucket.is_set("requester.pays.enabled"):
        options["requester_pays"] = True
        words.append("requester pays")
    identity, how = credentials(bucket, where)
    return options | identity, [*words, how]


def _endpoint(bucket: Narrowed) -> tuple[dict[str, Any], list[str]]:
    endpoint, region = bucket.get("endpoint"), bucket.get("endpoint.region")
    options: dict[str, Any] = {}
    words = []
    host = endpoint.partition("://")[2] or endpoint
    known = _REGION.fullmatch(host.rstrip("/"))
    region = region or (known[1] if known else "")
    if endpoint and host.rstrip("/") != _CENTRAL:
        scheme = "http" if bucket.get("connection.ssl.enabled").lower() == "false" else "https"
        options["endpoint_url"] = endpoint if "://" in endpoint else f"{scheme}://{endpoint}"
        words.append(f"endpoint {printable(shown(options['endpoint_url']))}")
    else:
        options["endpoint_url"] = None
        words.append("endpoint of AWS")
    if region and region not in _FOUND:
        options["client_kwargs"] = {"region_name": region}
        words.append(f"region {printable(region)}")
    return options, words


def credentials(bucket: Narrowed, where: str) -> _Found:
    """The options of s3fs, and where the credentials are from.

    Raises:
        BadOptionError: no provider has credentials.
        UnsupportedError: credentials may be in a place that is not read here, or s3fs would find others first.
    """
    chain = re.split(r"[,\s]+", bucket.get(_CHAIN) or _DEFAULT)
    for provider in filter(None, chain):
        kind = _PROVIDERS.get(provider)
        if kind is None:
            why = "this credentials provider is not known"
            raise untranslated(where, bucket.named(_CHAIN), provider, why)
        found = _of(kind, bucket, where)
        if found:
            return found
    what = f"none of the providers of {bucket.named(_CHAIN)} has credentials"
    raise missing(where, what, "Set fs.s3a.access.key and fs.s3a.secret.key, or another provider.")


def _of(kind: str, bucket: Narrowed, where: str) -> _Found | None:
    if kind in {"simple", "temporary"}:
        return _settings(bucket, where, temporary=kind == "temporary")
    if kind == "anonymous":
        return {"anon": True}, "no credentials (anonymous)"
    if kind == "environment":
        return _environment(bucket)
    if kind in {"instance", "instance alone", "container"}:
        return _machine(kind, bucket, where)
    return _profile(bucket, where, of_settings=kind == "profile of settings")


def _settings(bucket: Narrowed, where: str, *, temporary: bool) -> _Found | None:
    for name in (bucket.named(_JCEKS[0]), _JCEKS[1]):
        if bucket.settings.get(name):
            raise in_a_provider(where, name, "access key")
    key, secret, token = (bucket.get(name) for name in ("access.key", "secret.key", "session.token"))
    if not key or not secret or (temporary and not token):
        return None
    more = {"token": token} if temporary else {}
    return _signing(key, secret) | more, f"credentials of {bucket.named('access.key')}"


def _environment(bucket: Narrowed) -> _Found | None:
    """Of the JVM: the variables of this process may have changed since it started."""
    key, secret, token = map(bucket.variable, _VARIABLES)
    if not key or not secret:
        return None
    return _signing(key, secret) | ({"token": token} if token else {}), "credentials of the driver's environment"


def _signing(key: str, secret: str) -> dict[str, Any]:
    return {"anon": False, "key": key, "secret": secret}


def _machine(kind: str, bucket: Narrowed, where: str) -> _Found | None:
    """Botocore takes credentials from the container if a variable names its URI, and from the instance otherwise."""
    in_container = any(map(bucket.variable, _CONTAINER))
    if kind == "container" and not in_container:
        return None
    _require_nothing_earlier(bucket, where)
    here = next((name for name in _CONTAINER if os.environ.get(name)), None)
    if (here is not None) != in_container:
        why = f"{' or '.join(_CONTAINER)} is set for the driver or for this process only"
        raise untranslated(where, bucket.named(_CHAIN), "", why)
    if kind == "instance alone" and here:
        why = f"s3fs would take the credentials of the container ({here}) before those of the instance"
        raise untranslated(where, bucket.named(_CHAIN), "", why)
    return {"anon": False}, f"credentials of this {'container' if here else 'instance'}"


def _profile(bucket: Narrowed, where: str, *, of_settings: bool) -> _Found | None:
    if of_settings and bucket.get("auth.profile.file"):
        setting = bucket.named("auth.profile.file")
        raise untranslated(where, setting, "", "s3fs takes the name of a profile, and no file")
    files = {name: bucket.variable(name) for name in _FILES}
    if any(value != os.environ.get(name, "") for name, value in files.items()):
        setting = " or ".join(_FILES)
        raise untranslated(where, setting, "", "the driver's environment differs from this process's")
    name = (bucket.get("auth.profile.name") if of_settings else "") or bucket.variable("AWS_PROFILE")
    name = name or "default"
    keys = _keys_of(name, where)
    if others := sorted(key for key in keys if key.startswith(_OTHER_LOGINS)):
        setting = bucket.named(_CHAIN)
        raise untranslated(where, setting, "", f"profile {printable(name)} has {others[0]}")
    # Without both, the provider passes, and botocore would go on to the machine's.
    if not {"aws_access_key_id", "aws_secret_access_key"} <= keys:
        return None
    return {"anon": False, "profile": name}, "credentials of a profile"


def _keys_of(profile: str, where: str) -> set[str]:
    """The settings that AWS's files have for a profile."""
    keys: set[str] = set()
    for path in _files():
        parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
        try:
            parser.read_string(path.read_text(encoding="utf-8"))
        except (configparser.Error, UnicodeDecodeError):
            # Its text may hold secrets.
            message = f"{where}: {printable(str(path))} cannot be read as a file of AWS profiles. {INSTEAD}"
            raise BadOptionError(message) from None
        for section in (profile, f"profile {profile}"):
            if parser.has_section(section):
                keys.update(parser.options(section))
    return keys


def _require_nothing_earlier(bucket: Narrowed, where: str) -> None:
    """s3fs would prefer such credentials to those of the machine."""
    if found := next((name for name in _EARLIER if os.environ.get(name)), None) or _has_files():
        why = f"s3fs would take the credentials of {found} before those of this machine"
        raise untranslated(where, bucket.named(_CHAIN), "", why)


def _has_files() -> str | None:
    """One of AWS's files that is not empty."""
    return next((str(path) for path in _files()), None)


def _files() -> list[Path]:
    paths = [Path(os.environ.get(variable) or usual).expanduser() for variable, usual in _FILES.items()]
    return [path for path in paths if path.is_file() and path.stat().st_size]
