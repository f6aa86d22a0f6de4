"""Tidy tables from what each test sentence contributed, every number with its band.

All rows of a study are scored on the same resamples of the test sentences. Differences between
models, and between real and control trees, therefore have bands that do not count the sentences'
difficulty twice. A score is the mean over several probes (with different initial maps and orders of
sentences, or on different draws of control trees); their spread enters the band as a t-distributed
error of that mean, with a variance pooled over a model's layers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from core.errors import listed
from core.maths.arrays import Value
from core.maths.statistics import bootstrap_interval, ratios
from core.maths.structural.arcs import ADJACENT, ARCS, FAR, count_arcs
from core.maths.structural.bands import Group, Sample, draw_sample, spread, summary
from core.maths.structural.scores import Gold, SentenceScores, score
from core.models import parse_ref
from core.results.estimates import OF_HUNDRED
from core.results.names import short_names
from core.runs.runner import Outputs
from core.studies.probes.trees.spec import ProbeSpec
from core.vectors.window import REACHES

COLUMNS = ("model", "layer", "probe", "metric", "value", "low", "high", "dev", "probes", "sd")
METRICS = {"distance": ("uuas", "dspr"), "depth": ("root", "nspr")}
CONTROL = " control"  # after the name of a probe trained on control trees
SELECTIVITY = " selectivity"  # after a metric: the score minus that on control trees
NAMES = {
    "uuas": "correct edges (UUAS)",
    "dspr": "correlation of distances (DSpr.)",
    "root": "root accuracy",
    "nspr": "correlation of depths (NSpr.)",
}
CHAIN, RANDOM, PARSED, POSITION = "linear chain", "random tree", "parser", "position only"
WINDOW = "static window"
BASELINES = "baselines"  # role of the task that scores chain and random trees
BESIDE = "beside the static window"
EMBEDDINGS = "layer 0"  # a baseline: the model's own embeddings
TAGS = {0: "parts of speech", 1: "parts of speech, three words"}  # by the words on either side
ARC_RIVALS = (WINDOW, TAGS[1])  # baselines that are drawn by arc length
SHOWN = {POSITION: "position-only baseline"}  # what a reader sees for a cell; others as they are
SCALE = {
    **dict.fromkeys(("uuas", "root"), (0.0, 100.0)),
    **dict.fromkeys(("dspr", "nspr"), (-1.0, 1.0)),
}  # ends of the metrics
PROBE_OF = {metric: probe for probe, metrics in METRICS.items() for metric in metrics}


def windows_of(models: Iterable[str]) -> dict[str, str]:
    """Name the row of each trained model's static window, by the model: WINDOW alone where there
    is one."""
    names = short_names(ref for ref in models if not parse_ref(ref).random)
    several = len(names) > 1
    return {ref: f"{WINDOW} of {name}" if several else WINDOW for ref, name in names.items()}


def best_row(table: pd.DataFrame, model: str, metric: str) -> pd.Series | None:
    """A model's row of a metric at the layer that is best on the development sentences.

    That layer has the highest UUAS (for depth probes, root accuracy) there, so that the score on
    the test sentences is not chosen to be high.
    """
    rows = table[(table["model"] == model) & (table["probe"] == PROBE_OF[metric])]
    dev = rows.loc[rows["metric"] == METRICS[PROBE_OF[metric]][0]].set_index("layer")["dev"]
    rows = rows[rows["metric"] == metric]
    if rows.empty or dev.isna().all():
        return None
    return rows.loc[rows["layer"] == dev.idxmax()].iloc[0]


def metric_label(metric: str) -> str:
    """The name of a metric in charts and tables, with its unit."""
    bare = metric.removesuffix(SELECTIVITY)
    name = NAMES.get(bare, bare.upper())
    if bare != metric:
        return f"Selectivity, {name}{', points' if bare in OF_HUNDRED else ''}"
    return f"{name[0].upper()}{name[1:]}{', %' if metric in OF_HUNDRED else ''}"


def probe_groups(value: Value, sample: Sample, *, control: bool = False) -> dict[str, Group]:
    """Scores of trained probes by metric, as percentages or correlations; with `control`, of those
    on control trees."""
    count = int(np.max(value["draws"])) + 1
    layers, ranks = (
        tuple(np.asarray(value[name])[::count].tolist()) for name in ("layers", "ranks")
    )
    return _groups(value, sample, "", layers, ranks, count, control)


def arc_groups(
    heads: np.ndarray, gold: Gold, sample: Sample, whole: Group | None = None
) -> dict[str, Group]:
    """UUAS in percent by the length of the gold arcs, for each of ARCS that occurs.

    The deviation between probes is not known for each length, because only the first probe's trees
    are kept. It is taken to be that of all arcs, times the square root of how many times fewer
    arcs there are.

    Args:
        heads: Predicted heads of the test sentences, (layer, word), of the first probe of a layer.
        gold: The test sentences.
        sample: Their resamples.
        whole: UUAS of all probes of these layers, for the deviation between probes and for the
            scores on development sentences; None for trees without a probe.
    """
    hits, edges = count_arcs(heads, gold)
    every = edges[ARCS.index(FAR)].sum() + edges[ARCS.index(ADJACENT)].sum()
    groups = {}
    for arcs, right, count in zip(ARCS, hits, edges, strict=True):
        if not count.any():
            continue
        counts = np.broadcast_to(count, right.shape)
        points, resampled = (
            100.0 * each[..., None] for each in ratios(right, counts, sample.weights)
        )
        group = Group((0,), (0,), points, resampled, np.full(1, np.nan), bounds=SCALE["uuas"])
        if whole is not None:
            sd = float(whole.sd * np.sqrt(every / count.sum()))
            group = replace(
                group,
                layers=whole.layers,
                ranks=whole.layers,
                dev=whole.dev,
                sd=sd,
                freedom=whole.freedom,
            )
        groups[arcs] = group
    return groups


def baseline_groups(value: Value, sample: Sample, prefix: str = "") -> dict[str, Group]:
    """Scores of trees that come from no layer; several rows are draws of the gold trees."""
    first = next(metrics_of(value, prefix))
    return _groups(
        value, sample, prefix, (0,), (0,), len(np.asarray(value[prefix + _stored(first)]))
    )


def _groups(
    value: Value,
    sample: Sample,
    prefix: str,
    layers: tuple[int, ...],
    ranks: tuple[int, ...],
    count: int,
    control: bool = False,
) -> dict[str, Group]:
    scores = as_scores(value, sample.lengths, prefix)
    groups = {}
    for metric in metrics_of(value, prefix):
        scale = 100.0 if metric in OF_HUNDRED else 1.0
        points = (score(scores, metric) * scale).reshape(len(layers), count)
        resampled = (score(scores, metric, sample.weights) * scale).reshape(-1, len(layers), count)
        dev = np.asarray(value.get(f"dev_{metric}", points * np.nan)) * scale
        chosen = dev.reshape(len(layers), count).mean(axis=1)
        group = Group(layers, ranks, points, resampled, chosen, bounds=SCALE[metric])
        groups[metric] = group.pooled(shared=control)
    return groups


def as_scores(value: Value, lengths: np.ndarray, prefix: str = "") -> SentenceScores:
    """A task's output as scores."""
    parts = {
        name: np.asarray(value[prefix + name], dtype=np.float64)
        for name in ("hits", "dspr", "nspr", "root")
        if prefix + name in value
    }
    edges = value.get("edges")
    return SentenceScores(
        lengths, np.zeros(len(lengths)) if edges is None else np.asarray(edges, np.float64), **parts
    )


def metrics_of(value: Value, prefix: str = "") -> Iterator[str]:
    """Metrics that a task's output holds."""
    return (metric for metric in PROBE_OF if prefix + _stored(metric) in value)


def _stored(metric: str) -> str:
    """A metric's name in a task's output."""
    return "hits" if metric == "uuas" else metric


def metric_rows(sample: Sample, *terms: tuple[int, Group], **columns: Any) -> pd.DataFrame:
    """Rows of one metric, a layer each: a signed sum of scores with its band, and the spread of its
    last term."""
    group = terms[-1][1]
    return pd.DataFrame(
        {**columns, **summary(sample, *terms), **spread(group)}, index=range(len(group.points))
    )


def at_control(groups: Mapping[str, Group], control: Mapping[str, Group]) -> dict[str, Group]:
    """Scores at the layers at which the control was computed."""
    return {metric: groups[metric].only(group.layers) for metric, group in control.items()}


def score_rows(
    model: str,
    probe: str,
    groups: Mapping[str, Group],
    sample: Sample,
    *,
    layered: bool = True,
    control: Mapping[str, Group] | None = None,
) -> pd.DataFrame:
    """Rows of the table of scores for one model, or for a baseline, whose rows have no layer.

    With `control` the rows are selectivity, at the layers of these: scores less those on control
    trees; `sd` is that of the control's draws.
    """
    if control:
        groups = at_control(groups, control)
    frames = [
        metric_rows(
            sample, (1, group), *([(-1, control[metric])] if control else []),
            model=model, layer=group.layers if layered else None, probe=PROBE_OF[metric] + probe,
            metric=metric + (SELECTIVITY if control else ""), dev=np.nan if control else group.dev,
        )
        for metric, group in groups.items()
    ]  # fmt: skip
    return as_table(frames, COLUMNS)


def attachment_row(parser: Value, sample: Sample) -> pd.DataFrame:
    """The parser's unlabelled attachment score."""
    attached, words = np.asarray(parser["attached"]), np.asarray(parser["words"])
    score, drawn = ratios(attached, words, sample.weights)
    low, high = bootstrap_interval(score, drawn)
    row = (
        PARSED,
        None,
        "heads",
        "uas",
        100 * float(score),
        100 * float(low),
        100 * float(high),
    )
    return as_table([pd.DataFrame([(*row, np.nan, 1, np.nan)], columns=list(COLUMNS))], COLUMNS)


def as_table(frames: list[pd.DataFrame], columns: tuple[str, ...]) -> pd.DataFrame:
    """Concatenate frames, with the columns' types also where there are no rows."""
    filled = [frame for frame in frames if len(frame)]
    table = pd.concat(filled, ignore_index=True) if filled else pd.DataFrame(columns=list(columns))
    text, whole = (
        {"model", "base", "probe", "labels", "metric", "rival", "arcs"},
        {"layer", "probes", "rival_layer", "best_layer", "edges"},
    )
    kinds = {name: "Int64" if name in whole else float for name in columns if name not in text}
    kinds |= {name: bool for name in ("tied",) if name in columns}
    return table[list(columns)].astype(kinds)


def reaches_in_words(values: Mapping[Any, Value]) -> str:
    """Say which reaches of the static windows were chosen, for a methods paragraph.

    Args:
        values: Outputs of the tasks; those with a `reach` count.
    """
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
    spec: ProbeSpec, groups: Mapping[str, Mapping[str, Group]], outputs: Outputs, sample: Sample
) -> pd.DataFrame:
    """Models, their control trees and selectivity, then the baselines: COLUMNS; no row without a
    model, since baselines alone show nothing.

    Args:
        spec: Which probes, how many resamples, and their seed.
        groups: Scores by model.
        outputs: Of the study's tasks.
        sample: The test sentences.
    """
    if not groups:
        return as_table([], COLUMNS)
    values, frames = outputs.values, []
    for ref, of_model in groups.items():
        frames.append(score_rows(ref, "", of_model, sample))
        if ("control", ref) in values:
            control = probe_groups(values["control", ref], sample, control=True)
            frames.append(score_rows(ref, CONTROL, control, sample))
            frames.append(score_rows(ref, "", of_model, sample, control=control))
    windows = windows_of(ref for ref in groups if (WINDOW, ref) in values)
    roles: dict[str, Any] = {POSITION: POSITION}
    roles |= {name: (WINDOW, ref) for ref, name in windows.items()}
    roles |= {name: name for name in TAGS.values()}
    for name, role in roles.items():
        if role in values:
            probed = probe_groups(values[role], sample)
            frames.append(score_rows(name, "", probed, sample, layered=False))
    controls = [("control", ref) for ref in groups if ("control", ref) in values]
    plain: list[tuple[str, str, Any, str]] = [
        (CHAIN, "", BASELINES, "chain_"),
        (RANDOM, "", BASELINES, "random_"),
        # word types of the first model; others may distinguish fewer
        *((CHAIN, CONTROL, role, "chain_") for role in controls[:1]),
    ]
    for name, probe, role, prefix in plain:
        if role in values:
            baselines = baseline_groups(values[role], sample, prefix)
            wanted = {
                metric: group
                for metric, group in baselines.items()
                if PROBE_OF[metric] in spec.probes
            }
            frames.append(score_rows(name, probe, wanted, sample, layered=False))
    if PARSED in values:
        lengths = np.asarray(values[PARSED]["lengths"])
        own_sample = (
            sample
            if len(lengths) == len(sample.lengths)
            else draw_sample(lengths, spec.draws, spec.seed)
        )
        judged = baseline_groups(values[PARSED], own_sample)
        frames += [
            score_rows(PARSED, "", judged, own_sample, layered=False),
            attachment_row(values[PARSED], own_sample),
        ]
    return as_table(frames, COLUMNS)
