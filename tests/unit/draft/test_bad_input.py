"""Input that cannot be drafted from gives one clear paragraph and the right class; the rest is drafted."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hedgerow.errors import HedgerowError, JobError, TableMismatch
from hedgerow.public.schema import Schema
from hedgerow.public.schema.drafting.draft import draft
from tests.unit.draft.drafting_tools import drafted, fits, written


def file(name: str, content: str | bytes) -> Callable[[Path], Path]:
    def made(folder: Path) -> Path:
        raw = content if isinstance(content, bytes) else content.encode()
        (folder / name).write_bytes(raw)
        return folder / name

    return made


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda folder: folder / "absent.csv", JobError, "no file"),
        (lambda folder: folder / "absent.json", JobError, "no file"),
        (file("table.csv", "a,b\n"), TableMismatch, "a header but no rows"),
        (file("table.csv", "a,b\n1,2\n"), TableMismatch, "one row only"),
        (file("table.csv", "a,b\n,\n,\n,\n"), TableMismatch, "all missing"),
        (file("table.csv", "id\n" + "\n".join(f"p{i}" for i in range(50))), TableMismatch, "identifier"),
        (file("table.parquet", b"PAR1 this is no parquet"), TableMismatch, "header"),
        (file("table.xyz", "a,b\n1,2\n"), JobError, "Nothing was read"),
        (file("book.json", "{not json"), JobError, r"not JSON \(line 1"),
        (file("book.json", b"\xff\xfe\x00"), JobError, "not JSON"),
        (file("book.json", "[1, 2]"), JobError, "no code book that I know"),
        (file("book.json", '{"a": {"b": 3}}'), JobError, "no code book that I know"),
        (file("book.json", "{}"), JobError, "no code book that I know"),
        (file("book.json", '{"schema": {"a": {"dtype": "int", "values": 3}}}'), JobError, "no code book that I know"),
        (file("book.json", '{"fields": [{"type": "integer"}]}'), JobError, "needs a name"),
        (file("book.json", '{"fields": [{"name": "note", "type": "string"}]}'), JobError, "no values or ranges"),
        (file("book.csv", "column,value,label\n"), JobError, "lists no value"),
    ],
)
def test_one_paragraph_of_the_right_class(
    make: Callable[[Path], Path], error: type[HedgerowError], says: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=says) as caught:
        draft(str(make(tmp_path)))
    text = str(caught.value)
    assert 40 < len(text) < 700 and "\n\n" not in text and "Traceback" not in text
    assert type(caught.value).exit_code == error.exit_code


def test_a_code_book_cannot_take_another(tmp_path: Path) -> None:
    book = file("book.csv", "column,value,label\nsex,1,M\n")(tmp_path)
    with pytest.raises(JobError, match="a code book itself"):
        draft(str(book), str(book))


def test_a_table_is_no_code_book(tmp_path: Path) -> None:
    table = file("table.csv", "a,b\n1,x\n2,y\n")(tmp_path)
    with pytest.raises(JobError, match="no code book that I know"):
        draft(str(table), str(table))
    with pytest.raises(JobError, match="no code book that I know"):
        draft(str(table), str(tmp_path / "absent.json"))


def test_a_million_labels_are_left_out_with_a_word(tmp_path: Path) -> None:
    rows = 1_000_000
    table = pl.DataFrame(
        {"who": pl.Series(range(rows)).cast(pl.String) + " Main Street", "sex": ["F", "M"] * (rows // 2)}
    )
    drawn = drafted(table, tmp_path, "public.parquet")
    assert [(c.name, c.left_out) for c in drawn.left_out] == [("who", "free text")]
    assert "More than 200,000" in written(drawn) and len(written(drawn)) < 5_000


def test_the_same_table_gives_the_same_draft_byte_for_byte(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    names = pl.Series(rng.integers(0, 3_000, 20_000)).cast(pl.String) + " road"
    table = pl.DataFrame({"a": names, "b": rng.integers(0, 40, 20_000), "c": rng.normal(size=20_000)})
    assert written(drafted(table, tmp_path)) == written(drafted(table, tmp_path))


def test_many_labels_are_cut_to_the_frequent_ones_with_a_word(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    town = pl.Series(rng.zipf(1.5, 60_000)).cast(pl.String) + " road"
    drawn = drafted(pl.DataFrame({"town": town}), tmp_path)
    (found,) = drawn.kept
    assert len(found.values) <= 300 and found.other == "other" and "too many to list" in found.notes[0]
    schema, shares = fits(drawn, tmp_path / "public.csv")
    assert schema.size(["town"]) == len(found.values) + 1 and shares["town"].outside < 0.2 * 60_000


def test_many_codes_are_cut_to_a_prefix_with_a_word(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    codes = [
        f"{a}{b:04}"
        for a, b in zip(rng.choice(["AG", "VA", "TR"], 9_000), rng.integers(0, 9_999, 9_000), strict=True)
    ]
    drawn = drafted(pl.DataFrame({"unit": codes}), tmp_path)
    (found,) = drawn.kept
    assert found.values == ("AG", "TR", "VA") and found.prefix == 2
    assert fits(drawn, tmp_path / "public.csv")[1]["unit"].outside == 0


def test_names_and_labels_that_need_quotes_survive(tmp_path: Path) -> None:
    odd = ['a "quoted" one', "back\\slash", "tab\there", "hash # here", "é€漢", "it's", "[x]", "a = b"]
    table = pl.DataFrame({'pay, "gross" # 1': odd * 5, "[columns.x]": ["1", "2"] * 20, "a.b": ["u\x7fv", "w"] * 20})
    schema = Schema.loads(written(drafted(table, tmp_path, "public.parquet")))
    assert set(schema.column('pay, "gross" # 1').values) == {*odd}
    assert schema.column("a.b").values == ("u\x7fv", "w")


def test_very_many_numbers_keep_their_gaps_heaps_and_ends(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    income = np.where(rng.random(600_000) < 0.2, 0.0, rng.normal(50_000, 9_000, 600_000))
    income[:3] = [-1e6, 2e6, np.nan]
    drawn = drafted(pl.DataFrame({"income": income}).fill_nan(None), tmp_path, "public.parquet")
    (found,) = drawn.kept
    assert found.kind == "real" and found.missing and dict(found.special) == {"0": "exactly 0"}
    share = fits(drawn, tmp_path / "public.parquet")[1]["income"]
    assert share.outside == share.clamped == 0 and share.missing == 1
