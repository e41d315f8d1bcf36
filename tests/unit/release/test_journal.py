"""What a journal keeps comes back as it was: questions with their trees too."""

from fractions import Fraction
from pathlib import Path

from hedgerow.answers import Reply
from hedgerow.public.costs.question import Marginal, Tree
from hedgerow.public.costs.spend import Spend
from hedgerow.run_gate import Journal


def test_a_choice_comes_back_whole(tmp_path: Path) -> None:
    tree = Tree.of(("age",), 2, [0], [0], [-1, -2])
    candidates = (Marginal(("sex",)), Marginal(("sex",), tree), Marginal((), tree, "sex"))
    journal = Journal(tmp_path / "run")
    journal.folder.mkdir()
    journal.start("r", "j")
    spend = Spend("select", (), Fraction(1), candidates, Fraction(1, 2))
    for position, chosen in enumerate(candidates):
        journal.keep(position, Reply(spend, chosen=chosen))
    assert [a.chosen for a, _ in journal.answers()] == list(candidates)
