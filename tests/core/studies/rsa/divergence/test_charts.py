"""Divergence by group of words: a row's name has room whatever the size of its letters."""

from __future__ import annotations

import pandas as pd
import pytest

from core.results.drawing.context import PAGE, Context
from core.results.export import Result
from core.studies.rsa.divergence.charts import IN_WORDS, first_models, groups_chart
from core.studies.rsa.divergence.report import ALL, TAGS

ROW = {"model": "zoo:seed-1", "part": "compared", "by": TAGS, "items": 9, "js": 0.2, "low": 0.1,
       "high": 0.3, "kl": 0.2, "agreement": 0.5}  # fmt: skip


@pytest.mark.parametrize("context", [PAGE, Context(letter=18)])
def test_names_of_many_groups_do_not_overlap(context: Context) -> None:
    rows = [ROW | {"by": ALL, "words": ALL}, *(ROW | {"words": word} for word in IN_WORDS)]
    table = pd.DataFrame(rows)
    tables = {"divergence": table, "coloured": table[["model"]][:0]}
    result = Result("divergence", {"base": "zoo:seed-0"}, "", tables)
    height = groups_chart(result, context=context).to_dict()["height"]
    assert height >= 1.1 * context.letter * len(table)


def test_models_that_are_not_drawn_at_first_are_named() -> None:
    refs = [f"zoo:seed-0@step-{step}" for step in (200, 800, 3200)]
    rows = [ROW | {"model": ref, "by": ALL, "words": ALL} for ref in refs]
    rows[-1]["js"] = 0.1
    table = pd.DataFrame(rows)
    tables = {"divergence": table, "coloured": table[["model"]], "states": table[["model"]][:0]}
    result = Result("divergence", {"base": "zoo:seed-0"}, "", tables)
    undrawn = [
        "not drawn: seed-0@step-200 and seed-0@step-800"
        in groups_chart(shown).to_dict()["title"]["subtitle"]
        for shown in (result, first_models(result))
    ]
    assert undrawn == [False, True]
