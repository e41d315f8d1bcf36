"""Bad input: one clear paragraph, the right exit code, nothing spent, nothing lost."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tests.end_to_end.conftest import ROWS, Command
from tests.privacy.world import frame

Damage = Callable[[Path], None]


def _edit(old: str, new: str) -> Damage:
    def damage(job: Path) -> None:
        text = job.read_text()
        assert old in text
        job.write_text(text.replace(old, new))

    return damage


def _schema(old: str, new: str) -> Damage:
    return lambda job: _edit(old, new)(job.parent / "schema.toml")


def _table(write: Callable[[Path], object], name: str) -> Damage:
    def damage(job: Path) -> None:
        write(job.parent / name)
        _edit('table = "secret.csv"', f'table = "{name}"')(job)

    return damage


BAD: dict[str, tuple[Damage, int, str]] = {
    "missing job table": (_edit('"secret.csv"', '"nowhere.csv"'), 2, "nowhere.csv"),
    "the confidential table named as public": (
        _edit("[budget]", '[public]\ntable = "secret.csv"\n[budget]'),
        2,
        "names the confidential table itself",
    ),
    "missing public table": (_edit("[budget]", '[public]\ntable = "nowhere.csv"\n[budget]'), 2, "nowhere.csv"),
    "a DuckDB file without a table": (_edit('"secret.csv"', '"duckdb:secret.db"'), 2, "duckdb:FILE#TABLE"),
    "missing schema": (_edit('"schema.toml"', '"nowhere.toml"'), 2, "nowhere.toml"),
    "not TOML": (_edit("[budget]", "[budget"), 2, "TOML"),
    "a job that nests too deeply": (_edit("[budget]", f"x = {'[' * 3000}\n[budget]"), 2, "nests too deeply"),
    "a schema that nests too deeply": (_schema("[columns.pay]", f"x = {'[' * 3000}\n[columns.pay]"), 2, "too deeply"),
    "a whole number beyond 64 bits": (
        _edit("rows_per_person = 2", f"rows_per_person = {10**30}"),
        2,
        "beyond 64 bits",
    ),
    "a width beyond 64 bits": (_schema("width = 10", f"width = {10**400}"), 2, "beyond 64 bits"),
    "a path with a zero byte": (_edit('"secret.csv"', '"se\\u0000cret.csv"'), 2, "no possible file"),
    "a path too long": (_edit('"secret.csv"', f'"{"s" * 5000}.csv"'), 2, "no possible file"),
    "unknown key": (_edit("[budget]", "[budget]\nepsillon = 2"), 2, "epsillon"),
    "unknown recipe": (_edit('"independent"', '"magic"'), 2, "magic"),
    "unknown relation": (_edit('"add-remove"', '"bounded"'), 2, "relation"),
    "epsilon 0": (_edit("epsilon = 1.5", "epsilon = 0"), 2, "finite number above 0"),
    "epsilon negative": (_edit("epsilon = 1.5", "epsilon = -1"), 2, "finite number above 0"),
    "epsilon NaN": (_edit("epsilon = 1.5", "epsilon = nan"), 2, "finite"),
    "epsilon infinite": (_edit("epsilon = 1.5", "epsilon = inf"), 2, "finite"),
    "epsilon is text": (_edit("epsilon = 1.5", 'epsilon = "much"'), 2, "epsilon"),
    "delta 1": (_edit("delta = 0", "delta = 1"), 2, "delta"),
    "rows per person 0": (_edit("rows_per_person = 2", "rows_per_person = 0"), 2, "rows_per_person"),
    "rows per person past all counting": (_edit("rows_per_person = 2", f"rows_per_person = {2**62}"), 2, "1000000"),
    "person without a column": (_edit('person = "id"', 'person = ""'), 2, "person"),
    "use of an unknown column": (_edit('columns = ["sex"]', 'columns = ["height"]'), 2, "height"),
    "use of a misspelled column": (_edit('columns = ["sex"]', 'columns = ["sx"]'), 2, "did you mean 'sex'"),
    "use of a column that is no list": (_edit('columns = ["sex"]', 'columns = "sex"'), 2, 'a list, such as ["sex"]'),
    "tolerance 0": (_edit("tolerance = 0.05", "tolerance = 0"), 2, "tolerance"),
    "person column not in the table": (_edit('person = "id"', 'person = "ssn"'), 3, "ssn"),
    "schema column not in the table": (
        _schema("[columns.area]", "[columns.region]\nkind='yes-no'\nmissing = true\n[columns.area]"),
        3,
        "region",
    ),
    "schema of an unknown kind": (_schema('kind = "integer"', 'kind = "integral"'), 2, "integral"),
    "schema width negative": (_schema("width = 10", "width = -10"), 2, "width"),
    "empty file": (_table(lambda p: p.write_bytes(b""), "empty.csv"), 3, "empty.csv"),
    "corrupted Parquet": (
        _table(lambda p: p.write_bytes(b"PAR1" + b"\0" * 100 + b"PAR1"), "bad.parquet"),
        3,
        "bad.parquet",
    ),
    "not a table at all": (_table(lambda p: p.write_bytes(b"\x89PNG"), "picture.png"), 2, "picture.png"),
    "a folder": (_table(lambda p: p.mkdir(), "folder.csv"), 2, "folder.csv"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_clearly_before_anything_is_booked(hedgerow: Command, job: Path, name: str) -> None:
    damage, code, word = BAD[name]
    damage(job)
    refused = hedgerow("run", job, "--yes")
    assert refused.code == code, refused.err
    assert word in refused.err
    assert "Traceback" not in refused.err
    assert len(refused.err.strip().splitlines()) <= 8, "one paragraph"
    book = hedgerow("ledger", "show", "--url", job.parent / "ledger.db", "--json")
    assert '"promise"' not in book.out
    assert not (job.parent / "release").exists()
    assert not (job.parent / "release.run").exists()


GOOD: dict[str, Callable[[Path], object]] = {
    "no rows": lambda p: frame(()).write_csv(p),
    "one row": lambda p: frame(ROWS[:1]).write_csv(p),
    "all missing": lambda p: frame(((None,) * 5,) * 9).write_csv(p),
    "strange values everywhere": lambda p: frame((("\x00", "🌳", "1e999", '"', "'; DROP TABLE"),) * 9).write_csv(p),
    "ragged lines": lambda p: p.write_text("sex,race,pay,area,id\nF\nM,A,1,n,x,extra,more\n\n,,,,\n"),
    "10^5 distinct values": lambda p: frame(tuple((str(i),) * 5 for i in range(10**5))).write_csv(p),
}


@pytest.mark.parametrize("name", GOOD)
def test_whatever_the_confidential_rows_hold_a_run_succeeds(hedgerow: Command, job: Path, name: str) -> None:
    GOOD[name](job.parent / "secret.csv")
    run = hedgerow("run", job, "--yes")
    assert run.code == 0, run.err
    assert hedgerow("verify", job.parent / "release").code == 0


def test_a_schema_of_a_hundred_thousand_labels_works(hedgerow: Command, job: Path) -> None:
    labels = ", ".join(f'"L{i}"' for i in range(10**5))
    schema = job.parent / "schema.toml"
    schema.write_text(schema.read_text().replace('values = ["A", "B", "C"]', f"values = [{labels}]"))
    run = hedgerow("run", job, "--yes")
    assert run.code == 0, run.err


def test_a_page_damaged_in_the_middle_stops_the_run_in_fixed_words(hedgerow: Command, job: Path) -> None:
    path = job.parent / "secret.parquet"
    big = pl.concat([frame(ROWS)] * 2000)
    big.write_parquet(path, compression="uncompressed", row_group_size=1000)
    raw = bytearray(path.read_bytes())
    middle = len(raw) // 2
    raw[middle : middle + 4000] = b"\xff" * 4000
    path.write_bytes(bytes(raw))
    _edit('table = "secret.csv"', 'table = "secret.parquet"')(job)
    run = hedgerow("run", job, "--yes")
    assert run.code == 3
    assert "could not be read to its end" in run.err
    assert "--resume" in run.err


def test_a_public_table_that_does_not_fit_is_code_3(hedgerow: Command, job: Path) -> None:
    (job.parent / "public.csv").write_text("sex\nF\n")
    _edit("[budget]", '[public]\ntable = "public.csv"\n[budget]')(job)
    refused = hedgerow("plan", job)
    assert refused.code == 3
    assert "race" in refused.err


def test_no_job_file_is_code_2(hedgerow: Command, tmp_path: Path) -> None:
    refused = hedgerow("run", tmp_path / "job.toml", "--yes")
    assert refused.code == 2
    assert "hedgerow demo" in refused.err


def test_verify_of_a_folder_that_is_not_there_says_so_in_one_line(hedgerow: Command, tmp_path: Path) -> None:
    refused = hedgerow("verify", tmp_path / "nowhere")
    assert refused.code == 2
    assert refused.err.startswith("There is no folder")
    assert not refused.out


def test_tables_in_duckdb_files_are_found_beside_the_job(hedgerow: Command, job: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    for name, rows in (("secret", 60), ("public", 59)):  # the secret's own rows, all of them, are refused as public
        with duckdb.connect(str(job.parent / f"{name}.db")) as db:
            source = f"read_csv('{job.parent / 'secret.csv'}', all_varchar=true)"
            db.execute(f"CREATE TABLE people AS SELECT * FROM {source} LIMIT {rows}")
    _edit('table = "secret.csv"', 'table = "duckdb:secret.db#people"')(job)
    _edit("[budget]", '[public]\ntable = "duckdb:public.db#people"\n[budget]')(job)
    _edit('file = "schema.toml"', 'file = "schema.toml"\noutside = 0.5')(job)
    run = hedgerow("run", job, "--yes")
    assert run.code == 0, run.err
    place = f"duckdb:{job.parent}/public.db#people"
    assert hedgerow("verify", job.parent / "release", "--public", place).code == 0
    assert "public.db#people" in (job.parent / "release" / "statement.json").read_text()


def test_a_fault_that_nobody_foresaw_is_told_without_its_own_words(
    hedgerow: Command, job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Panic(BaseException):
        """As a library of another language raises it."""

    for fault in (KeyError("pay of me: 81726354"), Panic("81726354"), MemoryError("81726354")):

        def fail(*args: object, fault: BaseException = fault, **more: object) -> None:
            raise fault

        monkeypatch.setattr("hedgerow.api.job.Job.load", fail)
        monkeypatch.delenv("HEDGEROW_TRACEBACK", raising=False)
        ended = hedgerow("plan", job)
        assert ended.code == 1
        assert "81726354" not in ended.out + ended.err
        assert "Traceback" not in ended.err
        assert ended.err.startswith("Memory ran out" if isinstance(fault, MemoryError) else "This is a fault of ours")
        monkeypatch.setenv("HEDGEROW_TRACEBACK", "1")
        with pytest.raises(type(fault)):
            hedgerow("plan", job)


def test_dpsyn_without_groups_is_planned_whatever_its_regime(hedgerow: Command, job: Path) -> None:
    _edit('"independent"', '"dpsyn"')(job)
    _edit("delta = 0", "delta = 1e-6\n[public]\ntable = 'public.csv'")(job)
    _edit('file = "schema.toml"', 'file = "schema.toml"\noutside = 0.5')(job)
    frame(ROWS[:-3]).write_csv(job.parent / "public.csv")
    for rows in (60, 5_000, 10**6):
        text = job.read_text().replace("unit =", f"assumed_rows = {rows}\nunit =", 1)
        planned = job.with_name(f"{rows}.toml")
        planned.write_text(text)
        assert hedgerow("plan", planned).code in (0, 5)


def test_a_damaged_bundle_is_not_sampled(hedgerow: Command, job: Path) -> None:
    assert hedgerow("run", job, "--yes").code == 0
    for damage in (lambda f: f.write_bytes(b"\xff"), Path.unlink):
        damage(job.parent / "release" / "job.toml")
        ended = hedgerow("sample", job.parent / "release", "--copies", "1", "--out", job.parent / "more")
        assert ended.code in (2, 6)
        assert "job.toml" in ended.err


def test_noisy_counts_of_more_records_than_can_be_drawn_are_refused_in_words(hedgerow: Command, job: Path) -> None:
    """A column that is no count, taken for one: the answers are kept, and the message says where to look."""
    for row in ('unit = "person"', 'person = "id"', "rows_per_person = 2"):
        _edit(row, "")(job)
    _edit('count = ""', 'count = "id"')(job)
    for recipe in ("independent", "tree_blend"):
        frame((("F", "A", "5", "n", "999999999"),) * 9).write_csv(job.parent / "secret.csv")
        job.write_text(job.read_text().replace('"independent"', f'"{recipe}"'))
        ended = hedgerow("run", job, "--yes", "--out", job.parent / recipe)
        assert ended.code == 2, ended.err
        assert "can be drawn" in ended.err and "[confidential] count" in ended.err
