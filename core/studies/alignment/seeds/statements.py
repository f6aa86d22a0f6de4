"""What the alignment study finds, as facts that its sentences are written from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from core.maths.maps.registry import NON_LINEAR, OF_STATES
from core.studies.alignment.seeds.spec import AGAIN
from core.studies.alignment.seeds.tables import (
    GAIN_BESIDE,
    GAIN_OF_LAYERS,
    OVERALL,
    held_out,
    pair_errors,
    rows_between,
)
from core.studies.text_kit import Estimate, Statement, estimate_of

PREDICTS, PREDICTS_NOTHING, LEAVES = "predicts", "predicts nothing", "leaves unexplained"
BETTER, WORSE, EQUAL = "predicts more", "predicts less", "no detectable difference"
LOWEST, HIGHEST = "lowest error", "highest error"
SEEN = " on seen words"  # behind the name of a method whose fact is of words seen in training
FIRST, SECOND = "first group", "second group"
LAYERS, BESIDE, WINDOW = "the layers", "the layers beside the window", "static-window"
# Of views alone: of a layer, the first pair's that differ most; of directed pairs; of networks
SAME, BEST = "error from the same layer", "error from the best layer"
DIRECTED, LEAST, MOST = "directed pairs", "lowest error of a pair", "highest error of a pair"
TRAINED, UNCONVERGED = "networks trained", "networks that had not converged"
OF_VIEWS = (SAME, BEST, DIRECTED, LEAST, MOST, TRAINED, UNCONVERGED)
NOTHING = 0.005  # share of the variance below which a map predicts none of it


def judged(methods: pd.DataFrame) -> str:
    """Tell which rows the result is about: "unseen" words, or "all" where there are none."""
    return "unseen" if (methods["words"] == "unseen").any() else "all"


def best_map(methods: pd.DataFrame, words: str, group: str = "models") -> str:
    """Find the map of hidden states with the lowest error in a group; "" where there is none."""
    rows = rows_between(methods, words, group)
    rows = rows[rows["method"].isin(OF_STATES)]
    return "" if rows.empty else str(rows.loc[rows["nmse"].idxmin(), "method"])


def statements_of(
    methods: pd.DataFrame,
    layers: pd.DataFrame,
    differences: pd.DataFrame,
    gains: pd.DataFrame | None = None,
) -> tuple[Statement, ...]:
    """State what the maps predict, the best one first, how they compare with ridge, and where the
    error is lowest and highest, of the tables of `collect`; `gains` where there is a static window.
    Subjects are methods or groups; none where no pair was aligned."""
    words = judged(methods)
    first = rows_between(methods, words).set_index("method")
    best = best_map(methods, words)
    if not best:
        return ()
    shown = dict.fromkeys((best, "ridge", WINDOW, "lookup", "identity"))
    facts = [_predicts(name, first.loc[name]) for name in shown if name in first.index]
    compared = differences[differences["other_group"] == "models"].set_index("method")
    inside, here = compared["group"] == "models", compared["words"] == words
    ridge = compared[inside & here & (compared["other_method"] == "ridge")]
    bent = ridge.loc[ridge.index.isin(NON_LINEAR), "difference"]
    rivals = dict.fromkeys((best, *([str(bent.idxmin())] if len(bent) else []), "inn"))
    facts += [_compared(name, ridge.loc[name], "ridge") for name in rivals if name in ridge.index]
    if gains is not None:
        facts += _of_layers(gains, words)
    facts += _of_second_run(methods, words)
    facts += _of_seen_words(methods, compared[inside])
    by_layer = rows_between(layers, words)
    facts += layer_statements(by_layer[by_layer["method"] == best], best)
    for group, subject in (("against", SECOND), (AGAIN, AGAIN)):
        rows = compared[here & (compared["group"] == group) & (compared.index == best)]
        facts += [_compared(subject, row, FIRST) for _, row in rows.iterrows()]
    return tuple(facts)


def layer_statements(by_layer: pd.DataFrame, method: str) -> list[Statement]:
    """State a map's lowest error, with the layers that are not distinguishable from it, and, of
    several layers, its highest; `by_layer` has layer, nmse, low, high, tied."""
    ordered = by_layer.sort_values("nmse", kind="stable").to_dict("records")
    tied = tuple(sorted(int(row["layer"]) for row in ordered if row["tied"]))
    lowest = [Statement(method, LOWEST, estimate_of(row, "nmse"), tied) for row in ordered[:1]]
    return lowest + [
        Statement(method, HIGHEST, estimate_of(row, "nmse"), (int(row["layer"]),))
        for row in ordered[1:][-1:]
    ]


def _predicts(name: str, row: pd.Series) -> Statement:
    """State what share of the target's variance a map predicts; its error where it is none."""
    error = estimate_of(row, "nmse", "amount")
    if error.value > 1 - NOTHING:
        return Statement(name, PREDICTS_NOTHING, error)
    share = Estimate(1 - error.value, 1 - error.high, 1 - error.low, kind="per cent")
    return Statement(name, PREDICTS, share)


def _compared(name: str, row: pd.Series, baseline: str) -> Statement:
    """State by how many points of variance a map or a group predicts more than its baseline, of a
    difference of errors."""
    less = {"difference": -row["difference"], "low": -row["high"], "high": -row["low"]}
    return verdict_on(name, less | {"level": row["level"]}, (BETTER, WORSE), baseline=baseline)


def verdict_on(
    subject: str,
    row: Mapping[str, Any] | pd.Series,
    verdicts: tuple[str, str],
    layers: tuple[int, ...] = (),
    baseline: str = "",
) -> Statement:
    """State a difference of shares (difference, low, high, level) in points: which of two verdicts
    its interval bears, above or below 0, or that there is no detectable difference."""
    value, low, high = (100 * float(row[name]) for name in ("difference", "low", "high"))
    points = Estimate(value, low, high, float(row["level"]), "gain")
    verdict = verdicts[points.value < 0] if points.clear else EQUAL
    return Statement(subject, verdict, points, layers, baseline)


def _of_layers(gains: pd.DataFrame, words: str) -> Iterator[Statement]:
    """State how much more states predict than the static window: over all layers that are run, then
    at each, which layer 0 is not; then what each adds beside the window."""
    rows = rows_between(gains, words)
    rows = rows[rows["layer"] != 0].sort_values("layer")
    for subject, gain in ((LAYERS, GAIN_OF_LAYERS), (BESIDE, GAIN_BESIDE)):
        for row in rows[rows["gain"] == gain].to_dict("records"):
            at = () if row["layer"] == OVERALL else (int(row["layer"]),)
            if subject == LAYERS or at:
                yield verdict_on(subject, row, (BETTER, WORSE), at, WINDOW)


def _of_second_run(methods: pd.DataFrame, words: str) -> Iterator[Statement]:
    """State what the best map predicts of a second run of the same seed; the best of those that
    were fitted to it, where that one was not."""
    rows = rows_between(methods, words, AGAIN).set_index("method")
    best = best_map(methods, words)
    best = best if best in rows.index else best_map(methods, words, AGAIN)
    if best:
        yield replace(_predicts(best, rows.loc[best]), subject=AGAIN, baseline=best)


def _of_seen_words(methods: pd.DataFrame, inside: pd.DataFrame) -> Iterator[Statement]:
    seen = rows_between(methods, "seen").set_index("method")
    if "lookup" not in seen.index:
        return
    yield Statement("lookup" + SEEN, LEAVES, estimate_of(seen.loc["lookup"], "nmse", "per cent"))
    rows = inside[(inside["words"] == "seen") & (inside["other_method"] == "lookup")]
    for _, row in rows[rows.index == "ridge"].iterrows():
        yield _compared("ridge" + SEEN, row, "lookup")


def view_statements(
    tables: Mapping[str, pd.DataFrame], models: Sequence[str], grid: str
) -> tuple[Statement, ...]:
    """State what the views of layers into layers, of pairs and of training show beside the
    headline; `grid` is the map of every layer. Of pairs the subject is the source, the baseline the
    target and the metric the map; layers are that of the source and that of the target."""
    facts: list[Statement] = []
    if "grid" in tables and len(models) > 1:
        facts += _of_grid(tables["grid"], models[0], models[1], grid)
    best = best_map(tables["methods"], judged(tables["methods"]))
    if best:
        held = held_out(tables["alignment"], models, judged(tables["methods"]))
        facts += _of_pairs(pair_errors(held, best), best)
    if len(curves := tables.get("curves", ())):
        facts += _of_training(curves)
    return tuple(facts)


def _of_grid(grid: pd.DataFrame, source: str, target: str, method: str) -> list[Statement]:
    """State the error from the same layer and that from the best one, of the layer of the target
    for which they differ most."""
    errors = grid.pivot(index="target_layer", columns="source_layer", values="nmse")
    same = pd.Series({layer: errors[layer][layer] for layer in errors.index if layer in errors})
    gaps = (same - errors.min(axis=1)[same.index]).dropna()
    if gaps.empty:
        return []
    layer = int(gaps.idxmax())
    from_layer = {SAME: layer, BEST: int(errors.loc[layer].idxmin())}
    return [
        Statement(source, verdict, Estimate(float(errors[of][layer])), (of, layer), target, method)
        for verdict, of in from_layer.items()
    ]


def _of_pairs(means: pd.Series, method: str) -> list[Statement]:
    """State how many directed pairs there are and, in their order, the ends of their errors."""
    if len(means) < 2:
        return []
    ordered = means.sort_values(kind="stable").index
    ends = {ordered[0]: LEAST, ordered[-1]: MOST}
    return [
        Statement(method, DIRECTED, Estimate(len(means), kind="whole")),
        *(
            Statement(source, ends[source, target], Estimate(float(error)), (), target, method)
            for (source, target), error in means.items()
            if (source, target) in ends
        ),
    ]


def _of_training(curves: pd.DataFrame) -> list[Statement]:
    ended = curves.groupby(["source", "target", "method", "layer"])["converged"].last()
    counts = {TRAINED: len(ended), UNCONVERGED: int((~ended.astype(bool)).sum())}
    return [
        Statement("networks", verdict, Estimate(count, kind="whole"))
        for verdict, count in counts.items()
    ]


def find(facts: Sequence[Statement], subject: str, baseline: str = "") -> Statement | None:
    """Find the first statement of a subject compared with a baseline; None without one."""
    return next(
        (fact for fact in facts if (fact.subject, fact.baseline) == (subject, baseline)), None
    )
