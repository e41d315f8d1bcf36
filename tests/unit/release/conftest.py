"""An honest bundle under each measure, and a copy of it to tamper with."""

import shutil
from pathlib import Path

import pytest

from hedgerow.release.bundle import write_bundle
from tests.unit.release.made import a_release
from tests.unit.release.tampering import BUDGETS


@pytest.fixture(scope="module", params=BUDGETS, ids=["pure", "zcdp"])
def honest(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("verify") / "release"
    write_bundle(folder, a_release(rows=80, pairs=True, budget=request.param))
    return folder


@pytest.fixture
def forged(honest: Path, tmp_path: Path) -> Path:
    """A copy to tamper with."""
    shutil.copytree(honest, tmp_path / "forged")
    return tmp_path / "forged"
