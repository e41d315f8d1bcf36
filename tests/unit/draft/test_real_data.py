"""Drafts of real public tables load, resolve, and give nearly every value a cell of its own."""

from pathlib import Path

import pytest

from hedgerow.public.schema.drafting.draft import draft
from hedgerow.public.schema.drafting.sketch import Draft
from tests.unit.draft.drafting_tools import DATA, fits

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="needs the real data of ../shared/data")


def drawn_from(table: str, codebook: str | None = None) -> Draft:
    return draft(str(DATA / table), str(DATA / codebook) if codebook else None)


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        ("acs_ma/ma2018.csv", 24),
        ("adult/adult.parquet", 14),
        ("adult/hd_adult.parquet", 15),
        ("census_1994_1995/census_income.parquet", 43),
        ("opm/cpdf_100k.parquet", 10),
        ("acs_il_oh/il_oh_decoded.parquet", 36),
        ("nltcs/nltcs.parquet", 16),
        ("ce/CEdata.csv", 4),
    ],
)
def test_the_draft_holds_its_own_table(table: str, columns: int) -> None:
    drawn = drawn_from(table)
    schema, shares = fits(drawn, DATA / table)
    assert len(schema.columns) == columns
    for name, found in shares.items():
        assert found.outside == 0 and found.clamped == 0, (name, found)
        assert found.missing == 0 or schema.column(name).missing, name
        assert schema.size([name]) <= 400


@pytest.mark.parametrize("codebook", [None, "acs_ma/data_dictionary.json"])
def test_the_draft_of_one_year_holds_the_next(codebook: str | None) -> None:
    schema, shares = fits(drawn_from("acs_ma/ma2018.csv", codebook), DATA / "acs_ma/ma2019.csv")
    assert max((f.outside + f.clamped) / f.rows for f in shares.values()) < 0.01


def test_the_nist_parameters_hold_the_table() -> None:
    schema, shares = fits(drawn_from("acs_il_oh/parameters_IL-OH.json"), DATA / "acs_il_oh" / "il_oh_decoded.parquet")
    assert len(schema.columns) == 35
    assert max(f.outside / f.rows for f in shares.values()) == 0


def test_what_is_known_of_these_tables_is_found() -> None:
    """Facts stated by the papers on these data: 13 of 32 insurances, statuses fixed by the detailed one."""
    ohio = drawn_from("acs_il_oh/il_oh_decoded.parquet")
    fixed = {c.name: h for c in ohio.kept for h in c.hints if h.startswith("determined_by")}
    assert {n for n, h in fixed.items() if '["EMPSTATD"]' in h} == {"EMPSTAT", "LABFORCE"}
    assert '["PUMA"]' in fixed["STATE"]
    assert any("13 of 32" in s and '"HINSCARE"' in s for s in ohio.suggestions)
    assert any('left = "DEPARTS"\nright = "ARRIVES"' in s for s in ohio.suggestions)
    personnel = drawn_from("opm/cpdf_100k.parquet")
    assert [c.name for c in personnel.left_out] == ["PseudoID"]
    assert "rows_per_person = 7" in personnel.left_out[0].notes[0]
    kept = {c.name: c for c in personnel.kept}
    assert (bins := kept["BasicPay"].bins) is not None and bins.width == 2_000
    assert any(h.startswith("prefix = 2 ") for h in kept["Agency"].hints)


@pytest.mark.parametrize("name", ["adult/adult-domain.json", "nltcs/nltcs-domain.json"])
def test_a_domain_file_holds_its_table(name: str) -> None:
    table = next((DATA / Path(name).parent).glob(f"{Path(name).stem.removesuffix('-domain')}.parquet"))
    _, shares = fits(drawn_from(name), table)
    assert all(f.outside == f.clamped == 0 for f in shares.values())
