"""`make release`: what it makes of a version, and that it makes the same twice."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
import zipfile
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from typing import TYPE_CHECKING, Any

import pytest

import pme_parquet as pme
from tests.packaging import bundle
from tests.packaging.bundle import VERSION
from tests.support import needs, session
from tests.support.session import NEWEST, ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LINES = ("3.5_2.12", "3.5_2.13", "4.0_2.13")
ARTIFACTS = [
    *(f"pme-parquet-spark-{line}" for line in LINES),
    *(f"pme-parquet-{name}" for name in ("kms-aws", "kms-gcp", "kms-azure", "iceberg", "accp")),
]


def _script() -> Any:
    loader = SourceFileLoader("release", str(ROOT / "scripts" / "release"))
    spec = spec_from_loader("release", loader)
    assert spec
    module = module_from_spec(spec)
    sys.modules["release"] = module
    loader.exec_module(module)
    return module


release = _script()


def once(test: Any) -> Any:
    """Let a test of a whole release run on the newest Spark only."""
    return needs.spark(NEWEST, "a release is the same on each Spark")(pytest.mark.nightly(test))


@pytest.mark.parametrize(
    ("text", "maven", "python"),
    [("1.0.0", "1.0.0", "1.0.0"), ("1.0.0-rc12", "1.0.0-rc12", "1.0.0rc12")],
)
def test_a_version_has_the_forms_of_maven_and_of_python(text: str, maven: str, python: str) -> None:
    version = release.Version.of(text)
    assert (version.maven, version.python) == (maven, python)


@pytest.mark.parametrize(
    "text", ["1.0", "v1.0.0", "1.0.0rc1", "1.0.0\n", "1.0.0-SNAPSHOT", "1.0.0; rm", "../1.0.0", ""]
)
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(SystemExit, match="is no version"):
        release.Version.of(text)


def test_a_version_is_set_in_its_place_and_in_the_examples_of_documents(tmp_path: Path) -> None:
    names = ("README.md", "docs/compatibility.md", "docs/options.md", "python/pyproject.toml")
    for name in (str(release.VERSION), *names):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    release.set_version(tmp_path, release.Version.of(VERSION))
    assert '__version__ = "9.8.7rc1"' in (tmp_path / "python/src/pme_parquet/_version.py").read_text()
    readme = (tmp_path / "README.md").read_text()
    assert f"pme-parquet-spark-4.0_2.13:{VERSION}" in readme
    assert "pme_parquet-9.8.7rc1-py3-none-any.whl" in readme
    assert session.VERSION not in readme
    # What the doctor prints is what Python and the connector say of themselves.
    doctor = (tmp_path / "docs/compatibility.md").read_text()
    assert f"pme-parquet-spark-4.0_2.13 9.8.7rc1, from …/jars/pme-parquet-spark-4.0_2.13-{VERSION}.jar" in doctor
    assert 'accp = ["pme-parquet-accp==9.8.7rc1"]' in (tmp_path / "python/pyproject.toml").read_text()
    # Since when there is an option.
    assert (tmp_path / "docs/options.md").read_text() == (ROOT / "docs/options.md").read_text()


def test_documents_name_the_version_that_the_package_has(tmp_path: Path) -> None:
    version = release.Version.of(session.VERSION)
    documents = [path for pattern in release.DOCUMENTS for path in ROOT.glob(pattern) if path.is_file()]
    for document in documents:
        (tmp_path / document.relative_to(ROOT)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(document, tmp_path / document.relative_to(ROOT))
    (tmp_path / release.VERSION).parent.mkdir(parents=True)
    shutil.copy(ROOT / release.VERSION, tmp_path / release.VERSION)
    release.set_version(tmp_path, version)
    changed = [path.name for path in documents if (tmp_path / path.relative_to(ROOT)).read_text() != path.read_text()]
    assert changed == []
    assert version.python == pme.__version__


def test_notes_are_the_versions_part_of_the_changelog() -> None:
    changelog = "# Changelog\n\n## [Unreleased]\n\n### In short\n\n[new](docs/n.md)\n\n### Added\n\n- much\n"
    changelog += "\n## [1.0.0] - 2026-12-01\n\n- old\n"
    assert release.notes(changelog, release.Version.of("1.0.0")) == "# pme-parquet 1.0.0\n\n- old\n"
    at = f"{release.HOME}/blob/1.1.0"
    new = f"[new]({at}/docs/n.md)\n\nAll changes: [CHANGELOG.md]({at}/CHANGELOG.md)."
    assert release.notes(changelog, release.Version.of("1.1.0")) == f"# pme-parquet 1.1.0\n\n{new}\n"


def test_a_version_that_is_set_has_what_was_not_released_in_the_changelog(tmp_path: Path) -> None:
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## [Unreleased]\n\n- new\n")
    release.set_changelog(tmp_path, release.Version.of("1.0.0"), "2026-12-24")
    made = (tmp_path / "CHANGELOG.md").read_text()
    assert made == "# Changelog\n\n## [Unreleased]\n\n## [1.0.0] - 2026-12-24\n\n- new\n"
    with pytest.raises(SystemExit, match=r"a part of 1\.0\.0"):
        release.set_changelog(tmp_path, release.Version.of("1.0.0"), "2026-12-25")


def test_an_sbom_has_neither_modules_of_the_build_nor_an_order_by_chance() -> None:
    def bom(*names: str) -> dict[str, Any]:
        parts = [{"bom-ref": f"pkg:maven/{name}@1", "group": name.split("/")[0]} for name in names]
        needs = [{"ref": "pkg:maven/io.pmeparquet/jar@1", "dependsOn": [part["bom-ref"] for part in parts]}]
        return {
            "metadata": {"component": {"bom-ref": "pkg:maven/io.pmeparquet/jar@1"}},
            "components": parts,
            "dependencies": [*needs, *({"ref": part["bom-ref"]} for part in parts)],
        }

    scala = "org.scala-lang/library"
    one, two = bom("b/b", scala, "io.pmeparquet/core", "a/a"), bom("io.pmeparquet/testkit", "a/a", "b/b", scala)
    assert release.without_layers(one) == release.without_layers(two)
    # Scala comes with Spark.
    left = [(part["group"], part.get("scope")) for part in release.without_layers(one)["components"]]
    assert left == [("a", None), ("b", None), ("org.scala-lang", "excluded")]
    [first] = [part for part in release.without_layers(one)["dependencies"] if part["ref"].endswith("jar@1")]
    assert first["dependsOn"] == ["pkg:maven/a/a@1", "pkg:maven/b/b@1", f"pkg:maven/{scala}@1"]


@pytest.fixture(scope="module")
def built() -> tuple[Path, Path]:
    """Two releases of the same commit, the first with signatures of a key that is made for it."""
    one = bundle.made()
    shutil.rmtree(one.parent / "two", ignore_errors=True)
    bundle.make(one.parent, "two")
    return one, one.parent / "two"


def _digests(release: Path) -> dict[str, str]:
    files = [path for path in release.rglob("*") if path.is_file() and path.suffix not in {".asc", ".zip"}]
    return {str(path.relative_to(release)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@once
def test_two_releases_of_a_commit_have_equal_bytes(built: tuple[Path, Path]) -> None:
    one, two = map(_digests, built)
    assert one == two
    assert len(one) > 100


@once
def test_each_file_that_central_gets_has_its_checksums_and_a_signature(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[0] / f"pme-parquet-{VERSION}.zip") as content:
        signs = {*release.CHECKSUMS, "asc"}
        files = [name for name in content.namelist() if name.rpartition(".")[2] not in signs]
        assert {name.split("/")[2] for name in files} == set(ARTIFACTS)
        for file in files:
            for name in release.CHECKSUMS:
                digest = hashlib.new(name, content.read(file)).hexdigest()
                assert content.read(f"{file}.{name}").decode() == digest
            assert content.read(f"{file}.asc").startswith(b"-----BEGIN PGP SIGNATURE-----")
        assert len(content.namelist()) == len(files) * (1 + len(signs))


@once
@pytest.mark.parametrize("artifact", ARTIFACTS)
def test_each_artifact_has_what_central_asks_for(built: tuple[Path, Path], artifact: str) -> None:
    place = built[0] / "maven" / "io" / "pmeparquet" / artifact / VERSION / f"{artifact}-{VERSION}"
    for end in (".jar", "-sources.jar", "-javadoc.jar"):
        with zipfile.ZipFile(f"{place}{end}") as jar:
            assert [name for name in jar.namelist() if not name.endswith(("/", "MANIFEST.MF"))]
    pom = ET.parse(f"{place}.pom").getroot()  # noqa: S314 the build wrote it
    told = {re.sub(r"\{.*?\}", "", path): text for path, text in _texts(pom, "")}
    assert told["name"] != artifact
    assert (told["groupId"], told["artifactId"], told["version"]) == ("io.pmeparquet", artifact, VERSION)
    asked = {"description", "url", "licenses/license/name", "licenses/license/url", "developers/developer/name"}
    assert {*asked, "developers/developer/url", "scm/url", "scm/connection"} <= {path for path in told if told[path]}
    assert ("dependencies/dependency/version" in told) == (artifact == "pme-parquet-accp")


def _texts(element: ET.Element, path: str) -> Iterator[tuple[str, str]]:
    for inner in element:
        yield f"{path}{inner.tag}", (inner.text or "").strip()
        yield from _texts(inner, f"{path}{inner.tag}/")


@once
def test_sources_and_documents_are_those_of_all_layers(built: tuple[Path, Path]) -> None:
    for line in LINES:
        name = f"pme-parquet-spark-{line}"
        place = built[0] / "maven" / "io" / "pmeparquet" / name / VERSION
        with zipfile.ZipFile(place / f"{name}-{VERSION}.jar") as jar:
            assert {"META-INF/LICENSE", "META-INF/NOTICE"} <= set(jar.namelist())
        with zipfile.ZipFile(place / f"{name}-{VERSION}-sources.jar") as sources:
            assert {"io/pmeparquet/PmeErrors.scala"} <= set(sources.namelist())
            packages = {path.split("/")[2] for path in sources.namelist() if path.count("/") > 2}
        assert {"keys", "kms", "parquet", "snapshot", "orc", "spark"} <= packages
        with zipfile.ZipFile(place / f"{name}-{VERSION}-javadoc.jar") as documents:
            assert len([path for path in documents.namelist() if path.endswith(".html")]) > 500


@once
def test_signatures_and_statements_are_of_the_published_files(built: tuple[Path, Path]) -> None:
    environment = bundle.environment(built[0].parent)
    signed = sorted(built[0].rglob("*.asc"))
    assert len(signed) > 30
    assert built[0] / "SHA256SUMS.asc" in signed
    for signature in signed[:: len(signed) // 5]:
        command = ["gpg", "--verify", str(signature), str(signature.with_suffix(""))]
        subprocess.run(command, env=environment, check=True, capture_output=True)
    statement = (built[0] / "provenance.json").read_text()
    for name, digest in _digests(built[0] / "pypi").items():
        assert f'"pypi/{name}"' in statement
        assert digest in statement
    boms = {path.name: json.loads(path.read_text()) for path in (built[0] / "sbom").glob("*.json")}
    ours, amazons = (f"pme_parquet{of}-9.8.7rc1-py3-none-any.cdx.json" for of in ("", "_accp"))
    assert set(boms) == {ours, amazons}
    jars = {part["purl"] for bom in boms.values() for part in bom["components"] if part["type"] == "file"}
    assert f"pkg:maven/io.pmeparquet/pme-parquet-spark-4.0_2.13@{VERSION}" in jars
    assert len(jars) == len(LINES) + 2


@once
def test_the_source_distribution_makes_the_same_wheel(built: tuple[Path, Path], tmp_path: Path) -> None:
    [source] = (built[0] / "pypi").glob("*.tar.gz")
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(tmp_path)]
    subprocess.run([*command, str(source)], check=True)
    [made] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(made) as ours, zipfile.ZipFile(built[0] / "pypi" / made.name) as published:
        assert _content(ours) == _content(published)


def _content(wheel: zipfile.ZipFile) -> dict[str, int]:
    return {entry.filename: entry.CRC for entry in wheel.infolist() if ".dist-info" not in entry.filename}


@once
def test_a_folder_that_is_no_release_stays(built: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    script = built[0].parent / "clone" / "scripts" / "release"
    command = [sys.executable, str(script), VERSION, "--to", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, "is no release" in done.stderr) == (1, True)
    assert (tmp_path / "precious").read_text() == "mine"
