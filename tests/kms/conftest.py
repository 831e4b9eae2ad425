"""A Vault for each test, and a table that was written through another Vault with the same keys.

AWS KMS is moto, which all tests share, behind a server of each test's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.kms import aws as of_aws
from tests.kms import clouds, secret_job
from tests.kms import tokens as tokens_of
from tests.kms.access import KEYS, by_token, encryption
from tests.kms.aws_server import AwsServer
from tests.kms.real_vault import RealVault, is_given
from tests.kms.transit_key import TransitKey
from tests.kms.transit_server import TransitServer
from tests.support.expect import save
from tests.support.kms import cluster_places, counting
from tests.support.kms.certificates import Authority
from tests.support.kms.hadoop_server import LONG, RESTRICTED, HadoopKms, running
from tests.support.kms.moto_server import Moto

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    import pme_parquet as pme
    from tests.kms.access import Transit
    from tests.kms.cloud_server import CloudServer
    from tests.kms.tokens import Tokens
    from tests.support.kms.cluster_places import Cluster
    from tests.support.source import Conf

SCHEMA = "id bigint, ssn string, salary double"
ROWS = [(number, f"ssn-{number}", number * 0.5) for number in range(20)]


@pytest.fixture(scope="session")
def held() -> dict[str, TransitKey]:
    """Return the keys of the fakes, each with its own copy of the list."""
    return {name: TransitKey() for name in KEYS}


@pytest.fixture
def server(held: dict[str, TransitKey]) -> Iterator[TransitServer]:
    """Return a fake Vault with the keys ``footer``, ``pii`` and ``pay``."""
    if is_given():
        pytest.skip("needs the fake Vault, which can be made to fail and tells what it was asked")
    with TransitServer(keys=held) as made:
        yield made


@pytest.fixture(scope="session")
def real() -> Iterator[RealVault | None]:
    """Return a mount of the real Vault, if one is given."""
    if not is_given():
        yield None
        return
    with RealVault() as made:
        made.create(*KEYS)
        yield made


@pytest.fixture
def vault(real: RealVault | None, request: pytest.FixtureRequest) -> Transit:
    """Return the real Vault if one is given, or else a fake one."""
    if real is not None:
        return real
    made: TransitServer = request.getfixturevalue("server")
    return made


@pytest.fixture(scope="session")
def job_vault() -> Iterator[TransitServer]:
    """Return the Vault of the job on executors."""
    with TransitServer(keys={name: TransitKey() for name in secret_job.VAULT_KEYS}) as made:
        yield made


@pytest.fixture(scope="session")
def two_executors(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    """Return the job that has run on executors in processes of their own, whose network is not encrypted."""
    work = tmp_path_factory.mktemp("cluster")
    if any("searched" in getattr(item, "fixturenames", ()) for item in request.session.items):
        vault, moto, keys = map(request.getfixturevalue, ("job_vault", "moto", "aws_keys"))
        assert keys
        secret_job.prepare(cluster_places.Places(work).secrets, vault, moto)
    return cluster_places.run(work, 2, 1024, secret_job.VARIABLES)


@pytest.fixture(scope="session")
def searched(two_executors: Cluster) -> Cluster:
    """Return the same job. For tests of this, it uses secrets of four KMSs, and searches heaps for keys."""
    return two_executors


@pytest.fixture(scope="session")
def frame(spark: SparkSession) -> DataFrame:
    """Return a frame of one partition."""
    return spark.createDataFrame(ROWS, SCHEMA).coalesce(1)


@pytest.fixture(scope="session")
def table(frame: DataFrame, held: dict[str, TransitKey], tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the path of a table of one file that was written with the fakes' keys."""
    root = tmp_path_factory.mktemp("vault")
    path = str(root / "table")
    with TransitServer(keys=held) as written_with:
        save(frame, path, encryption(by_token(written_with, root)).options())
    return path


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Return a certificate authority that no JVM trusts by itself."""
    return Authority(tmp_path_factory.mktemp("authority"), "authority")


@pytest.fixture
def trusted(authority: Authority, held: dict[str, TransitKey]) -> Iterator[TransitServer]:
    """Return a Vault behind TLS whose certificate the tests' authority signed."""
    with TransitServer(keys=held, certificate=authority.issue("right")) as made:
        yield made


@pytest.fixture(scope="session")
def moto() -> Iterator[Moto]:
    """Return a moto server for the whole run."""
    with Moto() as made:
        yield made


@pytest.fixture(scope="session")
def aws_keys(moto: Moto) -> dict[str, str]:
    """Return the ARNs of the keys in moto, by alias."""
    return {alias: moto.create_key(of_aws.REGION, alias) for alias in of_aws.KEYS}


@pytest.fixture
def aws(moto: Moto, aws_keys: dict[str, str]) -> Iterator[AwsServer]:
    """Return an address of AWS KMS of this test's own, which holds ``aws_keys``."""
    assert aws_keys
    with AwsServer(moto) as made:
        yield made


@pytest.fixture(scope="session")
def aws_table(
    spark: SparkSession,
    moto: Moto,
    aws_keys: dict[str, str],
    frame: DataFrame,
    tmp_path_factory: pytest.TempPathFactory,
) -> str:
    """Return the path of a table of one file under ``aws_keys``."""
    assert aws_keys
    path = str(tmp_path_factory.mktemp("aws") / "table")
    with of_aws.properties(spark, of_aws.CREDENTIALS), AwsServer(moto) as written_with:
        save(frame, path, of_aws.encryption(of_aws.access(written_with)).options())
    return path


@pytest.fixture(scope="session")
def hadoop_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the Hadoop KMS that lets this user use all keys but one."""
    return tmp_path_factory.mktemp("hadoop-kms")


@pytest.fixture(scope="session")
def hadoop_kms(hadoop_folder: Path) -> Iterator[HadoopKms]:
    with running(hadoop_folder, {RESTRICTED: "nobody-here"}) as made:
        made.create(*KEYS, RESTRICTED)
        made.create(LONG, bits=256)
        yield made


@pytest.fixture(scope="module")
def counting_kms(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Put the KMS that writes down each call where Spark looks for classes."""
    counting.load(spark, tmp_path_factory)


@pytest.fixture(scope="module", params=clouds.SERVERS)
def cloud_kind(request: pytest.FixtureRequest) -> str:
    """Return one cloud after the other: ``gcp`` and ``azure``."""
    return str(request.param)


@pytest.fixture(scope="module")
def service_keys(cloud_kind: str) -> dict[str, Any]:
    """Return the keys that the servers of this cloud hold, each of them its own copies."""
    made: dict[str, Any] = clouds.SERVERS[cloud_kind].new_keys()
    return made


@pytest.fixture
def cloud(cloud_kind: str, service_keys: dict[str, Any]) -> Iterator[CloudServer]:
    """Return a service of this test's own, which holds ``service_keys``."""
    with clouds.SERVERS[cloud_kind](service_keys) as made:
        yield made


@pytest.fixture(scope="module")
def cloud_table(
    frame: DataFrame, cloud_kind: str, service_keys: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> str:
    """Return the path of a table of one file that was written with the servers' keys."""
    root = tmp_path_factory.mktemp(cloud_kind)
    path = str(root / "table")
    with clouds.SERVERS[cloud_kind](service_keys) as written_with:
        save(frame, path, clouds.encryption(written_with.access(root, KEYS)).options())
    return path


@pytest.fixture(scope="session")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tokens]:
    """Return tokens of SoftHSM, for the whole run; a JVM that is used later has the settings."""
    with tokens_of.made(tmp_path_factory.mktemp("softhsm")) as made:
        yield made


@pytest.fixture
def token(tokens: Tokens, conf: Conf) -> Iterator[pme.Keystore]:
    """Return the token with keys, which the session names."""
    with conf({tokens_of.PATH: str(tokens.full)}):
        yield tokens_of.by_pin(tokens)
