"""A moto server, which answers as AWS KMS and STS do: a process of its own on a loopback address.

It enforces encryption contexts. It decrypts with disabled keys and knows no permissions: `AwsServer` fakes refusals.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.request
from typing import TYPE_CHECKING, Any

from tests.support.kms.certificates import LOOPBACK

if TYPE_CHECKING:
    from typing_extensions import Self

PATIENCE = 60


class Moto:
    """A moto server that runs within ``with``, and the actions of an administrator."""

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
        """Make a key and return its ARN."""
        arn: str = self._ask(region, "CreateKey", {})["KeyMetadata"]["Arn"]
        if alias:
            self._ask(region, "CreateAlias", {"AliasName": alias, "TargetKeyId": arn})
        return arn

    def decrypt(self, region: str, ciphertext: str) -> str:
        """Unwrap a key that the client wrapped, both in base64."""
        plaintext: str = self._ask(region, "Decrypt", {"CiphertextBlob": ciphertext})["Plaintext"]
        return plaintext

    def _ask(self, region: str, action: str, fields: dict[str, str]) -> Any:
        scope = f"Credential=administrator/20260101/{region}/kms/aws4_request"
        headers = {
            "X-Amz-Target": f"TrentService.{action}",
            "Content-Type": "application/x-amz-json-1.1",
            "Authorization": f"AWS4-HMAC-SHA256 {scope}, SignedHeaders=host, Signature=0",
        }
        request = urllib.request.Request(self.url, json.dumps(fields).encode(), headers)  # noqa: S310 moto's address
        with urllib.request.urlopen(request) as answer:  # noqa: S310 moto's address
            return json.loads(answer.read() or b"{}")

    def _wait(self) -> None:
        until = time.monotonic() + PATIENCE
        while not self._answers():
            assert self._process.poll() is None, "moto ended while it was starting"
            assert time.monotonic() < until, f"moto did not answer within {PATIENCE} s"
            time.sleep(0.05)

    def _answers(self) -> bool:
        with socket.socket() as connection:
            return connection.connect_ex((LOOPBACK, self.port)) == 0

    def _stop(self) -> None:
        self._process.terminate()
        self._process.wait()
