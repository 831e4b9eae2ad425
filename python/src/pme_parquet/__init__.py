"""Parquet Modular Encryption for Apache Spark: the Python front end of `format("pme-parquet")`.

Start at `configure`, which puts the right connector jar on a Spark session, and `Encryption`, which names the keys
of a write. Everything here is names, types and errors; reading and writing happens in the jar. Nothing happens at
import.
"""

from pme_parquet import delta, hudi, iceberg
from pme_parquet._delta_encryption.configure import configure
from pme_parquet._doctor import Check, Diagnosis, doctor
from pme_parquet._encryption import Encryption
from pme_parquet._inspect import Inspection, inspect
from pme_parquet._kms.keystore import Keystore
from pme_parquet._kms.python import PythonKms
from pme_parquet._kms.secrets import SecretReference, conf, env, file, hadoop_credential
from pme_parquet._kms.services import AwsKms, AzureKeyVault, GcpKms, HadoopKms, KmsClass, Static, Vault
from pme_parquet._operations.compaction import Compacted, CompactedFile, LeftFile, compact
from pme_parquet._operations.copies import Copied, decrypt, encrypt, rekey
from pme_parquet._operations.erasure import ErasedFile, ErasedKey, Erasure, ErasureFinding, erase
from pme_parquet._operations.export import ExportedStore, export_xskipper
from pme_parquet._operations.frames import plan, read, write
from pme_parquet._operations.indexes import Bloom, IndexClass, MinMax, ValueList
from pme_parquet._operations.key_record import KeyRecord, KeyUse, key_record
from pme_parquet._operations.migration import Migrated, MigrationPlan, SourceColumn, migrate_orc, wrap_orc_key
from pme_parquet._operations.query_stats import QueryStats, ScannedFiles, SkippedFiles, query_stats
from pme_parquet._operations.recovery import Recovered, recover
from pme_parquet._operations.rotation import RotatedFile, RotationReport, rotate
from pme_parquet._operations.sealing import ExpiredSnapshots, Sealed, drop_index, expire_snapshots, seal
from pme_parquet._operations.verify import DeltaFiles, Opened, Sample, key_usage, verify
from pme_parquet._plan import Plan, PlannedColumn, PlannedFiles, Refusal, UnmatchedPattern
from pme_parquet._report import report
from pme_parquet._snapshots import Index, Indexes, Snapshots, SnapshotVersion, describe_index, snapshots
from pme_parquet._spark.connector import jar_path
from pme_parquet._spark.errors import install_errors
from pme_parquet._spark.session import spark_config
from pme_parquet._version import __version__
from pme_parquet.errors import (
    AadPrefixError,
    AlgorithmError,
    AuditFailedError,
    BadOptionError,
    DamagedFileError,
    ErasureError,
    KeyDeniedError,
    KeyDestroyedError,
    KeyMetadataError,
    KeyNotFoundError,
    KmsUnavailableError,
    NoKeyError,
    NotAuthenticError,
    PlaintextFileError,
    PmeError,
    SecretInOptionError,
    SnapshotConflictError,
    SnapshotDamagedError,
    SnapshotMismatchError,
    SnapshotNotAuthenticError,
    UnknownColumnError,
    UnknownOptionError,
    UnsupportedError,
)

__all__ = [
    "AadPrefixError",
    "AlgorithmError",
    "AuditFailedError",
    "AwsKms",
    "AzureKeyVault",
    "BadOptionError",
    "Bloom",
    "Check",
    "Compacted",
    "CompactedFile",
    "Copied",
    "DamagedFileError",
    "DeltaFiles",
    "Diagnosis",
    "Encryption",
    "ErasedFile",
    "ErasedKey",
    "Erasure",
    "ErasureError",
    "ErasureFinding",
    "ExpiredSnapshots",
    "ExportedStore",
    "GcpKms",
    "HadoopKms",
    "Index",
    "IndexClass",
    "Indexes",
    "Inspection",
    "KeyDeniedError",
    "KeyDestroyedError",
    "KeyMetadataError",
    "KeyNotFoundError",
    "KeyRecord",
    "KeyUse",
    "Keystore",
    "KmsClass",
    "KmsUnavailableError",
    "LeftFile",
    "Migrated",
    "MigrationPlan",
    "MinMax",
    "NoKeyError",
    "NotAuthenticError",
    "Opened",
    "PlaintextFileError",
    "Plan",
    "PlannedColumn",
    "PlannedFiles",
    "PmeError",
    "PythonKms",
    "QueryStats",
    "Recovered",
    "Refusal",
    "RotatedFile",
    "RotationReport",
    "Sample",
    "ScannedFiles",
    "Sealed",
    "SecretInOptionError",
    "SecretReference",
    "SkippedFiles",
    "SnapshotConflictError",
    "SnapshotDamagedError",
    "SnapshotMismatchError",
    "SnapshotNotAuthenticError",
    "SnapshotVersion",
    "Snapshots",
    "SourceColumn",
    "Static",
    "UnknownColumnError",
    "UnknownOptionError",
    "UnmatchedPattern",
    "UnsupportedError",
    "ValueList",
    "Vault",
    "__version__",
    "compact",
    "conf",
    "configure",
    "decrypt",
    "delta",
    "describe_index",
    "doctor",
    "drop_index",
    "encrypt",
    "env",
    "erase",
    "expire_snapshots",
    "export_xskipper",
    "file",
    "hadoop_credential",
    "hudi",
    "iceberg",
    "inspect",
    "install_errors",
    "jar_path",
    "key_record",
    "key_usage",
    "migrate_orc",
    "plan",
    "query_stats",
    "read",
    "recover",
    "rekey",
    "report",
    "rotate",
    "seal",
    "snapshots",
    "spark_config",
    "verify",
    "wrap_orc_key",
    "write",
]
