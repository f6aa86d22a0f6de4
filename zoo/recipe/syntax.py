"""Compare the syntax in a model's best layer with that in its static window of three words.

Two probes of the same kind: one reads each layer, one the static window, which sets the embedding
output of the word before and of the word after beside each word's. Layers above the window in UUAS
hold syntax that no local reading of words gives; the difference is the figure by which pretraining
settings are compared.

Reference: structural probe of Hewitt & Manning 2019 (rank 64), with positions beside the vectors
(`core.maths.structural.positions`). The static window is ours.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int

from core.maths.structural.batches import ProbeData
from core.maths.structural.positions import beside_positions, measure_vectors
from core.maths.structural.predict import predict_distances
from core.maths.structural.schedule import EPOCHS
from core.maths.structural.scores import Gold, score_distances
from core.maths.structural.training import Probe, train_bank
from core.studies.probes.trees.data import Tree, as_tree, gold_of
from zoo.recipe.tasks import find_treebank

SHORTEST, LONGEST = 4, 40  # words of a sentence
PARTS = ("train", "dev", "test")
RESAMPLES = 2000


@dataclass(frozen=True)
class SyntaxGap:
    """UUAS in percent, means over the probes' draws.

    Attributes:
        layers: Of each layer's probe, layer 0 (the embedding output) first.
        window: Of the static window's probe.
        best: Layer with the highest UUAS, above layer 0.
        gap: Best layer minus static window, in points.
        low: 95 % interval of the gap, over resampled test sentences, for this layer.
        high: See `low`.
        processor_seconds: What the measurement cost.
    """

    layers: tuple[float, ...]
    window: float
    best: int
    gap: float
    low: float
    high: float
    processor_seconds: float


@dataclass(frozen=True)
class ProbingPlan:
    """How many sentences of each part, and how the probes are trained.

    Attributes:
        sentences: Of train, dev and test, from the front of each, 4 to 40 words long.
        draws: Probes of each layer, with different initial maps and orders of sentences.
        epochs: At most.
    """

    sentences: tuple[int, int, int] = (3000, 400, 1000)
    rank: int = 64
    draws: int = 3
    epochs: int = EPOCHS


def static_window(
    vectors: Float[np.ndarray, "item d_model"],
    lengths: Int[np.ndarray, " sentence"],
    reach: int = 1,
) -> Float[np.ndarray, "item wider"]:
    """Join each word's centred vector with those of its neighbours, `reach` to either side, zeros
    beyond the sentence's edges."""
    stops = np.cumsum(lengths)
    first, last = np.repeat(stops - lengths, lengths), np.repeat(stops, lengths)
    places = np.arange(len(vectors))
    parts = []
    for offset in range(-reach, reach + 1):
        at = places + offset
        inside = (at >= first) & (at < last)
        parts.append(np.where(inside[:, None], vectors[np.clip(at, 0, len(vectors) - 1)], 0))
    return np.concatenate(parts, axis=1)


def measure_gap(ref: str, treebank: Path, plan: ProbingPlan | None = None) -> SyntaxGap:
    """Train the probes of a model's layers and of its static window on the treebank, and score both
    on the test sentences. Raises RecipeError or CorpusError, of the treebank, or ModelError."""
    chosen, began = plan or ProbingPlan(), time.process_time()
    trees = {
        part: _trees(treebank, part, count)
        for part, count in zip(PARTS, chosen.sentences, strict=True)
    }
    golds = {part: gold_of(trees[part]) for part in PARTS}
    vectors = dict(zip(PARTS, _read(ref, [trees[part] for part in PARTS]), strict=True))
    centres, sizes = measure_vectors(vectors["train"])
    windows = {
        part: static_window((vectors[part][:, 0] - centres[0]) / sizes[0], golds[part].lengths)[
            :, None
        ]
        for part in PARTS
    }
    hits, edges = _hits(vectors, (centres, sizes), golds, chosen)
    unscaled = (
        np.zeros((1, windows["train"].shape[2]), dtype=np.float32),
        np.ones(1, dtype=np.float32),
    )
    window = _hits(windows, unscaled, golds, chosen)[0][0]
    shares = 100 * hits.sum(axis=1) / edges.sum()
    best = 1 + int(shares[1:].argmax())
    low, high = _interval(hits[best] - window, edges)
    layers, static = (
        tuple(round(float(share), 2) for share in shares),
        100 * float(window.sum() / edges.sum()),
    )
    spent = round(time.process_time() - began, 1)
    return SyntaxGap(
        layers,
        round(static, 2),
        best,
        round(float(shares[best]) - static, 2),
        round(low, 2),
        round(high, 2),
        spent,
    )


def _trees(treebank: Path, part: str, count: int) -> list[Tree]:
    from core.text.corpora import read_corpus

    sentences = read_corpus(str(find_treebank(treebank, part))).sentences
    return [
        as_tree(sentence) for sentence in sentences if SHORTEST <= len(sentence.words) <= LONGEST
    ][:count]


def _read(ref: str, parts: Sequence[Sequence[Tree]]) -> Iterator[np.ndarray]:
    """Read word vectors of each part's sentences, float32 (item, layer, d_model)."""
    from core.models import load_model
    from core.vectors.forward import cut_sentences, read_sentences

    loaded = load_model(ref)
    for trees in parts:
        cut = cut_sentences(loaded.tokenizer, [tree.words for tree in trees])
        by_sentence: dict[int, np.ndarray] = {}
        for batch in read_sentences(loaded, cut):
            by_sentence |= {index: read.words.swapaxes(0, 1) for index, read in batch}
        yield np.concatenate([by_sentence[index] for index in range(len(trees))])


def _hits(
    vectors: dict[str, np.ndarray],
    scale: tuple[np.ndarray, np.ndarray],
    golds: dict[str, Gold],
    plan: ProbingPlan,
) -> tuple[Float[np.ndarray, "layer sentence"], Float[np.ndarray, " sentence"]]:
    """Count each test sentence's gold edges, and those predicted (means over draws)."""
    wide = {part: beside_positions(vectors[part], golds[part].lengths, *scale) for part in PARTS}
    data = {
        part: ProbeData(
            torch.from_numpy(wide[part]), [square[None] for square in golds[part].distances]
        )
        for part in ("train", "dev")
    }
    layers = wide["test"].shape[1]
    rank = min(plan.rank, wide["test"].shape[2])
    probes = [Probe(layer, rank, draw) for layer in range(layers) for draw in range(plan.draws)]
    bank = train_bank(data["train"], data["dev"], probes, epochs=plan.epochs)
    rows = [probe.layer for probe in probes]
    predicted = predict_distances(bank.maps, wide["test"], golds["test"].lengths, rows)
    scores = score_distances(predicted, golds["test"])
    assert scores.hits is not None  # distances were scored
    return scores.hits.reshape(layers, plan.draws, -1).mean(axis=1), scores.edges


def _interval(difference: np.ndarray, edges: np.ndarray) -> tuple[float, float]:
    """Compute the 95 % bootstrap interval of a difference of shares (in points), over sentences."""
    rng = np.random.default_rng(0)
    drawn = rng.integers(len(edges), size=(RESAMPLES, len(edges)))
    shares = 100 * difference[drawn].sum(axis=1) / edges[drawn].sum(axis=1)
    low, high = np.percentile(shares, [2.5, 97.5])
    return float(low), float(high)
