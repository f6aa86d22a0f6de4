"""What the study that erases a probe's subspace shows, as facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from core.studies.probes.trees.statements import compared
from core.studies.text_kit import Estimate, Statement, estimate_of
from extras.probes.removal.tables import METRICS
from extras.probes.removal.tasks import PROBE

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
        For each model and metric, what erasing the probe's subspace costs, and how far that is
        above the random subspaces that cost most there, as they are or scaled to an equal change;
        then the layers at which it is detectably above both. The layer is the one of these that is
        farthest above, or, where there is none, the one at which erasing costs most.
    """
    statements = []
    for model in models:
        for metric in METRICS:
            rows = _rows(tables["removal"], model, metric)
            rows = rows[rows["erased"] == PROBE]
            if rows.empty:
                continue
            gaps = _rows(tables["removal_excess"], model, metric)
            above = [int(at) for at, low in gaps.groupby("layer")["low"].min().items() if low > 0]
            gaps = gaps.loc[gaps.groupby("layer")["margin"].idxmin()]  # over the strongest rival
            farthest = gaps[gaps["layer"].isin(above)].nlargest(1, "margin")
            shown = rows.nlargest(1, "cost") if farthest.empty else farthest
            layer = int(shown["layer"].iloc[0])
            cost = estimate_of(rows[rows["layer"] == layer].iloc[0], "cost")
            statements.append(Statement(model, COST, cost, (layer,), metric=metric))
            statements += [
                compared(model, gap, "margin", str(gap["rival"]), metric)
                for _, gap in gaps[gaps["layer"] == layer].iterrows()
            ]
            whole = Estimate(float(len(gaps)), kind="whole")
            statements.append(Statement(model, WHERE, whole, tuple(above), metric=metric))
    return tuple(statements)


def _rows(table: pd.DataFrame, model: str, metric: str) -> pd.DataFrame:
    return table[(table["model"] == model) & (table["metric"] == metric)]
