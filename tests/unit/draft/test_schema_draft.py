"""``Schema.draft``: from frames, files and code books to a schema that keeps its reasons in its file."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals as nw
import polars as pl
import pytest

import hedgerow as hr
from hedgerow.errors import JobError, SchemaError, TableMismatch
from hedgerow.public.schema.bins import Bins
from hedgerow.public.schema.drafting.numbers import set_apart
from hedgerow.public.schema.drafting.sketch import NumberRange, Sketch

PUBLIC = pl.DataFrame(
    {
        "id": range(400),
        "sex": ["F", "M"] * 200,
        "grade": [1, 2, 3, 4, 5] * 80,
        "pay": [20_000 + 37 * i for i in range(400)],
    }
)


FRAMES: dict[str, Callable[[], Any]] = {
    "polars": lambda: PUBLIC,
    "lazy": PUBLIC.lazy,
    "pandas": lambda: PUBLIC.to_pandas(),
    "pyarrow": PUBLIC.to_arrow,
    "narwhals": lambda: nw.from_native(PUBLIC),
    "narwhals lazy": lambda: nw.from_native(PUBLIC.lazy()),
    "narwhals pandas": lambda: nw.from_native(PUBLIC.to_pandas()),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_of_any_kind_gives_the_same_draft_as_its_file(kind: str, tmp_path: Path) -> None:
    PUBLIC.write_parquet(tmp_path / "public.parquet")
    drafted, from_file = hr.Schema.draft(FRAMES[kind]()), hr.Schema.draft(tmp_path / "public.parquet")
    assert drafted == replace(from_file, source="drafted from a frame")
    assert drafted.reasons and from_file.reasons and drafted.reasons.columns == from_file.reasons.columns


def test_a_draft_keeps_its_reasons_in_its_file_and_reads_back_equal(tmp_path: Path) -> None:
    drafted = hr.Schema.draft(PUBLIC)
    drafted.save(tmp_path / "schema.toml")
    text = (tmp_path / "schema.toml").read_text("utf-8")
    assert drafted.reasons is not None
    for reason in drafted.reasons.columns:
        assert all(word in text for note in reason.notes for word in note.split())
    assert "# [columns.id] left out: identifier." in text and "frame (400 rows, 4 columns)" in text
    again = hr.Schema.load(tmp_path / "schema.toml")
    assert again == drafted and hash(again) == hash(drafted) and again.reasons is None
    assert drafted.dumps() == again.dumps() and "#" not in drafted.dumps()


def test_a_draft_that_was_changed_is_saved_with_the_reasons_that_are_left() -> None:
    drafted = hr.Schema.draft(PUBLIC)
    sex, grade, pay = drafted.columns
    changed = replace(drafted, columns=(pay, replace(sex, name="own"), grade))
    text = changed.dumps(reasons=True)
    assert hr.Schema.loads(text) == changed
    assert "[columns.id] left out" in text and "5 values" in text and "# 2 values." not in text


def test_a_code_book_gives_a_draft(tmp_path: Path) -> None:
    book = tmp_path / "book.csv"
    book.write_text("column,value,label\nsex,F,Female\nsex,M,Male\npay,0-100000,Pay\n")
    alone, both = hr.Schema.draft(book), hr.Schema.draft(PUBLIC, codebook=book)
    assert alone.cell_labels("sex") == both.cell_labels("sex") == ("Female", "Male", "other")
    assert both.reasons and ("code book", "book.csv (CSV of column, value, label)") in both.reasons.origin


def test_a_schema_shows_itself() -> None:
    drafted = hr.Schema.draft(PUBLIC)
    assert repr(drafted).startswith("Schema(3 columns: sex (3), grade (6), pay (") and "\n" not in repr(drafted)
    html = drafted._repr_html_()
    assert "<td>sex</td><td>categorical</td><td>3</td><td>2 values.</td>" in html and "left out" in html
    plain = hr.Schema.loads('[columns."a<b"]\nkind = "integer"\nbins = { quantiles = 5 }\n')
    assert repr(plain) == "Schema(1 columns: a<b (?))" and "a&lt;b" in plain._repr_html_()
    assert "left out" not in plain._repr_html_()
    assert "id: left out, identifier." in str(drafted.reasons)


@pytest.mark.parametrize("wrong", [3, None, {"sex": ["F"]}, ["public.csv"]])
def test_what_is_no_table_is_refused_with_the_cure(wrong: object) -> None:
    with pytest.raises(JobError, match=r"the path of a file or a frame \(pandas, Polars, PyArrow\), not .*Give one"):
        hr.Schema.draft(wrong)


def test_other_mistakes_are_refused_with_the_cure(tmp_path: Path) -> None:
    with pytest.raises(JobError, match="codebook is the path of a file, not a dict"):
        hr.Schema.draft(PUBLIC, codebook={})
    with pytest.raises(JobError, match="There is no file absent.csv"):
        hr.Schema.draft("absent.csv")
    with pytest.raises(SchemaError, match=r"Schema\.draft\(frame\)"):
        hr.Schema.load(PUBLIC)
    with pytest.raises(JobError, match="Cannot write"):
        hr.Schema.draft(PUBLIC).save(tmp_path / "nowhere" / "schema.toml")


def test_the_comment_counts_the_bins_that_are_left_when_values_are_set_apart() -> None:
    edges = Sketch(
        "x", "integer", bins=Bins(edges=(0, 1, 10, 100)), range=NumberRange(0, 99, "bins that widen", (0,))
    )
    assert edges.notes == ("Numbers from 0 to 99; bins that widen, 0 in a bin of its own; 3 bins.",)
    assert set_apart(edges, {"0": "none"}).notes == ("Numbers from 0 to 99; bins that widen; 2 bins.",)
    ages = Sketch("age", "integer", bins=Bins(-1, 9, 1), range=NumberRange(-1, 9, "all"))
    assert ages.notes[0].endswith("11 bins.") and set_apart(ages, {"-1": "?"}).notes[0].endswith("10 bins.")


def test_a_column_whose_name_is_a_pattern_to_polars_is_refused_in_words() -> None:
    with pytest.raises(TableMismatch, match=r"is a pattern to Polars.*rename it"):
        hr.Schema.draft(pl.DataFrame({"^t.*$": [1, 2], "sex": ["F", "M"]}))
