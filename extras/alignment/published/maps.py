"""Maps fitted and evaluated by the published protocol, and by variants of it, on the same
sentences.

The published code evaluates on training sentences with dropout on, and pairs each sentence with
another one: source and target are read from one iterator, one after the other. The error on
unrelated rows cannot be lower than the target's variance, whatever the map; every map is therefore
compared with the target's mean.

A task's value holds for each variant v of the protocol and each method m `v/m/error` (layer, unit),
the squared error, and `v/spread`, the squared distance of each evaluated target row from the mean
of the training rows; and `d`, `seen` (batches trained on) and `rows` (of training).

References: arXiv 2305.14555; github.com/twinkle0331/BERT-similarity.
Deviations: their CCA multiplies by a transposed matrix and compares components; here the same
directions (those that hold 90 % of the sum of singular values) define a map of vectors, which takes
the source's canonical coordinates for the target's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from core.errors import ShapeError
from core.maths.evaluation.costs import PRODUCTS, fitting
from core.maths.evaluation.split import SHARES, part_of
from core.maths.maps.cca import Cca, canonical_directions
from core.maths.maps.linear import Aligner, Ridge
from core.maths.maps.moments import Moments, Rows, Space, moments
from core.studies.task_kit import Cost, Size, Value, Words, as_identified, costs, pure, span, tick
from extras.alignment.published.rows import sentence_rows
from extras.alignment.published.spec import BATCH

LEAST_SENTENCES = 4  # sentences of each part of the split; intervals show how uncertain so few are
KEPT_SHARE = 0.9  # share of the sum of singular values that their SVCCA keeps
PADDED = 3  # copies of the states of a batch of padded sentences
ADAM = 4e-9  # processor seconds of an Adam step per weight
WEIGHTS = 17  # of the published networks, in units of the squared width
METHODS = ("identity", "start", "inn", "linear", "mlp", "cca")
Map = Callable[[Rows], Rows]


@dataclass(frozen=True)
class Protocol:
    """The choices in which the two protocols differ; the defaults are the published ones.

    Attributes:
        padding: Means include padding.
        dropout: Dropout is on for evaluated rows and for those on which CCA is fitted.
        unrelated: Each source row is paired with another sentence's target row.
        shared: One network for all layers.
        theirs: Networks are initialised at random and trained for a fixed number of steps; else our
            networks, trained until they converge.
        training: Evaluated on training sentences; else on held-out ones.
        pooled: Errors of all layers are divided by one variance, like plain squared errors; else
            each by its layer's.
    """

    padding: bool = True
    dropout: bool = True
    unrelated: bool = True
    shared: bool = True
    theirs: bool = True
    training: bool = True
    pooled: bool = True


PUBLISHED = Protocol()
VARIANTS: dict[str, Protocol] = {
    "published": PUBLISHED,
    "padding": replace(PUBLISHED, padding=False),
    "dropout": replace(PUBLISHED, dropout=False),
    "partners": replace(PUBLISHED, unrelated=False),
    "maps": replace(PUBLISHED, shared=False),
    "training": replace(PUBLISHED, theirs=False),
    "rows": replace(PUBLISHED, training=False),
    "unit": replace(PUBLISHED, pooled=False),
    "all": Protocol(*(False,) * 7),
}
FITTED = {  # what is fitted once -> what is evaluated with it
    "published": ("published", "dropout", "partners", "rows", "unit"),
    "padding": ("padding",),
    "maps": ("maps",),
    "training": ("training",),
    "all": ("all",),
}


def _cost(
    sizes: Mapping[str, Size],
    one: str,
    other: str,
    sentences: Words,
    fitted: str,
    length: int,
    steps: int,
    **_: Any,
) -> Cost:
    pair, count = (sizes[one], sizes[other]), len(sentences)
    width, states = max(size.d_model for size in pair), max(size.layers for size in pair) + 1
    padded = count * length / costs.SUBWORDS
    seconds = sum(2 * costs.running(size, padded) for size in pair)
    numbers = states * WEIGHTS * 2 * width**2
    protocol = VARIANTS[FITTED[fitted][0]]
    if protocol.theirs:
        seconds += steps * numbers * (64 * 3 * PRODUCTS + ADAM)
    else:
        banks, rows = (1, count * states) if protocol.shared else (states, count)
        seconds += fitting(("inn", "ridge", "mlp"), width, rows, 2 * banks)
    passed = PADDED * BATCH * length * states * width * costs.SINGLE
    weights = costs.SINGLE * max(size.parameters for size in pair)
    return Cost(
        seconds,
        max(4 * numbers * costs.SINGLE, passed),
        shared={"weights": Cost(0.0, weights)},
    )


@pure("alignment.published", version=1, guard=as_identified, cost=_cost)
def published_pair(
    one: str,
    other: str,
    one_identity: str,
    other_identity: str,
    sentences: Words,
    fitted: str,
    length: int,
    steps: int,
    seed: int,
) -> Value:
    """Fit maps from `one` into `other` in a way of `FITTED` and measure their errors by every
    protocol that shares this fit. Raises ShapeError if widths or depths differ, or the split leaves
    too few sentences."""
    refs = ((one, one_identity), (other, other_identity))
    read: dict[bool, list[dict[str, Rows]]] = {}
    for number, dropout in enumerate((False, True)):
        with span(0.1 * number, 0.1 * (number + 1)):
            read[dropout] = [
                sentence_rows(ref, content, sentences, length, dropout, seed)
                for ref, content in refs
            ]
    x, y = (rows["padded"] for rows in read[False])
    if x.shape[0] != y.shape[0] or x.shape[-1] != y.shape[-1]:
        raise ShapeError(
            f"{one} and {other} have {len(x) - 1} and {len(y) - 1} layers of widths {x.shape[-1]} "
            f"and {y.shape[-1]}: choose two models of the same shape for the published protocol."
        )
    where = np.array([part_of(words, seed) for words in sentences])
    rows = {name: np.flatnonzero(where == name) for name in SHARES}
    for name, some in rows.items():
        if len(some) < LEAST_SENTENCES:
            raise ShapeError(
                f"The {name} part of the split has {len(some)} sentences "
                f"and needs {LEAST_SENTENCES}: use more sentences."
            )
    how = VARIANTS[fitted]
    x, y = (rows["padded" if how.padding else "real"] for rows in read[False])
    with span(0.2, 0.98):
        maps, seen = _fit(how, x, y, rows, steps, seed)
    value: Value = {"d": int(x.shape[-1]), "seen": seen, "rows": len(rows["train"])}
    for variant in FITTED[fitted]:
        how = VARIANTS[variant]
        x, y = (rows["padded" if how.padding else "real"] for rows in read[how.dropout])
        here = maps | {"cca": _cca_of(how, x, y, rows)}
        left, right = partners(rows["train" if how.training else "test"], how.unrelated)
        mean = y[:, rows["train"]].mean(1, keepdims=True, dtype=np.float64)
        target = y[:, right].astype(np.float64)
        value[f"{variant}/spread"] = ((target - mean) ** 2).sum(-1)
        for name, mapped in here.items():
            value[f"{variant}/{name}/error"] = ((mapped(x[:, left]) - target) ** 2).sum(-1)
    return value


def partners(rows: Int[np.ndarray, " row"], unrelated: bool) -> tuple[np.ndarray, np.ndarray]:
    """Pair source and target rows for evaluation: each with itself, or the first half with the
    second."""
    half = len(rows) // 2
    return (rows[:half], rows[half : 2 * half]) if unrelated else (rows, rows)


def _fit(
    how: Protocol, x: Rows, y: Rows, rows: dict[str, np.ndarray], steps: int, seed: int
) -> tuple[dict[str, Map], int]:
    """Fit the maps of the protocol except CCA, and count the batches they were trained on."""
    maps: dict[str, Map] = {"identity": lambda given: np.asarray(given, dtype=np.float64)}
    train, held = rows["train"], rows["validation"]
    if how.theirs:
        from extras.alignment.published.training import train as learn

        seen = 0
        for number, kind in enumerate(("inn", "linear", "mlp")):
            with span(*((0.0, 0.85), (0.85, 0.9), (0.9, 1.0))[number]):
                learned = learn(
                    kind, x[:, train], y[:, train], steps=steps, shared=how.shared, seed=seed
                )
            maps[kind], seen = learned.map, learned.seen
            if kind == "inn":
                maps["start"] = partial(learned.map, trained=False)
        return {name: maps[name] for name in METHODS if name in maps}, seen
    from core.maths.maps.nonlinear import Inn, Mlp

    given, wanted, *validation = (part[:, some] for some in (train, held) for part in (x, y))
    if how.shared:
        given, wanted, *validation = (_flat(part) for part in (given, wanted, *validation))
    for number, (name, aligner) in enumerate(
        {"inn": Inn(seed=seed), "linear": Ridge(), "mlp": Mlp(seed=seed)}.items()
    ):
        with span(number / 3, (number + 1) / 3):
            tick(0.0, name)
            aligner.fit(given, wanted, (validation[0], validation[1]))
        maps[name] = partial(_map_stacked, aligner) if how.shared else aligner.transform
    return maps, 0


def _map_stacked(aligner: Aligner, rows: Rows) -> np.ndarray:
    """Map the rows of all layers by one map."""
    return aligner.transform(_flat(rows)).reshape(rows.shape)


def _cca_of(how: Protocol, x: Rows, y: Rows, rows: dict[str, np.ndarray]) -> Map:
    """Fit the published CCA on the rows that it is evaluated on; ours where the whole protocol is
    ours."""
    train, held = rows["train"], rows["validation"]
    if not how.theirs and not how.shared:
        return Cca().fit(x[:, train], y[:, train], (x[:, held], y[:, held])).transform
    left, right = partners(train, how.unrelated)
    return published_cca(x[:, left], y[:, right])


def published_cca(x: Float[np.ndarray, "layer row d"], y: Float[np.ndarray, "layer row d"]) -> Map:
    """Take the source's canonical coordinates for the target's, between the leading components of
    each side; not multiplied by their correlation, so this is not the least-squares prediction."""
    sums = moments(x, y)
    number = np.maximum(_components(sums.x), _components(sums.y))
    left, right = (_projector(side, number) for side in (sums.x, sums.y))
    reduced = Moments(
        sums.rows,
        Space(sums.x.mean, left @ sums.x.covariance @ left),
        Space(sums.y.mean, right @ sums.y.covariance @ right),
        left @ sums.xy @ right,
    )
    directions = canonical_directions(reduced)
    weight = directions.x_in @ directions.y_out
    return lambda given: (np.asarray(given, dtype=np.float64) - sums.x.mean) @ weight + sums.y.mean


def _components(side: Space) -> Int[np.ndarray, " layer"]:
    """Count the leading components that hold this share of the sum of singular values, (layer,)."""
    values = np.sqrt(side.axes[0][:, ::-1])
    before = values.cumsum(-1) < KEPT_SHARE * values.sum(-1, keepdims=True)
    return np.asarray(before.sum(-1) + 1)


def _projector(side: Space, number: Int[np.ndarray, " layer"]) -> np.ndarray:
    vectors = side.axes[1][..., ::-1]
    leading = np.arange(vectors.shape[-1]) < number[:, None]
    return np.asarray((vectors * leading[:, None, :]) @ vectors.swapaxes(-1, -2))


def _flat(rows: Rows) -> Rows:
    """Stack the rows of all layers."""
    return np.asarray(rows).reshape(-1, rows.shape[-1])
