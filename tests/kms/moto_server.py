"""A moto server, which answers as AWS KMS and STS do: a process of its own on a loopback address.

It enforces encryption contexts; it does decrypt with disabled keys, and knows no permissions: `AwsServer` fakes refusals.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

import boto3

from tests.kms.certificates import LOOPBACK

if TYPE_CHECKING:
    from typing_extensions import Self

PATIENCE = 60


class Moto:
    """A moto server that runs within ``with``, and what an administrator does there."""

    def __enter__(self) -> Self:
        with socket.socket() as free:
            free.bind((LOOPBACK, 0))
            self.port = free.getsockname()[1]
        self.url = f"http://{LOOPBACK}:{self.port}"
        command = [sys.executable, "-m", "moto.server", "-H", LOOPBACK, "-p", str(self.port)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self._wait()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def create_key(self, region: str, alias: str | None = None) -> str:
        """Make a key and give its ARN."""
        kms = self._kms(region)
        arn: str = kms.create_key()["KeyMetadata"]["Arn"]
        if alias:
            kms.create_alias(AliasName=alias, TargetKeyId=arn)
        return arn

    def _kms(self, region: str) -> Any:
        credentials = {"aws_access_key_id": "administrator", "aws_secret_access_key": "of-the-tests"}
        return boto3.client("kms", region_name=region, endpoint_url=self.url, **credentials)

    def _wait(self) -> None:
        until = time.monotonic() + PATIENCE
        while True:
            try:
                with urllib.request.urlopen(f"{self.url}/moto-api/"):
                    return
            except (urllib.error.URLError, ConnectionError):
                assert self._process.poll() is None, "moto ended while it was starting"
                assert time.monotonic() < until, f"moto did not answer within {PATIENCE} s"
                time.sleep(0.05)

    def _stop(self) -> None:
        self._process.terminate()
        self._process.wait()
