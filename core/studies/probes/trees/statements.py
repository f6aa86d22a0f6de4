"""What a probe study shows, as facts: the statements of its headline and of its notices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from core.maths.structural.arcs import ADJACENT, FAR
from core.models import parse_ref
from core.results.export import Result
from core.results.metrics import OF_SELECTIVITY
from core.studies.probes.trees.spec import ProbeSpec
from core.studies.probes.trees.tables import (
    ALL_METRICS,
    ARC_RIVALS,
    CHAIN,
    PARSED,
    TAGS,
    WINDOW,
    best_rows,
    metrics_in,
    models_in,
    real_rows,
    rows_where,
    windows_of,
)
from core.studies.text_kit import Estimate, Statement, estimate_of, text_of

# Verdicts of the headline
BEST = "scores highest at this layer"
TIED = "not distinguishable from the best layer"
SCORES = "scores this at its best layer"  # of the model that is compared with the first
ABOVE, BELOW, SIMILAR = "above", "below", "not detectably different"
NEAR = 1.0  # points of UUAS
WITHIN = f"within {text_of(NEAR, 'whole')} point of"
SUFFICES = f"rank {WITHIN} the best"
# Verdicts of the notices
OVERLAPS = "intervals overlap"
FIRST, LAST = "best at the first layer", "best at the last layer"
UNSCORED = "not scored"
TOO_FEW = "too few training sentences"
# Verdicts beside the headline
BASELINE, UNTRAINED = "UUAS of a baseline", "UUAS of the untrained model at its best layer"
CHOSEN_BY = "UUAS on the development sentences"  # of the first model at its best layer
CONTROL_TREES = "control trees"  # a baseline beside models


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


def tied_of(table: pd.DataFrame, model: str, metric: str) -> tuple[int, ...]:
    """The layers of a model that are not distinguishable from its best one, which is among them."""
    rows = rows_where(table, model=model, metric=metric, tied=True)
    return tuple(sorted(int(layer) for layer in rows["layer"]))


def statements_of(
    tables: Mapping[str, pd.DataFrame], models: Sequence[str], metric: str
) -> tuple[Statement, ...]:
    """State of one metric the first trained model's best score, its margin, the other models'
    differences from it (a single other's after its own score and margin), and tied layers; of
    selectivity, the first model's nearest its best layer. Nothing without scores."""
    bare = metric.removesuffix(OF_SELECTIVITY)
    best = best_rows(tables["scores"], models, bare)
    if not best:
        return ()
    first = next(iter(best))
    layer = int(best[first]["layer"])
    if bare != metric:
        rows = rows_where(tables["scores"], model=first, metric=metric)
        if rows.empty:
            return ()
        nearest = rows.loc[(rows["layer"] - layer).abs().idxmin()]
        selectivity = compared(first, nearest, "value", CONTROL_TREES, metric)
        return (selectivity, Statement(first, BEST, layers=(layer,), metric=metric))
    score = estimate_of(best[first], "value")
    statements = [Statement(first, BEST, score, (layer,), metric=metric)]
    statements += beside_rival(tables["margins"], first, metric, layer)
    others = [ref for ref in best if ref != first and not parse_ref(ref).random]
    for ref in others:
        at = int(best[ref]["layer"])
        gaps = rows_where(tables["differences"], model=ref, metric=metric, layer=at)
        if len(others) == 1 and len(gaps):  # the fine-tuned model that the page asks about
            score = estimate_of(best[ref], "value")
            statements.append(Statement(ref, SCORES, score, (at,), metric=metric))
            statements += beside_rival(tables["margins"], ref, metric, at)
        statements += [
            compared(ref, row, "difference", first, metric) for _, row in gaps.iterrows()
        ]
    named = dict.fromkeys(each.subject for each in statements)
    tied = {ref: tied_of(tables["best_layers"], ref, metric) for ref in named}
    more = [
        Statement(ref, TIED, layers=layers, metric=metric)
        for ref, layers in tied.items()
        if len(layers) > 1
    ]
    return (*statements, *more)


def view_statements(
    tables: Mapping[str, pd.DataFrame], models: Sequence[str], metric: str
) -> tuple[Statement, ...]:
    """State what views show beside the headline, which is about one metric: the other metrics, arcs
    by their length, and what UUAS is compared with."""
    others = [name for name in metrics_in(tables["scores"], ALL_METRICS) if name != metric]
    stated = [each for name in others for each in statements_of(tables, models, name)]
    uuas = statements_of(tables, models, "uuas")
    return (*stated, *arc_statements(tables, models, uuas), *score_statements(tables, uuas))


def score_statements(
    tables: Mapping[str, pd.DataFrame], uuas: Sequence[Statement]
) -> Iterator[Statement]:
    """State the UUAS of every baseline, of the untrained model that scores highest, and, of the
    first model at its best layer, on the development sentences; `uuas` is what is stated of it."""
    rows = rows_where(real_rows(tables["scores"]), metric="uuas")
    for _, row in rows[rows["layer"].isna()].iterrows():
        yield Statement(str(row["model"]), BASELINE, estimate_of(row, "value"))
    untrained = rows[rows["layer"].notna() & rows["model"].map(is_untrained)]
    for _, row in untrained.nlargest(1, "value").iterrows():
        layers = (int(row["layer"]),)
        yield Statement(str(row["model"]), UNTRAINED, estimate_of(row, "value"), layers)
    for best in uuas[:1]:
        at_best = rows_where(rows, model=best.subject, layer=best.layers[0])
        for _, row in at_best.dropna(subset="dev").iterrows():
            yield Statement(best.subject, CHOSEN_BY, estimate_of(row, "dev"), best.layers)


def is_untrained(model: str) -> bool:
    """Whether a cell of a table of scores is the reference of a model with random weights."""
    return ":" in model and parse_ref(model).random


def stated_scores(result: Result, verdict: str) -> dict[str, Estimate]:
    """What a result states with one verdict of `score_statements`, by subject, as `stated`."""
    verdicts = (BASELINE, UNTRAINED, CHOSEN_BY)
    facts = [each for each in result.statements if each.verdict in verdicts]
    made = facts or score_statements(result.tables, stated(result, "uuas"))
    return {each.subject: each.number for each in made if each.verdict == verdict}


def stated(result: Result, metric: str) -> tuple[Statement, ...]:
    """What a result states of one metric; made of its tables where it does not: it was saved before
    it did, or its text is in another language than the parser's."""
    facts = tuple(each for each in result.statements if each.metric == metric)
    return facts or statements_of(result.tables, models_in(result.table), metric)


def stated_of_arcs(result: Result) -> tuple[Statement, ...]:
    """What a result states of arcs by their length, as `stated`."""
    facts = tuple(each for each in result.statements if each.metric in (FAR, ADJACENT))
    models = models_in(result.table)
    return facts or arc_statements(result.tables, models, stated(result, "uuas"))


def unbeaten(margins: pd.DataFrame, model: str, metric: str, layer: int) -> list[Statement]:
    """State which baselines a model is not detectably above at a layer."""
    rows = rows_where(margins, model=model, metric=metric, layer=layer)
    return [
        Statement(model, SIMILAR, estimate_of(row, "margin"), (layer,), str(row["rival"]))
        for _, row in rows[rows["low"] <= 0].iterrows()
    ]


def strongest_rival(margins: pd.DataFrame, model: str, metric: str, layer: int) -> pd.DataFrame:
    """A model's margin over the baseline that scores highest, other than parts of speech, which the
    model was not given: a row, or none."""
    rows = rows_where(margins, model=model, metric=metric, layer=layer)
    return rows[~rows["rival"].isin(TAGS.values())].nlargest(1, "rival_value")


def beside_rival(margins: pd.DataFrame, model: str, metric: str, layer: int) -> list[Statement]:
    """State a model's margin over the `strongest_rival`."""
    rows = strongest_rival(margins, model, metric, layer)
    return [compared(model, row, "margin", str(row["rival"]), metric) for _, row in rows.iterrows()]


def leading_of(statements: Sequence[Statement]) -> Statement:
    """The score that a headline describes first: that of the single model compared with the first
    one."""
    return next((each for each in statements if each.verdict == SCORES), statements[0])


def first_shown(statements: Sequence[Statement], margins: pd.DataFrame) -> set[str]:
    """The models and the baseline that a headline compares first: what a page draws at first."""
    leader = leading_of(statements).subject
    windows = windows_of(rows_where(margins, rival=WINDOW)["model"])
    rivals = {each.baseline for each in statements if each.subject == leader}
    named = {windows[leader] if rival == WINDOW else rival for rival in rivals}
    trained = {ref for ref in margins["model"] if not parse_ref(ref).random}
    return trained | named


def leave_first(
    result: Result, table: str, margins: str, statements: Sequence[Statement], *beside: str
) -> Result:
    """Leave of a table of scores what a page draws at first, the models and the baseline that a
    headline compares first and those `beside`, without controls; all of it without statements."""
    if not statements:
        return result
    shown = {*first_shown(statements, result.tables[margins]), *beside}
    rows = real_rows(result.tables[table])
    rows = rows[rows["model"].isin(shown)]
    return result.with_tables(**{table: rows}) if len(rows) else result


def arc_statements(
    tables: Mapping[str, pd.DataFrame], models: Sequence[str], scores: Sequence[Statement]
) -> tuple[Statement, ...]:
    """State for arcs between words that are not adjacent, and for adjacent ones, the score of the
    leading model (of `scores`, what is stated of UUAS) and its margin over the strongest baseline
    that is drawn, with the kind of arcs as the metric; nothing without `arcs`."""
    if not scores or "arcs" not in tables:
        return ()
    first = leading_of(scores)
    drawn = [*ARC_RIVALS, *(ref for ref in models if parse_ref(ref).random)]
    statements = []
    for arcs in (FAR, ADJACENT):
        at = {"arcs": arcs, "model": first.subject, "metric": "uuas", "layer": first.layers[0]}
        rows, margins = (rows_where(tables[name], **at) for name in ("arcs", "arc_margins"))
        margins = margins[margins["rival"].isin(drawn)].nlargest(1, "rival_value")
        statements += [
            Statement(first.subject, BEST, estimate_of(row, "value"), first.layers, metric=arcs)
            for _, row in rows.iterrows()
        ]
        statements += [
            compared(first.subject, row, "margin", str(row["rival"]), arcs)
            for _, row in margins.iterrows()
        ]
    return tuple(statements)


def doubts_of(tables: Mapping[str, pd.DataFrame], spec: ProbeSpec) -> tuple[Statement, ...]:
    """Expectations from the literature that these numbers do not meet."""
    scores, margins = tables["scores"], tables["margins"]
    rows = rows_where(scores, metric="uuas", probe="distance")
    chain = rows_where(rows, model=CHAIN)
    doubts: list[Statement] = []
    trained = [ref for ref in spec.models if not parse_ref(ref).random]
    for ref, peak in best_rows(scores, trained, "uuas").items():
        of_model, layer = rows_where(rows, model=ref), int(peak["layer"])
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
    alone = rows_where(added, metric=metric, rival=WINDOW)
    for model, rows in alone[alone["high"] < 0].groupby("model", sort=False):
        worst = rows.loc[rows["margin"].idxmin()]
        layers = tuple(int(layer) for layer in rows["layer"])
        yield Statement(str(model), TOO_FEW, estimate_of(worst, "margin"), layers, WINDOW)


def sweep_statements(table: pd.DataFrame) -> tuple[Statement, ...]:
    """For each model the smallest rank within `NEAR` of its best UUAS, then that UUAS."""
    statements: list[Statement] = []
    for model in dict.fromkeys(table["model"]):
        rows = rows_where(table, model=model, metric="uuas").sort_values("rank")
        best = rows.loc[rows["value"].idxmax()]
        near = rows[rows["value"] >= best["value"] - NEAR].iloc[0]
        at, full = (int(best["layer"]),), str(int(rows["rank"].max()))
        statements += [
            Statement(str(model), SUFFICES, Estimate(float(near["rank"]), kind="whole"), at, full),
            Statement(str(model), BEST, estimate_of(best, "value"), at),
        ]
    return tuple(statements)
