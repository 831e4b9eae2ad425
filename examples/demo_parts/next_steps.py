"""What to try after the demo: commands that can be pasted into a shell unchanged."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from demo_parts.screen import say

if TYPE_CHECKING:
    import pme_parquet as pme
    from demo_parts.access import People

ROOT = Path(__file__).resolve().parents[2]
SHOW_ORDERS = """
from pyspark.sql import SparkSession
import pme_parquet as pme

spark = pme.configure(SparkSession.builder).getOrCreate()
keys = pme.Keystore({path!r}, password=pme.file({password!r}))
spark.read.format("pme-parquet").options(**keys.options()).load({orders!r}).show()
"""


class Next(NamedTuple):
    """A command and its purpose."""

    what: str
    command: str


def next_steps(out: Path, people: People) -> list[Next]:
    """Return the commands, each on separate lines."""
    tool = str(Path(sys.executable).with_name("pme-parquet"))
    orders, lineitem = (str(out / "encrypted" / name) for name in ("orders", "lineitem"))
    owner = people.owner.options()
    path, password = owner["kms.keystore.path"], owner["kms.keystore.password"].removeprefix("file:")
    show = SHOW_ORDERS.format(path=path, password=password, orders=orders)
    return [
        Next("Which keys protect a table: this needs no key", shlex.join([tool, "inspect", lineitem])),
        Next("What each key protects", shlex.join([tool, "key-usage", orders, *_options(people.owner)])),
        Next(
            "The same for someone without the key 'pii'",
            shlex.join([tool, "verify", orders, *_options(people.analyst)]),
        ),
        Next("Read a table in Python", shlex.join([sys.executable, "-c", show])),
        Next("The README's example, in a separate directory", _quickstart(out / "quickstart", tool)),
    ]


def _options(keys: pme.Keystore) -> list[str]:
    return [part for name, value in keys.options().items() for part in ("-o", f"{name}={value}")]


def _quickstart(directory: Path, tool: str) -> str:
    create = shlex.join([tool, "keys", "create", "keys.p12", "footer", "pii"])
    script = shlex.join([sys.executable, str(ROOT / "examples" / "quickstart.py")])
    where = shlex.quote(str(directory))
    variable = 'export PME_KEYSTORE_PASSWORD="${PME_KEYSTORE_PASSWORD:-a password for the demo}"'
    # A subshell leaves the reader's directory and environment unchanged.
    return f"(rm -rf {where} && mkdir -p {where} && cd {where} && {variable} &&\n {create} && {script})"


def farewell(out: Path, people: People) -> None:
    """Print where everything is, and what to try next."""
    say("\nEverything is in", indent=0)
    for name, what in (
        ("encrypted", "the encrypted tables"),
        ("plaintext", "the same tables as Spark's own parquet"),
        ("keys", "owner.p12, analyst.p12, and their password (for the demo only: keep yours elsewhere)"),
        ("spark.log", "the messages of Spark's JVM"),
    ):
        say(f"{out / name}  {what}", indent=2)
    say("\nTry next: paste any of these into a shell.\n", indent=0)
    for what, command in next_steps(out, people):
        say(f"# {what}\n{command}\n", indent=0)
    say(f"Every option: {ROOT / 'docs' / 'options.md'}", indent=0)
    say(f"What this protects, and what it does not: {ROOT / 'docs' / 'threat-model.md'}", indent=0)
