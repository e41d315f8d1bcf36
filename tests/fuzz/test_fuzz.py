"""A small part of the broken input that ``make fuzz`` runs by the thousand; and that the harness can see."""

from pathlib import Path

import pytest

from tests.fuzz import cases
from tests.fuzz.__main__ import run_cases


def test_broken_input_is_refused_in_words_and_tells_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    found = run_cases(range(12))
    assert not found, capsys.readouterr().out


def test_the_harness_sees_a_leak_a_traceback_and_a_code_that_is_not_documented(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def leaky() -> None:
        raise KeyError("CANARYQX7Z")

    monkeypatch.setattr(cases, "main", leaky)
    code, said = cases.call("run", "job.toml")
    wrong = cases._wrong(code, said, ["run", "job.toml"])
    assert any("exit 1" in w for w in wrong)
    assert any("Traceback" in w for w in wrong)
    assert any("CANARYQX7Z" in w for w in wrong)
    (tmp_path / "ledger.db").write_text("canaryperson3")
    assert cases._leaks(tmp_path)
