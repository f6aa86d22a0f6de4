"""Training on an axis: what has seen nothing stands apart at the left, steps stand in for tokens
that nobody knows."""

from __future__ import annotations

import pandas as pd
import pytest

from core.results.drawing.context import PAGE
from core.results.drawing.training import (
    along_training,
    loss_chart,
    loss_table,
    progress_notices,
    with_progress,
)

STEPS = ("zoo:seed-0@step-0", "zoo:seed-0@step-50", "zoo:seed-0")


def test_tables_say_how_far_each_model_is_and_nothing_where_nobody_knows() -> None:
    table = with_progress(
        pd.DataFrame(
            {"part": "a", "model": [*STEPS, "linear chain", "hub:a/b@step10"], "value": 1.0}
        )
    )
    assert list(table.columns) == ["part", "model", "steps", "tokens", "value"]
    assert table["steps"].tolist()[:3] == [0, 50, 12_300]
    assert table["tokens"].tolist()[:3] == [0, 102_400, 25_190_400]
    assert table["steps"].tolist()[3:] == [pd.NA, 10]
    assert table["tokens"].isna().tolist()[3:] == [True, True]


def test_a_model_that_has_seen_nothing_stands_apart_at_the_left_end() -> None:
    table = with_progress(pd.DataFrame({"model": [*STEPS], "value": [1.0, 2.0, 3.0]}))
    rows, plane = along_training(table, "value", "Value", (0.0, 4.0), context=PAGE)
    assert rows["place"].tolist() == [12.5, 50, 12_300]
    assert plane.x_ends == (12.5, 12_300)
    assert plane.x_log
    assert plane.x_axis["values"] == [12.5, 50, 12_300]
    assert plane.x_axis["labelExpr"].startswith("datum.value < 50 ? '0'")
    assert plane.x_title.startswith("Training step")


def test_steps_are_the_axis_also_where_the_tokens_of_one_are_unknown() -> None:
    table = with_progress(
        pd.DataFrame({"model": [STEPS[1], "hub:a/b@step10k"], "value": [1.0, 2.0]})
    )
    rows, plane = along_training(table, "value", "Value", (0.0, 4.0), context=PAGE)
    assert rows["place"].tolist() == [50, 10_000]
    assert plane.x_ends == (50, 10_000)
    assert plane.x_title.startswith("Training step")


def test_the_order_of_names_is_the_axis_where_nothing_is_known() -> None:
    table = with_progress(
        pd.DataFrame({"model": ["hub:a/early", "hub:a/late"], "value": [1.0, 2.0]})
    )
    rows, plane = along_training(table, "value", "Value", (0.0, 4.0), context=PAGE)
    assert rows["place"].tolist() == [1, 2]
    assert not plane.x_log
    (notice,) = progress_notices(table)
    assert "hub:" not in notice  # of none in particular


def test_what_the_axis_lacks_is_said() -> None:
    def notices(*refs: str) -> str:
        return " ".join(progress_notices(with_progress(pd.DataFrame({"model": [*refs]}))))

    assert notices(*STEPS) == ""
    assert notices(STEPS[1], "hub:a/b@step10") == "", "tokens are not on the axis"
    assert "hub:a/b" in notices(STEPS[1], "hub:a/b")
    assert STEPS[1] not in notices(STEPS[1], "hub:a/b")


def test_the_loss_is_that_of_the_cards_and_its_words_count_from_0() -> None:
    table = loss_table((*STEPS, "hub:a/b@step10"))
    assert table["model"].tolist() == [*STEPS]
    assert table["loss"].tolist()[-1] == pytest.approx(3.4271)
    assert "8.69 at 0, 3.43 at 12300" in loss_chart(table).to_dict()["description"]
