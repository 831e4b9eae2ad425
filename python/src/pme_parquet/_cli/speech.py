"""Translates messages of the connector and the Python package into the words of the command."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from pme_parquet._display.showable import Showable

if TYPE_CHECKING:
    from pme_parquet._display.content import Row, Shown

# Not inside a name or quotes: names that a user chose must not change.
_ALONE = r"(?<![\w/.'\"`-])"
_VERBS = "inspect|doctor|verify|encrypt|decrypt|rotate|rekey|report|key_usage|plan|seal|snapshots"
_OPTIONS = {
    "footerKey": "--footer-key",
    "columnKeys": "--column-key",
    "uniformKey": "--uniform-key",
    "kms": "--kms",
    "master_keys": "--master-key",
    "new_kms": "--new-option",
    "key_material": "--key-material",
    "column_keys": "--column-key",
    "allow_unused": "--allow-unused",
    "index_keys": "--index-key",
    "indexKeys": "--index-key",
}
# Where a session that the command starts gets Delta from.
_DELTA = (
    "io.delta:delta-spark_2.12:3.3.2 for Spark 3.5; io.delta:delta-spark_4.0_2.13:4.4.0 for Spark 4.0, and so on to 4.2"
)
# Advice for Python that is replaced as a whole, before single words of it are.
_ADVICE = {
    "pme.doctor(spark, kms=…)": "--kms NAME",
    "give a pme.Encryption in place of the KMS, or options={'footerKey': …}": "--footer-key KEY",
    (
        "A running session cannot load it. Restart Python (in a notebook, the kernel) and build the first session "
        "with pme.configure(SparkSession.builder); spark.stop() is not enough. If a platform creates the session for "
        "you, install"
    ): "Check spark.jars, --conf and spark-defaults.conf, and add",
    (
        "restart Python (in a notebook, the kernel) and build the first session with "
        "pme.configure(SparkSession.builder), which adds the right one."
    ): "and run the command again, which adds the right one.",
    "Use the connector of the wheel (pme.configure)": "Use the connector of the wheel",
    "In Python, pme.delta.encrypt_table and pme.delta.rotate do this": (
        "pme-parquet delta-encrypt and pme-parquet delta-rotate do this"
    ),
    "Add delta-spark, and the extensions of docs/delta.md.": (
        f"Add it with --packages: {_DELTA}. The extensions are set already."
    ),
    "; the session has no Delta": f"; the session has no Delta: add it with --packages ({_DELTA})",
    "check with spark= opens it": "--spark opens it",
    "; .check has the result": "; --json has the result",
    'unlisted_columns="plaintext"': "-o unlistedColumns=plaintext",
    "pme.delta.check": "pme-parquet delta-check",
    "pme.delta.encrypt_table": "pme-parquet delta-encrypt",
    "pme.delta.rotate": "pme-parquet delta-rotate",
    "pme.hudi.check": "pme-parquet hudi-check",
    "pme.iceberg.check": "pme-parquet iceberg-check",
    "Name them in columns": "Name them with --column",
    "write_plaintext=True": "--write-plaintext",
    (
        "Set kms.keystore.path=keys.p12 and kms.keystore.password=env:PME_KEYSTORE_PASSWORD, or name another KMS with "
        'kms. In Python: kms=pme.Keystore("keys.p12", password=pme.env("PME_KEYSTORE_PASSWORD")).'
    ): "Give --keystore keys.p12 and set PME_KEYSTORE_PASSWORD, or name another KMS with --kms.",
    "in_place=True": "--in-place",
    "pme.Bloom: fpp": "--bloom-fpp",
    "pme.ValueList: max": "--value-list-max",
}
_WHOLE = re.compile("|".join(map(re.escape, _ADVICE)))
_VERB = re.compile(rf"{_ALONE}pme\.({_VERBS})\b(\(\))?")
_NAMED = re.compile(rf"{_ALONE}options? ({'|'.join(_OPTIONS)})(?!\w|\.\w)")
_ARGUMENT = re.compile(rf"{_ALONE}({'|'.join(name for name in _OPTIONS if '_' in name)})(?!\w|\.\w)")
_PLACE = re.compile(rf"{_ALONE}pme\.(?:jar_path|Keystore|MinMax|ValueList|Bloom)(?=[:(])")


def spoken(text: str) -> str:
    """A message in words that a user of the command line can act on."""
    text = _WHOLE.sub(lambda found: _ADVICE[found[0]], text)
    text = _VERB.sub(lambda found: f"pme-parquet {found[1].replace('_', '-')}", text)
    text = _NAMED.sub(lambda found: _OPTIONS[found[1]], text)
    text = _ARGUMENT.sub(lambda found: _OPTIONS[found[1]], text)
    return _PLACE.sub("pme-parquet", text)


class Spoken(Showable):
    """A result with its sentences in the words of the command."""

    def __init__(self, result: Showable) -> None:
        self._result = result

    @property
    def _shown(self) -> Shown:
        shown = self._result._shown  # noqa: SLF001 every form is made from it
        tables = tuple(replace(table, rows=tuple(map(_row, table.rows))) for table in shown.tables)
        return replace(shown, tables=tables, lines=tuple(replace(line, text=spoken(line.text)) for line in shown.lines))


def _row(row: Row) -> Row:
    return tuple(map(spoken, row))
