"""The road of the studio with a confidential table on PostgreSQL, and the ledger there too."""

import html
import json
import re
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from hedgerow.studio.work import Work
from tests.postgres import new_database, running_server
from tests.unit.studio.visiting import Studio, a_folder, said, send

FORM = {"kind": "records", "public": "public.csv", "confidential": "", "unit": "record"}


def test_a_table_and_a_ledger_on_postgresql_go_the_whole_road(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    psycopg = pytest.importorskip("psycopg")
    studio = Studio(a_folder(tmp_path))
    secret = pl.read_csv(tmp_path / "confidential.csv")
    (tmp_path / "confidential.csv").unlink()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    with running_server() as server:
        with psycopg.connect(f"{server}/postgres") as db:
            typed = ", ".join(f'"{c}" {"bigint" if t.is_integer() else "text"}' for c, t in secret.schema.items())
            db.execute(f"CREATE TABLE people ({typed})".encode())
            with db.cursor().copy(b"COPY people FROM STDIN") as copy:
                for row in secret.iter_rows():
                    copy.write_row(row)
            db.execute(b"CREATE VIEW looked AS SELECT * FROM people")
        ledger = new_database(server)
        monkeypatch.setenv("HEDGEROW_LEDGER", ledger)
        form = {**FORM, "confidential_address": f"{server}/postgres", "confidential_name": "personnel"}
        assert send(studio, "tables", form) == 409, "it does not say which table"
        found = _look(studio, form)
        assert found == {f"{server}/postgres#people": list(secret.columns)}, (
            "names alone; neither views nor the system's"
        )
        assert send(studio, "tables", {**form, "served_table": f"{server}/postgres#other"}) == 409
        assert send(studio, "tables", {**form, "served_table": f"{server}/postgres#people"}) == 303
        page = studio.ask("job/job.toml/tables").text
        assert f"Its header: {', '.join(secret.columns)}." in page and "data-refused" not in page
        assert said(tmp_path)["confidential"]["table"] == f"{server}/postgres#people"
        _run(studio)
        books = studio.ask("job/job.toml/ledger").text
        assert "personnel" in books and "epsilon 1" in books and "127.0.0.1" in books, "booked on the server"
        assert "steward@" not in books, "who may write there is not on the page"
        assert "user and password are not shown here" in books, "and that it is left out is said"
        with psycopg.connect(ledger) as db:
            found = db.execute("SELECT count(*) FROM hedgerow_entries").fetchone()
        assert found and found[0] > 2
        assert not (tmp_path / "ledger.db").exists()
    assert (tmp_path / "release/statement.json").is_file()


def _look(studio: Studio, form: dict[str, str]) -> Any:
    """Press the button that asks for tables, and wait; what was filled in stands in the form again."""
    assert send(studio, "tables", {**form, "act": "look"}) == 303
    task = Work(studio.folder).latest("look", "job.toml")
    end = time.monotonic() + 300
    while task and task.state == "running" and time.monotonic() < end:
        time.sleep(0.1)
    assert task and task.state == "done", task and task.said
    assert task.facts["words"] == [], "everybody can see what a program is called with"
    page = studio.ask("job/job.toml/tables").text
    kept = json.loads(html.unescape(re.findall(r'data-refused="([^"]*)"', page)[0]))
    assert kept["confidential_address"] == [form["confidential_address"]] and 'data-waiting="yes"' in page
    return task.json()


def test_what_is_wrong_with_an_address_is_said(tmp_path: Path) -> None:
    """No password is written into a job file; a server that does not answer is told of in our words."""
    studio = Studio(a_folder(tmp_path))
    before = (tmp_path / "job.toml").read_bytes()
    for address in (
        "postgresql://me:secret@db/office#staff",
        "postgresql://me:sec/ret@db/office#staff",
        "postgresql://db/office?password=secret#staff",
        "postgresql://db/office?pass%77ord=secret#staff",
    ):
        for act in ("look", "save"):
            form = {**FORM, "confidential_address": address, "act": act, "digest": studio.digest("tables")}
            assert "holds a password" in studio.ask("job/job.toml/tables", form).text
    assert (tmp_path / "job.toml").read_bytes() == before
    assert send(studio, "tables", {**FORM, "act": "look"}) == 409, "nowhere"
    pytest.importorskip("psycopg")
    assert (
        send(studio, "tables", {**FORM, "act": "look", "confidential_address": "postgresql://127.0.0.1:1/x"}) == 303
    )
    task = Work(studio.folder).latest("look", "job.toml")
    while task and task.state == "running":
        time.sleep(0.1)
    assert "PostgreSQL does not answer, or does not let you in" in studio.ask("job/job.toml/tables").text


def test_no_page_shows_what_an_address_of_a_ledger_holds_of_who_may_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for address in ("me:hun/ter@127.0.0.1:1/books", "127.0.0.1:1/books?user=me&password=hun@ter"):
        monkeypatch.setenv("HEDGEROW_LEDGER", f"postgresql://{address}")
        (place := tmp_path / str(len(address))).mkdir()
        studio = Studio(a_folder(place))
        for screen in ("budget", "run", "ledger"):
            page = studio.ask(f"job/job.toml/{screen}").text
            assert "hun" not in page and "me&amp;" not in page, screen


def test_an_address_that_is_typed_anew_is_the_table(tmp_path: Path) -> None:
    """A table chosen before stands in the list still: a run would be booked and made on another than was typed."""
    studio = Studio(a_folder(tmp_path))
    here, there = "postgresql://db/office#staff", "postgresql://other:5432/office?user=me@db#people"
    place = Work(studio.folder)._place("look", "job.toml")
    place.mkdir(parents=True)
    for name, text in (("task.json", '{"words": []}'), ("code", "0"), ("result", json.dumps({here: ["a"]}))):
        (place / name).write_text(text, "utf-8")

    def table(status: int, address: str, chosen: str) -> str:
        assert send(studio, "tables", {**FORM, "confidential_address": address, "served_table": chosen}) == status
        return str(said(tmp_path)["confidential"]["table"])

    assert table(409, there, here) == "confidential.csv", "both are new: it is not guessed which is meant"
    assert table(303, "postgresql://db/office", here) == here
    assert table(303, here, here) == here
    assert table(303, there, here) == there
    assert table(303, there, here) == here, "chosen from the list, while the address shows the table before"


def _run(studio: Studio) -> None:
    """Type the sentence of the run screen, and wait for the release."""
    page = studio.ask("job/job.toml/run").text
    (asked,) = set(re.findall(r"spend [\d.]+ on \w+", page))
    assert send(studio, "run", {"typed": asked, "act": "run", "forecast": "no"}) == 303
    for _ in range(1200):
        if "Under way" not in studio.ask("job/job.toml/run").text:
            return
        time.sleep(0.1)
