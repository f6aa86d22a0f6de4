"""What a probe study shows, as facts: the statements of its headline and of its notices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from core.models import parse_ref
from core.probes.trees.tables import CHAIN, PARSED, SELECTIVITY, best_row
from core.results.estimates import Estimate, estimate_of
from core.results.statements import Statement

if TYPE_CHECKING:
    import pandas as pd

    from core.probes.trees.spec import ProbeSpec

# Verdicts of the headline
BEST = "scores highest at this layer"
ABOVE, BELOW, SIMILAR = "above", "below", "not detectably different"
SUFFICES = "rank within 1 point of the best"
# Verdicts of the notices
OVERLAPS = "intervals overlap"
FIRST, LAST = "best at the first layer", "best at the last layer"
UNSCORED = "not scored"
CONTROL_TREES, EMBEDDINGS = "control trees", "layer 0"  # baselines beside models
NEAR = 1.0  # points of UUAS


def verdict_of(difference: Estimate) -> str:
    """ABOVE or BELOW; SIMILAR where the band of the difference includes 0."""
    return (ABOVE if difference.value > 0 else BELOW) if difference.clear else SIMILAR


def compared(subject: str, row: pd.Series, column: str, baseline: str) -> Statement:
    """The statement of a difference from a baseline, from a row that has a layer."""
    estimate = estimate_of(row, column)
    return Statement(subject, verdict_of(estimate), estimate, (int(row["layer"]),), baseline)


def at_layer(table: pd.DataFrame, model: str, metric: str, layer: int) -> pd.DataFrame:
    """The rows of one model, metric and layer."""
    chosen = (table["model"] == model) & (table["metric"] == metric) & (table["layer"] == layer)
    return table[chosen]


def statements_of(
    tables: Mapping[str, pd.DataFrame], models: Sequence[str], metric: str
) -> tuple[Statement, ...]:
    """What the tables show of one metric; empty where no model has a score.

    Args:
        tables: The study's `scores`, `differences` and `margins`.
        models: References; the first trained one leads, the others are compared with it.
        metric: One of `NAMES` of the tables, or one with `SELECTIVITY` after it.

    Returns:
        The first model's score at its best layer, its margin there over the baseline that scores
        highest, and the other trained models' differences from it, each at its own best layer. Of
        selectivity, the first model's at its best layer.
    """
    bare = metric.removesuffix(SELECTIVITY)
    rows = {ref: best_row(tables["scores"], ref, bare) for ref in models}
    best = {ref: row for ref, row in rows.items() if row is not None}
    if not best:
        return ()
    first = next((ref for ref in best if not parse_ref(ref).random), next(iter(best)))
    layer = int(best[first]["layer"])
    if bare != metric:
        selectivity = at_layer(tables["scores"], first, metric, layer)
        return tuple(
            compared(first, row, "value", CONTROL_TREES) for _, row in selectivity.iterrows()
        )
    statements = [Statement(first, BEST, estimate_of(best[first], "value"), (layer,))]
    margins = at_layer(tables["margins"], first, metric, layer)
    if len(margins):
        strongest = margins.loc[margins["rival_value"].idxmax()]
        statements.append(compared(first, strongest, "margin", str(strongest["rival"])))
    for ref, row in best.items():
        if ref != first and not parse_ref(ref).random:
            differences = at_layer(tables["differences"], ref, metric, int(row["layer"]))
            statements += [
                compared(ref, difference, "difference", first)
                for _, difference in differences.iterrows()
            ]
    return tuple(statements)


def doubts_of(tables: Mapping[str, pd.DataFrame], spec: ProbeSpec) -> tuple[Statement, ...]:
    """Expectations from the literature that these numbers do not meet.

    Args:
        tables: The study's `scores` and `margins`.
        spec: The study.
    """
    scores, margins = tables["scores"], tables["margins"]
    rows = scores[(scores["metric"] == "uuas") & (scores["probe"] == "distance")]
    chain = rows.loc[rows["model"] == CHAIN]
    doubts: list[Statement] = []
    for ref in spec.models:
        peak = best_row(scores, ref, "uuas")
        if peak is None or parse_ref(ref).random:
            continue
        of_model, layer = rows[rows["model"] == ref], int(peak["layer"])
        score, first = estimate_of(peak, "value"), int(of_model["layer"].min())
        if not chain.empty and score.low <= float(chain["high"].iloc[0]):
            verdict = BELOW if score.high < float(chain["low"].iloc[0]) else OVERLAPS
            doubts.append(Statement(ref, verdict, score, (layer,), CHAIN))
        if len(of_model) > 2 and layer in (first, int(of_model["layer"].max())):
            doubts.append(Statement(ref, FIRST if layer == first else LAST, layers=(layer,)))
        bottom = of_model[of_model["layer"] == 0]
        if layer and not bottom.empty and score.low <= float(bottom["high"].iloc[0]):
            doubts.append(Statement(ref, OVERLAPS, score, (layer,), EMBEDDINGS))
        here = at_layer(margins, ref, "uuas", layer)
        doubts += [
            Statement(ref, SIMILAR, None, (layer,), str(rival))
            for rival in here.loc[here["low"] <= 0, "rival"]
        ]
    if not (scores["model"] == PARSED).any():
        doubts.append(Statement(PARSED, UNSCORED))
    return tuple(doubts)


def sweep_statements(table: pd.DataFrame) -> tuple[Statement, ...]:
    """For each model the smallest rank within `NEAR` of its best UUAS, then that UUAS.

    Args:
        table: Of `sweep.collect_sweep`.
    """
    statements: list[Statement] = []
    for model in dict.fromkeys(table["model"]):
        rows = table[(table["model"] == model) & (table["metric"] == "uuas")].sort_values("rank")
        best = rows.loc[rows["value"].idxmax()]
        near = rows[rows["value"] >= best["value"] - NEAR].iloc[0]
        at, full = (int(best["layer"]),), f"rank {int(rows['rank'].max())}"
        statements += [
            Statement(str(model), SUFFICES, estimate_of(near, "rank"), at, full),
            Statement(str(model), BEST, estimate_of(best, "value"), at),
        ]
    return tuple(statements)
