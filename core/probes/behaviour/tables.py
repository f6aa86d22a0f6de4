"""Tidy tables of the study of behaviour, every number with its interval.

Accuracies are in per cent, with Wilson's interval; differences between two models, or a model and
the bigrams, resample the same pairs for both, within each kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.models.steps import in_order_of_training, origin_of, run_of
from core.probes.minimal_pairs.accuracy import (
    correct,
    correlation_interval,
    correlation_p,
    rank_correlation,
    smallest_p,
    wilson_interval,
)
from core.results.drawing.training import with_progress
from core.statistics import bootstrap_interval, sentence_counts

if TYPE_CHECKING:
    import pandas as pd

    from core.runs.store import Value

BEHAVIOUR = ("model", "kind", "metric", "value", "low", "high", "pairs")
DIFFERENCES = ("model", "kind", "metric", "rival", "rival_value", "margin", "low", "high")
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
METRIC = "accuracy"
EVERY, UNRELATED, RUN = "all models", "unrelated models", "steps of a run"
Hits = Mapping[str, NDArray[np.float64]]  # kind -> 1 where a pair is right, .5 where scores tie


def hits_of(good: NDArray[np.float64], bad: NDArray[np.float64]) -> NDArray[np.float64]:
    """Count the pairs of one kind that are right, (pair,)."""
    return correct(np.asarray(good), np.asarray(bad))


def bigram_hits(value: Value, kinds: Iterable[str]) -> Hits:
    """Count the pairs that the bigrams have right."""
    return {
        kind: hits_of(np.asarray(value[f"good/{kind}"]), np.asarray(value[f"bad/{kind}"]))
        for kind in kinds
    }


def behaviour_table(hits: Mapping[str, Hits]) -> pd.DataFrame:
    """Make the rows of every model (or the bigrams) and kind, and of all kinds together.

    Args:
        hits: By model; models without all kinds have no row of all kinds.
    """
    import pandas as pd

    kinds = list(dict.fromkeys(kind for of_model in hits.values() for kind in of_model))
    rows = []
    for model, of_model in hits.items():
        parts = {kind: of_model[kind] for kind in kinds if kind in of_model}
        if len(parts) == len(kinds) > 1:
            parts |= {ALL: np.concatenate([*parts.values()])}
        for kind, right in parts.items():
            ends = wilson_interval(float(right.sum()), len(right))
            shares = (100 * float(share) for share in (right.mean(), *ends))
            rows.append((model, kind, METRIC, *shares, len(right)))
    return with_progress(pd.DataFrame(rows, columns=list(BEHAVIOUR)))


def margin_table(
    hits: Mapping[str, Hits], models: Sequence[str], draws: int, seed: int
) -> pd.DataFrame:
    """Compare every model with the bigrams, and the steps of a run with its first, by kind.

    Args:
        hits: By model, the bigrams among them.
        models: References.
        draws: Resamples of pairs.
        seed: Of the resamples.
    """
    import pandas as pd

    run = longest_run(models)
    rivals = [(ref, BIGRAM) for ref in models if BIGRAM in hits]
    rivals += [(ref, run[0]) for ref in run[1:]]
    rows = [
        row
        for model, rival in rivals
        for row in _margins(model, rival, hits[model], hits[rival], draws, seed)
    ]
    return pd.DataFrame(rows, columns=list(DIFFERENCES))


def _margins(
    model: str, rival: str, mine: Hits, theirs: Hits, draws: int, seed: int
) -> list[tuple[Any, ...]]:
    """Make the rows of one model and one baseline, from the same resamples of pairs for both."""
    shared = [kind for kind in mine if kind in theirs]
    resampled = {}
    for number, kind in enumerate(shared):
        difference = mine[kind] - theirs[kind]
        counts = sentence_counts(len(difference), draws, np.random.default_rng((seed, number)))
        resampled[kind] = 100 * (counts @ difference) / len(difference)
    groups = {kind: [kind] for kind in shared} | ({ALL: shared} if len(shared) > 1 else {})
    rows: list[tuple[Any, ...]] = []
    for kind, members in groups.items():
        value, against = (
            100 * float(np.mean([side[member].mean() for member in members]))
            for side in (mine, theirs)
        )
        drawn = np.mean([resampled[member] for member in members], axis=0)
        low, high = bootstrap_interval(value - against, drawn)
        rows.append((model, kind, METRIC, rival, against, value - against, float(low), float(high)))
    return rows


def beside_table(behaviour: pd.DataFrame, best: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Set each model's probe scores beside its accuracy on all kinds of pairs.

    Args:
        behaviour: Of `behaviour_table`.
        best: A probe's score at a model's best layer each: model, probe, metric, layer, value, low,
            high.
    """
    import pandas as pd

    kind = whole_kind(behaviour)
    whole = behaviour[behaviour["kind"] == kind].set_index("model")
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
    chosen = []
    for origin, alike in origins.items():
        own_run = [ref for ref in alike if run_of(ref) == origin]
        chosen.append(in_order_of_training(own_run or alike)[-1])
    return tuple(chosen)


def correlation_table(beside: pd.DataFrame, behaviour: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Correlate each probe's score with accuracy over models, for each kind of pairs.

    Over all models; over the steps of one run; and over unrelated models, one of each origin. Only
    models that share no origin are tested and have an interval: steps of a run improve on most
    things at once, whatever a probe measures. P-values are corrected for every correlation that is
    tested (Bonferroni).

    Args:
        beside: Of `beside_table`.
        behaviour: Of `behaviour_table`.
        seed: Of the permutations.
    """
    import pandas as pd

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
