"""Every column of every table that a study exports has one line in the data dictionary."""

from __future__ import annotations

from typing import Any

import pytest

from core.commands.study import study_module
from core.results.columns import COLUMNS, describe, meaning

BESIDE: dict[str, dict[str, Any]] = {
    "probe": {"sentences": 120, "epochs": 1, "draws": 20, "seeds": 1, "controls": 1, "layers": (0, 6), "sweep": True},
    "weights": {"permutations": 100, "of": "both"},
}
pytestmark = pytest.mark.slow


def undescribed(tables: dict[str, Any]) -> list[str]:
    return [
        f"{name}.{column}" for name, table in tables.items() for column in table.columns if not meaning(name, column)
    ]


@pytest.mark.parametrize("study", BESIDE)
def test_every_column_that_no_answer_has_is_explained(study: str) -> None:
    """What came with the box is gone through beside its other tests, in core/commands/test_answers.py."""
    module = study_module(study)
    result = module.run_study(module.Spec(**BESIDE[study]))
    assert len(result.table)
    assert undescribed(result.tables) == []
    assert set(describe(result.tables)) == set(result.tables)


def test_a_column_may_mean_something_of_its_own_in_a_table() -> None:
    assert meaning("ranks", "rank") != meaning("scores", "rank")
    assert meaning("any", "no such column") is None
    assert all(text and "\n" not in text for text in COLUMNS.values())
