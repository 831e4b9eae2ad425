"""All commands."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer.rich_utils import rich_format_error

from pme_parquet._cli import copying, delta, keystores, looking, output, rotating, sealing, verifying
from pme_parquet._cli.output import INTERRUPTED, WRONG_USE, CommandFailedError
from pme_parquet._cli.sessions import SparkChoice
from pme_parquet._version import __version__

if TYPE_CHECKING:
    from pme_parquet._cli.commands import Command

_HELP = {"help_option_names": ["-h", "--help"]}
_KEYS = "Keys"
GROUPS: dict[str, tuple[Command, ...]] = {
    "Look at a table, without a key": (
        looking.inspect,
        looking.snapshots,
        delta.delta_check,
        looking.hudi_check,
        looking.iceberg_check,
    ),
    _KEYS: (rotating.key_usage, rotating.rotate, rotating.erase),
    "Encrypt and copy": (
        verifying.plan,
        copying.encrypt,
        copying.rekey,
        copying.decrypt,
        copying.migrate_orc,
        copying.recover,
        copying.compact,
        delta.delta_encrypt,
        delta.delta_rotate,
    ),
    "Check": (verifying.doctor, verifying.verify, sealing.seal, verifying.report),
}
_OF_SPARK = [field.name for field in fields(SparkChoice)]


def _line(name: str, option: Any) -> str:  # noqa: ANN401 typer does not name its type
    names = ", ".join(f"`{one}`" for one in dict.fromkeys((f"--{name}", *option.param_decls)))
    metavar = f" {option.metavar}" if option.metavar else ""
    return f"{names}{metavar}: {option.help}"


def _spark_options() -> str:
    """The options for Spark, as Markdown."""
    hints = get_type_hints(SparkChoice, include_extras=True)
    lines = [_line(name, hints[name].__metadata__[0]) for name in _OF_SPARK]
    return "\n\n".join(["Commands that start Spark also take:", *lines])


app = typer.Typer(
    no_args_is_help=True,
    context_settings=_HELP,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help="Inspect, verify, convert and explain encrypted Parquet tables, and create keys.",
    epilog=(
        f"{_spark_options()}\n\n"
        "Options that you want everywhere, such as `kms.keystore.path=keys.p12`, can be in "
        "`~/.config/pme-parquet/config`, or in the file that `PME_PARQUET_CONFIG` names.\n\n"
        "Exit codes: 0 success, 1 findings or failed files, 2 wrong usage, 3 key or KMS missing, refused or "
        "unreachable, 4 other failure, 130 Ctrl-C."
    ),
)


def _tell_version(asked: bool) -> None:  # noqa: FBT001 as typer calls it
    if asked:
        output.put(f"pme-parquet {__version__}")
        raise typer.Exit


@app.callback()
def of_all(
    version: Annotated[
        bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options that precede the name of a command."""


_explained = ", ".join(f"`--{option}`" for option in _OF_SPARK)
for title, commands in GROUPS.items():
    for command in commands:
        epilog = f"`pme-parquet --help` explains the options for Spark: {_explained}." if command.spark else None
        app.command(command.name, rich_help_panel=title, epilog=epilog)(command.callback)
_keys = typer.Typer(no_args_is_help=True, context_settings=_HELP, help="Create and list keys in a Java keystore.")
for command in (keystores.create, keystores.add, keystores.subset, keystores.list_):
    _keys.command(command.name)(command.callback)
app.add_typer(_keys, name="keys", rich_help_panel=_KEYS)


def run(arguments: list[str]) -> int:
    """Runs a command and returns its exit code.

    Raises:
        CommandFailedError: the usage is wrong; stderr says how.
    """
    try:
        code: int | None = app(arguments, prog_name="pme-parquet", standalone_mode=False)
    except typer.Abort:
        raise CommandFailedError("Interrupted. Run it again.", INTERRUPTED) from None
    except Exception as failed:
        # Click's base class. Newer releases of typer bundle their own click, so no import works for all releases.
        if not hasattr(failed, "format_message"):
            raise
        refused: Any = failed
        rich_format_error(refused)
        raise CommandFailedError(refused.format_message(), WRONG_USE, shown=True) from None
    return code or 0
