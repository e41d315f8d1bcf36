"""Tables of counts at the gate: a line that stands for n records is worth n lines of one, and tells no more."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from hedgerow.counting.plan import CountPlan
from hedgerow.errors import JobError, TableMismatch
from hedgerow.ledger.book import Ledger, RunAccount
from hedgerow.private import Gate, urns
from hedgerow.private.relabel import measure_relabelled
from hedgerow.private.rows import ConfidentialRows
from hedgerow.private.verification import verify_model
from hedgerow.public.coding import records
from hedgerow.public.costs.accounting import Budget, Guarantee
from hedgerow.public.costs.spend import Tariff
from hedgerow.public.costs.urn import Urn
from hedgerow.public.files import open_source
from tests.privacy.checks import check_verbs, quick_folder, run_job
from tests.privacy.count_mutants import ASKED, BAD, CODING, COUNTED, check_counts, written_out
from tests.privacy.test_relabel import ASKED as RELABELLED
from tests.privacy.test_relabel import LAW
from tests.privacy.verification_checks import CLAIMS, MODELS, claim_of
from tests.privacy.watch import Tape, watched
from tests.privacy.world import Pair, Row, frame, rows_of, write_job

TWO = settings(max_examples=2, deadline=None, phases=(Phase.generate,), suppress_health_check=list(HealthCheck))
FEW = settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
_COUNTS = st.integers(0, 40).map(str) | st.sampled_from([*BAD])


def test_a_line_of_n_records_counts_as_n_lines_by_a_fixed_rule() -> None:
    check_counts()


@given(lines=rows_of(st.integers(0, 9).map(str), most=30))
@FEW
def test_any_aggregate_counts_as_its_records_in_any_order_and_any_lines(lines: list[Row]) -> None:
    table = frame(tuple(lines))
    whole = written_out(table)
    again = whole.group_by(pl.all(), maintain_order=True).len("id")
    plan = CountPlan(ASKED, CODING)
    aggregates = [table, table.reverse(), again, again.cast({"id": pl.Float64}), again.cast({"id": pl.UInt8})]
    true = ConfidentialRows(open_source(whole), CODING, Guarantee()).count(plan)
    prints = {ConfidentialRows(open_source(whole), CODING, Guarantee()).fingerprint(b"k")}
    for aggregate in aggregates:
        counted = ConfidentialRows(open_source(aggregate), CODING, Guarantee(count="id"))
        assert all((a == b).all() for a, b in zip(counted.count(plan), true, strict=True))
        prints.add(counted.fingerprint(b"k"))
    assert len(prints) == 1


@st.composite
def neighbouring_counts(draw: st.DrawFn, relation: str) -> Pair:
    """Two tables of counts whose records differ in one: a count is one more, or one less and another one more."""
    base = tuple(draw(rows_of(_COUNTS, most=10)))
    (mine,) = draw(rows_of(st.just("0"), most=1, least=1))
    n = draw(st.integers(0, 5) | st.integers(10**9 - 2, 10**9 + 2))

    def of(row: Row, count: int) -> tuple[Row, ...]:
        return ((*row[:4], str(count)),)

    if relation == "add-remove":
        return Pair(base + of(mine, n + 1), base + (of(mine, n) if n else ()))
    (other,) = draw(rows_of(st.just("0"), most=1, least=1))
    other = other if relation == "replace-one" else (*other[:2], *mine[2:])
    m = draw(st.integers(0, 3))
    return Pair(base + of(mine, n + 1) + of(other, m), base + of(mine, n) + of(other, m + 1))


@pytest.mark.parametrize(("kind", "delta"), list(zip(COUNTED, ("0", "1e-6", "0"), strict=True)), ids=list(COUNTED))
@given(data=st.data())
@TWO
def test_every_verb_is_worth_its_price_for_one_record_of_a_table_of_counts(
    kind: str, delta: str, data: st.DataObject
) -> None:
    check_verbs(COUNTED[kind], delta, data.draw(neighbouring_counts(COUNTED[kind].relation)))


@pytest.mark.parametrize("recipe", ["independent", "integer_counts", "dirichlet_multinomial"])
def test_the_aggregate_and_its_records_give_the_same_release(tmp_path: Path, recipe: str) -> None:
    lines = frame(tuple((*row, n) for row, n in _LINES))
    found, tape = [], Tape()
    for name, table, guarantee in (
        ("counts", lines, Guarantee(count="id")),
        ("records", written_out(lines).with_columns(id=pl.lit("x")), Guarantee()),
    ):
        place = tmp_path / name
        place.mkdir()
        job = write_job(place, guarantee, recipe=recipe)
        table.write_csv(place / "secret.csv")
        with watched(tape, play=name == "records"):
            files, said = run_job(job)
        assert "statement.json" in files, said
        found.append(files)
    counts, records_ = found
    alike = {"records.parquet", "records.csv", "counts.csv", "measurements.parquet", "schema.toml"}
    assert counts.keys() == records_.keys()
    for file in alike & counts.keys():
        assert counts[file] == records_[file], f"{file} differs between an aggregate and its records"
    assert b'"count": "id"' in counts["statement.json"]
    assert b"stands for as many records as its column id says" in counts["privacy-statement.md"]


_LINES = tuple(
    ((sex, race, pay, area), str(7 * i % 23))
    for i, (sex, race, pay, area) in enumerate(
        (s, r, p, a) for s in "FM" for r in "ABZ" for p in ("5", "12", "x") for a in "nsw"
    )
)


def test_counts_are_read_from_any_type_of_column() -> None:
    for held in (
        pl.Series([3, None, -1], dtype=pl.Int64),
        pl.Series([3.0, float("nan"), 2.5]),
        pl.Series(["3", "no", None]),
        pl.Series([3, 0, 0], dtype=pl.UInt8),
        pl.Series([3, None, None], dtype=pl.Decimal(10, 2)),
    ):
        assert records(held).tolist() == [3, 0, 0], held.dtype
    assert records(pl.Series([2**64 - 1], dtype=pl.UInt64)).tolist() == [10**9]
    assert records(pl.Series([True, False])).tolist() == [0, 0]
    for held in (
        pl.Series([999_999_999.5, 1_000_000_000.5, float("inf"), -float("inf"), -0.5]),
        pl.Series(["999999999.5", "1000000000.5", "inf", "-inf", "NaN"]),
    ):
        assert records(held).tolist() == [0] * 5, "whole or not is asked before a number is cut"
    assert records(pl.Series([], dtype=pl.String)).tolist() == []


def test_an_urn_holds_any_number_of_records_without_overflow() -> None:
    urn = Urn(sizes=(50,), alphas=(1,), grain=10**6)
    drawn = urns.draw(urn, np.array([1 << 62, 0, 1 << 62, 0], np.int64), 1)
    assert drawn.sum() == 50
    assert drawn[0, [0, 2]].sum() == 50, "weights wrapped around"


def _gate(folder: str, guarantee: Guarantee) -> Gate:
    account = RunAccount(Ledger.open(f"{folder}/ledger.db"), table="toy", run="run")
    return Gate(
        open_source(frame((("F", "A", "5", "n", "3"),))), Tariff(CODING, guarantee, "pure"), Budget(1), account
    )


def test_what_needs_every_record_by_itself_is_refused_before_it_is_paid() -> None:
    claim = claim_of(MODELS[0], CLAIMS[0])
    asks: list[Any] = [
        lambda gate: measure_relabelled(gate, RELABELLED, [LAW], Fraction(1, 2)),
        lambda gate: verify_model(gate, claim, 10, Fraction(1, 2)),
    ]
    for ask in asks:
        with quick_folder() as folder:
            gate = _gate(folder, Guarantee(count="id"))
            with pytest.raises(JobError, match="one line per record"):
                ask(gate)
            assert gate.left == 1


def test_a_person_and_a_count_do_not_go_together() -> None:
    with pytest.raises(JobError, match="names no person"):
        Guarantee("person", 2, "add-remove", (), "id", "n")


def test_the_gate_takes_no_column_both_for_a_value_and_for_the_count() -> None:
    """One record more would move all records of its line from one value to the next."""
    with pytest.raises(TableMismatch, match="no column pay; or the job counts by it"):
        ConfidentialRows(open_source(frame((("F", "A", "5", "n", "a"),))), CODING, Guarantee(count="pay"))
