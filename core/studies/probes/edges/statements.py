"""What an edge-probing study shows, as facts: the statements of its headline and of its notices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from core.maths.arrays import Value
from core.models import parse_ref
from core.results.estimates import estimate_of
from core.results.statements import Statement
from core.studies.probes.edges import tables
from core.studies.probes.edges.spec import EdgeSpec
from core.studies.probes.edges.tables import ACCURACY, REAL, UNSEEN
from core.studies.probes.edges.tasks import LOOKUP
from core.studies.probes.trees.statements import (
    BEST,
    SIMILAR,
    TIED,
    compared,
    overfitted,
    tied_of,
)
from core.studies.probes.trees.tables import TAGS, as_table

BASELINE, NO_UNSEEN = "the baseline that scores highest", "no unseen test word"  # verdicts
ADDED = "added to the static window"


def best_rows(table: pd.DataFrame, model: str) -> dict[str, pd.Series]:
    """By target, the model's row at the layer with the best accuracy on development sentences."""
    chosen = (table["labels"] == REAL) & (table["metric"] == ACCURACY) & table["dev"].notna()
    rows = table[chosen & (table["model"] == model)]
    return {
        str(target): of_target.loc[of_target["dev"].idxmax()]
        for target, of_target in rows.groupby("probe", sort=False)
    }


def best_scores_of(
    ref: str, target: str, value: Value, draws: int, seed: int
) -> list[dict[str, Any]]:
    """Score the classifiers of one target at the model's layer with the best accuracy.

    Args:
        ref, target: The model, and what its classifiers predict.
        value: Of the task that trained them.
        draws, seed: Of the bands.
    """
    sample = tables.samples(value, draws, seed)
    frames = tables.score_rows(ref, target, REAL, tables.groups_of(value, sample), sample)
    return [row.to_dict() for row in best_rows(as_table(frames, tables.SCORES), ref).values()]


def statements_of(
    tables: Mapping[str, pd.DataFrame], models: Sequence[str]
) -> tuple[Statement, ...]:
    """What the tables show; empty where no model was probed.

    Args:
        tables: The study's `edges`, `differences`, `edge_margins`, `best_layers` and, where there
            is one, `added`.
        models: References; the first trained one leads, the others are compared with it.

    Returns:
        For each target the first model's best accuracy, that of the baseline that scores highest,
        the margin over it and, with `added`, the most that a layer adds to the static window; then
        the other trained models' differences from the first, each at its own best layer; then the
        layers that are not distinguishable from a best one. Parts of speech are no baseline here,
        because the model was not given them.
    """
    best = {ref: rows for ref in models if (rows := best_rows(tables["edges"], ref))}
    if not best:
        return ()
    first = next((ref for ref in best if not parse_ref(ref).random), next(iter(best)))
    statements = []
    for target, row in best[first].items():
        score, layers = estimate_of(row, "value"), (int(row["layer"]),)
        statements.append(Statement(first, BEST, score, layers, metric=target))
        margins = _at(tables["edge_margins"], first, target, int(row["layer"]))
        margins = margins[~margins["rival"].isin(TAGS.values())]
        if len(margins):
            strongest = margins.loc[margins["rival_value"].idxmax()]
            rival, score = str(strongest["rival"]), estimate_of(strongest, "rival_value")
            statements.append(Statement(rival, BASELINE, score, metric=target))
            statements.append(compared(first, strongest, "margin", rival, target))
        if "added" in tables:
            statements += _added(tables["added"], first, target)
    for ref, rows in best.items():
        if ref == first or parse_ref(ref).random:
            continue
        for target, row in rows.items():
            differences = _at(tables["differences"], ref, target, int(row["layer"]))
            statements += [
                compared(ref, difference, "difference", first, target)
                for _, difference in differences.iterrows()
            ]
    named = {(each.subject, each.metric) for each in statements}
    for ref, rows in best.items():
        for target in rows:
            every = tables["best_layers"]
            tied = tied_of(every[every["probe"] == target], ref, ACCURACY)
            if (ref, target) in named and len(tied) > 1:
                statements.append(Statement(ref, TIED, layers=tied, metric=target))
    return tuple(statements)


def doubts_of(tables: Mapping[str, pd.DataFrame], spec: EdgeSpec) -> tuple[Statement, ...]:
    """Expectations that these numbers do not meet.

    Args:
        tables: The study's `edges`, `edge_margins` and, where there is one, `added`.
        spec: The study.
    """
    table, doubts = tables["edges"], []
    for ref in spec.models:
        for target, row in best_rows(table, ref).items():
            layer = int(row["layer"])
            margins = _at(tables["edge_margins"], ref, target, layer)
            doubts += [
                Statement(
                    ref, SIMILAR, estimate_of(gap, "margin"), (layer,), str(gap["rival"]), target
                )
                for _, gap in margins[margins["low"] <= 0].iterrows()
            ]
    if "added" in tables:
        for target, rows in tables["added"].groupby("probe", sort=False):
            doubts += [replace(each, metric=str(target)) for each in overfitted(rows, ACCURACY)]
    few = table[(table["metric"] == UNSEEN) & (table["model"] == LOOKUP) & table["value"].isna()]
    doubts += [Statement(LOOKUP, NO_UNSEEN, metric=str(target)) for target in few["probe"]]
    return tuple(doubts)


def _added(added: pd.DataFrame, model: str, target: str) -> Iterator[Statement]:
    """What the layer that adds most adds to the static window, alone or beside layer 0, whichever
    scores higher."""
    chosen = (added["model"] == model) & (added["probe"] == target) & (added["metric"] == ACCURACY)
    gains = added[chosen & (added["layer"] > 0)]
    gains = gains[gains["rival_value"] == gains["rival_value"].max()]
    if len(gains):
        gain = gains.loc[gains["margin"].idxmax()]
        number, rival = estimate_of(gain, "margin"), str(gain["rival"])
        yield Statement(model, ADDED, number, (int(gain["layer"]),), rival, target)


def _at(table: pd.DataFrame, model: str, target: str, layer: int) -> pd.DataFrame:
    """Rows of accuracy of one model, target and layer."""
    chosen = (table["model"] == model) & (table["probe"] == target) & (table["layer"] == layer)
    return table[chosen & (table["metric"] == ACCURACY)]
