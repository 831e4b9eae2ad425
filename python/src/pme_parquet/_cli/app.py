"""All commands."""

from __future__ import annotations

from typing import Annotated

import typer

from pme_parquet._cli import advising, copying, keystores, looking, rotating, verifying
from pme_parquet._cli.shared import Json

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help="Look at encrypted Parquet tables, check, convert and explain them, and make keys.",
    epilog="Exit codes: 0 fine, 1 a finding, 2 wrong use, 3 the KMS said no, 4 storage or Spark failed, 130 Ctrl-C.",
)
app.add_typer(keystores.app, name="keys")


@app.command()
def inspect(
    path: Annotated[str, typer.Argument(help="A file or a table's directory; a path or a URL.")],
    as_json: Json = False,
) -> None:
    """Tell which keys protect what, without a key: `pme-parquet inspect s3://bucket/people`.

    Exit 1 if something is wrong: plaintext among encrypted files, a damaged file, key material that is missing.
    """
    looking.look(path, as_json=as_json)


for module in (verifying, copying, rotating, advising):
    module.add_to(app)
