"""The pure tasks of the alignment study: maps between two models at every layer, and any layer into any other."""

from __future__ import annotations

import numpy as np

from core.alignment.linear import LinearAligner, moments
from core.alignment.protocol import score, split_of
from core.alignment.registry import METHODS, make_aligner
from core.errors import ShapeError
from core.runs.runner import span, tick
from core.runs.store import Value
from core.runs.tasks import pure
from core.vectors.pairs import Words, extract_pair

LEAST_ROWS = 20  # of each part of the split
SHOWN = 120  # rows kept for the picture of the space
COLUMNS = ("nmse", "l2", "r2", "retrieval", "inverse")


@pure("alignment.pair", version=2)
def align_pair(
    source: str,
    target: str,
    source_identity: str,
    target_identity: str,
    sentences: Words,
    items: str,
    methods: tuple[str, ...],
    layers: tuple[int, ...],
    seed: int,
) -> Value:
    """Fit each method at each layer on training sentences, score it on test sentences.

    Returns:
        For each method m: `m/nmse`, `m/l2`, `m/r2`, `m/retrieval`, `m/inverse` (split, layer) for train and test;
        `m/error` and `m/spread` (layer, test sentence); for networks `m/steps`, `m/training`, `m/validation`;
        `m/refused` with the reason where the method does not fit the shapes. And `test_sentences`, `layers`,
        `rows` (training rows), `d_source`, `d_target`, `notices`.

    Raises:
        ModelError: If a model cannot be loaded.
        ShapeError: If the split leaves too few rows.
    """
    with span(0.0, 0.3):
        paired = extract_pair(source, target, source_identity, target_identity, sentences, (), items)
    chosen = _chosen_layers(layers, len(paired.base))
    x, y = paired.base[chosen].astype(np.float64), paired.other[chosen].astype(np.float64)
    parts = _split(sentences, paired.sentence, seed)
    train, held, test = (np.flatnonzero(parts == part) for part in ("train", "validation", "test"))
    mean = y[:, train].mean(1, keepdims=True)
    found = moments(x[:, train], y[:, train])
    value: Value = {
        "layers": chosen,
        "rows": len(train),
        "d_source": int(x.shape[-1]),
        "d_target": int(y.shape[-1]),
        "test_sentences": np.unique(paired.sentence[test]),
        "notices": list(paired.notices),
    }
    for number, name in enumerate(methods):
        tick(0.3 + 0.7 * number / len(methods), METHODS[name].label)
        aligner = make_aligner(name, seed)
        try:
            with span(0.3 + 0.7 * number / len(methods), 0.3 + 0.7 * (number + 1) / len(methods)):
                if isinstance(aligner, LinearAligner) and name != "shuffled":
                    aligner.fit_moments(found, (x[:, held], y[:, held]))
                else:
                    aligner.fit(x[:, train], y[:, train], (x[:, held], y[:, held]))
        except ShapeError as error:
            value[f"{name}/refused"] = str(error)
            continue
        scores = [score(aligner, x[:, rows], y[:, rows], paired.sentence[rows], mean) for rows in (train, test)]
        for column in COLUMNS:
            value[f"{name}/{column}"] = np.stack([getattr(one, column) for one in scores])
        value[f"{name}/error"], value[f"{name}/spread"] = scores[1].error, scores[1].spread
        curve = getattr(aligner, "curve", None)
        if curve is not None:
            value[f"{name}/steps"] = curve.steps
            value[f"{name}/training"], value[f"{name}/validation"] = curve.training, curve.validation
        value |= _picture(name, aligner, x[:, test], y[:, test])
    return value


@pure("alignment.layers", version=2)
def align_layers(
    source: str,
    target: str,
    source_identity: str,
    target_identity: str,
    sentences: Words,
    items: str,
    method: str,
    seed: int,
) -> Value:
    """Any layer of the source into any layer of the target, by one closed-form method.

    Returns:
        `nmse` (source layer, target layer) on test sentences. Not symmetric: a map has a direction.
    """
    with span(0.0, 0.4):
        paired = extract_pair(
            source, target, source_identity, target_identity, sentences, (), items, match_layers=False
        )
    parts = _split(sentences, paired.sentence, seed)
    train, held, test = (np.flatnonzero(parts == part) for part in ("train", "validation", "test"))
    nmse = np.zeros((len(paired.base), len(paired.other)))
    for row, x in enumerate(paired.base):
        tick(0.4 + 0.6 * row / len(nmse), f"layer {row} into all")
        for column, y in enumerate(paired.other):
            aligner = make_aligner(method, seed)
            aligner.fit(x[train], y[train], (x[held], y[held]))
            spread = ((y[test] - y[train].mean(0)) ** 2).sum()
            nmse[row, column] = ((aligner.transform(x[test]) - y[test]) ** 2).sum() / max(float(spread), 1e-300)
    return {"nmse": nmse, "notices": list(paired.notices)}


def _split(sentences: Words, sentence: np.ndarray, seed: int) -> np.ndarray:
    """The part of the split that each row belongs to."""
    parts = np.array([split_of(words, seed) for words in sentences])[sentence]
    for part in ("train", "validation", "test"):
        rows = int((parts == part).sum())
        if rows < LEAST_ROWS:
            raise ShapeError(f"The {part} part has {rows} rows and needs {LEAST_ROWS}: use more sentences, or words.")
    return parts


def _chosen_layers(layers: tuple[int, ...], depth: int) -> np.ndarray:
    if any(not 0 <= layer < depth for layer in layers):
        raise ShapeError(f"Layers run from 0 to {depth - 1} here; {', '.join(map(str, layers))} were asked for.")
    return np.asarray(layers or range(depth), dtype=np.int64)


def _picture(name: str, aligner: object, x: np.ndarray, y: np.ndarray) -> Value:
    """Source, mapped and target rows on the target's first two principal components, a few rows a layer."""
    rows = np.linspace(0, x.shape[1] - 1, min(SHOWN, x.shape[1])).astype(np.int64)
    mapped = aligner.transform(x[:, rows])  # type: ignore[attr-defined]
    mean = y.mean(1, keepdims=True)
    axes = np.linalg.svd(y - mean, full_matrices=False)[2][:, :2].swapaxes(-1, -2)
    value: Value = {f"{name}/mapped": ((mapped - mean) @ axes).astype(np.float32)}
    value["target_points"] = ((y[:, rows] - mean) @ axes).astype(np.float32)
    value["shown"] = rows
    if x.shape[-1] == y.shape[-1]:
        value["source_points"] = ((x[:, rows] - mean) @ axes).astype(np.float32)
    return value
