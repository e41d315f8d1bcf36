"""Records fitted to tables: the error falls, far below that of a sample."""

from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest

from hedgerow.model.records.descent import GroupTargets, PairTargets, Records, descend

SHAPE = (4, 3, 6, 2, 5)


def truth(n: int, seed: int = 0) -> npt.NDArray[np.int64]:
    """Records whose columns all follow a hidden one."""
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, 6, n)
    return np.stack([(hidden + (rng.random(n) < 0.3) * rng.integers(0, 6, n)) % s for s in SHAPE], axis=1)


def tables(records: npt.NDArray[np.int64]) -> dict[tuple[int, int], npt.NDArray[np.float64]]:
    return {
        (i, j): np.bincount(records[:, i] * SHAPE[j] + records[:, j], minlength=SHAPE[i] * SHAPE[j]).astype(float)
        for i, j in combinations(range(len(SHAPE)), 2)
    }


def error(records: Records, wanted: dict[tuple[int, int], npt.NDArray[np.float64]]) -> float:
    got = tables(records.astype(np.int64))
    return float(np.mean([np.abs(got[p] / len(records) - t / t.sum()).sum() for p, t in wanted.items()]))


def shuffled(records: npt.NDArray[np.int64]) -> Records:
    rng = np.random.default_rng(9)
    return np.stack([rng.permutation(c) for c in records.T], axis=1).astype(np.uint16)


def test_the_error_falls_below_that_of_a_sample() -> None:
    real = truth(5000)
    wanted, start = tables(real), shuffled(real)
    fitted = descend(start, PairTargets(SHAPE, wanted, 5000), np.random.default_rng(0), sweeps=5)
    resampled = real[np.random.default_rng(1).integers(0, 5000, 5000)].astype(np.uint16)
    assert error(fitted, wanted) < 0.1 * error(start, wanted)
    assert error(fitted, wanted) < 0.5 * error(resampled, wanted)
    assert (fitted < np.array(SHAPE)).all()


def test_no_sweep_makes_it_worse_and_the_input_stays() -> None:
    real = truth(500)
    wanted, start = tables(real), shuffled(real)
    targets, before = PairTargets(SHAPE, wanted, 500), start.copy()
    errors = [_squares(descend(start, targets, np.random.default_rng(2), sweeps=s), wanted) for s in range(5)]
    assert errors == sorted(errors, reverse=True)
    assert (start == before).all()


def _squares(records: Records, wanted: dict[tuple[int, int], npt.NDArray[np.float64]]) -> float:
    got = tables(records.astype(np.int64))
    return float(sum(((got[p] - t) ** 2).sum() for p, t in wanted.items()))


def test_pairs_without_a_target_do_not_pull() -> None:
    start = shuffled(truth(300))
    nothing = PairTargets(SHAPE, {}, 300)
    assert (descend(start, nothing, np.random.default_rng(0)) == start).all()


def test_flat_and_square_tables_are_the_same() -> None:
    wanted = tables(truth(100))
    square = {p: t.reshape(SHAPE[p[0]], SHAPE[p[1]]) for p, t in wanted.items()}
    assert PairTargets(SHAPE, square, 100).square.target == pytest.approx(
        PairTargets(SHAPE, wanted, 100).square.target
    )


def test_a_table_of_many_cells_keeps_more_of_its_association_when_it_counts_by_its_cells() -> None:
    rng, n = np.random.default_rng(2), 3000
    pay = np.clip(rng.normal(50, 15, n), 0, 99).astype(int)
    age = np.clip(pay * 0.6 + rng.normal(10, 6, n), 0, 79).astype(int)
    sizes = (100, 80, 2, 2, 2, 2)
    real = np.stack([pay, age, *((pay + rng.normal(0, 25, n)) > c for c in (40, 50, 60, 70))], axis=1).astype(int)
    wanted = {
        (i, j): np.bincount(real[:, i] * sizes[j] + real[:, j], minlength=sizes[i] * sizes[j]).astype(float)
        for i, j in combinations(range(6), 2)
    }
    found = {}
    for power in (0.0, 0.75):
        targets = PairTargets(sizes, wanted, n, power)
        fitted = descend(shuffled(real), targets, np.random.default_rng(0), sweeps=4)
        found[power] = float(np.corrcoef(fitted[:, 0], fitted[:, 1])[0, 1])
    assert found[0.75] > found[0.0] + 0.02


def test_values_of_rows_stay_unless_their_cells_gain_more_than_the_toll() -> None:
    real = truth(4000)
    given = real[np.random.default_rng(3).integers(0, 4000, 4000)].astype(np.uint16)
    wanted = tables(real)
    changed, apart = [], []
    for stay in (0.0, 0.5, 1e6):
        fitted = descend(given, PairTargets(SHAPE, wanted, 4000), np.random.default_rng(0), sweeps=12, stay=stay)
        changed.append(float((fitted != given).mean()))
        apart.append(error(fitted, wanted))
    assert changed[0] > changed[1] > changed[2] == 0
    assert apart[0] < apart[2] and apart[1] < 0.5 * apart[2]


def test_records_of_a_group_that_nothing_is_known_of_stay_and_spoil_no_other() -> None:
    real = truth(3000)
    own = {(i, j): t for (i, j), t in tables(real).items()}
    groups = GroupTargets(SHAPE, {k: np.stack([t * 0, t]).astype(np.float32) for k, t in own.items()})
    strangers, start = shuffled(truth(50, seed=1)), shuffled(real)
    given = np.concatenate([np.insert(strangers, 0, 0, axis=1), np.insert(start, 0, 1, axis=1)])
    fitted = groups.descend(given, np.random.default_rng(0), sweeps=5, stay=0.0)
    assert (fitted[:50] == given[:50]).all()
    assert error(fitted[50:, 1:], own) < 0.2 * error(start, own)
