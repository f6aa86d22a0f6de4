"""Tidy tables from what each test sentence contributed, every number with its band.

All rows of a study are scored on the same resamples of the test sentences. Differences between
models, and between real and control trees, therefore have bands that do not count the sentences'
difficulty twice. A score is the mean over several probes (with different initial maps and orders of
sentences, or on different draws of control trees); their spread enters the band as a t-distributed
error of that mean, with a variance pooled over a model's layers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import and_
from typing import Any

import numpy as np
import pandas as pd

from core.maths.arrays import Value
from core.maths.structural.bands import ProbeScores, Sample, banded_sum, draw_sample, spread
from core.maths.structural.scores import STORED, SentenceScores, score
from core.models import parse_ref
from core.results.metrics import OF_SELECTIVITY, metric_of
from core.studies.probes.trees.data import Treebank
from core.studies.probes.trees.spec import ProbeSpec
from core.studies.text_kit import listed, short_names
from core.vectors.window import REACHES

COLUMNS = ("model", "layer", "probe", "metric", "value", "low", "high", "dev", "probes", "sd")
METRICS = {"distance": ("uuas", "dspr"), "depth": ("root", "nspr")}
LABELS = REAL, DRAWN, GAP = ("real", "control", "selectivity")  # learned, and the difference
OF_CONTROL = " control"  # after the name of a probe trained on control trees
CHAIN, RANDOM, PARSED, POSITION = "linear chain", "random tree", "parser", "position only"
WINDOW = "static window"
BASELINES = "baselines"  # role of the task that scores chain and random trees
BESIDE = "beside the static window"
EMBEDDINGS = "layer 0"  # a baseline: the model's own embeddings
TAGS = {0: "parts of speech", 1: "parts of speech, three words"}  # by the words on either side
ARC_RIVALS = (WINDOW, TAGS[1])  # baselines that are drawn by arc length
SHOWN = {POSITION: "position-only baseline"}  # what a reader sees for a cell; others as they are
PROBE_OF = {metric: probe for probe, metrics in METRICS.items() for metric in metrics}
ALL_METRICS = (*PROBE_OF, *(metric + OF_SELECTIVITY for metric in PROBE_OF))  # the main one first
CHOOSERS = {"dspr": "uuas", "nspr": "root"}  # metrics by which layers are chosen for other ones
Scores = Mapping[str, ProbeScores]  # by metric
Rows = Mapping[str, Any]  # by column: its cells, or one value for all of them
Role = Any  # of a task, by which its output is found


def windows_of(models: Iterable[str]) -> dict[str, str]:
    """Name the row of each trained model's static window, by the model: WINDOW alone where there
    is one."""
    names = short_names(ref for ref in models if not parse_ref(ref).random)
    several = len(names) > 1
    return {ref: f"{WINDOW} of {name}" if several else WINDOW for ref, name in names.items()}


def named_rivals(rivals: Mapping[Role, Scores], models: Iterable[str]) -> dict[str, Scores]:
    """Name the baselines, given by their tasks' roles, as their rows do: what has no model, and the
    static windows of these models."""
    windows = windows_of(ref for ref in models if (WINDOW, ref) in rivals)
    names = {role: role if isinstance(role, str) else windows.get(role[1]) for role in rivals}
    return {name: rivals[role] for role, name in names.items() if name}


def models_in(table: pd.DataFrame) -> list[str]:
    """The models of a table of scores, which has baselines too."""
    return [ref for ref in table["model"].unique() if ":" in ref]


def real_rows(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of a table of scores that are of probes on real trees or labels."""
    real = (
        table["labels"] == REAL if "labels" in table else ~table["probe"].str.endswith(OF_CONTROL)
    )
    return table[real]


def rows_where(table: pd.DataFrame, **cells: object) -> pd.DataFrame:
    """The rows that have these cells, by column."""
    return table[reduce(and_, (table[name] == cell for name, cell in cells.items()))]


def rows_of_metric(
    tables: Mapping[str, pd.DataFrame], metric: str, *names: str
) -> dict[str, pd.DataFrame]:
    """Select the rows of one metric from the tables with these names, or from all tables if no
    name is given; a table without a column `metric` is returned whole."""
    return {
        name: rows_where(table, metric=metric) if "metric" in table else table
        for name, table in tables.items()
        if not names or name in names
    }


def metrics_in(table: pd.DataFrame, metrics: Iterable[str]) -> list[str]:
    """Those of the metrics in which a table has rows, in their order."""
    there = set(table["metric"])
    return [metric for metric in metrics if metric in there]


def best_row(table: pd.DataFrame, model: str, metric: str) -> pd.Series | None:
    """A model's row of a metric at the layer that is best on the development sentences, so that the
    score on the test sentences is not chosen to be high; CHOOSERS name the metric that chooses."""
    real = real_rows(rows_where(table, model=model))
    dev = rows_where(real, metric=CHOOSERS.get(metric, metric)).set_index("layer")["dev"]
    rows = rows_where(real, metric=metric)
    if rows.empty or dev.isna().all():
        return None
    return rows_where(rows, layer=dev.idxmax()).iloc[0]


def best_rows(table: pd.DataFrame, models: Iterable[str], metric: str) -> dict[str, pd.Series]:
    """`best_row` of each model that has one, the trained models first."""
    rows = {ref: best_row(table, ref, metric) for ref in models}
    best = {ref: row for ref, row in rows.items() if row is not None}
    return {ref: best[ref] for ref in sorted(best, key=lambda ref: parse_ref(ref).random)}


def sample_of(treebank: Treebank, draws: int, seed: int) -> Sample:
    """Resample the test sentences."""
    lengths = [len(tree.words) for tree in treebank.parts["test"]]
    return draw_sample(np.array(lengths), draws, seed)


def probe_groups(
    value: Value, sample: Sample, *, prefix: str = "", control: bool = False
) -> dict[str, ProbeScores]:
    """Scores by metric, as percentages or correlations; with a `prefix`, of trees that come from no
    layer, whose rows are draws; `control` says that probes were trained on control trees."""
    layers: tuple[int, ...] = (0,)
    if "layers" in value and not prefix:
        layers = tuple(np.asarray(value["layers"])[np.asarray(value["draws"]) == 0].tolist())
    parts = {
        name: np.asarray(value[prefix + name], dtype=np.float64)
        for name in ("hits", "dspr", "nspr", "root")
        if prefix + name in value
    }
    edges = np.asarray(value.get("edges", np.zeros(len(sample.lengths))), dtype=np.float64)
    scores, groups = SentenceScores(sample.lengths, edges, **parts), {}
    for metric in PROBE_OF:
        if prefix + STORED.get(metric, metric) not in value:
            continue
        shares = metric_of(metric).of_hundred  # others are correlations
        scale, bounds = (100.0, (0.0, 100.0)) if shares else (1.0, (-1.0, 1.0))
        points = (score(scores, metric) * scale).reshape(len(layers), -1)
        resampled = (score(scores, metric, sample.weights) * scale).reshape(-1, *points.shape)
        dev = np.asarray(value.get(f"dev_{CHOOSERS.get(metric, metric)}", points * np.nan)) * scale
        dev = dev.reshape(points.shape).mean(axis=1)
        group = ProbeScores(layers, points, resampled, dev, bounds=bounds, seed=sample.seed)
        groups[metric] = group.pooled(shared=control)
    return groups


def rival_groups(
    values: Mapping[Role, Value], sample: Sample
) -> dict[Role, dict[str, ProbeScores]]:
    """Scores of the baselines that are probes, by their tasks' roles."""
    kinds = (POSITION, WINDOW, *TAGS.values())
    return {
        role: probe_groups(value, sample)
        for role, value in values.items()
        if role in kinds or role[0] in kinds
    }


def metric_rows(*terms: tuple[int, ProbeScores], **columns: Any) -> Rows:
    """A signed sum of one metric's scores by layer with its band, and the spread of the last
    term."""
    return {**columns, **banded_sum(*terms), **spread(terms[-1][1])}


def score_rows(groups: Scores, *, layered: bool = True, **columns: Any) -> list[Rows]:
    """Rows of the scores of a model, or of a baseline, whose rows have no layer, by metric."""
    return [
        metric_rows(
            (1, group), layer=group.layers if layered else None, metric=metric, dev=group.dev,
            **columns,
        )
        for metric, group in groups.items()
    ]  # fmt: skip


def score_frames(
    groups: Mapping[str, Scores],
    controls: Mapping[str, Scores],
    rivals: Mapping[str, Scores],
    signs: Mapping[str, int] | None = None,
    **columns: Any,
) -> list[Rows]:
    """Rows of the scores of models, of their control trees or labels, of selectivity (their
    difference, with the `sd` of the control's draws), then of baselines by name. `signs` is -1 for
    metrics whose selectivity has the other sign, 0 for those without one."""
    frames = []
    for ref, scores in groups.items():
        drawn = controls.get(ref, {})
        frames += score_rows(scores, model=ref, labels=REAL, **columns)
        frames += score_rows(drawn, model=ref, labels=DRAWN, **columns)
        for metric, group in drawn.items():
            if sign := (signs or {}).get(metric, 1):
                terms = (sign, scores[metric].only(group.layers)), (-sign, group)
                named = {"model": ref, "metric": metric, "labels": GAP, **columns}
                frames.append(metric_rows(*terms, layer=group.layers, dev=np.nan, **named))
    for name, scores in rivals.items():
        frames += score_rows(scores, layered=False, model=name, labels=REAL, **columns)
    return frames


def tree_table(frames: Sequence[Rows]) -> pd.DataFrame:
    """Rows of scores as COLUMNS: what probes learned is in the names of probes and metrics."""
    table = as_table(frames, ("labels", *[name for name in COLUMNS if name != "probe"]))
    kind, metric = " " + table["labels"], table["metric"]
    probe = metric.map({**PROBE_OF, "uas": "heads"}) + kind.where(kind == OF_CONTROL, "")
    named = metric + kind.where(kind == OF_SELECTIVITY, "")
    dev = table["dev"].where(metric.isin(CHOOSERS.values()))
    return table.assign(probe=probe, metric=named, dev=dev)[list(COLUMNS)]


def as_table(frames: Sequence[Rows], columns: tuple[str, ...]) -> pd.DataFrame:
    """Make one table, with the columns' types also where there are no rows; what some rows lack is
    empty there."""
    held: dict[str, list[Any]] = {name: [] for name in columns}
    for rows in frames:  # hundreds of small tables that are joined would take a second
        count = max((len(given) for given in rows.values() if not _is_same(given)), default=1)
        for name, cells in held.items():
            given = rows.get(name, np.nan)
            cells += [given] * count if _is_same(given) else [*given]
    table = pd.DataFrame(held, dtype=None if any(held.values()) else object)
    text, whole = (
        {"model", "base", "probe", "labels", "metric", "rival", "arcs"},
        {"layer", "probes", "rival_layer", "best_layer", "edges"},
    )
    kinds = {name: "Int64" if name in whole else float for name in columns if name not in text}
    kinds |= {name: bool for name in ("tied",) if name in columns}
    return table.astype(kinds)


def _is_same(given: Any) -> bool:
    """Whether a column is given by one value for all of its rows."""
    return isinstance(given, str) or not hasattr(given, "__len__")


def reaches_in_words(values: Mapping[Any, Value]) -> str:
    """Say which reaches of the static windows were chosen, for a methods paragraph."""
    reaches = {
        role[1:]: int(np.asarray(value["reach"])[0])
        for role, value in values.items()
        if role[0] == WINDOW and "reach" in value
    }
    if not reaches:
        return ""
    tried = listed([*map(str, REACHES)], word="or")
    named = [f"{reach} for {', '.join(map(str, role))}" for role, reach in reaches.items()]
    return (
        f" The static window's reach, {tried} words to each side, "
        f"was chosen by the score on the development sentences: {'; '.join(named)}."
    )


def score_table(
    spec: ProbeSpec,
    groups: Mapping[str, Scores],
    rivals: Mapping[Role, Scores],
    values: Mapping[Role, Value],
    sample: Sample,
) -> pd.DataFrame:
    """Models, their control trees and selectivity, then the baselines: COLUMNS; no row without a
    model, since baselines alone show nothing."""
    if not groups:
        return tree_table([])
    learned = {ref: values["control", ref] for ref in groups if ("control", ref) in values}
    controls = {ref: probe_groups(each, sample, control=True) for ref, each in learned.items()}
    shown = named_rivals(rivals, groups)
    tags_last = sorted(shown, key=lambda name: name in TAGS.values())
    shown = {name: shown[name] for name in tags_last}

    def untrained(value: Value, prefix: str) -> dict[str, ProbeScores]:
        scores = probe_groups(value, sample, prefix=prefix)
        return {name: each for name, each in scores.items() if PROBE_OF[name] in spec.probes}

    if BASELINES in values:
        shown[CHAIN] = untrained(values[BASELINES], "chain_")
        shown[RANDOM] = untrained(values[BASELINES], "random_")
    frames = score_frames(groups, controls, shown)
    for value in [*learned.values()][:1]:  # word types of the first model; others may have fewer
        chains = untrained(value, "chain_")
        frames += score_rows(chains, layered=False, model=CHAIN, labels=DRAWN)
    if PARSED in values:
        judged = draw_sample(np.asarray(values[PARSED]["lengths"]), spec.draws, spec.seed)
        attached, words = (np.asarray(values[PARSED][name]) for name in ("attached", "words"))
        scores = probe_groups(values[PARSED], judged)
        scores["uas"] = ProbeScores.of_shares(attached[None, None], words, judged)
        frames += score_rows(scores, layered=False, model=PARSED, labels=REAL)
    return tree_table(frames)
