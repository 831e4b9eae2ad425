"""S3A's settings, as options of s3fs. A setting of a bucket (`fs.s3a.bucket.NAME.…`) wins over that of all buckets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pme_parquet._access import problems
from pme_parquet._access.s3_credentials import credentials
from pme_parquet._access.settings import Narrowed
from pme_parquet._display.words import printable
from pme_parquet._storage import shown

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
        raise problems.untranslated(where, f"fs.{scheme}.impl", implementation, why)
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
