"""Differences of scores on the same resamples, with bands: from the base, from baselines, and of
the best layer from the other layers; and scores by the length of arcs.

Groups hold scores by model and metric. Every table is made of rows, those of a model and
metric together, that have the further columns which a study names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from core.maths.arrays import Value
from core.maths.statistics import LEVEL, corrected_level
from core.maths.structural.arcs import ADJACENT, ARCS, FAR, chain_heads, count_arcs
from core.maths.structural.bands import ProbeScores, Sample, banded_sum
from core.maths.structural.scores import Gold
from core.models import parse_ref
from core.studies.probes.trees.tables import (
    CHAIN,
    EMBEDDINGS,
    WINDOW,
    Role,
    Rows,
    Scores,
    as_table,
    metric_rows,
    named_rivals,
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
Groups = Mapping[str, Scores]  # by model


def baselines_of(groups: Groups, rivals: Mapping[Role, Scores]) -> Iterator[tuple[str, Groups]]:
    """Yield each trained model and its baselines: untrained models, those without a model, and the
    static window and the layer 0 of the model itself."""
    untrained = {ref: scores for ref, scores in groups.items() if parse_ref(ref).random}
    shared = {name: scores for name, scores in rivals.items() if isinstance(name, str)}
    for ref, scores in groups.items():
        if ref not in untrained:
            window = {WINDOW: rivals[WINDOW, ref]} if (WINDOW, ref) in rivals else {}
            bottom = {
                metric: group.only([0]) for metric, group in scores.items() if 0 in group.layers
            }
            yield ref, {**untrained, **shared, **window, **({EMBEDDINGS: bottom} if bottom else {})}


def baseline_margins(groups: Groups, rivals: Mapping[Role, Scores], **columns: Any) -> list[Rows]:
    """Every trained model minus each of its baselines."""
    return [
        rows
        for ref, theirs in baselines_of(groups, rivals)
        for rows in margins({ref: groups[ref]}, theirs, **columns)
    ]


def compared_tables(
    groups: Groups, rivals: Mapping[Role, Scores], base: str, name: str = "margins"
) -> dict[str, pd.DataFrame]:
    """Tables of the differences from the base, of the margins over the baselines, under the name
    given, and of the best layers."""
    return {
        "differences": as_table(differences(groups, base), DIFFERENCES),
        name: as_table(baseline_margins(groups, rivals), MARGINS),
        "best_layers": as_table(best_layers(groups), BEST_LAYERS),
    }


def arc_groups(
    heads: np.ndarray, gold: Gold, sample: Sample, whole: ProbeScores | None = None
) -> dict[str, ProbeScores]:
    """UUAS in percent by the length of the gold arcs, for each of ARCS that occurs; `heads` are
    (layer, word), of the first probe of a layer, `whole` is the UUAS of all its probes, None of
    trees without a probe."""
    hits, edges = count_arcs(heads, gold)
    every = edges[ARCS.index(FAR)].sum() + edges[ARCS.index(ADJACENT)].sum()
    groups = {}
    for arcs, right, count in zip(ARCS, hits, edges, strict=True):
        if not count.any():
            continue
        if whole is None:
            groups[arcs] = ProbeScores.of_shares(right[:, None], count, sample)
            continue
        group = ProbeScores.of_shares(right[:, None], count, sample, whole.layers, whole.dev)
        # Only the first probe's trees are kept: the deviation between probes is taken to be that of
        # all arcs, times the square root of how many times fewer arcs there are.
        sd = float(whole.sd * np.sqrt(every / count.sum()))
        groups[arcs] = replace(group, sd=sd, freedom=whole.freedom)
    return groups


def arc_tables(
    groups: Groups,
    rivals: Mapping[Role, Scores],
    values: Mapping[Role, Value],
    gold: Gold,
    sample: Sample,
) -> dict[str, pd.DataFrame]:
    """Tables of UUAS by the length of arcs: `arcs` of models, baselines and the linear chain, and
    `arc_margins`; none where no trees were predicted."""
    by_role = {**{("model", ref): scores for ref, scores in groups.items()}, **rivals}
    split = {
        role: arc_groups(np.asarray(values[role]["heads"]), gold, sample, scores["uuas"])
        for role, scores in by_role.items()
        if "heads" in values[role]
    }
    models = {ref: split["model", ref] for ref in groups if ("model", ref) in split}
    if not models:
        return {}
    plain = {role: split[role] for role in rivals if role in split}
    named = named_rivals(plain, groups)
    windows_last = sorted(named, key=lambda name: name.startswith(WINDOW))
    unlayered = {name: named[name] for name in windows_last}
    chain = {CHAIN: arc_groups(chain_heads(gold.keep), gold, sample)}
    _, counts = count_arcs(chain_heads(gold.keep), gold)
    edges = dict(zip(ARCS, counts.sum(axis=1), strict=True))
    score_rows = [
        metric_rows(
            (1, group), model=model, metric="uuas", arcs=arcs, edges=edges[arcs],
            layer=group.layers if model in models else None,
        )
        for model, scores in {**models, **unlayered, **chain}.items()
        for arcs, group in scores.items()
    ]  # fmt: skip
    margin_rows = [
        {**rows, "arcs": rows["metric"], "metric": "uuas"}
        for rows in baseline_margins(models, plain)
    ]
    return {
        "arcs": as_table(score_rows, ARC_SCORES),
        "arc_margins": as_table(margin_rows, ARC_MARGINS),
    }


def gains_over_window(model: str, both: Scores, **columns: Any) -> list[Rows]:
    """Each layer beside the static window minus the window alone, which is the last layer of
    `both`, and minus layer 0 beside it where probed. Intervals are simultaneous over layers
    (Bonferroni)."""
    *layers, alone = next(iter(both.values())).layers
    beside, window = (
        {metric: group.only(chosen) for metric, group in both.items()}
        for chosen in (layers, [alone])
    )
    rivals = {WINDOW: window}
    if 0 in layers:
        rivals[EMBEDDINGS] = {metric: group.only([0]) for metric, group in both.items()}
    level = corrected_level(len(layers))
    return [
        {**rows, "level": level}
        for rows in margins({model: beside}, rivals, level=level, **columns)
    ]


def best_layers(groups: Groups, **columns: Any) -> list[Rows]:
    """The score at the best layer minus that at each layer, by model and metric; intervals are
    simultaneous over layers (Bonferroni), and `tied` marks those not detectably worse."""
    rows: list[Rows] = []
    for model, scores in groups.items():
        for metric, group in scores.items():
            place = best_place(group)
            level = corrected_level(len(group.layers) - 1)
            ahead = lead(group, place, level)
            between = {name: np.insert(ahead[name], place, 0.0) for name in ahead}
            named = {
                "model": model, "metric": metric, "best_layer": group.layers[place],
                "layer": group.layers, "difference": between.pop("value"), **between,
                "level": level, "tied": ~(between["low"] > 0), **columns,
            }  # fmt: skip
            rows.append(named)
    return rows


def best_place(group: ProbeScores) -> int:
    """The row that scores highest on the development sentences; the first where none was scored."""
    return int(np.nanargmax(group.dev)) if np.isfinite(group.dev).any() else 0


def lead(group: ProbeScores, place: int, level: float = LEVEL) -> dict[str, np.ndarray]:
    """The score of the row at `place` minus that of each other row on the same resamples: value,
    low, high (row,)."""
    best = group.layers[place]
    rest = [layer for layer in group.layers if layer != best]
    if not rest:
        return dict.fromkeys(("value", "low", "high"), np.zeros(0))
    gaps = group.only([best] * len(rest)).minus(group.only(rest))
    return banded_sum((1, gaps), level=level)


def differences(groups: Groups, base: str, **columns: Any) -> list[Rows]:
    """Every model minus the base at each layer that both have, by model and metric; probes of one
    draw start from the same map, so that their differences are paired."""
    rows: list[Rows] = []
    for model, scores in groups.items():
        for metric, start in groups.get(base, {}).items() if model != base else ():
            shared = [layer for layer in scores[metric].layers if layer in start.layers]
            gap = banded_sum((1, scores[metric].only(shared).minus(start.only(shared))))
            named = {"model": model, "base": base, "layer": shared, "metric": metric, **columns}
            rows.append(named | {"difference": gap.pop("value")} | gap)
    return rows


def margins(groups: Groups, rivals: Groups, level: float = LEVEL, **columns: Any) -> list[Rows]:
    """Every model minus every baseline at the baseline's best layer, by pair and metric; a model's
    own layer 0 is no baseline of itself."""
    rows: list[Rows] = []
    for model, scores in groups.items():
        for rival, theirs in rivals.items():
            has_layers = ":" in rival or rival == EMBEDDINGS  # a model, or its own layer 0
            for metric, every in scores.items():
                layers = [layer for layer in every.layers if layer or rival != EMBEDDINGS]
                if metric not in theirs or not layers:
                    continue
                best = theirs[metric].layers[best_place(theirs[metric])]
                best_rows = theirs[metric].only([best] * len(layers))
                gap = banded_sum((1, every.only(layers)), (-1, best_rows), level=level)
                named = {
                    "model": model,
                    "layer": layers,
                    "metric": metric,
                    "rival": rival,
                    "rival_layer": best if has_layers else None,
                    "rival_value": float(best_rows.points[0].mean()),
                    "margin": gap.pop("value"),
                    **columns,
                }
                rows.append(named | gap)
    return rows
