"""What a study of polar probes shows, as facts: the statements of its headline and notices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from core.models import parse_ref
from core.studies.probes.trees import statements as trees
from core.studies.probes.trees.tables import best_row, best_rows
from core.studies.text_kit import Statement, estimate_of
from extras.probes.polar.spec import PolarSpec
from extras.probes.polar.tables import LABEL, LAS, UUAS

UNDIRECTED, GIVEN = "edges without head and label", "labels of gold edges"  # verdicts


def statements_of(
    tables: Mapping[str, pd.DataFrame], models: Sequence[str], metric: str = LAS
) -> tuple[Statement, ...]:
    """What the tables show of one metric; empty where no model has a score.

    Args:
        tables: The study's `polar`, `differences`, `polar_margins` and `best_layers`.
        models: References; the first trained one leads, the others are compared with it.
        metric: One of METRICS of the tables.

    Returns:
        The first model's score at its best layer; for LAS also its UUAS there and the share of gold
        edges whose label it predicts; its margin over the baseline that scores highest; the other
        trained models' differences from it, each at its own best layer, a single other model's
        after its own score and margin; then the layers that are not distinguishable from a best
        one.
    """
    named = {**tables, "scores": tables["polar"], "margins": tables["polar_margins"]}
    stated = trees.statements_of(named, models, metric)
    if metric != LAS:
        return stated
    more = [
        Statement(score.subject, verdict, estimate_of(row, "value"), score.layers)
        for score in stated[:1]
        for name, verdict in ((UUAS, UNDIRECTED), (LABEL, GIVEN))
        if (row := best_row(tables["polar"], score.subject, name)) is not None
    ]
    return (*stated[:1], *more, *stated[1:])


def doubts_of(tables: Mapping[str, pd.DataFrame], spec: PolarSpec) -> tuple[Statement, ...]:
    """Baselines above which a model's LAS at its best layer is not detectably.

    Args:
        tables: The study's `polar` and `polar_margins`.
        spec: The study.
    """
    trained = [ref for ref in spec.models if not parse_ref(ref).random]
    return tuple(
        doubt
        for ref, row in best_rows(tables["polar"], trained, LAS).items()
        for doubt in trees.unbeaten(tables["polar_margins"], ref, LAS, int(row["layer"]))
    )
