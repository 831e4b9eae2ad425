"""Checks before Spark starts: paths, the KMS's name, its keystore and its secrets.

They refuse only what is certainly wrong. What only Spark knows, such as whether a path without a scheme is on HDFS,
is left to Spark. The connector checks everything again.
"""

from __future__ import annotations

import os
import re
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from pme_parquet._cli.options import SECRETS
from pme_parquet._display.words import printable
from pme_parquet._kms.keystore import keystore_is_directory
from pme_parquet._kms.secrets import parse_reference
from pme_parquet._storage import local_root
from pme_parquet.errors import BadOptionError, KmsUnavailableError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pme_parquet._cli.sessions import SparkChoice


# The short names of KMSs. A test compares them with the classes in `_kms`.
KMS = ("keystore", "static", "vault", "aws", "gcp", "azure", "hadoop")
_SCHEME = re.compile(r"[A-Za-z][\w+.-]+:")
_PATTERN = re.compile(r"[*?\[{]")


def before_spark(choice: SparkChoice, options: Mapping[str, str], *sources: str, target: str | None = None) -> None:
    """Checks what a command was given.

    Raises:
        BadOptionError: there is nothing at a path, a copy cannot be written to one, or there is no such KMS.
        KmsUnavailableError: there is no such keystore or secret.
    """
    choice.settings()
    places = _Places(choice)
    _check_kms(options, places)
    for source in sources:
        places.require_something(source)
    if target is not None:
        places.require_room(target)


class _Places:
    """Paths as Spark takes them."""

    def __init__(self, choice: SparkChoice) -> None:
        self._default_is_local = _default_is_local(choice)

    def local(self, path: str) -> Path | None:
        """The local path; None if it is a pattern, or if it is or may be on another file system."""
        if _PATTERN.search(path):
            return None
        if path.startswith("file:"):
            return Path(local_root(path) or path)
        return Path(path) if self._default_is_local and not _SCHEME.match(path) else None

    def require_something(self, path: str) -> None:
        place = self.local(path)
        if place is not None and _is_missing(place):
            raise BadOptionError(f"{printable(path)}: there is nothing at this path. Check the path.")

    def require_room(self, path: str) -> None:
        place = self.local(path)
        if place is None:
            return
        if place.is_file() or (place.is_dir() and os.access(place, os.R_OK) and any(place.iterdir())):
            raise _no_room(path, "something is there already", "Choose a path that does not exist.")
        nearest = next((one for one in (place.absolute(), *place.absolute().parents) if one.exists()), None)
        if nearest is not None and not (nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)):
            raise _no_room(
                path, f"you have no write permission for {nearest}", "Choose a directory with write permission."
            )


def _no_room(path: str, why: str, remedy: str) -> BadOptionError:
    return BadOptionError(f"{printable(path)}: the copy cannot be written there: {printable(why)}. {remedy}")


def _is_missing(place: Path) -> bool:
    try:
        place.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:  # Spark reports the reason
        return False
    return False


def _default_is_local(choice: SparkChoice) -> bool:
    """Whether a path without a scheme is local: whether no setting that Spark reads can name another file system."""
    named = any("fs.default" in setting for setting in choice.conf)
    if named or os.environ.get("HADOOP_CONF_DIR") or os.environ.get("YARN_CONF_DIR"):
        return False
    homes = [os.environ.get("SPARK_HOME"), *_homes_of_pyspark()]
    places = [os.environ.get("SPARK_CONF_DIR"), *(str(Path(home) / "conf") for home in homes if home)]
    return not any(_may_name_another(Path(place)) for place in places if place)


def _homes_of_pyspark() -> list[str]:
    try:
        spec = find_spec("pyspark")
    except ValueError:  # something blocks the import of pyspark
        return []
    return list(spec.submodule_search_locations or []) if spec else []


def _may_name_another(folder: Path) -> bool:
    defaults = folder / "spark-defaults.conf"
    try:
        named = defaults.is_file() and "fs.default" in defaults.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True
    return named or any(folder.glob("*-site.xml"))


def _check_kms(options: Mapping[str, str], places: _Places) -> None:
    given = {name.lower(): value for name, value in options.items()}
    named = given.get("kms", given.get("parquet.encryption.kms.client.class", "")).strip()
    kms = named.lower() or ("keystore" if "kms.keystore.path" in given else "")
    if named and kms not in KMS and "." not in named:
        near = get_close_matches(kms, KMS, 1)
        meant = f" Did you mean {near[0]}?" if near else ""
        raise BadOptionError(
            f"--kms: there is no KMS '{printable(named)}'. Use {', '.join(KMS)}, or the full name of a class.{meant}"
        )
    if kms == "keystore" and "kms.keystore.path" in given:
        path = given["kms.keystore.path"]
        place = places.local(path)
        if place is not None and place.is_dir():
            raise KmsUnavailableError(keystore_is_directory(path, "opened"))
        if place is not None and _is_missing(place):
            raise KmsUnavailableError(
                f"keystore {printable(path)}: there is no such file. Correct kms.keystore.path, or create it with "
                "`pme-parquet keys create`."
            )
    for name in sorted(SECRETS & given.keys()):
        if name.startswith((f"kms.{kms}.", "policykey", "verifykey")):
            _require_secret(name, given[name])


def _require_secret(option: str, text: str) -> None:
    reference = parse_reference(text, f"-o {option}")
    why = ""
    if reference.scheme == "env" and not os.environ.get(reference.name):
        why = "the variable is not set"
    if reference.scheme == "file" and _is_missing(Path(reference.name.removeprefix("//"))):
        why = "there is no such file"
    if why:
        raise KmsUnavailableError(
            f"-o {option}: the secret '{printable(str(reference))}' cannot be read: {why}. Set it, or correct the "
            "reference."
        )
