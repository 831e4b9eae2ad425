from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING

import pytest

import pme_parquet as pme
from tests.docs.commands import shell
from tests.docs.markdown import ROOT, code_blocks

if TYPE_CHECKING:
    from pathlib import Path

README = ROOT / "README.md"
KEYS = ROOT / "docs" / "keys.md"
JARS = ROOT / "target" / "jars"


def keystore_commands() -> str:
    [commands] = [block for block in code_blocks(README, "bash") if "keys create" in block]
    return commands


@pytest.mark.slow
def test_readme_commands_and_its_python_write_and_read_an_encrypted_table(tmp_path: Path) -> None:
    [code] = code_blocks(README, "python")
    (tmp_path / "readme.py").write_text(code)
    [inspect] = [block for block in code_blocks(README, "bash") if "inspect" in block]
    shown = shell(tmp_path, keystore_commands(), then=f"{sys.executable} readme.py\n{inspect}")
    assert "Grace" in shown
    assert "encrypted  AES_GCM_V1  footer: footer; columns: not visible" in shown
    files = list((tmp_path / "people").glob("*.parquet"))
    assert files
    assert all(file.read_bytes().endswith(b"PARE") for file in files)


def test_quickstart_is_the_code_of_the_readme() -> None:
    [code] = code_blocks(README, "python")
    assert (ROOT / "examples" / "quickstart.py").read_text().endswith(code)


def test_readme_names_make_targets_that_exist() -> None:
    rules = re.findall(r"^([\w.$()/ -]+):(?!=)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    targets = {target for rule in rules for target in rule.split()}
    named = set(re.findall(r"(?:^|`)make ([a-z][a-z-]*)", README.read_text(), re.MULTILINE))
    assert {"demo", "test"} <= named
    assert named - targets == set()


def test_readme_table_names_the_jars_that_are_built() -> None:
    named = re.findall(r"`io\.pmeparquet:([\w.-]+):([\d.]+)`", README.read_text())
    assert {f"{name}-{version}.jar" for name, version in named} == {jar.name for jar in JARS.glob("*.jar")}


def test_walk_through_of_keys_runs_as_commands(tmp_path: Path) -> None:
    blocks = code_blocks(KEYS, "bash")
    # Those after it are for KMSs that are not here.
    [last] = [number for number, block in enumerate(blocks) if "analyst.p12" in block]
    blocks = blocks[: last + 1]
    lists = "pme-parquet keys list --json keys.p12; pme-parquet keys list --json analyst.p12"
    shown = shell(tmp_path, "\n".join(blocks), then=lists).splitlines()[-2:]
    owner, analyst = (json.loads(line)["keys"] for line in shown)
    assert owner == ["footer", "health", "pay", "pii"]
    assert analyst == ["footer", "health", "pay"]


def test_walk_through_of_keys_runs_as_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PME_KEYSTORE_PASSWORD", "a long password")
    names: dict[str, object] = {}
    alone = [block for block in code_blocks(KEYS, "python") if "spark." not in block and "(spark," not in block]
    exec("\n".join(alone), names)  # noqa: S102  our own document
    encryption = names["enc"]
    assert isinstance(encryption, pme.Encryption)
    assert encryption.options()["footerKey"] == "footer"
    assert (tmp_path / "keys.p12").is_file()
