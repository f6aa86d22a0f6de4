"""Maps fitted and judged by the published protocol, by it with one thing changed, and by ours on the same sentences.

The published code evaluates on sentences that it trained on, under dropout, and pairs each sentence with another one:
source and target are read from one iterator, one after the other. An error of unrelated rows cannot fall below the
target's own variance, whatever the map; so the target's mean stands beside every map.

References: arXiv 2305.14555; github.com/twinkle0331/BERT-similarity.
Deviations: their CCA multiplies by a transposed matrix and compares components; here the same directions (those that
hold .9 of the singular values) make a map of vectors, canonical coordinates of the source taken for the target's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from core.alignment.maps.cca import Cca, canonical_directions
from core.alignment.maps.linear import Moments, Ridge, Rows, moments
from core.alignment.published.rows import SentenceRows, sentence_rows
from core.alignment.seeds.protocol import SHARES, part_of
from core.errors import ShapeError
from core.models.identity import as_identified
from core.runs.runner import span, tick
from core.runs.store import Value
from core.runs.tasks import pure
from core.vectors.pairs import Words

LEAST = 4  # sentences of each part of the split; bands say what so few are worth
KEPT = 0.9  # share of the sum of singular values that their SVCCA keeps
METHODS = ("identity", "start", "inn", "linear", "mlp", "cca")
Map = Callable[[Rows], Rows]


@dataclass(frozen=True)
class Protocol:
    """What may differ between their protocol and ours; the published one where nothing is said.

    Attributes:
        padding: Means are over padding too.
        dropout: Rows are read under dropout, where they are evaluated and where CCA is fitted.
        unrelated: Each source row is evaluated against another sentence's target row.
        shared: One network for all layers.
        theirs: Networks begin at random and take their steps; else each of ours, trained until it has converged.
        training: Evaluated on the sentences that were trained on; else on held-out ones.
        pooled: Errors of all layers are in one unit, as plain squared errors are; else each in its target's variance.
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


@pure("alignment.published", version=1, guard=as_identified)
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
    """Errors of maps from `one` into `other` by the protocols that are evaluated with one fit.

    Args:
        one, other: References.
        one_identity, other_identity: See `models.identity`.
        sentences: Words of each sentence.
        fitted: Of `FITTED`.
        length: Subwords that sentences are padded to.
        steps: Batches of their training.
        seed: Of the split, the first weights and the dropout.

    Returns:
        For each variant v: `v/spread` (layer, unit), the squared distance of each evaluated target row from the mean of
        the training rows, and `v/m/error` (layer, unit), the squared error, for each method; `d`, `seen` (batches),
        `rows` (training rows).

    Raises:
        ModelError: If a model cannot be loaded.
        ShapeError: If the widths or depths differ, or the split leaves too few sentences.
    """
    refs = ((one, one_identity), (other, other_identity))
    read: dict[bool, list[SentenceRows]] = {}
    for number, dropout in enumerate((False, True)):
        with span(0.1 * number, 0.1 * (number + 1)):
            read[dropout] = [sentence_rows(ref, content, sentences, length, dropout, seed) for ref, content in refs]
    x, y = (rows.padded for rows in read[False])
    if x.shape[0] != y.shape[0] or x.shape[-1] != y.shape[-1]:
        raise ShapeError(
            f"{one} and {other} have {len(x) - 1} and {len(y) - 1} layers of widths {x.shape[-1]} and {y.shape[-1]}; "
            "the published protocol takes models of one shape."
        )
    where = np.array([part_of(words, seed) for words in sentences])
    rows = {name: np.flatnonzero(where == name) for name in SHARES}
    for name, some in rows.items():
        if len(some) < LEAST:
            raise ShapeError(f"The {name} part has {len(some)} sentences and needs {LEAST}: use more sentences.")
    how = VARIANTS[fitted]
    x, y = (rows.padded if how.padding else rows.real for rows in read[False])
    with span(0.2, 0.98):
        maps, seen = _fit(how, x, y, rows, steps, seed)
    value: Value = {"d": int(x.shape[-1]), "seen": seen, "rows": len(rows["train"])}
    for variant in FITTED[fitted]:
        how = VARIANTS[variant]
        x, y = (rows.padded if how.padding else rows.real for rows in read[how.dropout])
        here = maps | {"cca": _cca_of(how, x, y, rows)}
        left, right = partners(rows["train" if how.training else "test"], how.unrelated)
        mean = y[:, rows["train"]].mean(1, keepdims=True, dtype=np.float64)
        target = y[:, right].astype(np.float64)
        value[f"{variant}/spread"] = ((target - mean) ** 2).sum(-1)
        for name, mapped in here.items():
            value[f"{variant}/{name}/error"] = ((mapped(x[:, left]) - target) ** 2).sum(-1)
    return value


def partners(rows: Int[np.ndarray, " row"], unrelated: bool) -> tuple[np.ndarray, np.ndarray]:
    """Source and target rows that are held against each other: themselves, or the first half against the second."""
    half = len(rows) // 2
    return (rows[:half], rows[half : 2 * half]) if unrelated else (rows, rows)


def _fit(
    how: Protocol, x: Rows, y: Rows, rows: dict[str, np.ndarray], steps: int, seed: int
) -> tuple[dict[str, Map], int]:
    """Maps of the protocol, CCA aside, and how many batches their training learnt from."""
    maps: dict[str, Map] = {"identity": lambda given: np.asarray(given, dtype=np.float64)}
    train, held = rows["train"], rows["validation"]
    if how.theirs:
        from core.alignment.published.training import train as learn

        seen = 0
        for number, kind in enumerate(("inn", "linear", "mlp")):
            with span(*((0.0, 0.85), (0.85, 0.9), (0.9, 1.0))[number]):
                learned = learn(kind, x[:, train], y[:, train], steps=steps, shared=how.shared, seed=seed)
            maps[kind], seen = learned.map, learned.seen
            if kind == "inn":
                maps["start"] = lambda given, learned=learned: learned.map(given, False)  # type: ignore[misc]
        return {name: maps[name] for name in METHODS if name in maps}, seen
    from core.alignment.maps.nonlinear import Inn, Mlp

    for number, (name, aligner) in enumerate({"inn": Inn(seed=seed), "linear": Ridge(), "mlp": Mlp(seed=seed)}.items()):
        with span(number / 3, (number + 1) / 3):
            tick(0.0, name)
            if how.shared:
                flat = [_flat(part[:, some]) for some in (train, held) for part in (x, y)]
                aligner.fit(flat[0], flat[1], (flat[2], flat[3]))
                maps[name] = lambda given, fitted=aligner: fitted.transform(_flat(given)).reshape(given.shape)  # type: ignore[misc]
            else:
                maps[name] = aligner.fit(x[:, train], y[:, train], (x[:, held], y[:, held])).transform
    return maps, 0


def _cca_of(how: Protocol, x: Rows, y: Rows, rows: dict[str, np.ndarray]) -> Map:
    """Theirs, fitted on the rows that it is evaluated on or on training rows; ours where everything is."""
    train, held = rows["train"], rows["validation"]
    if not how.theirs and not how.shared:
        return Cca().fit(x[:, train], y[:, train], (x[:, held], y[:, held])).transform
    left, right = partners(train, how.unrelated)
    return published_cca(x[:, left], y[:, right])


def published_cca(x: Float[np.ndarray, "layer row d"], y: Float[np.ndarray, "layer row d"]) -> Map:
    """Canonical coordinates of the source, taken for the target's, between leading components of each side.

    A correlation of .2 is treated as one of 1: no coordinate is shrunk, which is no least-squares prediction.
    """
    sums = moments(x, y)
    number = np.maximum(_components(sums.xx), _components(sums.yy))
    left, right = (_projector(side, number) for side in (sums.xx, sums.yy))
    reduced = Moments(
        sums.rows, sums.mean_x, sums.mean_y, left @ sums.xx @ left, right @ sums.yy @ right,
        left @ sums.xy @ right,
    )  # fmt: skip
    directions = canonical_directions(reduced)
    weight = directions.x_in @ directions.y_out
    return lambda given: (np.asarray(given, dtype=np.float64) - sums.mean_x) @ weight + sums.mean_y


def _components(covariance: np.ndarray) -> Int[np.ndarray, " layer"]:
    """How many leading components hold `KEPT` of the sum of singular values, (layer,)."""
    values = np.sqrt(np.maximum(np.linalg.eigvalsh(covariance)[:, ::-1], 0.0))
    kept: np.ndarray = (values.cumsum(-1) < KEPT * values.sum(-1, keepdims=True)).sum(-1) + 1
    return kept


def _projector(covariance: np.ndarray, number: Int[np.ndarray, " layer"]) -> np.ndarray:
    vectors = np.linalg.eigh(covariance)[1][..., ::-1]
    kept = np.arange(covariance.shape[-1]) < number[:, None]
    projector: np.ndarray = (vectors * kept[:, None, :]) @ vectors.swapaxes(-1, -2)
    return projector


def _flat(rows: Rows) -> Rows:
    """Rows of all layers as those of one."""
    return np.asarray(rows).reshape(-1, rows.shape[-1])
