"""Metrics: the scores that a table names in its column `metric`.

All that is known of one stands in metrics.toml, a record a metric.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from core.results.numbers import Kind
from core.results.words import as_record, read_toml

OF_SELECTIVITY = " selectivity"  # after a metric: the score minus that on control labels


@dataclass(frozen=True)
class Metric:
    """What is known of a metric.

    Attributes:
        name: In a sentence: "correct edges (UUAS)".
        quantity: Where a sentence says what rose: "share of correct edges".
        meaning: What it is.
        kind: How its numbers are written, see `core.results.numbers`.
        unit: On an axis; "" for a share and for per cent.
    """

    name: str
    quantity: str = ""
    meaning: str = ""
    kind: Kind = "share"
    unit: str = ""

    @property
    def of_hundred(self) -> bool:
        """Whether it is in per cent, and its differences are in points."""
        return self.kind == "points"

    @property
    def title(self) -> str:
        """On a control, or above a figure."""
        return self.name[0].upper() + self.name[1:]

    @property
    def label(self) -> str:
        """On an axis, with its unit."""
        unit = self.unit or ("%" if self.of_hundred else "")
        return f"{self.title}, {unit}" if unit else self.title

    def difference(self, which: str) -> str:
        """On an axis of one of its differences: "Root accuracy: gain over the window, points"."""
        return f"{self.title}: {which}{', points' if self.of_hundred else ''}"


METRICS = {
    name: as_record(Metric, record, f"The metric {name}")
    for name, record in read_toml(Path(__file__).with_suffix(".toml")).items()
}


def metric_of(name: str, of: str = "") -> Metric:
    """Look a metric up, first as it is called of this thing ("pairs"); without a record its name is
    all that is known.

    Example:
        >>> metric_of("UAS").title, metric_of("tag accuracy").title
        ('Correct heads (UAS)', 'Tag accuracy')
    """
    names = (f"{of}.{name}", name, name.lower())
    return next((METRICS[each] for each in names if each in METRICS), Metric(name))


def titles_of(names: Iterable[str], of: str = "") -> dict[str, str]:
    """What a control calls each of these metrics; `of` as in `metric_of`."""
    return {name: metric_of(name, of).title for name in names}


def is_of_hundred(metric: str) -> bool:
    """Whether a metric, or the one whose selectivity it is, is in per cent."""
    record = METRICS.get(metric.removesuffix(OF_SELECTIVITY))
    return record is not None and record.of_hundred


def metric_title(metric: str) -> str:
    """Name a metric, or its selectivity, above a figure.

    Example:
        >>> metric_title("dspr selectivity")
        'Selectivity, correlation of distances (DSpr.)'
    """
    bare = metric_of(metric.removesuffix(OF_SELECTIVITY))
    return f"Selectivity, {bare.name}" if metric.endswith(OF_SELECTIVITY) else bare.title


def metric_label(metric: str) -> str:
    """Name a metric, or its selectivity, on an axis: with its unit.

    Example:
        >>> metric_label("uuas"), metric_label("uuas selectivity")
        ('Correct edges (UUAS), %', 'Selectivity, correct edges (UUAS), points')
    """
    if not metric.endswith(OF_SELECTIVITY):
        return metric_of(metric).label
    return f"{metric_title(metric)}{', points' if is_of_hundred(metric) else ''}"
