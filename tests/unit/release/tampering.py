"""What a tamperer can do to a bundle, and what verify then says."""

import json
from pathlib import Path
from typing import Any

import pytest

from hedgerow.public.costs.accounting import Budget
from hedgerow.release import manifest
from hedgerow.release.verify import verify

BUDGETS = [Budget(1), Budget("0.3", "1e-6")]


def only(budget: str) -> pytest.MarkDecorator:
    """For tests of files rather than of arithmetic: one budget will do."""
    return pytest.mark.parametrize("honest", [BUDGETS[budget == "zcdp"]], indirect=True, ids=[budget])


def failed(folder: Path) -> dict[str, str]:
    return {c.name: c.detail for c in verify(folder) if c.held is False}


def unchecked(folder: Path) -> dict[str, str]:
    return {c.name: c.detail for c in verify(folder) if c.held is None}


def rehash(folder: Path) -> None:
    """What a tamperer does who knows of the manifest."""
    (folder / manifest.NAME).unlink()
    listed = manifest.dumps({p.name: manifest.facts_of(p) for p in folder.iterdir()})
    (folder / manifest.NAME).write_text(listed, encoding="utf-8")


def restate(folder: Path, data: dict[str, Any]) -> None:
    """What a tamperer does who also knows how a statement is written."""
    text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    (folder / "statement.json").write_text(text, encoding="utf-8")
    rehash(folder)
