"""The kind of a column is guessed as a statistician would."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from hedgerow.public.schema import Bins
from hedgerow.public.schema.drafting.sketch import Sketch
from tests.unit.draft.drafting_tools import column, drafted, fits, left_out

N = 400
rng = np.random.default_rng(5)


def frame(**columns: object) -> pl.DataFrame:
    return pl.DataFrame({**columns, "half": ["a", "b"] * (N // 2)})


def test_few_texts_are_a_list_in_natural_order(tmp_path: Path) -> None:
    found = column(frame(band=["b10", "b9", "b1", "b2"] * 100), tmp_path, "band")
    assert (found.kind, found.values) == ("categorical", ("b1", "b2", "b9", "b10"))
    assert not found.missing and found.other == "other"


@pytest.mark.parametrize(
    ("values", "ordered"),
    [
        (["Low", "High", "Medium", "High"], ("Low", "Medium", "High")),
        (["65+", "under 18", "18-39", "40-64"], ("under 18", "18-39", "40-64", "65+")),
        (["Agree", "Neutral", "Strongly agree", "Disagree"], ("Disagree", "Neutral", "Agree", "Strongly agree")),
    ],
)
def test_values_on_a_known_scale_are_ordered(values: list[str], ordered: tuple[str, ...], tmp_path: Path) -> None:
    found = column(frame(answer=values * 100), tmp_path, "answer")
    assert (found.kind, found.values) == ("ordered", ordered)


def test_grades_in_whole_numbers_are_ordered_and_other_codes_are_not(tmp_path: Path) -> None:
    codes = rng.integers(1, 7, N)
    found = {c.name: c for c in drafted(frame(grade=codes, race=codes), tmp_path).kept}
    assert found["grade"].kind == "ordered" and found["race"].kind == "categorical"
    assert found["race"].type == "integer"


@pytest.mark.parametrize("pair", [("yes", "no"), ("Y", "N"), ("1", "0"), ("True", "False"), ("t", "f")])
def test_two_answers_are_yes_and_no(pair: tuple[str, str], tmp_path: Path) -> None:
    found = column(frame(member=[*pair] * (N // 2)), tmp_path, "member")
    assert found.kind == "yes-no"
    assert (found.yes, found.no) == ((pair[0],), (pair[1],))


def test_sex_as_zero_and_one_is_a_list_and_no_question(tmp_path: Path) -> None:
    assert column(frame(sex=["0", "1"] * (N // 2)), tmp_path, "sex").kind == "categorical"


def test_ages_get_one_bin_each_and_pay_gets_round_bins(tmp_path: Path) -> None:
    age, pay = (
        np.r_[16, 90, rng.integers(16, 91, N - 2)],
        np.r_[18_215, 169_253, rng.integers(20_000, 160_000, N - 2)],
    )
    found = {c.name: c for c in drafted(frame(age=age, pay=pay), tmp_path).kept}
    assert found["age"].bins == Bins(16, 90, 1)
    assert found["pay"].bins == Bins(18_000, 170_000, 2_000)
    assert any("quantiles" in h for h in found["pay"].hints)


def test_a_small_count_is_a_number_when_its_name_says_so(tmp_path: Path) -> None:
    few = rng.integers(0, 6, N)
    found = {c.name: c for c in drafted(frame(num_children=few, stratum=few), tmp_path).kept}
    assert found["num_children"].kind == "integer" and found["stratum"].kind == "categorical"


def test_leading_zeros_mean_codes_and_so_do_uneven_heaps(tmp_path: Path) -> None:
    zips = [f"0{x}" for x in rng.integers(2100, 2160, N)]
    heaps = rng.choice([770, 7860, *range(1013, 9013, 100)], N, p=[0.1, 0.1, *[0.01] * 80])
    found = {c.name: c for c in drafted(frame(place=zips, indp=heaps), tmp_path).kept}
    assert found["place"].kind == "categorical" and found["place"].values[0].startswith("0")
    assert found["indp"].kind == "categorical"


def test_a_text_among_numbers_gets_a_cell_of_its_own(tmp_path: Path) -> None:
    found = column(frame(income=["N", *map(str, range(0, (N - 1) * 100, 100))]), tmp_path, "income")
    assert found.kind == "integer" and dict(found.special) == {"N": "N"}


def test_whole_numbers_stored_as_floats_are_whole(tmp_path: Path) -> None:
    drawn = drafted(frame(age=rng.integers(20, 60, N).astype(float)), tmp_path, "public.parquet")
    assert drawn.kept[0].kind == "integer"


def test_decimals_give_the_rounding_unit(tmp_path: Path) -> None:
    found = column(frame(weight=rng.normal(70, 9, N).round(2)), tmp_path, "weight")
    assert found.kind == "real" and found.unit == 0.01


@pytest.mark.parametrize("mark", ["?", "NA", "", "NULL", "."])
def test_marks_for_missing_are_found(mark: str, tmp_path: Path) -> None:
    found = column(frame(race=["A", "B", "C", mark] * 100), tmp_path, "race")
    assert found.missing and found.values == ("A", "B", "C")
    assert found.missing_values == ((mark,) if mark else ())
    assert any("25.0%" in n for n in found.notes)


def test_namibia_is_not_missing(tmp_path: Path) -> None:
    countries = [a + b for a in "ABCDN" for b in "ADEGL"]
    found = column(frame(country=[*countries * 16]), tmp_path, "country")
    assert "NA" in found.values and not found.missing


@pytest.mark.parametrize("name", ["PseudoID", "person_id", "id", "person", "case_number"])
def test_an_identifier_is_left_out_and_offered_as_person(name: str, tmp_path: Path) -> None:
    found = left_out(frame(**{name: [i // 3 * 7919 for i in range(N)]}), tmp_path, name)
    assert found.left_out == "identifier" and f'person = "{name}"' in found.notes[0]
    assert "rows_per_person = 3" in found.notes[0]


def test_a_number_within_which_sex_and_race_never_change_names_people(tmp_path: Path) -> None:
    who = np.repeat(rng.permutation(10**6)[:1_000], 3)
    table = pl.DataFrame(
        {"x7": who, "sex": who % 7 % 2, "race": who % 11 % 4, "pay": rng.integers(10**4, 10**5, 3_000)}
    )
    found = left_out(table, tmp_path, "x7")
    assert found.left_out == "identifier" and "rows_per_person = 3" in found.notes[0]
    assert column(table, tmp_path, "pay").kind == "integer"


def test_row_numbers_and_unique_texts_are_left_out_under_any_name(tmp_path: Path) -> None:
    many = frame(x=range(N), ticket=[f"t{i * 37 % 1009}" for i in range(N)])
    assert left_out(many, tmp_path, "x").left_out == "identifier"
    assert left_out(many, tmp_path, "ticket").left_out == "identifier"


def test_all_different_amounts_are_no_identifier(tmp_path: Path) -> None:
    assert column(frame(spent=rng.normal(5000, 900, N)), tmp_path, "spent").kind == "real"


@pytest.mark.parametrize(
    ("written", "unit", "days"),
    [("%Y-%m-%d", "day", 40), ("%d/%m/%Y", "month", 900), ("%Y%m%d", "year", 12_000), ("%d%b%Y", "quarter", 5_000)],
)
def test_dates_are_read_as_written_and_binned_by_the_calendar(
    written: str, unit: str, days: int, tmp_path: Path
) -> None:
    day = pl.Series([int(d) for d in np.linspace(9_000, 9_000 + days, N)]).cast(pl.Date).dt.strftime(written)
    found = column(frame(hired=day), tmp_path, "hired")
    assert found.kind == "date" and found.bins is not None and found.bins.unit == unit
    assert found.format == written


@pytest.mark.parametrize(
    "written",
    ["%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S%.fZ", "%d.%m.%Y %H:%M", "%m/%d/%Y %I:%M:%S %p", ""],
)
def test_points_in_time_are_dates_and_neither_names_nor_free_text(written: str, tmp_path: Path) -> None:
    """As text in any usual way of writing, or as the file's own type; of a text the draft says what is kept."""
    when = pl.Series(np.linspace(1.4e15, 1.5e15, N).astype(np.int64)).cast(pl.Datetime("us"))
    table = frame(seen=when.dt.to_string(written) if written else when)
    drawn = drafted(table, tmp_path, "public.csv" if written else "public.parquet")
    found = next(c for c in drawn.columns if c.name == "seen")
    assert (
        isinstance(found, Sketch) and found.kind == "date" and found.bins is not None and found.bins.unit == "month"
    )
    assert found.format == (written or "%Y-%m-%d")
    said = " ".join(found.remarks)
    assert ("the day is kept, not the hour" in said) == bool(written) and "swapped" not in said
    schema, _ = fits(drawn, table)
    assert schema.column("seen").missing


def test_a_date_after_all_that_the_public_table_has_is_not_published_as_the_last_of_them(tmp_path: Path) -> None:
    day = pl.Series(range(17_000, 17_000 + N)).cast(pl.Date)
    drawn = drafted(frame(hired=day), tmp_path)
    _, found = fits(drawn, frame(hired=day.dt.offset_by("3y")))
    assert (found["hired"].clamped, found["hired"].outside) == (0, N)
    assert any(isinstance(c, Sketch) and c.name == "hired" and c.check for c in drawn.columns)


def test_days_that_could_be_months_ask_for_a_look(tmp_path: Path) -> None:
    day = [f"{1 + i % 12:02}/{1 + i % 11:02}/2015" for i in range(N)]
    assert column(frame(day=day), tmp_path, "day").check


def test_years_ask_whether_the_confidential_table_has_others(tmp_path: Path) -> None:
    found = column(frame(year=[2001, 2002, 2003, 2004] * 100), tmp_path, "year")
    assert found.check and found.kind == "integer" and "CHECK" in " ".join(found.notes)


def test_a_constant_says_so(tmp_path: Path) -> None:
    found = column(frame(year=[1994] * N), tmp_path, "year")
    assert found.values == ("1994",) and "CHECK: one value only" in found.notes[0] and found.check


def test_labels_seen_once_open_the_list(tmp_path: Path) -> None:
    found = column(frame(town=[*"abcdefg" * 57, "z"]), tmp_path, "town")
    assert found.other == "other" and "seen only once" in " ".join(found.notes)


def test_rare_labels_and_prefixes_are_offered(tmp_path: Path) -> None:
    codes = [f"{a}{b}" for a in ("AG", "VA", "TR") for b in range(10, 25)]
    share = np.r_[[0.03] * 30, [0.1 / 15] * 15]
    found = column(frame(agency=rng.choice(codes, N, p=share / share.sum())), tmp_path, "agency")
    assert any(h.startswith("prefix = 2 ") and "3 groups" in h for h in found.hints)
    towns = pl.DataFrame({"town": [f"town {i}" for i in range(20)] * 100 + [f"hamlet {i}" for i in range(20)]})
    (hint,) = column(towns, tmp_path, "town").hints
    assert hint.startswith('collapse = { below = 100, into = "other" }') and "the 20 rarest of 40" in hint


def test_a_mark_far_from_the_rest_is_pointed_at(tmp_path: Path) -> None:
    found = column(frame(hours=[*rng.integers(0, 60, N - 2), -99, -99]), tmp_path, "hours")
    assert any(n.startswith("-99 stands apart") for n in found.notes) and dict(found.special) == {"-99": "-99"}
    assert found.bins is not None and found.bins.low == 0


def test_a_month_has_twelve_values_whichever_the_public_table_shows(tmp_path: Path) -> None:
    found = column(frame(month=rng.integers(1, 7, N), months_open=rng.integers(1, 7, N)), tmp_path, "month")
    assert found.bins == Bins(1, 12, 1)
    assert column(frame(months_open=np.r_[1, 6, rng.integers(1, 7, N - 2)]), tmp_path, "months_open").bins == Bins(
        1, 6, 1
    )


def test_numbers_measured_to_a_step_are_no_codes(tmp_path: Path) -> None:
    wind = np.r_[np.arange(10, 170, 5), rng.integers(5, 15, N - 32) * 5]
    found = column(frame(wind=wind), tmp_path, "wind")
    assert (found.kind, found.unit) == ("integer", 5)


@pytest.mark.parametrize("repeated", [0, 8])
def test_names_are_left_out_of_a_small_table_too(repeated: int, tmp_path: Path) -> None:
    people = [f"{w} Smith" for w in range(N - repeated)] + ["Ann Smith"] * repeated
    assert left_out(frame(who=people), tmp_path, "who").left_out == "free text"
    assert column(frame(country=people), tmp_path, "country").kind == "categorical"


def test_a_time_stamp_that_many_rows_share_is_among_the_dates(tmp_path: Path) -> None:
    days = [f"19{10 + i % 90}-03-{1 + i % 28:02d} 00:00:00" for i in range(N - 50)]
    table = frame(left=[*days, *["2013-10-01 22:20:10.165196"] * 50])
    found = column(table, tmp_path, "left")
    assert found.kind == "date" and not any("swapped" in r for r in found.remarks)
    assert fits(drafted(table, tmp_path), table)[1]["left"].outside == 0


def test_scores_and_weights_are_numbers_though_some_are_frequent(tmp_path: Path) -> None:
    """Scores lie at uneven numbers; how often a code is says nothing of the next, how often a score is does."""
    rng = np.random.default_rng(4)
    places = np.unique(np.rint(300 + 300 * np.sin(np.linspace(-1.4, 1.4, 38)) + np.arange(38)))
    scores = rng.choice(places, 4_000, p=(p := np.exp(-(np.linspace(-2, 2, len(places)) ** 2))) / p.sum())
    codes = rng.choice(places, 4_000, p=rng.permutation(p) / p.sum())
    grams = 50 * np.rint(rng.normal(84, 16, 4_000)) + 25 * (rng.random(4_000) < 0.05)
    table = pl.DataFrame({"mathk": scores, "body mass": grams, "s003": codes}).cast(pl.Int64)
    assert column(table, tmp_path, "mathk").kind == column(table, tmp_path, "body mass").kind == "integer"
    assert column(table, tmp_path, "s003").kind == "categorical"


def test_whole_numbers_among_years_are_years_whatever_the_column_is_called(tmp_path: Path) -> None:
    """A year after all public ones would be published as the last of them."""
    table = pl.DataFrame({"s020": [*range(1981, 2005)] * 5, "iyear": [*range(70, 94)] * 5, "mass": [*range(24)] * 5})
    assert column(table, tmp_path, "s020").beyond == column(table, tmp_path, "iyear").beyond == "unknown"
    assert column(table, tmp_path, "s020").check and "other years" in column(table, tmp_path, "s020").remarks[0]
    assert column(table, tmp_path, "mass").beyond == "outer"


def test_a_person_with_very_many_rows_is_still_a_person(tmp_path: Path) -> None:
    """2,000 people with 30 rows each: an id is left out, and the draft says what most people have."""
    rows = np.concatenate([np.repeat(np.arange(2_000), 30), np.full(300, 7)])
    table = pl.DataFrame({"id": rows * 3, "test": rng_values(len(rows))})
    why = left_out(table, tmp_path, "id")
    assert why.left_out == "identifier"
    assert "up to 330 rows here; 95 in 100 have at most 30" in why.notes[0]
    plots = pl.DataFrame({"plot_id": rows % 24, "test": rng_values(len(rows))})
    assert column(plots, tmp_path, "plot_id").kind == "integer"


def rng_values(n: int) -> list[str]:
    return [str(v) for v in np.random.default_rng(1).choice(["a", "b", "c"], n)]


def test_remarks_of_which_a_few_are_frequent_are_free_text(tmp_path: Path) -> None:
    """Neither a long list, of which some labels have 7 % of the rows, nor a short one of sentences is a category."""
    rng = np.random.default_rng(2)
    remarks = [f"bird no. {i} was seen on the runway {rng.integers(9)}" for i in range(1_400)]
    remarks += ["NO DAMAGE"] * 60 + ["the engine was not damaged"] * 45
    notes = [f"sample {i} was lost on the way" for i in range(5)] + ["not enough blood for it"] * 12
    industries = [f"Manufacturing of goods, kind {i}" for i in range(20) for _ in range(7)] + [
        "Arts and much more besides"
    ]
    birds = pl.DataFrame({"remarks": remarks}).with_columns(
        sky=pl.Series(["clear", "cloud"]).sample(1_505, with_replacement=True, seed=1)
    )
    assert left_out(birds, tmp_path, "remarks").left_out == "free text"
    table = pl.DataFrame({"notes": [*notes, *[None] * 50], "sex": ["F"] * 30 + ["M"] * 37})
    assert "in sentences" in left_out(table, tmp_path, "notes").notes[0]
    assert len(column(pl.DataFrame({"trade": industries}), tmp_path, "trade").values) == 21


def test_times_of_the_day_are_counted_by_their_hour(tmp_path: Path) -> None:
    """All 24 hours are there, whichever the public table shows."""
    rng = np.random.default_rng(3)
    times = [f"{h:02d}:{m:02d}:{s:02d}" for h, m, s in rng.integers([9, 0, 0], [23, 60, 60], (3_000, 3))]
    drawn = drafted(pl.DataFrame({"time": times}), tmp_path)
    schema, found = fits(drawn, pl.DataFrame({"time": ["00:10:00", "11:38:36", "23:59:59"]}))
    assert found["time"].outside == 0 and schema.size(("time",)) == 25
    assert schema.coding.encode(pl.DataFrame({"time": ["11:38:36"]}), ["time"])["time"].tolist() == [11]


def test_a_column_with_a_handful_of_values_asks_for_a_look(tmp_path: Path) -> None:
    """Two numbers among 400 rows say little of what a later table has."""
    table = pl.DataFrame({"share": [11.03, 11.57, *[None] * 398], "x": range(400)})
    assert "only 2 of 400 rows have a value" in " ".join(column(table, tmp_path, "share").remarks)
    assert column(table, tmp_path, "share").check
