"""All commands."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.rich_utils import rich_format_error

from pme_parquet._cli import copying, delta, keystores, looking, output, rotating, sealing, verifying
from pme_parquet._cli.groups import HELP, Json, arrange, of_spark
from pme_parquet._cli.options import StorageOptions, storage_options
from pme_parquet._cli.output import INTERRUPTED, WRONG_USE, CommandFailedError
from pme_parquet._version import __version__

app = typer.Typer(
    no_args_is_help=True,
    context_settings=HELP,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help="Inspect, verify, convert and explain encrypted Parquet tables, and create keys.",
    epilog=(
        f"{of_spark()}\n\n"
        "Options that you want everywhere, such as `kms.keystore.path=keys.p12`, can be in "
        "`~/.config/pme-parquet/config`, or in the file that `PME_PARQUET_CONFIG` names.\n\n"
        "Exit codes: 0 success, 1 findings or failed files, 2 wrong usage, 3 key or KMS missing, refused or "
        "unreachable, 4 other failure, 130 Ctrl-C."
    ),
)
app.add_typer(keystores.app, name="keys")


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


@app.command()
def inspect(
    path: Annotated[str, typer.Argument(help="Path or URL of a table's directory or of a file.")],
    storage_option: StorageOptions = None,
    as_json: Json = False,
) -> None:
    """Show which keys protect what, without any key: `pme-parquet inspect s3://bucket/people`.

    It also shows what the snapshots of a table state. No seal is checked; `pme-parquet verify` checks it.

    Exit 1 if something is wrong: plaintext among encrypted files, a damaged file, missing key material, or files that
    differ from the newest snapshot.
    """
    looking.look(path, storage_options(storage_option), as_json=as_json)


@app.command()
def hudi_check(
    path: Annotated[str, typer.Argument(help="Path or URL of a Hudi table's directory.")],
    column: Annotated[
        list[str] | None,
        typer.Option(help="A protected column; repeatable. Default: those that readable footers show, or all."),
    ] = None,
    storage_option: StorageOptions = None,
    as_json: Json = False,
) -> None:
    """Show what anyone can read of a Hudi table's protected columns: `pme-parquet hudi-check s3://bucket/people`.

    It searches data files, log files, the timeline, and the metadata table's statistics and indexes. No value is
    printed.

    Exit 1 if something is readable, or could not be looked at.
    """
    looking.look_at_hudi(path, column, storage_options(storage_option), as_json=as_json)


@app.command()
def iceberg_check(
    path: Annotated[str, typer.Argument(help="Path or URL of an Iceberg table's directory.")],
    storage_option: StorageOptions = None,
    as_json: Json = False,
) -> None:
    """Show what anyone can read of an Iceberg table: `pme-parquet iceberg-check s3://bucket/warehouse/db/people`.

    It finds tables whose catalog ignores `encryption.key-id`, and single files in plaintext. No value is printed. It
    needs the package fastavro: `pip install fastavro`.

    Exit 1 if something is readable, or could not be looked at.
    """
    looking.look_at_iceberg(path, storage_options(storage_option), as_json=as_json)


for module in (delta, verifying, copying, rotating, sealing):
    module.add_to(app)
arrange(app)


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
