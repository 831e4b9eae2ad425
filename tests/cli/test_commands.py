"""Options are declared once: by the functions that commands call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from pme_parquet._cli import rotating, verifying
from pme_parquet._cli.app import GROUPS
from pme_parquet._cli.commands import Answer, Call, command
from pme_parquet._cli.options import help_of

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
