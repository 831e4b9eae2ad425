"""`pme-parquet seal`: a new version of a table."""

from __future__ import annotations

import sys
from dataclasses import asdict

from pme_parquet._cli.commands import Answer, Call, command
from pme_parquet._cli.options import merged
from pme_parquet._cli.output import printable_lines
from pme_parquet._display.words import number, printable
from pme_parquet._operations import sealing


@command(sealing.seal)
def seal(call: Call) -> Answer:
    """Seal a table: record its files, so that reads notice added, removed and replaced files.

    `pme-parquet seal people --signing-key signer --min-max day --bloom id --expect unsealed --options-file kms.json`

    At a terminal, the command shows the files that have changed, and asks, if there is no `--expect`.

    Exit 1 if a file or the version before is damaged or not authentic, or nobody confirms the files that changed, 3 if
    a key is missing or refused, 4 if another process sealed the table at the same time.
    """
    path, expect, verify_key = call["path"], call["expect"], call["verify_key"]
    with call.session(merged(call.options, {} if verify_key is None else {"verifyKey": str(verify_key)})) as running:
        if expect is None and sys.stdin.isatty() and sys.stderr.isatty():
            own = {name: call[name] for name in ("signing", "verify_key", "location")}
            expect = _asked(path, sealing.changes_to_seal(running, path, options=call.options, **own))
        sealed = call.on(running, expect=expect)
    return Answer(printable_lines(f"{path}: {sealed}"), {"path": path} | asdict(sealed))


def _asked(path: str, changes: list[str]) -> str | None:
    """What confirms these changes, if whoever sits at the terminal says yes."""
    if not changes:
        return None
    confirming, *files = changes
    lines = [f"{path}: a seal vouches for all files. Since the version before, if there is one:", *files]
    sys.stderr.write("\n".join(map(printable, lines)) + f"\nSeal {number(len(files), 'change')}? [y/N] ")
    sys.stderr.flush()
    return confirming if sys.stdin.readline().strip().lower() in {"y", "yes"} else None
