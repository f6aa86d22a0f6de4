"""Differences of scores on the same resamples, with bands: from the base, from baselines, and of
the best layer from the other layers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from core.maths.arrays import Value
from core.maths.statistics import LEVEL
from core.maths.structural.arcs import ARCS, chain_heads, count_arcs
from core.maths.structural.bands import Group, Sample, summary
from core.maths.structural.scores import Gold
from core.models import parse_ref
from core.studies.probes.trees.tables import (
    BESIDE,
    CHAIN,
    EMBEDDINGS,
    METRICS,
    POSITION,
    PROBE_OF,
    TAGS,
    WINDOW,
    arc_groups,
    as_table,
    metric_rows,
    probe_groups,
    windows_of,
)

DIFFERENCES = ("model", "base", "layer", "metric", "difference", "low", "high")
MARGINS = (
    *("model", "layer", "metric", "rival", "rival_layer", "rival_value", "margin", "low", "high"),
)
ADDED = (*MARGINS, "level")
ARC_SCORES = ("model", "layer", "metric", "arcs", "edges", "value", "low", "high")
ARC_MARGINS = (*MARGINS[:3], "arcs", *MARGINS[3:])
BEST_LAYERS = (
    *("model", "metric", "best_layer", "layer", "difference", "low", "high", "level", "tied"),
)
CHOOSERS = {metric: METRICS[probe][0] for metric, probe in PROBE_OF.items()}
Scores = Mapping[str, Mapping[str, Group]]  # by model and metric
Role = Any  # of a task, by which its output is found


def difference_rows(groups: Scores, base: str, sample: Sample) -> pd.DataFrame:
    """Every model minus the base, at each layer that both have."""
    return as_table(differences(groups, base, dict.fromkeys(PROBE_OF, sample)), DIFFERENCES)


def margin_rows(groups: Scores, rivals: Scores, sample: Sample) -> pd.DataFrame:
    """Every model minus every baseline; untrained models at their best layer."""
    return as_table(margins(groups, rivals, dict.fromkeys(PROBE_OF, sample), CHOOSERS), MARGINS)


def baseline_rows(
    groups: Scores, rivals: Mapping[Role, Mapping[str, Group]], sample: Sample
) -> pd.DataFrame:
    """Every trained model minus its baselines (MARGINS): the untrained models among the groups, and
    the rivals by their task's role."""
    frames = [
        margin_rows({ref: groups[ref]}, theirs, sample)
        for ref, theirs in baselines_of(groups, rivals)
    ]
    return as_table(frames, MARGINS)


def baselines_of(
    groups: Scores, rivals: Mapping[Role, Mapping[str, Group]]
) -> Iterator[tuple[str, Scores]]:
    """Yield each trained model and its baselines: untrained models, those without a model, and the
    static window and the layer 0 of the model itself.

    Args: as for `baseline_rows`.
    """
    untrained = {ref: scores for ref, scores in groups.items() if parse_ref(ref).random}
    shared = {name: scores for name, scores in rivals.items() if isinstance(name, str)}
    for ref, scores in groups.items():
        if ref not in untrained:
            window = {WINDOW: rivals[WINDOW, ref]} if (WINDOW, ref) in rivals else {}
            bottom = {
                metric: group.only([0]) for metric, group in scores.items() if 0 in group.layers
            }
            yield ref, {**untrained, **shared, **window, **({EMBEDDINGS: bottom} if bottom else {})}


def arc_tables(
    groups: Scores,
    rivals: Mapping[Role, Mapping[str, Group]],
    values: Mapping[Role, Value],
    gold: Gold,
    sample: Sample,
) -> dict[str, pd.DataFrame]:
    """Tables of UUAS by the length of arcs; none where no trees were predicted.

    Args:
        groups, rivals: As for `baseline_rows`.
        values: Outputs of the tasks, with the predicted heads of each layer's first probe.
        gold: The test sentences.
        sample: The same sentences.

    Returns:
        `arcs` (ARC_SCORES) of models, baselines and the linear chain, `arc_margins` (ARC_MARGINS).
    """
    by_role = {**{("model", ref): scores for ref, scores in groups.items()}, **rivals}
    split = {
        role: arc_groups(np.asarray(values[role]["heads"]), gold, sample, scores["uuas"])
        for role, scores in by_role.items()
        if "heads" in values[role]
    }
    models = {ref: split["model", ref] for ref in groups if ("model", ref) in split}
    if not models:
        return {}
    plain = {role: scores for role, scores in split.items() if role[0] != "model"}
    windows = windows_of(ref for ref in groups if (WINDOW, ref) in plain)
    window = {name: plain[WINDOW, ref] for ref, name in windows.items()}
    chain = {CHAIN: arc_groups(chain_heads(gold.keep), gold, sample)}
    unlayered = {name: plain[name] for name in (POSITION, *TAGS.values()) if name in plain}
    _, counts = count_arcs(chain_heads(gold.keep), gold)
    edges = dict(zip(ARCS, counts.sum(axis=1), strict=True))
    frames = [
        metric_rows(
            sample, (1, group), model=model, metric="uuas", arcs=arcs, edges=edges[arcs],
            layer=group.layers if model in models else None,
        )
        for model, scores in {**models, **unlayered, **window, **chain}.items()
        for arcs, group in scores.items()
    ]  # fmt: skip
    margin_frames = [
        frame.rename(columns={"metric": "arcs"}).assign(metric="uuas")
        for ref, theirs in baselines_of(models, plain)
        for frame in margins({ref: models[ref]}, theirs, dict.fromkeys(ARCS, sample), {})
    ]
    return {
        "arcs": as_table(frames, ARC_SCORES),
        "arc_margins": as_table(margin_frames, ARC_MARGINS),
    }


def added_rows(values: Mapping[Role, Value], sample: Sample) -> pd.DataFrame:
    """What each layer adds to the static window: ADDED.

    Args:
        values: Outputs of the tasks; those of layers beside the window are read.
        sample: The test sentences.
    """
    frames = []
    for role, value in values.items():
        if role[0] == BESIDE:
            samples = dict.fromkeys(PROBE_OF, sample)
            both = probe_groups(value, sample)
            frames += gains_over_window(role[1], both, samples, CHOOSERS)
    return as_table(frames, ADDED)


def gains_over_window(
    model: str,
    both: Mapping[str, Group],
    samples: Mapping[str, Sample],
    choosers: Mapping[str, str],
    **named: Any,
) -> list[pd.DataFrame]:
    """Each layer beside the static window minus the window alone, and minus layer 0 beside it
    where that was probed, a frame per rival and metric.

    Layer 0 is part of the window, so that what it adds no layer has computed. The intervals are
    simultaneous over a model's layers (Bonferroni): a reader looks for the one that adds most.

    Args:
        model: Its reference.
        both: Scores of the layers beside the window; the last one is the window beside zeros.
        samples, choosers, named: As for `margins`.
    """
    *layers, alone = next(iter(both.values())).layers
    window = {metric: group.only([alone]) for metric, group in both.items()}
    beside = {metric: group.only(layers) for metric, group in both.items()}
    rivals = {WINDOW: window}
    if 0 in layers:
        rivals[EMBEDDINGS] = {metric: group.only([0]) for metric, group in both.items()}
    level = 1 - (1 - LEVEL) / len(layers)
    frames = margins({model: beside}, rivals, samples, choosers, level=level, **named)
    return [frame.assign(level=level) for frame in frames]


def best_layer_rows(groups: Scores, sample: Sample) -> pd.DataFrame:
    """Every model's best layer compared with its other layers: BEST_LAYERS."""
    frames = best_layers(groups, dict.fromkeys(PROBE_OF, sample), CHOOSERS)
    return as_table(frames, BEST_LAYERS)


def best_layers(
    groups: Scores, samples: Mapping[str, Sample], choosers: Mapping[str, str], **named: Any
) -> list[pd.DataFrame]:
    """The score at the best layer minus that at each layer, a frame per model and metric.

    The intervals are simultaneous over a model's layers (Bonferroni). `tied` marks the layers that
    are not detectably worse than the best one, which is among them.

    Args:
        groups: Scores of the models.
        samples: The sentences over which each metric is resampled.
        choosers: As for `margins`.
        named: Further columns.
    """
    frames = []
    for model, scores in groups.items():
        for metric, group in scores.items():
            place = best_place(scores[choosers.get(metric, metric)])
            level = 1 - (1 - LEVEL) / max(len(group.layers) - 1, 1)
            ahead = lead(group, place, samples[metric], level)
            between = {name: np.insert(ahead[name], place, 0.0) for name in ahead}
            columns = {
                "model": model, "metric": metric, "best_layer": group.layers[place],
                "layer": group.layers, "difference": between.pop("value"), **between,
                "level": level, "tied": ~(between["low"] > 0), **named,
            }  # fmt: skip
            frames.append(pd.DataFrame(columns))
    return frames


def best_place(chooser: Group) -> int:
    """The row that scores highest on the development sentences; the first where none was scored."""
    return int(np.nanargmax(chooser.dev)) if np.isfinite(chooser.dev).any() else 0


def lead(group: Group, place: int, sample: Sample, level: float = LEVEL) -> dict[str, np.ndarray]:
    """The score of the row at `place` minus that of each other row: value, low, high (row,).

    The same sentences are resampled for both rows, so that the sentences' difficulty does not widen
    the band; the spread over probes does.
    """
    rest = [row for row in range(len(group.layers)) if row != place]
    if not rest:
        return {name: np.zeros(0) for name in ("value", "low", "high")}
    between = Group(
        tuple(group.layers[row] for row in rest),
        tuple(group.ranks[row] for row in rest),
        group.points[[place]] - group.points[rest],
        group.resampled[:, [place]] - group.resampled[:, rest],
        group.dev[rest],
    )
    return summary(sample, (1, between), level=level)


def differences(
    groups: Scores, base: str, samples: Mapping[str, Sample], **named: Any
) -> list[pd.DataFrame]:
    """Every model minus the base at each layer that both have, a frame per model and metric.

    Probes of one draw start from the same map, so that their differences are paired.

    Args:
        groups: Scores of the models.
        base: The model with which the others are compared; without it there are no frames.
        samples: The sentences over which each metric is resampled.
        named: Further columns.
    """
    frames = []
    for model, scores in groups.items():
        if model == base or base not in groups:
            continue
        for metric, group in scores.items():
            shared = [layer for layer in group.layers if layer in groups[base][metric].layers]
            tuned, start = group.only(shared), groups[base][metric].only(shared)
            points, resampled = tuned.points - start.points, tuned.resampled - start.resampled
            estimate = summary(
                samples[metric], (1, Group(tuned.layers, tuned.ranks, points, resampled, tuned.dev))
            )
            columns = {"model": model, "base": base, "layer": shared, "metric": metric, **named}
            frames.append(pd.DataFrame(columns | {"difference": estimate.pop("value")} | estimate))
    return frames


def margins(
    groups: Scores,
    rivals: Scores,
    samples: Mapping[str, Sample],
    choosers: Mapping[str, str],
    level: float = LEVEL,
    **named: Any,
) -> list[pd.DataFrame]:
    """Every model minus every baseline at the baseline's best layer, a frame per pair and metric.

    A model's own layer 0 is no baseline of itself.

    Args:
        groups, rivals: Scores of the models, and of the baselines.
        samples: The sentences over which each metric is resampled.
        choosers: Metric -> the metric whose score on the development sentences chooses the layer,
            where that is another one.
        level: Of the intervals.
        named: Further columns.
    """
    frames = []
    for model, scores in groups.items():
        for rival, theirs in rivals.items():
            has_layers = ":" in rival or rival == EMBEDDINGS  # a model, or its own layer 0
            for metric, every in scores.items():
                kept = [layer for layer in every.layers if layer or rival != EMBEDDINGS]
                if metric not in theirs or not kept:
                    continue
                group, place = every.only(kept), best_place(theirs[choosers.get(metric, metric)])
                best = theirs[metric].only([theirs[metric].layers[place]])
                rows = best.only(best.layers * len(group.layers))
                estimate = summary(samples[metric], (1, group), (-1, rows), level=level)
                columns = {
                    "model": model,
                    "layer": group.layers,
                    "metric": metric,
                    "rival": rival,
                    "rival_layer": best.layers[0] if has_layers else None,
                    "rival_value": float(best.points.mean()),
                    "margin": estimate.pop("value"),
                    **named,
                }
                frames.append(pd.DataFrame(columns | estimate))
    return frames
