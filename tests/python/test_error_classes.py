"""One error class per condition of the contract."""

import pickle

import pytest

import pme_parquet as pme
from pme_parquet.errors import BY_CONDITION

CONDITIONS = [
    "PME_BAD_OPTION",
    "PME_UNKNOWN_OPTION",
    "PME_SECRET_IN_OPTION",
    "PME_NO_KEY",
    "PME_UNKNOWN_COLUMN",
    "PME_KEY_NOT_FOUND",
    "PME_KEY_DENIED",
    "PME_KEY_DESTROYED",
    "PME_ERASURE",
    "PME_KMS_UNAVAILABLE",
    "PME_AUDIT_FAILED",
    "PME_NOT_AUTHENTIC",
    "PME_AAD_PREFIX",
    "PME_ALGORITHM",
    "PME_PLAINTEXT_FILE",
    "PME_DAMAGED_FILE",
    "PME_KEY_METADATA",
    "PME_UNSUPPORTED",
    "PME_SNAPSHOT_MISMATCH",
    "PME_SNAPSHOT_NOT_AUTHENTIC",
    "PME_SNAPSHOT_DAMAGED",
    "PME_SNAPSHOT_CONFLICT",
]


def test_there_is_a_class_for_each_condition_and_no_other() -> None:
    assert sorted(BY_CONDITION) == sorted(CONDITIONS)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_an_error_says_its_condition_once_and_survives_pickling(condition: str) -> None:
    error = BY_CONDITION[condition]("a.parquet: it failed, because so. Do this.")
    assert isinstance(error, pme.PmeError)
    assert error.condition == condition
    assert str(error) == f"[{condition}] a.parquet: it failed, because so. Do this."
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 its own bytes
    assert (type(again), str(again)) == (type(error), str(error))


@pytest.mark.parametrize("condition", CONDITIONS)
def test_each_class_is_public(condition: str) -> None:
    assert getattr(pme, BY_CONDITION[condition].__name__) is BY_CONDITION[condition]
