"""Fixtures of Vaults, for any ``conftest.py`` that needs one.

``vault`` is the fake one, or a real one if its address and token are given; ``server`` is always the fake one, for
tests that make it fail or check its requests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.kms.access import KEYS
from tests.support.kms.real_vault import RealVault, is_given
from tests.support.kms.transit_key import TransitKey
from tests.support.kms.transit_server import TransitServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.kms.access import Transit


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
