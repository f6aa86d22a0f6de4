"""The map of models in a report: places on it, angles by layer and what they are compared with, as
tables, statements and headline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from core.maths.arrays import Value
from core.maths.similarity.angles import aligned
from core.maths.spectra.projections import calc_stress, draw_map
from core.maths.spectra.shape import EFFECTIVE_RANK, MEASURES
from core.maths.statistics import bootstrap_interval, corrected_level, t_interval
from core.models.steps import in_order_of_training, origin_of, progress_of, run_of
from core.studies.text_kit import Statement, estimate_of, listed, short_names, words_beside

PLACES = ("model", "layer", "steps", "tokens", "x", "y", "z")
CLOUD = ("model", "layer", "draw", "x", "y")
BY_LAYER = ("relation", "layer", "angle", "low", "high", "pairs")
PAIRS = ("model", "layer", "other", "other_layer", "angle", "low", "high")
SHAPES = (
    *("model", "layer", "steps", "tokens"),
    *(f"{name}{end}" for name in MEASURES for end in ("", "_low", "_high")),
)
SEEDS, TUNED, STEPS = "other seeds", "fine-tunes and base", "steps and end"
CHANCE = "words shuffled"
said = words_beside(__file__).sentence
ANGLE, WITHOUT = "mean angle in the last layer", "mean angle of the embeddings"
RANK = "effective rank of the last layer"
NEAREST, FURTHEST = "nearest to its base in the last layer", "furthest from it in the last layer"
BEYOND = "further from its base than any two seeds are from each other, last layer"
CLAUSES = {
    SEEDS: "seeds are {} apart",
    TUNED: "fine-tunes are {} from their base",
    STEPS: "steps are {} from the end of their run",
}


@dataclass(frozen=True)
class Angles:
    """Angles between spaces, in degrees.

    Attributes:
        refs: The models.
        model, layer: Of each space, (space,).
        values, low, high: With their intervals, (space, space), symmetric, 0 on the diagonal.
        cloud: Of each resample of sentences that is drawn, (draw, space, space).
        pairs: Two spaces of one layer -> their angle in each resample, (draw,).
        chance: Angles of last layers with words in another order.
    """

    refs: tuple[str, ...]
    model: Int[np.ndarray, " space"]
    layer: Int[np.ndarray, " space"]
    values: Float[np.ndarray, "space space"]
    low: Float[np.ndarray, "space space"]
    high: Float[np.ndarray, "space space"]
    cloud: Float[np.ndarray, "draw space space"]
    pairs: Mapping[tuple[int, int], Float[np.ndarray, " draw"]]
    chance: Float[np.ndarray, " pair"]

    @classmethod
    def of(cls, refs: Sequence[str], parts: Sequence[Value]) -> Angles:
        """Put the rows of all tasks together."""
        chance = np.concatenate([np.asarray(part["chance"]) for part in parts])
        pairs = {
            (int(first), int(second)): np.asarray(part["pair_draws"])[:, number]
            for part in parts
            for number, (first, second) in enumerate(np.asarray(part["pairs"]).tolist())
        }
        values, low, high, cloud = (
            _whole(parts, name) for name in ("angles", "low", "high", "cloud")
        )
        return cls(
            tuple(refs),
            np.asarray(parts[0]["model"]),
            np.asarray(parts[0]["layer"]),
            values=values,
            low=low,
            high=high,
            cloud=cloud,
            pairs=pairs,
            chance=chance[np.isfinite(chance)],
        )

    def at(self, ref: str, layer: int) -> int:
        """Return the number of a space."""
        mine = (self.model == self.refs.index(ref)) & (self.layer == layer)
        return int(np.flatnonzero(mine)[0])

    @property
    def finite(self) -> bool:
        """Whether no space is constant, so that all can be placed."""
        return bool(np.isfinite(self.values).all())


def _whole(parts: Sequence[Value], name: str) -> np.ndarray:
    """Put the rows of all parts into one symmetric matrix, (..., space, space)."""
    count = len(parts[0]["model"])
    whole = np.zeros((*np.asarray(parts[0][name]).shape[:-2], count, count))
    for part in parts:
        whole[..., part["rows"], :] = part[name]
    upper = np.triu(np.nan_to_num(whole), 1)
    whole = np.where(np.triu(np.ones((count, count), dtype=bool)), whole, upper.swapaxes(-1, -2))
    whole[..., np.arange(count), np.arange(count)] = 0.0
    return whole


def relations(refs: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
    """Pair models: bases of different seeds, fine-tunes with their base, steps with their end."""
    origins = {ref: origin_of(ref) for ref in refs}
    ends = [ref for ref in refs if run_of(ref) == ref]
    bases = [ref for ref in ends if origins[ref] == ref]
    return {
        SEEDS: list(combinations(bases, 2)),
        TUNED: [(ref, origins[ref]) for ref in ends if ref != origins[ref] in refs],
        STEPS: [(ref, run_of(ref)) for ref in refs if ref not in ends and run_of(ref) in refs],
    }  # fmt: skip


def place_table(angles: Angles) -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray]:
    """Place the spaces on three axes, by classical scaling: PLACES; CLOUD, where resamples lie once
    they are turned onto the first two axes; the map's stress in two and in three dimensions,
    (2,)."""
    points = draw_map(angles.values, "pca").points
    placed = points[:, :2]
    table, rows = _points(angles, points), []
    for number, drawn in enumerate(angles.cloud):
        turned = aligned(draw_map(drawn, "pca").points[:, :2], placed)
        rows.append(_points(angles, turned).assign(draw=number))
    cloud = pd.concat(rows, ignore_index=True)[list(CLOUD)]
    return table, cloud, np.array([calc_stress(angles.values, points[:, :axes]) for axes in (2, 3)])


def _points(angles: Angles, points: np.ndarray) -> pd.DataFrame:
    refs = np.array(angles.refs, dtype=object)[angles.model]
    progress = {ref: progress_of(str(ref)) for ref in angles.refs}
    return pd.DataFrame(
        {
            "model": refs,
            "layer": angles.layer,
            "steps": [progress[ref][0] for ref in refs],
            "tokens": [progress[ref][1] for ref in refs],
            **dict(zip("xyz", points.T, strict=False)),
        }
    ).astype({"steps": "Int64", "tokens": "Int64"})


def layer_table(angles: Angles, pairs: Mapping[str, Sequence[tuple[str, str]]]) -> pd.DataFrame:
    """Average the angles of related models by layer, with intervals over sentences, and of last
    layers with shuffled words: BY_LAYER."""
    rows: list[dict[str, Any]] = []
    for relation, related in pairs.items():
        for layer in sorted(set(angles.layer.tolist())):
            cells = [
                (angles.at(pair[0], layer), angles.at(pair[1], layer))
                for pair in related
                if all(
                    layer in angles.layer[angles.model == angles.refs.index(ref)] for ref in pair
                )
            ]
            if cells:
                value = float(np.mean([angles.values[cell] for cell in cells]))
                drawn = np.mean([angles.pairs[min(cell), max(cell)] for cell in cells], axis=0)
                low, high = bootstrap_interval(value, drawn)
                ends = {"low": float(low), "high": float(high), "pairs": len(cells)}
                rows.append({"relation": relation, "layer": layer, "angle": value, **ends})
    if rows and len(angles.chance):
        shuffled = {"angle": float(angles.chance.mean()), "low": np.nan, "high": np.nan}
        last = {"layer": int(angles.layer.max()), "pairs": len(angles.chance)}
        rows.append({"relation": CHANCE, **shuffled, **last})
    return pd.DataFrame(rows, columns=BY_LAYER)


def last_angles(angles: Angles, related: Sequence[tuple[str, str]]) -> pd.DataFrame:
    """List the angle between two models of each pair in the last layer that both have, with
    intervals over sentences that hold together (Bonferroni): model, layer, angle, low, high,
    level."""
    level, rows = corrected_level(len(related)), []
    for pair in related:
        layers = (set(angles.layer[angles.model == angles.refs.index(ref)]) for ref in pair)
        layer = int(max(set.intersection(*layers)))
        cell = sorted(angles.at(ref, layer) for ref in pair)
        value, drawn = float(angles.values[*cell]), angles.pairs[cell[0], cell[1]]
        low, high = t_interval(value, [drawn.var(ddof=1)], [len(drawn) - 1], level)
        rows.append((pair[0], layer, value, float(low), float(high), level))
    return pd.DataFrame(rows, columns=["model", "layer", "angle", "low", "high", "level"])


def shape_table(values: Mapping[str, Value]) -> pd.DataFrame:
    """List the shape of every space, with intervals over sentences: SHAPES."""
    rows = []
    for ref, value in values.items():
        steps, tokens, *_ = progress_of(ref)
        for place, layer in enumerate(np.asarray(value["layer"]).tolist()):
            numbers = [number for name in MEASURES for number in value[name][place].tolist()]
            rows.append((ref, layer, steps, tokens, *numbers))
    table = pd.DataFrame(rows, columns=SHAPES)
    return table.astype({"layer": "Int64", "steps": "Int64", "tokens": "Int64"})


def of_one_base(refs: Sequence[str]) -> tuple[str, list[str], list[str]]:
    """Choose the base with the most fine-tunes, its first step, if it has steps, and these
    fine-tunes."""
    origins = {ref: origin_of(ref) for ref in refs}
    ends = [ref for ref in refs if run_of(ref) == ref]
    tuned = {
        base: [ref for ref in ends if origins[ref] == base != ref]
        for base in ends
        if origins[base] == base
    }
    base = max(tuned, key=lambda ref: len(tuned[ref]), default=refs[0])
    steps = in_order_of_training([ref for ref in refs if run_of(ref) == base != ref])
    return base, list(steps[:1]), tuned.get(base, [])


def pair_table(angles: Angles) -> pd.DataFrame:
    """List the angle of every two spaces, with its interval over sentences: PAIRS."""
    first, second = np.triu_indices(len(angles.values), 1)
    refs = np.array(angles.refs, dtype=object)
    spaces = [
        column
        for side in (first, second)
        for column in (refs[angles.model[side]], angles.layer[side])
    ]
    numbers = [each[first, second] for each in (angles.values, angles.low, angles.high)]
    return pd.DataFrame(dict(zip(PAIRS, (*spaces, *numbers), strict=True)))


def statements_of(
    by_layer: pd.DataFrame, seeds: pd.DataFrame, tuned: pd.DataFrame, shapes: pd.DataFrame
) -> tuple[Statement, ...]:
    """State the angles of related models, the shapes of spaces, and the fine-tunes nearest to and
    furthest from their base."""
    return (
        *angle_statements(by_layer, seeds, tuned),
        *shape_statements(shapes),
        *end_statements(tuned),
    )


def angle_statements(
    by_layer: pd.DataFrame, seeds: pd.DataFrame, tuned: pd.DataFrame
) -> tuple[Statement, ...]:
    """State how far related models are apart in their last layer, in the embeddings and with words
    in another order, and which fine-tunes are further from their base than any two seeds are from
    each other."""
    chance = by_layer[by_layer["relation"] == CHANCE]
    related = by_layer.drop(chance.index).groupby("relation", sort=False)
    return (
        *(
            Statement(str(relation), verdict, estimate_of(row, "angle"), (int(row["layer"]),))
            for relation, rows in related
            for verdict, row in ((ANGLE, rows.iloc[-1]), (WITHOUT, rows.iloc[0]))
        ),
        *(
            Statement(row["model"], BEYOND, estimate_of(row, "angle"), (row["layer"],), SEEDS)
            for row in tuned[tuned["low"] > seeds["high"].max()].to_dict("records")
        ),
        *(Statement(CHANCE, ANGLE, estimate_of(row, "angle")) for _, row in chance.iterrows()),
    )


def end_statements(tuned: pd.DataFrame) -> tuple[Statement, ...]:
    """State which fine-tune is nearest to its base in the last layer and which is furthest from it,
    of `last_angles`."""
    ordered = tuned.sort_values("angle", kind="stable").to_dict("records")
    ends = {NEAREST: ordered[:1], FURTHEST: ordered[-1:]}
    return tuple(
        Statement(row["model"], verdict, estimate_of(row, "angle"), (row["layer"],))
        for verdict, rows in ends.items()
        for row in rows
    )


def shape_statements(shapes: pd.DataFrame) -> tuple[Statement, ...]:
    """State the effective rank of last layers: of the first base, of its first step, which no
    training has shaped, and of the fine-tune that has the smallest."""
    if shapes.empty:
        return ()
    last = shapes[shapes["layer"] == shapes.groupby("model")["layer"].transform("max")]
    rows = last.set_index("model")
    base, first, tuned = of_one_base(list(rows.index))
    least = [str(rows.loc[tuned, EFFECTIVE_RANK].idxmin())] if tuned else []
    return tuple(
        Statement(
            ref, RANK, estimate_of(rows.loc[ref], EFFECTIVE_RANK), (int(rows.loc[ref, "layer"]),)
        )
        for ref in (base, *first, *least)
    )


def _shape_sentence(statements: Sequence[Statement]) -> str:
    """Say how many directions the last layers fill."""
    ranks = {each.subject: each.number for each in statements if each.verdict == RANK}
    if not ranks:
        return ""
    names = short_names(ranks)
    base, *others = ranks
    more = [f"that of {names[ref]} {ranks[ref].value_text}" for ref in others]
    parts = (f"{names[base]} has an effective rank of {ranks[base].text}", listed(more))
    return f"The last layer of {', '.join(filter(None, parts))}."


def make_headline(statements: Sequence[Statement]) -> str:
    """Say how far seeds end apart and fine-tunes from their base, and how far they were without
    any layer."""
    ends = {each.subject: each.number for each in statements if each.verdict == ANGLE}
    starts = {each.subject: each.number for each in statements if each.verdict == WITHOUT}
    related = [relation for relation in (SEEDS, TUNED, STEPS) if relation in ends]
    if not related:
        return ""
    apart = listed([CLAUSES[name].format(ends[name].text) for name in related[:2]])
    without = listed([starts[name].value_text for name in related[:2]])
    chance = f"; shuffled words are {ends[CHANCE].value_text} apart" if CHANCE in ends else ""
    parts = [
        f"On average in the last layer, {apart}{chance}.",
        f"In the embeddings, without any layer: {without}.",
    ]
    if beyond := [each for each in statements if each.verdict == BEYOND]:
        names = short_names(each.subject for each in beyond)
        moved = [f"{names[each.subject]} ({each.number.value_text})" for each in beyond]
        parts.append(f"Further from the base than any two seeds are apart: {listed(moved)}.")
    if len(related) > 2:
        parts.append(f"On average, {CLAUSES[STEPS].format(ends[STEPS].text)}.")
    return " ".join(filter(None, (*parts, _shape_sentence(statements))))
