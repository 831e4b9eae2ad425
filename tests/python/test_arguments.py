"""Every function takes a path as text or as a `Path`, and a KMS as an object, a name or a dict."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme

# Imported before anything is replaced: its imports by name would otherwise keep the replacement.
import pme_parquet._report.make
import pme_parquet._snapshots.listing
from pme_parquet import _arguments

if TYPE_CHECKING:
    from collections.abc import Callable

STORE = pme.Keystore("keys.p12", password=pme.env("NO_SECRET"))
FORMS = {
    "object": STORE,
    "dict": STORE.options(),
    "dict of objects": STORE.options() | {"kms.keystore.path": Path("keys.p12")},
}
ENC = pme.Encryption(kms=STORE, footer_key="footer")

# The meaning of a parameter by its name: a new function with one of these must accept all forms of it.
PATHS = {"path", "source", "target", "out"}
KMS = {"kms", "new_kms"}
# Paths that are no table's: a keystore's, which PKCS#11 does not have, a secret's, and a record's.
OWN_TYPES = {"Keystore", "file", "key_record"}

CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "verify": lambda spark, path, kms: pme.verify(spark, path, kms=kms),
    "key_usage": lambda spark, path, kms: pme.key_usage(spark, path, kms=kms),
    "rotate": lambda spark, path, kms: pme.rotate(spark, path, kms=kms, new_kms=kms),
    "migrate_orc": lambda spark, path, kms: pme.migrate_orc(spark, path, path, ENC, kms),
    "erase": lambda spark, path, kms: pme.erase(spark, path, ["t-acme"], kms=kms),
    "recover": lambda spark, path, kms: pme.recover(spark, path, path, ENC, kms, lost="rows"),
    "compact": pme.compact,
    "rekey": lambda spark, path, kms: pme.rekey(spark, path, path, ENC, kms),
    "encrypt": lambda spark, path, kms: pme.encrypt(spark, path, path, ENC, kms),
    "decrypt": lambda spark, path, kms: pme.decrypt(spark, path, path, kms, write_plaintext=True),
    "report": lambda spark, path, kms: pme.report(path, "page.html", spark=spark, kms=kms),
    "read": pme.read,
    "Encryption": lambda _, __, kms: stop(pme.Encryption(kms=kms, footer_key="footer").options()),
    "doctor": lambda spark, _, kms: pme.doctor(spark, kms),
    "write": lambda spark, path, kms: pme.write(spark, path, pme.Encryption(kms=kms, uniform_key="k")),
    "inspect": lambda _, path, __: pme.inspect(path),
    "snapshots": lambda _, path, __: pme.snapshots(path),
    "describe_index": lambda _, path, __: pme.describe_index(path),
    "seal": lambda spark, path, kms: pme.seal(spark, path, kms=kms),
    "drop_index": lambda spark, path, kms: pme.drop_index(spark, path, "id", kms=kms),
    "export_xskipper": lambda spark, path, kms: pme.export_xskipper(spark, path, "store", kms=kms),
    "expire_snapshots": lambda spark, path, kms: pme.expire_snapshots(spark, path, keep=1, kms=kms),
    "wrap_orc_key": lambda spark, _, kms: pme.wrap_orc_key(spark, kms, master_key=b"", key="k", kms_key="k"),
    "plan": lambda spark, _, kms: pme.plan(spark, pme.Encryption(kms=kms, uniform_key="k")),
}


class Called(Exception):  # noqa: N818 it is not an error
    """The arguments at the point where Spark is called."""


def stop(*arguments: Any) -> Any:
    raise Called(arguments)


class Anything:
    """A session, frame, reader and writer that only records what it gets."""

    def __init__(self) -> None:
        self.given: list[object] = []

    def __getattr__(self, name: str) -> Any:
        if name in {"load", "save"}:
            return lambda path: stop(*self.given, path)
        if name in {"read", "write", "sparkSession", "_jdf"}:
            return self
        return self

    def __call__(self, *arguments: object, **options: object) -> Anything:
        self.given += [*arguments, options]
        return self


@pytest.fixture(autouse=True)
def nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop each function where it passes its arguments to Spark."""
    for module in ("_operations.operation", "_plan"):
        monkeypatch.setattr(f"pme_parquet.{module}.method_of", lambda *_: stop)
    monkeypatch.setattr("pme_parquet._operations.operation.watched", lambda _, work, **__: work())
    monkeypatch.setattr("pme_parquet._doctor.client_checks", lambda _: ())
    monkeypatch.setattr("pme_parquet._doctor.classic_checks", lambda _, options: stop(options))
    for module in ("_storage", "_snapshots.listing"):
        monkeypatch.setattr(f"pme_parquet.{module}.storage", lambda path, _: stop(path))
    monkeypatch.setattr("pme_parquet._report.make.target_of", lambda *_: Path("page.html"))
    monkeypatch.setattr("pme_parquet._report.make.gather", lambda table, _, keyed: stop(table, keyed.usage(())))


def given(call: Callable[[Any, Any, Any], Any], path: object, kms: object) -> str:
    with pytest.raises(Called) as caught:
        call(Anything(), path, kms)
    return re.sub(r"<.*? at 0x\w+>", "", repr(caught.value.args))


def of_the_package() -> list[tuple[str, inspect.Parameter]]:
    """Return every parameter of every public function, and of the public classes."""
    found = []
    for name in pme.__all__:
        thing = getattr(pme, name)
        told = inspect.isclass(thing) and thing not in {pme.Encryption, pme.Keystore}
        if callable(thing) and not told:
            found += [(name, parameter) for parameter in inspect.signature(thing).parameters.values()]
    return found


@pytest.mark.parametrize("name", CALLS)
def test_each_form_of_path_and_kms_has_the_same_effect(name: str) -> None:
    expected = given(CALLS[name], "some/table", STORE)
    for kms in FORMS.values():
        assert given(CALLS[name], "some/table", kms) == expected
    assert given(CALLS[name], Path("some/table"), STORE) == expected
    if "keystore" in expected:
        assert "'kms': 'vault'" in given(CALLS[name], "some/table", "vault")


def test_every_function_accepts_every_form_of_path_and_kms() -> None:
    for name, parameter in of_the_package():
        told = str(parameter.annotation)
        if parameter.name in PATHS and name not in OWN_TYPES:
            assert "PathLike" in told, (name, parameter)
            assert name in CALLS, f"{name} takes a path: try it with both kinds"
        if parameter.name in KMS:
            assert "KmsLike" in told, (name, parameter)
            assert name in CALLS, f"{name} takes a KMS: try it with each kind"


def test_true_and_references_are_text_in_options() -> None:
    options = {"mergeSchema": True, "kms.vault.token": pme.env("TOKEN"), "n": 7, "none": None}
    assert _arguments.options_of(options, "here") == {"mergeSchema": "true", "kms.vault.token": "env:TOKEN", "n": "7"}


@pytest.mark.parametrize("path", [None, 7, b"x", "", ["a"]])
def test_a_value_that_is_not_a_path_is_reported(path: Any) -> None:
    with pytest.raises(pme.BadOptionError, match=r"text or a pathlib\.Path"):
        pme.verify(Anything(), path)  # type: ignore[arg-type]


def test_a_url_that_became_a_path_is_reported() -> None:
    with pytest.raises(pme.BadOptionError, match=re.escape("Give it as text: 's3a://…'")):
        pme.inspect(Path("s3a://bucket/table"))


@pytest.mark.parametrize("kms", [7, ["vault"], b"vault", pme.Keystore])
def test_a_value_that_is_not_a_kms_is_reported_and_not_repeated(kms: Any) -> None:
    with pytest.raises(pme.BadOptionError, match="a dict of options") as caught:
        _arguments.kms_options(kms, "here")
    assert "vault'" not in str(caught.value)


def test_keys_in_place_of_an_encryption_are_reported() -> None:
    for call in (lambda enc: pme.write(Anything(), "t", enc), lambda enc: pme.rekey(Anything(), "a", "b", enc)):  # type: ignore[arg-type]
        with pytest.raises(pme.BadOptionError, match="Give an Encryption"):
            call(STORE)


def test_a_value_that_is_not_a_frame_or_session_is_reported() -> None:
    with pytest.raises(pme.BadOptionError, match="df is a str"):
        pme.plan("people", ENC)  # type: ignore[arg-type]


def test_an_option_has_one_value() -> None:
    assert _arguments.joined({"footerKey": "a"}, {"FOOTERKEY": "a", "x": "1"}, "here") == {"footerKey": "a", "x": "1"}
    with pytest.raises(pme.BadOptionError, match="FOOTERKEY has two values"):
        _arguments.joined({"footerKey": "a"}, {"FOOTERKEY": "b"}, "here")


def test_repr_shows_what_differs_from_defaults_and_no_secret() -> None:
    assert repr(ENC) == (
        "Encryption(kms=Keystore(path='keys.p12', password=pme.env('NO_SECRET')), footer_key='footer')"
    )
    assert repr(pme.Vault("https://ada:pass@vault", token=pme.env("T"))) == (
        "Vault(url='https://…@vault', token=pme.env('T'))"
    )
    shown = repr(pme.Encryption(kms={"kms": "vault", "kms.vault.token": "s.1234"}, column_keys={"pii": ["ssn"]}))
    assert shown == "Encryption(kms={'kms': …, 'kms.vault.token': …}, column_keys={'pii': ['ssn']})"
    mixed = {"kms": "static", "kms.static.keys": "pii=SECRETSECRET", "kms.timeoutSeconds": 30, "more": {"a": "SECRET"}}
    shown = repr(pme.Encryption(kms=mixed, footer_key="pii"))
    assert shown == (
        "Encryption(kms={'kms': …, 'kms.static.keys': …, 'kms.timeoutSeconds': …, 'more': …}, footer_key='pii')"
    )
    assert repr(pme.KmsClass("com.example.Kms", properties={"a": "b"})) == (
        "KmsClass(name='com.example.Kms', properties={'a': …})"
    )
    assert repr(pme.AwsKms()) == "AwsKms()"

    class Client:
        secret = "s.1234"

    assert repr(pme.PythonKms(Client())) == "PythonKms(Client)"  # type: ignore[arg-type]
