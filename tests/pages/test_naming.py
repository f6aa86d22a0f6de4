"""Names of models that a link gives, on a whole page: in charts and tables, and in no spec."""

from __future__ import annotations

import pytest

from tests.pages.conftest import SMALL, open_page


@pytest.mark.exhaustive
@pytest.mark.usefixtures("box")
def test_a_link_renames_a_model_in_charts_and_tables(drawn: list[object]) -> None:
    app = open_page("pages/rsa.py", **SMALL, names=["zoo:parse-0=Our parser", "zoo:seed-0=Base"])
    assert not app.exception
    assert not app.warning
    spec = str(drawn)  # functions of layers, and states
    assert "Our parser" in spec
    assert "to Base" in spec
    assert "parse-0 (" not in spec
    assert set(app.dataframe[0].value["model"]) == {"Our parser"}
    assert app.multiselect(key="rsa/compare").value == ["zoo:parse-0"]
    fields = {field.label: field.value for field in app.text_input}  # as a screen reader says them
    assert {"parse-0": "Our parser", "seed-0": "Base"}.items() <= fields.items()


@pytest.mark.usefixtures("box")
def test_without_names_a_page_has_the_short_ones(drawn: list[object]) -> None:
    app = open_page("pages/rsa.py", **SMALL)
    assert "parse-0 (" in str(drawn)
    assert set(app.dataframe[0].value["model"]) == {"zoo:parse-0"}
