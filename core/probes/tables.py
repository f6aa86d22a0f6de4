"""Tidy tables from what each test sentence contributed, every number with its band.

All rows of a study are scored on the same resamples of the test sentences, so that differences between models, and
between real and control trees, have bands of their own that do not count the sentences' difficulty twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from core.probes.scores import SentenceScores, ratio, score
from core.probes.spec import ProbeSpec
from core.statistics import interval, sentence_counts

if TYPE_CHECKING:
    import pandas as pd

    from core.runs.store import Value

COLUMNS = ("model", "layer", "probe", "metric", "value", "low", "high")
METRICS = {"distance": ("uuas", "dspr"), "depth": ("root", "nspr")}
LABELS = {
    "uuas": "UUAS (%)",
    "dspr": "DSpr.",
    "root": "Root accuracy (%)",
    "nspr": "NSpr.",
    "selectivity": "Selectivity (UUAS, points)",
    "uas": "UAS (%)",
}
CHAIN, RANDOM, PARSED = "linear chain", "random tree", "parser"
PERCENT = ("uuas", "root", "uas", "selectivity")


def draw_weights(sentences: int, draws: int, seed: int) -> np.ndarray:
    """How often each test sentence is drawn in each resample, (draw, sentence); the same for every row of a study."""
    return sentence_counts(sentences, draws, np.random.default_rng(seed)).astype(np.float64)


def make_table(
    real: Mapping[str, Value],
    controls: Mapping[str, Value],
    baselines: Value | None,
    parser: Value | None,
    lengths: np.ndarray,
    weights: np.ndarray,
    spec: ProbeSpec,
) -> pd.DataFrame:
    """The study's table: models, control trees, selectivity, baselines and the parser.

    Args:
        real: Output of `train_probes` by model.
        controls: The same on control trees.
        baselines: Output of `score_baselines`.
        parser: Output of `score_parser`; resampled on its own where its sentences are not the test sentences.
        lengths: Words in each test sentence.
        weights: From `draw_weights`.
        spec: For the seed and the number of draws.

    Returns:
        COLUMNS; layer is missing where there is none. Control trees carry "control" after the probe's name.
    """
    import pandas as pd

    rows: list[tuple[Any, ...]] = []
    for model, value in real.items():
        layers = np.asarray(value["layers"]).tolist()
        scores = as_scores(value, lengths)
        for probe, metric in _metrics(scores):
            rows += _rows(model, layers, probe, metric, scores, weights)
        if model in controls:
            control = as_scores(controls[model], lengths)
            for probe, metric in _metrics(control):
                rows += _rows(model, layers, f"{probe} control", metric, control, weights)
            if scores.hits is not None:
                rows += _difference(("selectivity",), model, layers, "uuas", scores, control, weights)
    if baselines is not None:
        for name, prefix in ((CHAIN, "chain_"), (RANDOM, "random_")):
            scores = as_scores(baselines, lengths, prefix)
            wanted = [pair for pair in _metrics(scores) if pair[0] in spec.probes]
            for probe, metric in wanted:
                rows += _rows(name, [None], probe, metric, scores, weights)
    if parser is not None:
        own = np.asarray(parser["lengths"])
        draws = weights if len(own) == len(lengths) else draw_weights(len(own), spec.draws, spec.seed)
        scores = as_scores(parser, own)
        for probe, metric in _metrics(scores):
            rows += _rows(PARSED, [None], probe, metric, scores, draws)
        attached = ratio(np.asarray(parser["attached"]), np.asarray(parser["words"]))
        low, high = interval(ratio(np.asarray(parser["attached"]), np.asarray(parser["words"]), draws))
        rows.append((PARSED, None, "heads", "uas", 100 * float(attached), 100 * float(low), 100 * float(high)))
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    return table.astype({"layer": "Int64", "value": float, "low": float, "high": float})


def difference_rows(real: Mapping[str, Value], base: str, lengths: np.ndarray, weights: np.ndarray) -> pd.DataFrame:
    """Every model less the base, layer by layer, with the band of the difference.

    Returns:
        model, base, layer, metric, difference, low, high; layers that both have.
    """
    import pandas as pd

    rows: list[tuple[Any, ...]] = []
    for model, value in real.items():
        if model == base or base not in real:
            continue
        mine, theirs = (np.asarray(v["layers"]).tolist() for v in (value, real[base]))
        shared = [layer for layer in mine if layer in theirs]
        one = as_scores(value, lengths, rows=[mine.index(layer) for layer in shared])
        other = as_scores(real[base], lengths, rows=[theirs.index(layer) for layer in shared])
        for _, metric in _metrics(one):
            found = _difference((metric,), model, shared, metric, one, other, weights)
            rows += [(row[0], base, row[1], row[3], *row[4:]) for row in found]
    table = pd.DataFrame(rows, columns=["model", "base", "layer", "metric", "difference", "low", "high"])
    return table.astype({"layer": "Int64", "difference": float, "low": float, "high": float})


def as_scores(value: Value, lengths: np.ndarray, prefix: str = "", rows: list[int] | None = None) -> SentenceScores:
    """A task's output as scores; `rows` picks layers."""
    chosen = slice(None) if rows is None else rows
    parts = {
        name: np.asarray(value[prefix + name], dtype=np.float64)[chosen]
        for name in ("hits", "dspr", "nspr", "root")
        if prefix + name in value
    }
    edges = value.get("edges")
    return SentenceScores(lengths, np.zeros(len(lengths)) if edges is None else np.asarray(edges, np.float64), **parts)


def _metrics(scores: SentenceScores) -> Iterator[tuple[str, str]]:
    """(probe, metric) for what the scores hold."""
    for probe, metrics in METRICS.items():
        for metric in metrics:
            if getattr(scores, "hits" if metric == "uuas" else metric) is not None:
                yield probe, metric


def _rows(
    model: str, layers: list[Any], probe: str, metric: str, scores: SentenceScores, weights: np.ndarray
) -> list[tuple[Any, ...]]:
    """One row a layer."""
    scale = 100.0 if metric in PERCENT else 1.0
    values = score(scores, metric) * scale
    low, high = interval(score(scores, metric, weights) * scale)
    return [(model, *row) for row in zip(layers, *_repeat(len(layers), probe, metric), values, low, high, strict=True)]


def _difference(
    name: tuple[str],
    model: str,
    layers: list[Any],
    metric: str,
    one: SentenceScores,
    other: SentenceScores,
    weights: np.ndarray,
) -> list[tuple[Any, ...]]:
    """One row a layer: the first scores less the second, on the same resamples."""
    scale = 100.0 if metric in PERCENT else 1.0
    values = (score(one, metric) - score(other, metric)) * scale
    low, high = interval((score(one, metric, weights) - score(other, metric, weights)) * scale)
    constant = _repeat(len(layers), "distance" if metric in METRICS["distance"] else "depth", *name)
    return [(model, *row) for row in zip(layers, *constant, values, low, high, strict=True)]


def _repeat(count: int, *values: str) -> list[list[str]]:
    return [[value] * count for value in values]
