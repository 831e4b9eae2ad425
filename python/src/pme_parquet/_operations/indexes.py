"""The indexes that `pme.seal` makes: what to keep of each file, so that queries can skip files."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pme_parquet._arguments import kind, options_of
from pme_parquet._audience import Words
from pme_parquet.errors import BadOptionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeAlias

    AnyIndex: TypeAlias = "MinMax | ValueList | Bloom | IndexClass"

KINDS = ("minMax", "valueList", "bloom", "class")
_MOST_VALUES = 1000
_MOST_FALSE = 0.5
_MOST_DISTINCT = 2**63 - 1
_CLASS_NAME = re.compile(r"[^\W\d][\w$]*(\.[^\W\d][\w$]*)*")


class _Declared:
    """An index of some columns, with the settings of its kind."""

    columns: tuple[str, ...]

    def _request(self) -> tuple[str, dict[str, str]]:
        """The kind of the index, and its parameters."""
        raise NotImplementedError

    def requests(self) -> list[str]:
        """One index for each column, as JSON for the connector."""
        name, parameters = self._request()
        return [
            json.dumps({"kind": name, "column": column, "parameters": parameters}, ensure_ascii=False)
            for column in self.columns
        ]


@dataclass(frozen=True, init=False)
class MinMax(_Declared):
    """An index of the smallest and largest value of columns in each file: `pme.MinMax("id", "day")`.

    For columns by which the rows are sorted or that grow with time. The values come from the footers of the files.

    Attributes:
        columns: names of leaf columns, as in `column_keys`.
    """

    columns: tuple[str, ...]

    def __init__(self, *columns: str) -> None:
        object.__setattr__(self, "columns", _names(columns, Words("pme.MinMax")))

    def _request(self) -> tuple[str, dict[str, str]]:
        return "minMax", {}


@dataclass(frozen=True, init=False)
class ValueList(_Declared):
    """An index of all distinct values of columns in each file: `pme.ValueList("country", max=64)`.

    For columns with few different values in each file. A seal reads these columns of every file that is new.

    Attributes:
        columns: names of leaf columns, as in `column_keys`.
        max: a file with more distinct values gets no list, and is never skipped by it; from 1 to 1000.
    """

    columns: tuple[str, ...]
    max: int

    def __init__(self, *columns: str, max: int = 64) -> None:  # noqa: A002 the parameter's name in manifests
        object.__setattr__(self, "columns", _names(columns, Words("pme.ValueList")))
        object.__setattr__(self, "max", _whole(max, Words("pme.ValueList: max", "--value-list-max"), _MOST_VALUES))

    def _request(self) -> tuple[str, dict[str, str]]:
        return "valueList", {"max": str(self.max)}


@dataclass(frozen=True, init=False)
class Bloom(_Declared):
    """A Bloom filter of the values of columns in each file: `pme.Bloom("id", fpp=0.01)`.

    For queries with `=` or `IN` on columns with many different values in no order, such as ids. The filters come from
    the files if they have some; if not, a seal reads these columns of every file that is new.

    Attributes:
        columns: names of leaf columns, as in `column_keys`.
        fpp: the share of files without a value that are still opened for it; above 0, at most 0.5. A smaller one makes
            larger filters.
        ndv: the number of distinct values in a file; by default they are counted in each file.
    """

    columns: tuple[str, ...]
    fpp: float
    ndv: int | None

    def __init__(self, *columns: str, fpp: float = 0.01, ndv: int | None = None) -> None:
        object.__setattr__(self, "columns", _names(columns, Words("pme.Bloom")))
        object.__setattr__(self, "fpp", _fraction(fpp))
        object.__setattr__(self, "ndv", None if ndv is None else _whole(ndv, "pme.Bloom: ndv", _MOST_DISTINCT))

    def _request(self) -> tuple[str, dict[str, str]]:
        return "bloom", {"fpp": repr(self.fpp)} | ({} if self.ndv is None else {"ndv": str(self.ndv)})


@dataclass(frozen=True, init=False)
class IndexClass(_Declared):
    """An index that a class of your own makes: `pme.IndexClass("com.example.Prefix", "code", settings={"length": 3})`.

    The class implements `io.pmeparquet.parquet.summary.SummaryClass` and is on the class path of driver and executors.
    A read loads it only if its options or its session name it: `indexClasses`.

    Attributes:
        class_name: the full name of the class.
        columns: names of leaf columns, as in `column_keys`.
        settings: what the class is configured with. Manifests show it to anyone.
    """

    class_name: str
    columns: tuple[str, ...]
    settings: Mapping[str, str] = field(hash=False)

    def __init__(self, class_name: str, *columns: str, settings: Mapping[str, Any] | None = None) -> None:
        where = "pme.IndexClass"
        given: object = class_name
        if not isinstance(given, str) or not _CLASS_NAME.fullmatch(given):
            shown = f"'{given}'" if isinstance(given, str) else kind(given)
            raise BadOptionError(
                f"{where}: a class cannot be {shown}. Give its full name, for example com.example.Prefix, and then "
                "the names of columns."
            )
        texts = options_of(settings, f"{where}(settings)")
        if "class" in texts:
            raise BadOptionError(f"{where}: a setting cannot have the name 'class'. Give it another name.")
        object.__setattr__(self, "class_name", class_name)
        object.__setattr__(self, "columns", _names(columns, where))
        object.__setattr__(self, "settings", texts)

    def _request(self) -> tuple[str, dict[str, str]]:
        return "class", {"class": self.class_name, **self.settings}


def requests_of(index: Sequence[AnyIndex] | None, where: str) -> list[str] | None:
    """The indexes as texts for the connector, each once; None keeps those of the version before.

    Raises:
        BadOptionError: it is not a list of indexes.
    """
    if index is None:
        return None
    if not isinstance(index, (list, tuple)) or not all(isinstance(one, _Declared) for one in index):
        message = f'{where}: index cannot be {kind(index)}. Give a list of indexes, for example [pme.MinMax("id")].'
        raise BadOptionError(message)
    return list(dict.fromkeys(request for one in index for request in one.requests()))


def classes_of(index: Sequence[AnyIndex] | None) -> str | None:
    """The classes that indexes name, as the option that allows them; None if there is none."""
    names = dict.fromkeys(one.class_name for one in index or () if isinstance(one, IndexClass))
    return ",".join(names) or None


def _names(columns: tuple[object, ...], where: str) -> tuple[object, ...]:
    if not columns or not all(isinstance(name, str) and name for name in columns):
        message = f"{where}: an index names no column. Give the names of one or more columns."
        raise BadOptionError(message)
    return columns


def _whole(value: object, what: str, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        shown = str(value) if isinstance(value, (int, float)) else kind(value)
        raise BadOptionError(f"{what} cannot be {shown}. Give a whole number from 1 to {most}.")
    return value


def _fraction(value: object) -> float:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not 0 < float(value) <= _MOST_FALSE:  # type: ignore[arg-type] # it is a number
        shown = str(value) if is_number else kind(value)
        name = Words("pme.Bloom: fpp", "--bloom-fpp")
        raise BadOptionError(f"{name} cannot be {shown}. Give a number above 0 and at most {_MOST_FALSE}.")
    return float(value)  # type: ignore[arg-type] # as above
