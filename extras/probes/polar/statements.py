"""What a study of polar probes shows, as facts: the statements of its headline and notices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from core.models import parse_ref
from core.results.estimates import estimate_of
from core.results.statements import Statement
from core.studies.probes.trees.statements import BEST, beside_rival, of_others, ties, unbeaten
from extras.probes.polar.spec import PolarSpec
from extras.probes.polar.tables import LABEL, LAS, UUAS, best_row

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
    rows = {ref: best_row(tables["polar"], ref, metric) for ref in models}
    best = {ref: row for ref, row in rows.items() if row is not None}
    if not best:
        return ()
    first = next((ref for ref in best if not parse_ref(ref).random), next(iter(best)))
    layer = int(best[first]["layer"])
    statements = [Statement(first, BEST, estimate_of(best[first], "value"), (layer,))]
    for more, verdict in ((UUAS, UNDIRECTED), (LABEL, GIVEN)) if metric == LAS else ():
        row = best_row(tables["polar"], first, more)
        if row is not None:
            statements.append(Statement(first, verdict, estimate_of(row, "value"), (layer,)))
    statements += beside_rival(tables["polar_margins"], first, metric, layer)
    statements += of_others(best, first, metric, tables["differences"], tables["polar_margins"])
    return (*statements, *ties(statements, best, metric, tables["best_layers"]))


def doubts_of(tables: Mapping[str, pd.DataFrame], spec: PolarSpec) -> tuple[Statement, ...]:
    """Baselines above which a model's LAS at its best layer is not detectably.

    Args:
        tables: The study's `polar` and `polar_margins`.
        spec: The study.
    """
    doubts: list[Statement] = []
    for ref in spec.models:
        row = best_row(tables["polar"], ref, LAS)
        if row is None or parse_ref(ref).random:
            continue
        doubts += unbeaten(tables["polar_margins"], ref, LAS, int(row["layer"]))
    return tuple(doubts)
