"""Runs the command in this process: with the session that tests share, or with a stub of Spark and the operations."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, fields
from functools import cache, partial
from inspect import signature
from typing import TYPE_CHECKING, Any

import typer
from pyspark.sql import Row

from pme_parquet._cli import sessions, verifying
from pme_parquet._cli.app import GROUPS, app
from pme_parquet._report.make import make
from pme_parquet.cli import main
from tests.support import shapes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import pytest

    import pme_parquet as pme
    from pme_parquet._cli.sessions import SparkChoice
    from pme_parquet._operations.verify import Opened


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The output of --json: one line."""
        [line] = self.out.splitlines()
        return json.loads(line)


def run(*arguments: str | Path) -> Done:
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as ended:
            code = int(ended.code or 0)
    done = Done(code, out.getvalue(), err.getvalue())
    if "--json" in arguments and done.out.startswith("{"):
        command = arguments[: 2 if arguments[0] == "keys" else 1]
        shapes.require(" ".join(map(str, command)), done.document)
    return done


def keystore(keys: pme.Keystore) -> list[str]:
    """Return the options that name a keystore."""
    return ["--kms", "keystore", "-o", f"kms.keystore.path={keys.path}", "-o", f"kms.keystore.password={keys.password}"]


def _named(group: Any, *above: str) -> Iterator[tuple[str, ...]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _named(command, *above, name)
        else:
            yield (*above, name)


# A process of a user builds all commands for the one that it runs; this one runs hundreds.
typer.main.get_command = cache(typer.main.get_command)

# The names of all commands, as typed.
COMMANDS = sorted(_named(typer.main.get_command(app)))


@dataclass(frozen=True)
class Asked:
    """A call of the function that a command is made of.

    Attributes:
        command: the name of the command.
        arguments: by the names of the function's parameters, without the session.
    """

    command: str
    arguments: dict[str, Any]


@dataclass
class Stub:
    """Stands in for Spark and for the operations of the connector: it records, and gives the results of a test.

    Attributes:
        results: what the function of each command returns, or raises if it is an exception.
        asked: the calls of these functions.
        started: the settings that a session was started with.
        own: the settings that it got after that.
        stopped: whether it was stopped.
    """

    results: dict[str, Any] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    started: dict[str, str] = field(default_factory=dict)
    own: dict[str, str] = field(default_factory=dict)
    stopped: bool = False

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of the only call."""
        [asked] = self.asked
        return asked.arguments

    @property
    def conf(self) -> Stub:
        return self

    def set(self, name: str, value: str) -> None:
        self.own[name] = value

    def stop(self) -> None:
        self.stopped = True

    def start(self, settings: dict[str, str], _: SparkChoice) -> Stub:
        self.started = settings
        return self

    def called(self, command: str, function: Callable[..., Any], *positional: object, **named: object) -> Any:
        # Arguments that the function does not take are an error here, too.
        arguments = signature(function).bind(*positional, **named).arguments
        session = arguments.pop("spark", None)
        assert session is (self if self.started else None)
        self.asked.append(Asked(command, arguments))
        result = self.results[command]
        if isinstance(result, BaseException):
            raise result
        return result


def stubbed(patch: pytest.MonkeyPatch) -> Stub:
    """Replace Spark, and what each command that may use it calls."""
    made = Stub()
    patch.setattr(sessions, "_active", lambda: None)
    patch.setattr(sessions, "_start", made.start)
    for command in [one for commands in GROUPS.values() for one in commands if one.spark]:
        patch.setattr(command, "function", partial(made.called, command.name, command.function))
    # The function of this command returns less than the command needs.
    patch.setattr(verifying, "make", partial(made.called, "report", make))
    return made


@dataclass(frozen=True)
class Finding:
    """A row of `pme.verify`; a test of a real session compares its columns."""

    condition: str
    message: str
    file: str = "people/part-0.parquet"
    row_group: int | None = None
    column: str | None = None
    page: int | None = None
    module: str | None = None


@dataclass(frozen=True)
class Frame:
    """What commands use of a DataFrame: `rows` are dataclasses, and `opened` is as `pme.verify` sets it."""

    rows: tuple[Any, ...] = ()
    opened: Opened | None = None

    def collect(self) -> list[Row]:
        return [Row(**{one.name: _listed(getattr(row, one.name)) for one in fields(row)}) for row in self.rows]


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
