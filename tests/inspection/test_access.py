"""How storages are reached: with a caller's options, as a command takes them, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pme_parquet as pme
from pme_parquet._access import access
from pme_parquet._access.options import read
from pme_parquet._cli.looking import inspect
from pme_parquet._cli.options import storage_options
from tests.support.commands import run
from tests.support.expect import assert_no_secret, refused
from tests.support.files.handmade import encrypted

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

SECRET = "swordfish-4711"
WHERE = "pme.inspect"


def test_a_callers_options_and_their_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SECRET", SECRET)
    (tmp_path / "token").write_text(f"{SECRET}\n", encoding="utf-8")
    options = {
        "key": "AKIA",
        "secret": pme.env("MY_SECRET"),
        "token": pme.file(tmp_path / "token"),
        "client_kwargs": {"endpoint_url": "http://127.0.0.1:9000"},
    }
    reached = access("s3://bucket/t", options, None, WHERE)
    assert reached.options == options | {"secret": SECRET, "token": SECRET}
    assert reached.words == ("storage_options: endpoint_url http://127.0.0.1:9000, key, secret, token, client_kwargs")
    for reference, why in (
        (pme.env("NOT_SET"), "the variable is not set"),
        (pme.file(tmp_path / "absent"), "No such file"),
        (pme.conf("spark.x"), "only env: and file:"),
    ):
        with refused("PME_BAD_OPTION", "storage_options secret", why):
            read({"secret": reference}, WHERE)
    with refused("PME_BAD_OPTION", "Give a dict"):
        read("swordfish", WHERE)


def test_options_of_the_command() -> None:
    found = storage_options(["endpoint_url=http://h:1", "anon=true", "secret=env:S", "client_kwargs.region_name=eu"])
    assert found == {
        "endpoint_url": "http://h:1",
        "anon": True,
        "secret": pme.env("S"),
        "client_kwargs": {"region_name": "eu"},
    }
    [derived] = [one for one in inspect.derived if one.name == "storage_option"]
    assert derived.value(None) is None
    assert storage_options(["token=google_default"]) == {"token": "google_default"}
    for name in ("secret", "token", "client_kwargs.aws_secret_access_key", "account_key"):
        with refused("PME_SECRET_IN_OPTION", f"--storage-option {name}", never=(SECRET,)):
            storage_options([f"{name}={SECRET}"])


def test_the_command_refuses_a_secret_and_says_what_it_used(tmp_path: Path) -> None:
    told = run("inspect", "s3://bucket/t", "--storage-option", f"secret={SECRET}")
    assert told.code == 2
    assert "PME_SECRET_IN_OPTION" in told.err
    assert_no_secret(told.err, (SECRET,))
    (tmp_path / "a.parquet").write_bytes(encrypted(b"footer"))
    told = run("inspect", f"file://{tmp_path}", "--storage-option", "auto_mkdir=false")
    assert told.code == 0, told.err
    assert "storage: storage_options: auto_mkdir" in told.out
    assert "storage:" not in run("inspect", tmp_path).out
