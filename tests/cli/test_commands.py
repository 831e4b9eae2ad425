"""The commands and their help: options are declared once, by the functions that commands call."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from pme_parquet._cli import rotating, verifying
from pme_parquet._cli.app import GROUPS
from pme_parquet._cli.commands import Answer, Call, command
from pme_parquet._cli.options import help_of
from tests.support.commands import COMMANDS, run

if TYPE_CHECKING:
    from pathlib import Path

    from pme_parquet._arguments import PathLike
    from pme_parquet._cli.commands import Command

ALL = [one for commands in GROUPS.values() for one in commands]


def copied(path: PathLike, *, level: int = 3, columns: str | None = None) -> None:
    """Copies.

    Args:
        path: the table, as `pme.inspect` takes it.
        level: whether to press, as with `columns="a"` and `level`. The text
            goes on.

    Raises:
        ValueError: columns: never.
    """


def answer(call: Call) -> Answer:
    """Copies."""
    raise NotImplementedError(call)


@pytest.mark.parametrize("made", ALL, ids=lambda made: made.name)
def test_a_parameter_is_an_option_with_the_functions_default(made: Command) -> None:
    for derived in made.derived:
        assert derived.parameter is made.taken[derived.parameter.name]
        unset = derived.value(None)
        assert unset is derived.parameter.default


def test_help_is_the_docstring_in_the_words_of_the_command() -> None:
    assert help_of(copied, "path") == "The table, as `pme-parquet inspect` takes it."
    options = {"columns": "--column", "level": "--level"}
    assert help_of(copied, "level", options) == 'Press, as with `--column="a"` and `--level`. The text goes on.'
    assert help_of(pme.Encryption, "footer_key").startswith("Master key of the footer")


def test_a_parameter_without_a_text_cannot_be_an_option() -> None:
    with pytest.raises(KeyError, match="columns"):
        command(copied)(answer)


def test_a_type_that_the_command_line_does_not_know_cannot_be_an_option() -> None:
    def other(path: set[Path]) -> None:
        """Args: none."""

    with pytest.raises(KeyError, match="set"):
        command(other)(answer)


def test_names_of_several_values_are_in_the_singular() -> None:
    [master_key] = [one.option for one in rotating.rotate.derived if one.parameter.name == "master_keys"]
    assert master_key == "--master-key"
    assert [one.option for one in verifying.plan.derived] == ["PATH", "--partition-by"]


WITHOUT = {"hudi-check", "iceberg-check", "inspect", "keys", "snapshots"}
SPARK = [names[0] for names in COMMANDS if names[0] not in WITHOUT]


def plain(text: str) -> str:
    return " ".join(re.sub(r"\x1b\[[0-9;]*m", "", text).split())


def test_help_lists_all_commands() -> None:
    names = {
        *("compact", "decrypt", "delta-check", "delta-encrypt", "delta-rotate", "doctor", "encrypt", "erase"),
        *("hudi-check", "iceberg-check", "inspect", "key-usage", "keys", "migrate-orc", "plan", "recover"),
        *("rekey", "report", "rotate", "seal", "snapshots", "verify"),
    }
    assert {names[0] for names in COMMANDS} == names


@pytest.mark.parametrize("names", [(), ("keys",), *COMMANDS], ids=" ".join)
def test_help_of_every_command_has_an_example_and_a_short_name(names: tuple[str, ...]) -> None:
    done = run(*names, "--help")
    assert (done.code, done.err) == (0, "")
    assert run(*names, "-h") == done
    if names in COMMANDS:
        assert f"pme-parquet {' '.join(names)} " in plain(done.out)
        assert "--json" in done.out


@pytest.mark.parametrize("name", SPARK)
def test_commands_that_need_keys_and_spark_have_the_same_options_for_them(name: str) -> None:
    shown = plain(run(name, "--help").out)
    for option in ("--keystore", "--kms", "--option", "--options-file"):
        assert option in shown
    assert "explains the options for Spark: --master, --conf, --packages, --verbose, --quiet." in shown
    assert "Spark master URL" not in shown


def test_the_options_for_spark_are_explained_once() -> None:
    shown = plain(run("--help").out)
    assert "--master: Spark master URL." in shown
    assert "--conf NAME=VALUE: A Spark setting" in shown
    assert "--quiet, -q: Hide progress." in shown


def test_help_lists_the_commands_in_groups() -> None:
    shown = run("--help").out
    places = [shown.index(f"─ {title} ─") for title in GROUPS]
    assert places == sorted(places)
    listed = [command.name for commands in GROUPS.values() for command in commands]
    assert sorted([*listed, "keys"]) == sorted({names[0] for names in COMMANDS})


def test_an_unknown_option_suggests_the_nearest_one() -> None:
    done = run("verify", "people", "--opton", "b=c")
    assert done.code == 2
    assert "--option" in plain(done.err)
    done = run("encrypt", "people", "target", "--footr-key", "a")
    assert done.code == 2
    assert "--footer-key" in plain(done.err)


def test_completion_is_printed_for_a_shell() -> None:
    done = run("--show-completion", "bash")
    assert done.code == 0
    assert "pme-parquet" in done.out
