"""What must stay inside stays inside: the type, the folder, and who may open it."""

import ast
import copy
import json
import pickle
import stat
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import hedgerow
from hedgerow.errors import HedgerowError, JobError
from hedgerow.steward.inside import InsideOnly, in_fixed_words, inside_folder

ROOT = Path(hedgerow.__file__).parent
SECRET = 0.123456789


def test_the_value_shows_nothing_of_itself() -> None:
    kept = InsideOnly(SECRET)
    for text in (repr(kept), str(kept), f"{kept}", f"{kept!s:>30}", f"{[kept]}"):
        assert "123" not in text
    with pytest.raises(TypeError):
        format(kept, ".3f")
    works: list[Any] = [json.dumps, pickle.dumps, copy.copy, copy.deepcopy, float, hash, bool, iter, len]
    for work in works:
        with pytest.raises(TypeError):
            work(kept)
    with pytest.raises(TypeError):
        kept == SECRET  # noqa: B015
    with pytest.raises(TypeError):
        kept + 1  # type: ignore[operator]
    with pytest.raises(AttributeError):
        getattr(kept, "__value")  # noqa: B009
    with pytest.raises(AttributeError):
        kept.more = 1  # type: ignore[attr-defined]


def test_what_is_made_of_it_stays_inside_too() -> None:
    made = InsideOnly(SECRET).map(lambda x: x * 2)
    assert "2469" not in repr(made)
    assert made.reveal() == 2 * SECRET


@pytest.mark.parametrize("kind", [ValueError, pl.exceptions.PanicException])
def test_an_exact_look_that_fails_quotes_no_row_whatever_fails(kind: type[BaseException]) -> None:
    """A panic in Rust is no Exception: it came through as it was."""

    def work() -> InsideOnly[Any]:
        raise kind("could not convert 'the pay of Jane'")

    with pytest.raises(HedgerowError, match="may quote a confidential row") as found:
        in_fixed_words(work)
    assert "Jane" not in str(found.value) and found.value.__context__ is None


def test_only_the_stewards_room_opens_such_values() -> None:
    opened = [
        f"{p.relative_to(ROOT)}:{n.lineno}"
        for p in sorted(ROOT.rglob("*.py"))
        for n in ast.walk(ast.parse(p.read_text("utf-8")))
        if isinstance(n, ast.Attribute) and n.attr == "reveal" and "steward" not in p.relative_to(ROOT).parts
    ]
    assert opened == []


def test_nothing_that_publishes_imports_the_stewards_room() -> None:
    """The import contract says it too; this test needs no linter."""
    holders = {
        str(p.relative_to(ROOT).parts[0])
        for p in ROOT.rglob("*.py")
        if "steward" not in p.relative_to(ROOT).parts
        for n in ast.walk(ast.parse(p.read_text("utf-8")))
        if (isinstance(n, ast.ImportFrom) and (n.module or "").startswith("hedgerow.steward"))
        or (isinstance(n, ast.Import) and any(a.name.startswith("hedgerow.steward") for a in n.names))
    }
    assert holders <= {"cli", "api"}, "the two places where a steward types, and nothing they call"


def test_exact_numbers_are_not_written_beside_what_is_published(tmp_path: Path) -> None:
    release = tmp_path / "release"
    release.mkdir()
    for wrong in (release, release / "exact", tmp_path):
        with pytest.raises(JobError, match="release"):
            inside_folder(wrong, (release,))
    for mark in ("MANIFEST.json", "statement.json", "choice.json"):
        other = tmp_path / f"other with {mark}"
        other.mkdir()
        (other / mark).write_text("{}")
        for wrong in (other, other / "deep" / "within"):
            with pytest.raises(JobError, match="looks like a release"):
                inside_folder(wrong, (release,))
    assert inside_folder(tmp_path / "release-INSIDE-ONLY", (release,)) == tmp_path / "release-INSIDE-ONLY"
    assert stat.S_ISDIR(release.stat().st_mode)
