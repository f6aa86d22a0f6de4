"""Tidy tables of the study of behaviour, every number with its interval.

Accuracies are in per cent and of the critical region. Pairs with the same differing words are right
or wrong together, so that intervals of accuracies and of differences are over groups of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.maths.arrays import Value
from core.maths.ranks import correlation_interval, correlation_p, rank_correlation, smallest_p
from core.maths.statistics import corrected_level, t_interval
from core.models.steps import in_order_of_training, origin_of, run_of
from core.results.drawing.training import with_progress
from core.results.estimates import Estimate
from core.studies.probes.minimal_pairs.accuracy import (
    correct,
    group_variance,
    grouped_interval,
)
from core.studies.probes.minimal_pairs.templates import joined_groups
from core.studies.probes.trees.tables import rows_where

BEHAVIOUR = ("model", "kind", "metric", "value", "low", "high", "pairs", "groups")
MARGINS = ("model", "kind", "metric", "rival", "rival_value", "margin", "low", "high")
BESIDE = (
    *("model", "probe", "metric", "layer", "value", "low", "high"),
    *("behaviour", "behaviour_low", "behaviour_high"),
)
CORRELATIONS = (
    *("probe", "metric", "kind", "among", "models", "origins", "correlation", "low", "high"),
    *("p_value", "corrected_p", "smallest_p"),
)
ALL = "all"  # the mean over all kinds
BIGRAM = "bigram"
WHOLE = "whole sentences"  # the same model, scored on all words of a sentence
METRIC = "accuracy"
EVERY, UNRELATED, RUN = "all models", "unrelated models", "steps of a run"
Hits = Mapping[str, NDArray[np.float64]]  # kind -> 1 where a pair is right, .5 where scores tie


def hits_of(value: Value, reading: str = "", ending: str = "") -> NDArray[np.float64]:
    """Tell which pairs of one kind are right, (pair,), by a task's output: by the critical
    region, or by the sentence where the reading is "whole_"."""
    good, bad = (np.asarray(value[f"{reading}{side}{ending}"]) for side in ("good", "bad"))
    return correct(good, bad)


def behaviour_table(hits: Mapping[str, Hits], own: NDArray[np.int64] | None = None) -> pd.DataFrame:
    """Make the rows of every model (or the bigrams) and kind, and of all kinds together where a
    model has all; `own` are the groups of a reader's own pairs, where these are scored."""
    kinds = list(dict.fromkeys(kind for of_model in hits.values() for kind in of_model))
    rows = []
    for model, of_model in hits.items():
        for kind, members in _together(kinds, of_model).items():
            right = np.concatenate([of_model[member] for member in members])
            groups = _groups(of_model, members, own)
            ends = grouped_interval(right, groups)
            shares = (100 * float(share) for share in (right.mean(), *ends))
            rows.append((model, kind, METRIC, *shares, len(right), int(groups.max()) + 1))
    return with_progress(pd.DataFrame(rows, columns=list(BEHAVIOUR)))


def margin_table(
    hits: Mapping[str, Hits],
    models: Sequence[str],
    whole: Mapping[str, Hits],
    own: NDArray[np.int64] | None = None,
) -> pd.DataFrame:
    """Compare every model with the bigrams and with its own scores of `whole` sentences, and the
    steps of a run with its first, by kind."""
    run = longest_run(models)
    rivals = [(ref, BIGRAM, hits[BIGRAM]) for ref in models if BIGRAM in hits]
    rivals += [(ref, run[0], hits[run[0]]) for ref in run[1:]]
    rivals += [(ref, WHOLE, whole[ref]) for ref in models if ref in whole]
    rows = [
        row
        for model, rival, theirs in rivals
        for row in _margins(model, rival, hits[model], theirs, own)
    ]
    return pd.DataFrame(rows, columns=list(MARGINS))


def _margins(
    model: str, rival: str, mine: Hits, theirs: Hits, own: NDArray[np.int64] | None
) -> list[tuple[Any, ...]]:
    """Make the rows of one model and one baseline, of the same pairs."""
    rows: list[tuple[Any, ...]] = []
    for kind, members in _together(list(mine), theirs).items():
        ours, others = (
            100 * np.concatenate([side[member] for member in members]) for side in (mine, theirs)
        )
        margin, against = float((ours - others).mean()), float(others.mean())
        variance, several = group_variance(ours - others, _groups(mine, members, own))
        low, high = t_interval(margin, [variance], [several - 1]) if several > 1 else (np.nan,) * 2
        rows.append((model, kind, METRIC, rival, against, margin, float(low), float(high)))
    return rows


def corrected_share(
    hits: Hits, kind: str, tests: int, own: NDArray[np.int64] | None = None
) -> Estimate:
    """Estimate a model's accuracy on a kind in per cent, its interval corrected for several tests
    (Bonferroni)."""
    right, level = hits[kind], corrected_level(tests)
    low, high = grouped_interval(right, _groups(hits, [kind], own), level)
    return Estimate(100 * float(right.mean()), 100 * low, 100 * high, level, "points")


def _together(kinds: Sequence[str], hits: Hits) -> dict[str, list[str]]:
    """The kinds that were scored, each alone, and all of them where all were and there are more."""
    scored = [kind for kind in kinds if kind in hits]
    every = {ALL: scored} if len(scored) == len(kinds) > 1 else {}
    return {kind: [kind] for kind in scored} | every


def _groups(hits: Hits, members: Sequence[str], own: NDArray[np.int64] | None) -> NDArray[np.int64]:
    return own if own is not None else joined_groups({kind: len(hits[kind]) for kind in members})


def beside_table(behaviour: pd.DataFrame, best: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Set each model's best probe scores beside its accuracy on all kinds of pairs."""
    whole = rows_where(behaviour, kind=whole_kind(behaviour)).set_index("model")
    rows = []
    for row in best:
        if row["model"] in whole.index:
            mine = whole.loc[row["model"]]
            shares = (mine["value"], mine["low"], mine["high"])
            rows.append((*(row[name] for name in BESIDE[:7]), *shares))
    table = pd.DataFrame(rows, columns=list(BESIDE))
    return with_progress(table.astype({"layer": "Int64"}))


def whole_kind(table: pd.DataFrame) -> str:
    """All kinds together, or the only kind."""
    kinds = list(table["kind"])
    return ALL if ALL in kinds or not kinds else str(kinds[0])


def longest_run(models: Iterable[str]) -> tuple[str, ...]:
    """Find the run with the most checkpoints, in the order of training; () without checkpoints."""
    runs: dict[str, list[str]] = {}
    for ref in dict.fromkeys(models):
        runs.setdefault(run_of(ref), []).append(ref)
    most = max(runs.values(), key=len, default=[])
    return in_order_of_training(most) if len(most) > 1 else ()


def unrelated(models: Iterable[str]) -> tuple[str, ...]:
    """Choose one model of each origin: that which is the origin or nearest to its end of training.

    Models that share a run, a base or a parent are one observation.
    """
    origins: dict[str, list[str]] = {}
    for ref in dict.fromkeys(models):
        origins.setdefault(origin_of(ref), []).append(ref)
    runs = ([ref for ref in alike if run_of(ref) == at] or alike for at, alike in origins.items())
    return tuple(in_order_of_training(run)[-1] for run in runs)


def correlation_table(beside: pd.DataFrame, behaviour: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Correlate each probe's score with accuracy over models, by kind of pairs. Only models of
    different origins are tested (p-values with Bonferroni's correction) and have an interval: steps
    of a run improve on most things at once, whatever a probe measures."""
    wide = behaviour.pivot_table(index="model", columns="kind", values="value", sort=False)
    rows: list[tuple[Any, ...]] = []
    for (probe, metric), of_probe in beside.groupby(["probe", "metric"], sort=False):
        scores = of_probe.set_index("model")["value"]
        models = tuple(scores.index)
        groups = {EVERY: models, RUN: longest_run(models), UNRELATED: unrelated(models)}
        for among, chosen in groups.items():
            if len(chosen) < 3 or (among != EVERY and set(chosen) == set(models)):
                continue
            origins = len(unrelated(chosen))
            for kind in wide.columns:
                left, right = (
                    np.asarray(side.loc[list(chosen)], dtype=float) for side in (scores, wide[kind])
                )
                value = rank_correlation(left, right)
                tested: tuple[float, ...] = (np.nan,) * 3
                if origins == len(chosen):
                    p = correlation_p(left, right, np.random.default_rng(seed))
                    tested = (*correlation_interval(value, len(chosen)), p)
                rows.append((probe, metric, kind, among, len(chosen), origins, value, *tested))
    table = pd.DataFrame(rows, columns=list(CORRELATIONS[:10]))
    testable = table["models"] == table["origins"]
    tests = int(testable.sum())
    smallest = (table["models"].map(smallest_p).astype(float) * tests).where(testable)
    corrected = (table["p_value"] * tests).clip(upper=1.0)
    return table.assign(corrected_p=corrected, smallest_p=smallest.clip(upper=1.0))
