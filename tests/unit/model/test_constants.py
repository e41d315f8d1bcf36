"""Every tuned constant stands on its recipe's page, as it is in the code."""

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
    constants_table,
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


@pytest.mark.parametrize(("page", "constants"), CONSTANTS.items())
def test_the_page_lists_the_constants_of_the_code(page: str, constants: Any) -> None:
    assert constants_table(constants) in (PAGES / f"{page}.md").read_text("utf-8"), (
        f"put this under 'Constants' in docs/recipes/{page}.md:\n\n{constants_table(constants)}"
    )
