"""Options for one parameter of a function that the command line takes apart: a sample, indexes, or a keystore."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pme_parquet._cli.options import column_keys, help_of
from pme_parquet._kms.keystore import PASSWORD_VARIABLE, Keystore
from pme_parquet._kms.secrets import parse_reference
from pme_parquet._operations.indexes import Bloom, MinMax, ValueList
from pme_parquet._operations.verify import Sample
from pme_parquet.errors import BadOptionError

if TYPE_CHECKING:
    from pme_parquet._operations.indexes import AnyIndex

_INDEXES = "Indexes for skipping files (without any of these options, those of the version before are kept)"


def _of_index(text: str, metavar: str | None = "COL") -> Any:  # noqa: ANN401 typer does not name its type
    return typer.Option(metavar=metavar, help=text, rich_help_panel=_INDEXES)


@dataclass(frozen=True)
class Part:
    """Which part of a table to verify."""

    sample_files: Annotated[float, typer.Option(min=0, max=1, help=help_of(Sample, "files"))] = 1.0
    sample_pages: Annotated[float, typer.Option(min=0, max=1, help=help_of(Sample, "pages"))] = 1.0
    sample_seed: Annotated[int, typer.Option(help=help_of(Sample, "seed"))] = 0

    def arguments(self) -> dict[str, Any]:
        """The sample; None for the whole table."""
        is_all = self.sample_files == self.sample_pages == 1
        return {"sample": None if is_all else Sample(self.sample_files, self.sample_pages, self.sample_seed)}


@dataclass(frozen=True)
class IndexChoice:
    """The indexes of a new version."""

    min_max: Annotated[
        list[str], _of_index("Keep the smallest and largest value of a column for each file. Repeat it for several.")
    ] = field(default_factory=list)
    bloom: Annotated[
        list[str],
        _of_index(
            "Keep a Bloom filter of a column for each file: for queries with = on columns such as ids. Repeat it for "
            "several."
        ),
    ] = field(default_factory=list)
    bloom_fpp: Annotated[
        float | None, _of_index(f"{help_of(Bloom, 'fpp')} For all --bloom. [default: 0.01]", "SHARE")
    ] = None
    value_list: Annotated[
        list[str],
        _of_index(
            "Keep all distinct values of a column for each file: for columns with few of them, such as countries. "
            "Repeat it for several."
        ),
    ] = field(default_factory=list)
    value_list_max: Annotated[
        int | None, _of_index(f"{help_of(ValueList, 'max')} For all --value-list. [default: 64]", "N")
    ] = None
    index_key: Annotated[
        list[str],
        _of_index(
            "Master key for the indexes of some columns, for example stats=city,country. Whoever may use it can skip "
            "files without being able to read the columns. By default, an index has the key of its column.",
            "KEY=COLUMN,…",
        ),
    ] = field(default_factory=list)

    def arguments(self) -> dict[str, Any]:
        """The arguments of `seal` about indexes; None keeps those of the version before."""
        return {"index": self._indexes() or None, "index_keys": column_keys(self.index_key, "--index-key") or None}

    def _indexes(self) -> list[AnyIndex]:
        if self.bloom_fpp is not None and not self.bloom:
            raise BadOptionError("--bloom-fpp: there is no --bloom. Add --bloom COL, or remove this option.")
        if self.value_list_max is not None and not self.value_list:
            message = "--value-list-max: there is no --value-list. Add --value-list COL, or remove this option."
            raise BadOptionError(message)
        most: dict[str, Any] = {} if self.value_list_max is None else {"max": self.value_list_max}
        fpp: dict[str, Any] = {} if self.bloom_fpp is None else {"fpp": self.bloom_fpp}
        found: list[AnyIndex] = [MinMax(*self.min_max)] if self.min_max else []
        found += [ValueList(*self.value_list, **most)] if self.value_list else []
        return found + ([Bloom(*self.bloom, **fpp)] if self.bloom else [])


@dataclass(frozen=True)
class Opening:
    """How a keystore's file is opened."""

    password: Annotated[str, typer.Option(help="Reference to its password: env:NAME or file:PATH.")] = (
        f"env:{PASSWORD_VARIABLE}"
    )
    kind: Annotated[str, typer.Option("--type", help="Type of the keystore.")] = "PKCS12"
    provider_path: Annotated[Path | None, typer.Option(help=help_of(Keystore, "provider_path"))] = None

    def keystore(self, path: Path) -> Keystore:
        """The keystore in a file, which need not exist yet."""
        return Keystore(path, parse_reference(self.password, "--password"), self.kind, self.provider_path)
