"""Every metric that a table names has one record, which says how it is called and written."""

from __future__ import annotations

import pytest

from core.catalogue import STUDIES
from core.results.estimates import kind_of
from core.results.metrics import (
    METRICS,
    OF_SELECTIVITY,
    Metric,
    metric_label,
    metric_of,
    metric_title,
)
from core.results.words import as_record
from core.studies.probes.edges.charts import VIEWS
from core.studies.probes.trees.tables import PROBE_OF


def test_metrics_of_probes_have_a_name_a_meaning_and_a_kind() -> None:
    assert {*PROBE_OF} <= {*METRICS}
    for name, metric in METRICS.items():
        assert metric.meaning, name
        assert metric.unit == "" or not metric.of_hundred, f"{name}: per cent has its own unit"


def test_a_score_may_be_called_otherwise_of_another_thing() -> None:
    assert metric_of("accuracy").title == "Accuracy"
    assert metric_of("accuracy", "pairs").title == "Accuracy on pairs"
    assert metric_of("uas", "pairs").title == metric_of("UAS").title == "Correct heads (UAS)"


def test_a_metric_without_a_record_is_called_by_its_name() -> None:
    assert metric_of("tag accuracy") == Metric("tag accuracy")
    assert metric_label("tag accuracy") == "Tag accuracy"


@pytest.mark.parametrize(
    ("metric", "value", "margin"),
    [
        ("uuas", "points", "gain"),
        ("dspr", "share", "change"),
        ("bits", "amount", "change"),
        (f"uuas{OF_SELECTIVITY}", "gain", "gain"),
        (f"dspr{OF_SELECTIVITY}", "change", "change"),
        ("masked loss", "share", "change"),
    ],
)
def test_numbers_are_written_as_the_record_says(metric: str, value: str, margin: str) -> None:
    row = {"metric": metric}
    assert (kind_of("value", row), kind_of("margin", row)) == (value, margin)


def test_axes_say_the_unit_of_what_they_show() -> None:
    assert metric_label("uuas") == "Correct edges (UUAS), %"
    assert metric_title("uuas") == "Correct edges (UUAS)"
    assert metric_label(f"uuas{OF_SELECTIVITY}") == "Selectivity, correct edges (UUAS), points"
    assert metric_of("uuas").difference("gain") == "Correct edges (UUAS): gain, points"
    assert metric_of("dspr").difference("gain") == "Correlation of distances (DSpr.): gain"
    assert VIEWS["bits"] == "Online code length, bits per label"


def test_choices_of_a_view_are_called_as_the_records_say() -> None:
    for study, scores in (("probe polar", ""), ("probe removal", "pairs")):
        titles = STUDIES[study].views[0].titles
        assert titles
        assert all(metric_of(name, scores).title == title for name, title in titles.items())


def test_a_record_with_an_unknown_word_is_refused() -> None:
    from core.errors import PalimpsestError

    with pytest.raises(PalimpsestError, match="The metric new has 'title'"):
        as_record(Metric, {"name": "new", "title": "New"}, "The metric new")
