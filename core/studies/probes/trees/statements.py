"""What a probe study shows, as facts: the statements of its headline and of its notices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import pandas as pd

from core.maths.structural.arcs import ADJACENT, FAR
from core.models import parse_ref
from core.results.estimates import Estimate, estimate_of
from core.results.statements import Statement
from core.studies.probes.trees.spec import ProbeSpec
from core.studies.probes.trees.tables import (
    ARC_RIVALS,
    CHAIN,
    PARSED,
    SELECTIVITY,
    TAGS,
    WINDOW,
    best_row,
    windows_of,
)

# Verdicts of the headline
BEST = "scores highest at this layer"
TIED = "not distinguishable from the best layer"
SCORES = "scores this at its best layer"  # of the model that is compared with the first
ABOVE, BELOW, SIMILAR = "above", "below", "not detectably different"
SUFFICES = "rank within 1 point of the best"
# Verdicts of the notices
OVERLAPS = "intervals overlap"
FIRST, LAST = "best at the first layer", "best at the last layer"
UNSCORED = "not scored"
TOO_FEW = "too few training sentences"
CONTROL_TREES = "control trees"  # a baseline beside models
NEAR = 1.0  # points of UUAS


def verdict_of(difference: Estimate) -> str:
    """ABOVE or BELOW; SIMILAR where the band of the difference includes 0."""
    return (ABOVE if difference.value > 0 else BELOW) if difference.clear else SIMILAR


def compared(
    subject: str, row: pd.Series, column: str, baseline: str, metric: str = ""
) -> Statement:
    """The statement of a difference from a baseline, from a row that has a layer."""
    estimate = estimate_of(row, column)
    layers = (int(row["layer"]),)
    return Statement(subject, verdict_of(estimate), estimate, layers, baseline, metric)


def at_layer(table: pd.DataFrame, model: str, metric: str, layer: int) -> pd.DataFrame:
    """The rows of one model, metric and layer."""
    chosen = (table["model"] == model) & (table["metric"] == metric) & (table["layer"] == layer)
    return table[chosen]


def tied_of(table: pd.DataFrame, model: str, metric: str) -> tuple[int, ...]:
    """The layers of a model that are not distinguishable from its best one, which is among them."""
    rows = table[(table["model"] == model) & (table["metric"] == metric) & table["tied"]]
    return tuple(sorted(int(layer) for layer in rows["layer"]))


def statements_of(
    tables: Mapping[str, pd.DataFrame], models: Sequence[str], metric: str
) -> tuple[Statement, ...]:
    """What the tables show of one metric; empty where no model has a score.

    Args:
        tables: The study's `scores`, `differences`, `margins` and `best_layers`.
        models: References; the first trained one leads, the others are compared with it.
        metric: One of `NAMES` of the tables, or one with `SELECTIVITY` after it.

    Returns:
        The first model's score at its best layer, its margin there over the baseline that scores
        highest, and the other trained models' differences from it, each at its own best layer, a
        single other model's after its own score and margin; then the layers that are not
        distinguishable from a model's best one, where there are any. Parts
        of speech are no baseline here, because the model was not given them. Of selectivity, the
        first model's at the layer nearest to its best one that has a control, and the best one.
    """
    bare = metric.removesuffix(SELECTIVITY)
    rows = {ref: best_row(tables["scores"], ref, bare) for ref in models}
    best = {ref: row for ref, row in rows.items() if row is not None}
    if not best:
        return ()
    first = next((ref for ref in best if not parse_ref(ref).random), next(iter(best)))
    layer = int(best[first]["layer"])
    if bare != metric:
        rows = tables["scores"].query("model == @first and metric == @metric")
        if rows.empty:
            return ()
        nearest = rows.loc[(rows["layer"] - layer).abs().idxmin()]
        selectivity = compared(first, nearest, "value", CONTROL_TREES)
        return (selectivity, Statement(first, BEST, layers=(layer,)))
    statements = [Statement(first, BEST, estimate_of(best[first], "value"), (layer,))]
    statements += beside_rival(tables["margins"], first, metric, layer)
    statements += of_others(best, first, metric, tables["differences"], tables["margins"])
    return (*statements, *ties(statements, best, metric, tables["best_layers"]))


def of_others(
    best: Mapping[str, pd.Series],
    first: str,
    metric: str,
    differences: pd.DataFrame,
    margins: pd.DataFrame,
) -> Iterator[Statement]:
    """State the differences of the other trained models from the first one, each at its own best
    layer, a single other model's after its own score and margin.

    Args:
        best: The row of each model's best layer.
        first: Of the models.
        metric: Of the rows.
        differences, margins: Of models from the first, and over baselines.
    """
    others = {ref: row for ref, row in best.items() if ref != first and not parse_ref(ref).random}
    for ref, row in others.items():
        at = int(row["layer"])
        rows = at_layer(differences, ref, metric, at)
        if len(others) == 1 and len(rows):  # the fine-tuned model that the page asks about
            yield Statement(ref, SCORES, estimate_of(row, "value"), (at,))
            yield from beside_rival(margins, ref, metric, at)
        yield from (compared(ref, row, "difference", first) for _, row in rows.iterrows())


def ties(
    statements: Sequence[Statement], models: Iterable[str], metric: str, best_layers: pd.DataFrame
) -> Iterator[Statement]:
    """State which layers are not distinguishable from the best one, of each model that the
    statements name and that has such layers."""
    named = {each.subject for each in statements}
    for ref in models:
        layers = tied_of(best_layers, ref, metric)
        if ref in named and len(layers) > 1:
            yield Statement(ref, TIED, layers=layers)


def unbeaten(margins: pd.DataFrame, model: str, metric: str, layer: int) -> list[Statement]:
    """State which baselines a model is not detectably above at a layer."""
    rows = at_layer(margins, model, metric, layer)
    return [
        Statement(model, SIMILAR, estimate_of(row, "margin"), (layer,), str(row["rival"]))
        for _, row in rows[rows["low"] <= 0].iterrows()
    ]


def beside_rival(margins: pd.DataFrame, model: str, metric: str, layer: int) -> list[Statement]:
    """State a model's margin over the baseline that scores highest, other than parts of speech."""
    rows = at_layer(margins, model, metric, layer)
    rows = rows[~rows["rival"].isin(TAGS.values())]
    if rows.empty:
        return []
    strongest = rows.loc[rows["rival_value"].idxmax()]
    return [compared(model, strongest, "margin", str(strongest["rival"]))]


def leading_of(statements: Sequence[Statement]) -> Statement:
    """The score of the model that a headline describes first: the one compared with the first
    model, where that is a single one."""
    return next((each for each in statements if each.verdict == SCORES), statements[0])


def first_shown(statements: Sequence[Statement], margins: pd.DataFrame) -> set[str]:
    """The models and the baseline that a headline compares first: what a page draws at first.

    Args:
        statements: Of the headline.
        margins: Of models over baselines.
    """
    leader = leading_of(statements).subject
    windows = windows_of(margins.loc[margins["rival"] == WINDOW, "model"])
    rivals = {each.baseline for each in statements if each.subject == leader}
    named = {windows[leader] if rival == WINDOW else rival for rival in rivals}
    trained = {ref for ref in margins["model"] if not parse_ref(ref).random}
    return trained | named


def arc_statements(
    tables: Mapping[str, pd.DataFrame], models: Sequence[str]
) -> tuple[Statement, ...]:
    """What the tables show of arcs between words that are not adjacent, and of adjacent ones.

    Args:
        tables: The study's tables; without `arcs` there are no statements.
        models: References; the first trained one is described, or the one that is compared with it
            where that is a single one.

    Returns:
        For both kinds of arcs the score at the model's best layer and its margin over the baseline
        that scores highest of those drawn; the subject of a score is the model, its baseline the
        kind of arcs.
    """
    stated = statements_of(tables, models, "uuas")
    if not stated or "arcs" not in tables:
        return ()
    first = leading_of(stated)
    statements = []
    for arcs in (FAR, ADJACENT):
        here = [
            table[(table["model"] == first.subject) & (table["arcs"] == arcs)]
            for table in (tables["arcs"], tables["arc_margins"])
        ]
        scores, margins = (rows[rows["layer"] == first.layers[0]] for rows in here)
        drawn = [ref for ref in models if parse_ref(ref).random]
        margins = margins[margins["rival"].isin([*ARC_RIVALS, *drawn])]
        margins = margins.nlargest(1, "rival_value")
        for _, row in scores.iterrows():
            score = estimate_of(row, "value")
            statements.append(Statement(first.subject, BEST, score, first.layers, arcs))
        for _, row in margins.iterrows():
            statements.append(compared(first.subject, row, "margin", str(row["rival"])))
    return tuple(statements)


def doubts_of(tables: Mapping[str, pd.DataFrame], spec: ProbeSpec) -> tuple[Statement, ...]:
    """Expectations from the literature that these numbers do not meet.

    Args:
        tables: The study's `scores`, `margins` and `best_layers`.
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
        alone = len(tied_of(tables["best_layers"], ref, "uuas")) < 2
        if alone and len(of_model) > 2 and layer in (first, int(of_model["layer"].max())):
            doubts.append(Statement(ref, FIRST if layer == first else LAST, layers=(layer,)))
        doubts += unbeaten(margins, ref, "uuas", layer)
    doubts += [*overfitted(tables["added"], "uuas")] if "added" in tables else []
    if not (scores["model"] == PARSED).any():
        doubts.append(Statement(PARSED, UNSCORED))
    return tuple(doubts)


def overfitted(added: pd.DataFrame, metric: str) -> Iterator[Statement]:
    """Yield a statement on each model with a layer beside which the window predicts less than
    alone, as no probe does with enough training sentences."""
    alone = added[(added["metric"] == metric) & (added["rival"] == WINDOW)]
    below = alone[alone["high"] < 0]
    for model, rows in below.groupby("model", sort=False):
        worst = rows.loc[rows["margin"].idxmin()]
        layers = tuple(int(layer) for layer in rows["layer"])
        yield Statement(str(model), TOO_FEW, estimate_of(worst, "margin"), layers, WINDOW)


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
        at, full = (int(best["layer"]),), str(int(rows["rank"].max()))
        statements += [
            Statement(str(model), SUFFICES, estimate_of(near, "rank"), at, full),
            Statement(str(model), BEST, estimate_of(best, "value"), at),
        ]
    return tuple(statements)
