"""What the README says to type works."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import hedgerow

README = Path(__file__).parents[2] / "README.md"


@pytest.mark.usefixtures("short_forecasts")
def test_the_python_of_the_readme_makes_a_release_that_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    tables = hedgerow.personnel(rows=2000, seed=1)
    tables.confidential.write_parquet(tmp_path / "confidential.parquet")
    tables.public.write_parquet(tmp_path / "public.parquet")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(code, names)
    assert names["release"].verify(), names["release"].verify()


def test_every_public_name_is_there_and_is_no_module_by_accident() -> None:
    for name in hedgerow.__all__:
        found = getattr(hedgerow, name)
        assert name in ("errors", "recipes", "uses") or callable(found), name


def test_the_two_commands_of_the_readme_are_targets_of_the_makefile() -> None:
    targets = re.findall(r"^(\w+):", (README.parent / "Makefile").read_text("utf-8"), re.MULTILINE)
    for command in re.findall(r"^make (\w+)", README.read_text("utf-8"), re.MULTILINE):
        assert command in targets
    assert shutil.which("make")
