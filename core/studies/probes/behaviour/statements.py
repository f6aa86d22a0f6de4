"""What the study of behaviour shows, as facts: the statements of its headline and notices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.maths.statistics import SIGNIFICANT
from core.models import parse_ref
from core.studies.probes.behaviour.tables import (
    ALL,
    EVERY,
    UNRELATED,
    WHOLE,
    Hits,
    corrected_share,
    longest_run,
    whole_kind,
)
from core.studies.probes.trees.statements import verdict_of
from core.studies.text_kit import Estimate, Statement, by_number, estimate_of

OVERALL, HIGHEST, LOWEST = "accuracy", "highest accuracy", "lowest accuracy"
CORRELATES, UNDECIDED = "correlates with accuracy", "does not correlate detectably"
TOO_FEW = "too few models to tell"
BELOW_CHANCE = "accuracy below chance"
OTHERWISE = "accuracy of whole sentences"  # where it differs detectably
CHANCE = 50.0  # per cent


def statements_of(
    tables: Mapping[str, pd.DataFrame], models: Sequence[str]
) -> tuple[Statement, ...]:
    """State the first trained model's accuracy, its margins, its best and worst kinds of pairs, and
    how each probe's score correlates with accuracy over unrelated models; nothing without a
    model."""
    table = tables["behaviour"]
    if not models:
        return ()
    first = next((ref for ref in models if not parse_ref(ref).random), models[0])
    mine = table[table["model"] == first]
    kind = whole_kind(mine)
    whole = mine[mine["kind"] == kind].iloc[0]
    statements = [Statement(first, OVERALL, estimate_of(whole, "value"))]
    margins = tables["behaviour_margins"]
    for _, row in margins[(margins["model"] == first) & (margins["kind"] == kind)].iterrows():
        margin = estimate_of(row, "margin")
        if row["rival"] != WHOLE:
            statements.append(Statement(first, verdict_of(margin), margin, (), str(row["rival"])))
        elif margin.clear:
            statements.append(Statement(first, OTHERWISE, _whole(row)))
    kinds = mine[mine["kind"] != ALL]
    if len(kinds) > 1:
        places = {HIGHEST: kinds["value"].idxmax(), LOWEST: kinds["value"].idxmin()}
        ends = {verdict: kinds.loc[place] for verdict, place in places.items()}
        statements += [
            Statement(first, verdict, estimate_of(row, "value"), metric=str(row["kind"]))
            for verdict, row in ends.items()
        ]
    return (*statements, *_correlations(tables, kind))


def _whole(row: pd.Series) -> Estimate:
    """The accuracy of whole sentences, of a row that compares it."""
    return Estimate(float(row["rival_value"]), kind="points")


def _correlations(tables: Mapping[str, pd.DataFrame], kind: str) -> list[Statement]:
    """State the correlation of each probe's score with accuracy, over unrelated models; over all of
    them where fewer than three are unrelated, which nobody can test."""
    if "rank_correlations" not in tables:
        return []
    table = tables["rank_correlations"]
    among = UNRELATED if UNRELATED in set(table["among"]) else EVERY
    return [
        Statement(
            f"{row['metric']} of {row['probe']}",
            _verdict(row),
            estimate_of(row, "correlation", "share"),
            (),
            among_models(int(row["models"]), int(row["origins"])),
        )
        for _, row in table[(table["kind"] == kind) & (table["among"] == among)].iterrows()
        if row["correlation"] == row["correlation"]
    ]


def _verdict(row: pd.Series) -> str:
    """Tell whether a correlation is significant, or could be with this many models."""
    if not row["smallest_p"] < SIGNIFICANT:  # related models have none
        return TOO_FEW
    return CORRELATES if row["corrected_p"] < SIGNIFICANT else UNDECIDED


def among_models(count: int, origins: int) -> str:
    """Name the models of a correlation, as in "5 unrelated models"."""
    if origins == count:
        return f"{count} unrelated models"
    return f"{count} models, of which only {origins} {by_number(origins, 'is', 'are')} unrelated,"


def doubts_of(
    hits: Mapping[str, Hits],
    margins: pd.DataFrame,
    models: Sequence[str],
    own: NDArray[np.int64] | None = None,
) -> tuple[Statement, ...]:
    """State which kinds of pairs final models have wrong more often than chance, corrected for all
    models and kinds, and which they judge otherwise where whole sentences are scored."""
    run = longest_run(models)
    final = [ref for ref in models if ref not in run[:-1] and not parse_ref(ref).random]
    tried = [(ref, kind) for ref in final for kind in hits[ref]]
    shares = [(*each, corrected_share(hits[each[0]], each[1], len(tried), own)) for each in tried]
    below = [
        Statement(model, BELOW_CHANCE, share, metric=kind)
        for model, kind, share in shares
        if share.high < CHANCE
    ]
    differing = margins[
        (margins["rival"] == WHOLE) & ((margins["low"] > 0) | (margins["high"] < 0))
    ]
    otherwise = [
        Statement(row["model"], OTHERWISE, _whole(row), (), WHOLE, row["kind"])
        for _, row in differing.iterrows()
        if row["model"] in final and row["kind"] != ALL
    ]
    return (*below, *otherwise)
