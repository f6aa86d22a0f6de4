"""What an edge-probing study shows, as facts: the statements of its headline and of its notices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from core.maths.arrays import Value
from core.models import parse_ref
from core.studies.probes.edges import tables
from core.studies.probes.edges.spec import EdgeSpec
from core.studies.probes.edges.tables import ACCURACY, REAL, UNSEEN
from core.studies.probes.edges.tasks import LOOKUP
from core.studies.probes.trees.statements import (
    BEST,
    TIED,
    at_layer,
    compared,
    overfitted,
    strongest_rival,
    tied_of,
    unbeaten,
)
from core.studies.probes.trees.tables import as_table, best_row, score_rows
from core.studies.text_kit import Statement, estimate_of

BASELINE, NO_UNSEEN = "the baseline that scores highest", "no unseen test word"  # verdicts
ADDED = "added to the static window"


def best_rows(table: pd.DataFrame, model: str) -> dict[str, pd.Series]:
    """By target, the model's row at the layer with the best accuracy on development sentences."""
    rows = {name: best_row(of, model, ACCURACY) for name, of in table.groupby("probe", sort=False)}
    return {str(target): row for target, row in rows.items() if row is not None}


def best_score_of(ref: str, target: str, value: Value, draws: int, seed: int) -> pd.Series | None:
    """Score a task's classifiers at the model's layer with the best accuracy: a row of
    `tables.SCORES`."""
    sample = tables.samples(value, draws, seed)
    groups = tables.groups_of(value, sample)
    frames = score_rows(groups, model=ref, probe=target, labels=REAL)
    return best_row(as_table(frames, tables.SCORES), ref, ACCURACY)


def statements_of(
    tables: Mapping[str, pd.DataFrame], models: Sequence[str]
) -> tuple[Statement, ...]:
    """State by target the first model's best accuracy, its margin over the strongest baseline that
    knows no parts of speech, what its layers add to the window, the other models' differences from
    it, and the layers tied with a best one."""
    trained_first = sorted(models, key=lambda ref: parse_ref(ref).random)
    best = {ref: rows for ref in trained_first if (rows := best_rows(tables["edges"], ref))}
    if not best:
        return ()
    first, *others = best
    statements = []
    for target, row in best[first].items():
        layer = int(row["layer"])
        score = estimate_of(row, "value")
        statements.append(Statement(first, BEST, score, (layer,), metric=target))
        margins = _of(target, tables["edge_margins"])
        for _, margin in strongest_rival(margins, first, ACCURACY, layer).iterrows():
            rival, score = str(margin["rival"]), estimate_of(margin, "rival_value")
            statements.append(Statement(rival, BASELINE, score, metric=target))
            statements.append(compared(first, margin, "margin", rival, target))
        if "added" in tables:
            statements += _added(_of(target, tables["added"]), first, target)
    for ref in (ref for ref in others if not parse_ref(ref).random):
        for target, row in best[ref].items():
            differences = _of(target, tables["differences"])
            statements += [
                compared(ref, difference, "difference", first, target)
                for _, difference in at_layer(differences, ref, ACCURACY, row["layer"]).iterrows()
            ]
    named = {(each.subject, each.metric) for each in statements}
    for ref, rows in best.items():
        for target in rows:
            tied = tied_of(_of(target, tables["best_layers"]), ref, ACCURACY)
            if (ref, target) in named and len(tied) > 1:
                statements.append(Statement(ref, TIED, layers=tied, metric=target))
    return tuple(statements)


def doubts_of(tables: Mapping[str, pd.DataFrame], spec: EdgeSpec) -> tuple[Statement, ...]:
    """State which baselines the models are not above, where training sentences are too few, and for
    which targets no test word is unseen."""
    table, doubts = tables["edges"], []
    for ref in spec.models:
        for target, row in best_rows(table, ref).items():
            margins = _of(target, tables["edge_margins"])
            similar = unbeaten(margins, ref, ACCURACY, int(row["layer"]))
            doubts += [replace(each, metric=target) for each in similar]
    if "added" in tables:
        for target, rows in tables["added"].groupby("probe", sort=False):
            doubts += [replace(each, metric=str(target)) for each in overfitted(rows, ACCURACY)]
    few = table[(table["metric"] == UNSEEN) & (table["model"] == LOOKUP) & table["value"].isna()]
    doubts += [Statement(LOOKUP, NO_UNSEEN, metric=str(target)) for target in few["probe"]]
    return tuple(doubts)


def _added(added: pd.DataFrame, model: str, target: str) -> Iterator[Statement]:
    """What the layer that adds most adds to the static window, alone or beside layer 0, whichever
    scores higher."""
    rows = added[(added["model"] == model) & (added["metric"] == ACCURACY)]
    gains = rows[rows["layer"] > 0]
    gains = gains[gains["rival_value"] == gains["rival_value"].max()]
    if len(gains):
        gain = gains.loc[gains["margin"].idxmax()]
        number, rival = estimate_of(gain, "margin"), str(gain["rival"])
        yield Statement(model, ADDED, number, (int(gain["layer"]),), rival, target)


def _of(target: str, table: pd.DataFrame) -> pd.DataFrame:
    """The rows of one target."""
    return table[table["probe"] == target]
