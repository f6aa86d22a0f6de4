"""What the study that erases a probe's subspace shows, as facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from core.results.estimates import Estimate, estimate_of
from core.results.statements import Statement
from core.studies.probes.trees.statements import compared
from extras.probes.removal.tables import METRICS
from extras.probes.removal.tasks import MATCHED, PROBE

COST = "cost of erasing the probe's subspace"
WHERE = "costs more than random subspaces, of this many layers"


def statements_of(
    tables: Mapping[str, pd.DataFrame], models: Sequence[str]
) -> tuple[Statement, ...]:
    """What the tables show; empty where nothing was measured.

    Args:
        tables: The study's `removal` and `removal_excess`.
        models: References.

    Returns:
        For each model and metric, at the layer where erasing the probe's subspace costs most: that
        cost, and how far it is above that of random subspaces scaled to an equal change; then the
        layers at which it is detectably above that.
    """
    statements = []
    for model in models:
        for metric in METRICS:
            rows = _rows(tables["removal"], model, metric)
            rows = rows[rows["erased"] == PROBE]
            if rows.empty:
                continue
            worst = rows.loc[rows["cost"].idxmax()]
            layer, cost = int(worst["layer"]), estimate_of(worst, "cost")
            statements.append(Statement(model, COST, cost, (layer,), metric=metric))
            gaps = _rows(tables["removal_excess"], model, metric)
            gaps = gaps[gaps["rival"] == MATCHED]
            statements += [
                compared(model, gap, "margin", MATCHED, metric)
                for _, gap in gaps[gaps["layer"] == layer].iterrows()
            ]
            above = tuple(sorted(int(at) for at in gaps.loc[gaps["low"] > 0, "layer"]))
            whole = Estimate(float(len(gaps)), kind="whole")
            statements.append(Statement(model, WHERE, whole, above, MATCHED, metric))
    return tuple(statements)


def _rows(table: pd.DataFrame, model: str, metric: str) -> pd.DataFrame:
    return table[(table["model"] == model) & (table["metric"] == metric)]
