"""Job files: the recipe of a job that names none, and a hint for one that is misspelled."""

from pathlib import Path

import pytest

from hedgerow.errors import JobError
from hedgerow.job import Job

LEAST = '[confidential]\ntable = "secret.csv"\n[budget]\nepsilon = 1\n'
PUBLIC = '[public]\ntable = "public.csv"\n'
TARGET = '[target]\ntable = "target.csv"\n'


def job(text: str) -> Job:
    return Job.loads(text, Path("job.toml"))


@pytest.mark.parametrize(
    ("text", "recipe"),
    [
        (LEAST, "tree_blend"),
        (LEAST + PUBLIC, "public_blend"),
        (LEAST + PUBLIC + TARGET, "guided_tree"),
        ('[job]\nrecipe = "dpsyn"\n' + LEAST + PUBLIC, "dpsyn"),
    ],
)
def test_a_job_that_names_no_recipe_gets_the_best_for_what_it_has(text: str, recipe: str) -> None:
    assert job(text).recipe.name == recipe


def test_settings_of_the_default_recipe_are_read_and_those_of_another_are_refused() -> None:
    assert job(LEAST + PUBLIC + TARGET + '[guided_tree]\nprior = "leaves"\n').recipe.prior == "leaves"  # type: ignore[attr-defined]
    with pytest.raises(JobError, match="dpsyn"):
        job(LEAST + PUBLIC + "[dpsyn]\n")


def test_a_misspelled_recipe_is_answered_with_the_nearest() -> None:
    with pytest.raises(JobError, match=r"Did you mean public_blend\?"):
        job('[job]\nrecipe = "publicblend"\n' + LEAST)
