"""Keystores changed in processes that are killed, or that wait for another one; Python plays keytool, without a JVM."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pme_parquet as pme
from pme_parquet._kms import keystore_file

STEPS = ("open", "fdopen", "fsync", "fchmod", "replace", "link", "unlink", "mkdir", "rmdir", "close")


def stored(file: Path, *_: object) -> list[str]:
    """Name a keystore without its password."""
    return ["-keystore", str(file)]


def played(command: list[str], *_: object) -> str:
    """Do what keytool does to a PKCS12 keystore, to a file with an alias in each line."""
    file = Path(command[command.index("-keystore") + 1])
    aliases = file.read_text().splitlines() if file.exists() else []
    if command[0] == "-list":
        return "\n".join(f"Alias name: {alias}\nEntry type: SecretKeyEntry" for alias in aliases)
    alias = command[command.index("-alias") + 1].lower()
    if alias in aliases:
        raise keystore_file.TakenError(f"{file}: alias <{alias}> already exists")
    file.write_text("".join(f"{name}\n" for name in [*aliases, alias]))
    return ""


def _killed_at(step: int) -> None:
    """Kill this process at a system call, given by its number."""
    left = [step]

    def dying(real: Any) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                os._exit(9)
            return real(*given, **named)

        return call

    for name in STEPS:
        setattr(os, name, dying(getattr(os, name)))


def _one(verb: str, path: Path, step: int) -> int:
    child = os.fork()
    if child == 0:
        _killed_at(step)
        store = pme.Keystore(path, password=pme.file("nowhere"))
        store.create(["footer", "pii", "pay"]) if verb == "create" else store.add("pii", "pay")
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killed(verb: str, folder: Path) -> list[list[str] | None]:
    """Return what each kill left: None if there is no file; the last entry is a run without a kill."""
    found: list[list[str] | None] = []
    code = 9
    while code != 0:
        path = folder / f"{len(found)}.p12"
        if verb == "add":
            path.write_text("footer\n")
        code = _one(verb, path, len(found))
        found.append(sorted(path.read_text().splitlines()) if path.exists() else None)
    return found


def _say_when_waiting() -> None:
    def said(seconds: float) -> None:
        sys.stdout.write("waits\n")
        sys.stdout.flush()
        time.sleep(seconds)

    # Until this process ends.
    setattr(keystore_file, "sleep", said)  # noqa: B010 the module does not export it


def main(verb: str, path: str) -> None:
    setattr(keystore_file, "keytool_arguments", stored)  # noqa: B010 of a wider type
    setattr(keystore_file, "run_keytool", played)  # noqa: B010 as above
    if verb == "add":
        _say_when_waiting()
        pme.Keystore(path, password=pme.file("nowhere")).add("second")
    else:
        sys.stdout.write(json.dumps(killed(verb.removeprefix("kill-"), Path(path))))


if __name__ == "__main__":
    main(*sys.argv[1:])
