"""Tables on a page: a title, words above the columns, no empty cell that says None, no box to
tick."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from core.results.columns import COLUMNS
from core.runs.process.remembered import forget_all
from ui.study import results
from ui.study.results import in_words

TABLE = pd.DataFrame(
    {
        "model": ["zoo:parse-0", None],
        "source_layer": [1, 2],
        "rival_value": [0.5, float("nan")],
        "clear": [True, False],
        "matched": [True, None],
    }
)


def page() -> None:
    from tests.ui.study.test_tables import TABLE
    from ui.study.results import show_table

    show_table(TABLE, "margins")
    show_table(TABLE.head(0), "scores")


def test_a_table_has_a_title_words_for_columns_and_raw_names_in_its_data() -> None:
    app = AppTest.from_function(page).run()
    assert not app.exception
    assert len(app.dataframe) == 1  # an empty table is left out
    assert "Scores compared" in app.markdown[0].value
    proto = app.dataframe[0].proto
    columns = json.loads(proto.columns)
    assert columns["source_layer"]["label"] == "Source layer"
    assert columns["rival_value"]["label"] == COLUMNS["rival_value"].title
    assert "metric" in columns["rival_value"]["help"]
    assert proto.placeholder == ""
    assert proto.HasField("placeholder")
    assert list(app.dataframe[0].value) == list(TABLE)


@pytest.mark.slow
def test_a_table_is_converted_once_for_all_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    converted: list[pd.DataFrame] = []
    monkeypatch.setattr(
        results, "in_words", lambda table: converted.append(table) or in_words(table)
    )
    forget_all()
    for _ in range(2):
        app = AppTest.from_function(page).run()
        assert app.dataframe[0].value["rival_value"].isna().tolist() == [False, True]
    assert len(converted) == 1


def mixed_page() -> None:
    import pandas as pd

    from ui.study.results import show_table

    show_table(pd.DataFrame({"model": ["zoo:parse-0", 3]}), "margins")


def test_a_table_with_a_mixed_column_is_shown() -> None:
    app = AppTest.from_function(mixed_page).run()
    assert not app.exception
    assert app.dataframe[0].value["model"].tolist() == ["zoo:parse-0", "3"]


def test_truth_values_are_words() -> None:
    shown = in_words(TABLE)
    assert shown["clear"].tolist() == ["yes", "no"]
    assert shown["matched"].tolist()[0] == "yes"
    assert pd.isna(shown["matched"].tolist()[1])
    assert shown["source_layer"].tolist() == [1, 2]
    assert TABLE["clear"].dtype == bool  # the result's own table is not changed
