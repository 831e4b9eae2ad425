"""What a write encrypts and with which keys, as the options of `format("pme-parquet")`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pme_parquet._arguments import kind, kms_options, names_of, path_of
from pme_parquet._display.brief import Brief
from pme_parquet._plan import Plan, planned
from pme_parquet._spark.errors import install_errors
from pme_parquet.errors import BadOptionError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pme_parquet._arguments import KmsLike, PathLike

ColumnKeys = Mapping[str, str | Sequence[str]]
KeyBits = Literal[128, 192, 256]


@dataclass(frozen=True, repr=False)
class Encryption(Brief):
    """The keys and modes of a write. Only attributes that are set become options; the format has defaults for others.

    There is one exception: with one key for everything, the options always state that keys are wrapped, so that a read
    with them never uses the master key itself as a data key. What an option costs or leaves open is said here and in
    `docs/options.md` in the same words. All of them are stable.

    Example:
        enc = pme.Encryption(kms=keys, footer_key="footer", column_keys={"pii": ["ssn", "address"]})
        df.write.format("pme-parquet").options(**enc.options()).save(path)

    Attributes:
        kms: `Keystore`, `Static`, `Vault`, `KmsClass`, `PythonKms`; the name of one that the session configures; or a
            dict of options.
        footer_key: master key of the footer, and of columns without a key of their own. Whoever has it reads schema and
            row counts, and all columns without a key of their own. Its name is readable in each file. This and keys of
            columns may be templates over columns, such as `t-{tenant}` or `t-{tenant:bucket(64)}`.
        column_keys: master key to columns, or the text form `key: col, col.*; key2: col`. Each master key costs calls
            of the KMS (`double_wrapping`). With `plaintext_footer` or external key material, the names of keys are
            readable.
        uniform_key: one master key for everything, instead of `footer_key` and `column_keys`. Whoever has it reads
            everything. Its name is readable in each file.
        unlisted_columns: what happens to columns that `column_keys` does not name. `plaintext` leaves the values of
            these columns readable.
        algorithm: `AES_GCM_V1` authenticates pages. With `AES_GCM_CTR_V1`, changed pages are not noticed.
        plaintext_footer: whether the footer is signed and readable without keys, not encrypted. Schema, row counts and
            names of keys are readable by everybody.
        data_key_bits: length of data keys. Longer ones take more time: AES has 10, 12 or 14 rounds.
        kek_bits: length of key-encryption keys.
        double_wrapping: whether a key-encryption key wraps data keys, and the master key wraps it. `true`: one call of
            the KMS for each master key, and key-encryption keys stay in memory for
            `parquet.encryption.cache.lifetime.seconds`. `false`: one call for each data key.
        key_material: whether wrapped keys are stored in the file, or in a separate file in the same directory.
            `external`: names of keys are readable, and each file has a second one that must not be lost.
        key_management: `direct` uses the named key as the data key (`Keystore` and `Static` only); reads must set it,
            too. `direct`: one key encrypts many files. Who had it once reads them forever; a new key needs new files.
        aad_prefix: binds files to a name: text, or a template of `{table}`, `{path}`, `{partition}`,
            `{file}`. Where a read names a
            prefix, a file with another one is refused, also if it was moved on purpose.
        store_aad_prefix: whether the file contains the prefix; if not, readers must set it. `true`: the prefix is
            readable in each file. `false`: without the prefix, files cannot be read.
        policy: path or address of a policy, which names the keys of columns for all writers
            (docs/policy-and-audit.md). The other attributes may be stricter than it, and never weaker. Files without
            the keys of the policy are not read, if its readers are bound.
    """

    kms: KmsLike | None = None
    footer_key: str | None = None
    column_keys: ColumnKeys | str | None = None
    uniform_key: str | None = None
    unlisted_columns: Literal["footerKey", "plaintext", "error"] | None = None
    algorithm: Literal["AES_GCM_V1", "AES_GCM_CTR_V1"] | None = None
    plaintext_footer: bool | None = None
    data_key_bits: KeyBits | None = None
    kek_bits: KeyBits | None = None
    double_wrapping: bool | None = None
    key_material: Literal["internal", "external"] | None = None
    key_management: Literal["envelope", "direct"] | None = None
    aad_prefix: str | None = None
    store_aad_prefix: bool | None = None
    policy: PathLike | None = None

    def options(self) -> dict[str, str]:
        """The options of the format, for writing, and for reading what was written with them."""
        install_errors()
        given = {
            "footerKey": _key(self.footer_key, "footer_key"),
            "columnKeys": None if self.column_keys is None else column_keys_text(self.column_keys),
            "uniformKey": _key(self.uniform_key, "uniform_key"),
            "unlistedColumns": self.unlisted_columns,
            "algorithm": self.algorithm,
            "plaintextFooter": self.plaintext_footer,
            "dataKeyBits": self.data_key_bits,
            "kekBits": self.kek_bits,
            "doubleWrapping": self.double_wrapping,
            "keyMaterial": self.key_material,
            "keyManagement": self.key_management or self._envelope(),
            "aadPrefix": self.aad_prefix,
            "storeAadPrefix": self.store_aad_prefix,
            "policy": None if self.policy is None else path_of(self.policy, "pme.Encryption(policy)"),
        }
        return self._kms_options() | {k: _text(v) for k, v in given.items() if v is not None}

    def explain(self, df: DataFrame, *, partition_by: str | Sequence[str] = ()) -> Plan:
        """Shows which leaf column of `df` would get which key, and writes nothing: `pme.plan`."""
        return planned(df, self.options(), names_of(partition_by))

    def _envelope(self) -> Literal["envelope"] | None:
        """`envelope`, stated explicitly where a read with these options would otherwise use the one key as a data key.

        A reader takes a footer key alone as the key of files that carry no key metadata.
        """
        one_key = self.column_keys is None and (self.footer_key or self.uniform_key)
        return "envelope" if one_key else None

    def _kms_options(self) -> dict[str, str]:
        return kms_options(self.kms, "pme.Encryption")


def encryption_of(enc: object, where: str) -> Encryption:
    """The encryption, if the caller passed one as the KMS."""
    if not isinstance(enc, Encryption):
        message = (
            f"{where}: enc cannot be {kind(enc)}. Give an Encryption, for example pme.Encryption(kms=keys, "
            'footer_key="footer").'
        )
        raise BadOptionError(message)
    return enc


def _key(name: object, field: str) -> str | None:
    if name is None or isinstance(name, str):
        return name
    message = f'pme.Encryption({field}): it cannot be {kind(name)}. Give the name of one key, for example "footer".'
    raise BadOptionError(message)


def _text(value: str | bool | int) -> str:  # noqa: FBT001 the value of any option
    return str(value).lower() if isinstance(value, bool) else str(value)


def column_keys_text(columns: ColumnKeys | str, where: str = "pme.Encryption(column_keys)") -> str:
    """JSON, because key ids may contain `:` and column names anything; text is passed on unchanged.

    Raises:
        BadOptionError: they do not name columns for each key.
    """
    given: object = columns
    if isinstance(given, str):
        return given
    if not isinstance(given, Mapping):
        example = json.dumps({"pii": _names(given) or ["ssn"]}, ensure_ascii=False)
        message = (
            f"{where}: it is {kind(given)}, which names no key. Give a dict of each key and its columns, for example "
            f"{example}."
        )
        raise BadOptionError(message)
    return json.dumps(dict(_listed(key, names, where) for key, names in given.items()), ensure_ascii=False)


def _listed(key: object, columns: object, where: str) -> tuple[str, list[str]]:
    names = _names(columns)
    if isinstance(key, str) and names is not None:
        return key, names
    what = f"the columns of key {json.dumps(key, ensure_ascii=False)} are" if isinstance(key, str) else "a key is"
    message = f'{where}: {what} not text. Give a dict of each key and its columns, for example {{"pii": ["ssn"]}}.'
    raise BadOptionError(message)


def _names(names: object) -> list[str] | None:
    """One name, or several, as a list; None if they are no names."""
    if isinstance(names, str):
        return [names]
    if not isinstance(names, Iterable):
        return None
    listed: list[object] = list(names)
    texts = [name for name in listed if isinstance(name, str)]
    return texts if len(texts) == len(listed) else None
