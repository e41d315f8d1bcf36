"""``hedgerow ledger show|cap|verify``."""

import io
import json
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hedgerow.cli.ledger import app
from hedgerow.errors import HedgerowError, JobError, LedgerError, VerifyFailed
from hedgerow.ledger.book import Ledger
from hedgerow.public.costs.accounting import Budget, Guarantee


@pytest.fixture
def url(ledger_url: str) -> str:
    ledger = Ledger.open(ledger_url)
    ledger.cap("pay", Budget("3", "1e-6"))
    ledger.promise("pay", "0123456789abcdef", Budget(1), Guarantee(), "wage gap")
    ledger.spend("0123456789abcdef", "q" * 64, Fraction(1, 3), "measure 2 tables (sex, race)")
    ledger.recognise("pay", "deadbeef")
    ledger.recognise("copy", "deadbeef")
    return ledger_url


def out(*words: str) -> str:
    result = CliRunner().invoke(app, list(words), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_show_says_what_is_left_and_lists_every_entry(url: str) -> None:
    text = out("show", "--url", url)
    head, _, pay = text.splitlines()[1:4]
    stands = {"cap": "epsilon 3, delta 1e-06", "promised": "epsilon 1", "left": "epsilon 2, delta 1e-06"}
    assert {name: pay.find(words) for name, words in stands.items()} == {name: head.index(name) for name in stands}, (
        "every figure stands under its head"
    )
    assert pay.startswith("pay ") and pay.endswith(" copy") and pay[head.index("runs")] == "1"
    assert "measure 2 tables (sex, race)" in text and "wage gap" in text and "copy = pay" in text


def test_show_as_json_has_exact_numbers_and_seals(url: str) -> None:
    found = json.loads(out("show", "--json", "--url", url))
    assert [t["table"] for t in found["tables"]] == ["copy", "pay"]
    assert found["tables"][1]["left"] == found["tables"][0]["left"] == {"epsilon": 2.0, "delta": 1e-6}
    assert [e["kind"] for e in found["entries"]] == ["format", "cap", "promise", "spend", "rows", "rows", "same"]
    assert found["entries"][3]["cost"] == "1/3"
    assert found["entries"][3]["previous"] == found["entries"][2]["hash"]


def test_show_of_one_table_leaves_out_the_others(url: str) -> None:
    Ledger.open(url).cap("leave", Budget(1))
    found = json.loads(out("show", "leave", "--json", "--url", url))
    assert [e["table"] for e in found["entries"]] == ["leave"]
    assert out("show", "unheard of", "--url", url) == "Nothing is booked on table unheard of.\n"


def test_no_command_shows_a_fingerprint_or_the_key(url: str) -> None:
    key = Ledger.open(url).fingerprint_key().hex()
    for command in (
        ["show"],
        ["show", "--json"],
        ["verify"],
        ["verify", "--json"],
        ["cap", "copy", "--epsilon", "9"],
    ):
        text = out(*command, "--url", url)
        assert "deadbeef" not in text and key not in text


def test_on_a_terminal_there_are_tables_and_no_name_is_taken_for_markup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    Ledger.open(str(tmp_path / "l.db")).cap("[bold]pay", Budget(1))
    monkeypatch.setattr(sys, "stdout", screen := Terminal())
    monkeypatch.setenv("COLUMNS", "160")
    app(["show", "--url", str(tmp_path / "l.db")], standalone_mode=False)
    assert "[bold]pay" in screen.getvalue() and "─" in screen.getvalue()


def test_cap_begins_a_ledger_and_says_what_stands(tmp_path: Path) -> None:
    url = str(tmp_path / "new.db")
    assert out("cap", "pay", "--epsilon", "3", "--new", "--url", url) == (
        f"The cap of pay is epsilon 3; promised epsilon 0; left epsilon 3. It stands in {url}.\n"
    )
    Ledger.open(url).promise("pay", "0123456789abcdef", Budget(1), Guarantee(), "wage gap")
    assert "no run will be admitted" in out("cap", "pay", "--epsilon", "0.4", "--url", url)
    assert "there are runs under: pay" in out("cap", "pya", "--epsilon", "3", "--url", url)
    account = json.loads(out("cap", "pay", "--epsilon", "0.5", "--delta", "1e-6", "--json", "--url", url))
    assert account["cap"] == {"epsilon": 0.5, "delta": 1e-6}
    assert len([e for e in Ledger.open(url).entries() if e.kind == "cap"]) == 4


@pytest.mark.parametrize(
    "words",
    [
        ["--epsilon", "0"],
        ["--epsilon", "-1"],
        ["--epsilon", "nan"],
        ["--epsilon", "inf"],
        ["--epsilon", "many"],
        ["--epsilon", "1", "--delta", "1"],
        ["--epsilon", "1", "--delta", "-1e-6"],
    ],
)
def test_a_cap_that_is_no_cap_is_refused(tmp_path: Path, words: list[str]) -> None:
    result = CliRunner().invoke(app, ["cap", "pay", *words, "--url", str(tmp_path / "l.db")])
    assert isinstance(result.exception, JobError)


@pytest.mark.parametrize("name", ["", " ", "a\nb", "a\0b", "a\x1b[31m"])
def test_a_name_that_cannot_be_shown_is_refused(tmp_path: Path, name: str) -> None:
    result = CliRunner().invoke(app, ["cap", name, "--epsilon", "1", "--url", str(tmp_path / "l.db")])
    assert isinstance(result.exception, JobError)
    assert not (tmp_path / "l.db").exists()


def test_verify_says_that_the_ledger_holds(url: str) -> None:
    anchor = Ledger.open(url).entries()[1].hash
    assert out("verify", "--url", url).startswith("The ledger holds: 7 entries.\nhead ")
    found = json.loads(out("verify", "--json", "--anchor", anchor, "--url", url))
    assert found == {"holds": True, "entries": 7, "head": Ledger.open(url).head(), "anchor": anchor}


def test_verify_fails_with_an_anchor_that_is_not_there(url: str) -> None:
    result = CliRunner().invoke(app, ["verify", "--anchor", "f" * 64, "--url", url])
    assert isinstance(result.exception, VerifyFailed)


@pytest.mark.parametrize("command", [["show"], ["verify"]])
@pytest.mark.parametrize("form", ["{}", "sqlite:///{}"])
def test_looking_at_a_ledger_that_is_not_there_does_not_begin_one(
    tmp_path: Path, command: list[str], form: str
) -> None:
    url = form.format(tmp_path / "typo.db")
    result = CliRunner().invoke(app, [*command, "--url", url])
    assert isinstance(result.exception, LedgerError) and isinstance(result.exception, HedgerowError)
    assert "There is no ledger" in str(result.exception)
    assert not (tmp_path / "typo.db").exists()


def test_a_cap_does_not_begin_a_ledger_unless_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["cap", "pay", "--epsilon", "3"])
    assert isinstance(result.exception, LedgerError) and "ledger use" in str(result.exception)
    assert list(tmp_path.iterdir()) == []
    assert "It stands in ledger.db" in out("cap", "pay", "--epsilon", "3", "--new")


def test_an_office_has_one_ledger_for_all_that_name_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    office, other = tmp_path / "office.db", tmp_path / "other.db"
    for file in (office, other):
        Ledger.open(str(file)).cap(file.stem, Budget(1))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    monkeypatch.chdir(tmp_path)
    assert str(office) in out("use", "office.db")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert "office" in out("show") and "other" not in out("show")
    monkeypatch.setenv("HEDGEROW_LEDGER", str(other))
    assert "other" in out("show"), "the environment goes before the setting"
    assert "office" in out("show", "--url", str(office)), "what is named goes before both"
