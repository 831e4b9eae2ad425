"""A real Hadoop KMS on a free port of this machine, with its keys in a folder that another one can be given too."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from base64 import urlsafe_b64encode
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from tests.support.java import java
from tests.support.session import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

JARS = ROOT / "target" / "jars" / "hadoop-kms"
ADMIN = "admin"
CIPHER = "AES/CTR/NoPadding"
# A key that is nobody's, and one of 256 bits.
RESTRICTED, LONG = "restricted", "long"
START_SECONDS = 60

# Operations of a key that everybody has, where the key has no list of its own.
EVERYBODY = {f"default.key.acl.{operation}": "*" for operation in ("MANAGEMENT", "GENERATE_EEK", "DECRYPT_EEK", "READ")}

LOGGING = "log4j.rootLogger=WARN, out\nlog4j.appender.out=org.apache.log4j.ConsoleAppender\n"
LOGGING += "log4j.appender.out.layout=org.apache.log4j.SimpleLayout\n"


class HadoopKms:
    """A running server: keys are made and destroyed over its REST interface."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}/kms"
        self.uri = f"kms://http@127.0.0.1:{port}/kms"

    def create(self, *names: str, bits: int = 128) -> None:
        for name in names:
            self._call("POST", "v1/keys", {"name": name, "cipher": CIPHER, "length": bits})

    def hold(self, name: str, *materials: bytes) -> None:
        """Create a key of these bytes, one version after the other. All have the same length."""
        first, *later = (urlsafe_b64encode(material).decode() for material in materials)
        bits = len(materials[0]) * 8
        self._call("POST", "v1/keys", {"name": name, "cipher": CIPHER, "length": bits, "material": first})
        for material in later:
            self._call("POST", f"v1/key/{name}", {"material": material})

    def roll(self, name: str) -> None:
        self._call("POST", f"v1/key/{name}", {})

    def delete(self, name: str) -> None:
        self._call("DELETE", f"v1/key/{name}")

    def opened(self) -> int:
        """Return how many encrypted keys the server opened so far."""
        [meter] = self._call("GET", "jmx", qry="metrics:name=hadoop.kms.decrypt_eek.calls.meter")["beans"]
        return int(meter["Count"])

    def is_up(self) -> bool:
        try:
            self._call("GET", "v1/keys/names")
        except urllib.error.URLError:
            return False
        return True

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None, **query: str) -> Any:
        url = f"{self._url}/{path}?{urlencode({'user.name': ADMIN, **query})}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)  # noqa: S310
        with urllib.request.urlopen(request, timeout=START_SECONDS) as answer:  # noqa: S310
            text = answer.read()
        return json.loads(text) if text else None


@contextmanager
def running(folder: Path, key_users: Mapping[str, str]) -> Iterator[HadoopKms]:
    """Start a server and end it.

    Args:
        folder: where it finds its keys, if there are any, and keeps what it writes.
        key_users: keys that only these users may use, besides the administrator.
    """
    if not JARS.is_dir():
        message = f"{JARS} is missing: run `make build` first"
        raise AssertionError(message)
    port = free_port()
    _configure(folder, port, key_users)
    with (folder / "out.log").open("w") as out:
        process = subprocess.Popen(_command(folder), stdout=out, stderr=subprocess.STDOUT)
    server = HadoopKms(port)
    try:
        _wait(server, process, folder)
        yield server
    finally:
        process.kill()
        process.wait()


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


def copy_keys(source: Path, target: Path) -> None:
    """Let a server in the second folder have the keys that the one in the first has now."""
    target.mkdir(parents=True, exist_ok=True)
    shutil.copy(source / "keys.jceks", target)


def _command(folder: Path) -> list[str]:
    return [
        str(java()),
        *("--add-opens", "java.base/java.lang=ALL-UNNAMED"),
        *("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
        # The fewest iterations that the JDK takes: it derives the key of its file twenty times as fast.
        "-Djdk.jceks.iterationCount=10000",
        f"-Dlog4j.configuration=file:{folder}/kms-log4j.properties",
        f"-Dkms.config.dir={folder}",
        f"-Dkms.log.dir={folder}",
        *("-cp", f"{folder}:{JARS}/*"),
        "org.apache.hadoop.crypto.key.kms.server.KMSWebServer",
    ]


def _configure(folder: Path, port: int, key_users: Mapping[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    site = {
        "hadoop.kms.http.host": "127.0.0.1",
        "hadoop.kms.http.port": str(port),
        "hadoop.kms.key.provider.uri": f"jceks://file@{folder}/keys.jceks",
        "hadoop.kms.authentication.type": "simple",
    }
    restricted = {f"key.acl.{key}.ALL": f"{ADMIN},{users}" for key, users in key_users.items()}
    for name, values in {"core": {}, "kms": site, "kms-acls": EVERYBODY | restricted}.items():
        listed = "".join(
            f"<property><name>{key}</name><value>{value}</value></property>" for key, value in values.items()
        )
        file = folder / (f"{name}.xml" if name == "kms-acls" else f"{name}-site.xml")
        file.write_text(f"<configuration>{listed}</configuration>")
    (folder / "kms-log4j.properties").write_text(LOGGING)


def _wait(server: HadoopKms, process: subprocess.Popen[bytes], folder: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while not server.is_up():
        if process.poll() is not None or time.monotonic() > end:
            raise AssertionError((folder / "out.log").read_text()[-2000:])
        time.sleep(0.1)
