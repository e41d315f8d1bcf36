"""Every tuned constant stands on its recipe's page, as it is in the code."""

from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from hedgerow.model.constants import (
    DPSYN,
    GUIDED_TREE,
    INTEGER_COUNTS,
    PUBLIC_BLEND,
    RANDOM_TREES,
    TREE_BLEND,
)

PAGES = Path(__file__).parents[3] / "docs" / "recipes"


CONSTANTS = {
    "guided_tree": GUIDED_TREE,
    "random_trees": RANDOM_TREES,
    "tree_blend": TREE_BLEND,
    "public_blend": PUBLIC_BLEND,
    "dpsyn": DPSYN,
    "integer_counts": INTEGER_COUNTS,
}


def constants_table(constants: Any) -> str:
    """The constants of a recipe as a Markdown table."""
    lines = ["| constant | value | unit | what it does | where it comes from |", "|---|---|---|---|---|"]
    for f in fields(constants):
        lines.append(f"| `{f.name}` | {' | '.join((_shown(getattr(constants, f.name)), *f.metadata['origin']))} |")
    return "\n".join(lines)


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(_shown, value))
    return str(value) if isinstance(value, Fraction) else f"{value:,}" if isinstance(value, int) else f"{value:g}"


@pytest.mark.parametrize(("page", "constants"), CONSTANTS.items())
def test_the_page_lists_the_constants_of_the_code(page: str, constants: Any) -> None:
    assert constants_table(constants) in (PAGES / f"{page}.md").read_text("utf-8"), (
        f"put this under 'Constants' in docs/recipes/{page}.md:\n\n{constants_table(constants)}"
    )
