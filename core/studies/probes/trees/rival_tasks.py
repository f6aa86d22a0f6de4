"""The pure tasks of the baselines: position only, the static window, parts of speech, the linear
chain, random trees, the parser; and of layers beside the static window.

Their values are those of `trees.tasks` without maps (of positions, with them), for one layer
numbered 0, the rank lowered to the width of what is read. Those of windows also hold the `reach`
(probe,); chain and random trees `chain_...` and `random_...` (1, sentence) with `edges`; the parser
`lengths`, and of unlabelled attachment `attached` and `words` (sentence,). What layers add to the
window is scored without the course of training; its last layer, whose number no layer has, is the
window beside zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from core.maths.structural.baselines import attachment, linear_chain, parsed_trees, random_trees
from core.maths.structural.costs import training_seconds
from core.maths.structural.positions import (
    SIZE,
    beside_positions,
    measure_vectors,
    position_code,
    with_positions,
)
from core.maths.structural.schedule import AT_HAND
from core.studies.probes.costs import CLASSES, COPIES_BESIDE, USED, WINDOW_WORDS
from core.studies.probes.trees.data import PartSizes, Trees, gold_of
from core.studies.probes.trees.tasks import (
    Regime,
    columns,
    probing,
    read_vectors,
    taking_turns,
    train_and_score,
    without_maps,
)
from core.studies.task_kit import Cost, Size, Value, as_identified, costs, pure, span, tick
from core.vectors.window import of_best_reach, windows_of_sentences

TAGS = CLASSES["pos"]  # numbers of a word's part of speech
BASELINES = 0.1  # processor seconds of the chain and random trees


def parser_cost(models: Mapping[str, Any], /, trees: Trees, **_: Any) -> Cost:
    """Estimate parsing these sentences."""
    return Cost(costs.PARSING * len(trees.words))


def _cost(
    models: Mapping[str, Any], /, trees: Trees, probes: tuple[str, ...], rank: int, draws: int,
    epochs: int, reach: int | None = None, **_: Any,
) -> Cost:  # fmt: skip
    """Estimate probes on position codes, with the parts of speech of the words around."""
    width = SIZE + (0 if reach is None else (2 * reach + 1) * TAGS)
    return Cost(
        draws * training_seconds(probes, rank, width, costs.WORDS * len(trees.words), epochs)
    )


def _window_cost(
    models: Mapping[str, Size], /, model: str, trees: Trees, probes: tuple[str, ...], rank: int,
    draws: int, epochs: int, exact: bool = True, **_: Any,
) -> Cost:  # fmt: skip
    """Estimate a probe on the window of each reach, and all draws on one of them."""
    width, words = models[model].d_model, costs.WORDS * len(trees.words)
    seconds = sum(
        training_seconds(probes, rank, wide * width, words, epochs, exact)
        for wide in (*WINDOW_WORDS, *[USED] * draws)
    )
    return Cost(seconds)


def _beside_cost(
    models: Mapping[str, Size], /, model: str, trees: Trees, layers: Sequence[int], how: Regime,
    exact: bool = True, **_: Any,
) -> Cost:  # fmt: skip
    """Estimate the choice of a window beside zeros, and probes on each layer beside it, with
    further copies of the vectors."""
    words, tried = costs.WORDS * len(trees.words), how.draws * (len(layers) + 1)
    seconds = sum(
        training_seconds(
            how.probes, max(how.ranks), width * models[model].d_model, words, how.epochs, exact
        )
        for width in (1 + wide for wide in (*WINDOW_WORDS, *[USED] * tried))
    )
    shared = probing(models, model, trees, len(layers))
    held = COPIES_BESIDE * shared[model].memory
    return Cost(seconds, shared={**shared, "beside": Cost(0.0, held)})


@pure("probes.positions", version=2, cost=_cost)
def score_positions(
    trees: Trees,
    sizes: PartSizes,
    probes: tuple[str, ...],
    rank: int,
    draws: int,
    seed: int,
    epochs: int,
) -> Value:
    """Train probes on position codes alone: the score that word order reaches without a model."""
    gold = gold_of(trees.rows)
    regime = Regime(probes, (min(rank, SIZE),), draws, seed, epochs)
    return train_and_score(position_code(gold.lengths)[:, None], (0,), [gold], sizes, regime)


@pure("probes.window", version=3, guard=as_identified, cost=_window_cost)
def score_window(
    model: str,
    model_identity: str,
    trees: Trees,
    sizes: PartSizes,
    probes: tuple[str, ...],
    rank: int,
    draws: int,
    position: bool,
    seed: int,
    epochs: int,
    exact: bool = True,
) -> Value:
    """Train probes on the model's embedding table, read through a window of words: the score that
    no layer is needed for. Raises ModelError if the model cannot be loaded."""
    gold = gold_of(trees.rows)

    def trained(vectors: np.ndarray, draws: int) -> Value:
        if position:
            vectors, _, _ = with_positions(vectors, gold.lengths, sizes[0])
        regime = Regime(probes, (min(rank, vectors.shape[-1]),), draws, seed, epochs)
        return train_and_score(vectors, (0,), [gold], sizes, regime, exact)

    return score_best_window(model, trees, trained, draws, dev_score)


@pure("probes.tags", version=2, cost=_cost)
def score_tags(
    trees: Trees,
    tags: tuple[tuple[str, ...], ...],
    sizes: PartSizes,
    reach: int,
    probes: tuple[str, ...],
    rank: int,
    draws: int,
    seed: int,
    epochs: int,
) -> Value:
    """Train probes on parts of speech beside position codes: the score that word classes reach."""
    gold = gold_of(trees.rows)
    vectors = tag_windows(tags, reach)[:, None]
    vectors, _, _ = with_positions(vectors, gold.lengths, sizes[0])
    regime = Regime(probes, (min(rank, vectors.shape[-1]),), draws, seed, epochs)
    return without_maps(train_and_score(vectors, (0,), [gold], sizes, regime))


@pure("probes.conditional", version=4, guard=as_identified, cost=_beside_cost)
def score_beside_window(
    model: str,
    model_identity: str,
    trees: Trees,
    sizes: PartSizes,
    layers: tuple[int, ...],
    position: bool,
    how: Regime,
    exact: bool = True,
) -> Value:
    """Train probes on each layer beside the static window of the best reach, and on zeros beside
    it, as the last layer: what a layer adds (Hewitt et al. 2021, EMNLP, who compare
    cross-entropies). Raises ModelError, or SpecError if there is no such layer."""
    gold = gold_of(trees.rows)
    training = int(gold.lengths[: sizes[0]].sum())
    with span(0.0, 0.2):
        states, embeddings, notices = read_with_embeddings(model, trees.words, layers)
    states[trees.sink_words] = 0  # see `train_probes`
    nothing = np.zeros_like(states[:, :1])
    states = np.concatenate([states, nothing], axis=1)

    def trained(
        window: np.ndarray, part: np.ndarray, numbers: tuple[int, ...], how: Regime
    ) -> Value:
        """Probes on the window beside these layers, both scaled."""
        near = np.broadcast_to(
            _scaled(window[:, None], training), (*part.shape[:2], window.shape[1])
        )
        both = np.concatenate([near, _scaled(part, training)], axis=2)
        if position:  # zeros must not make the window larger
            centres, ones = np.zeros(both.shape[1:], np.float32), np.ones(both.shape[1], np.float32)
            both = beside_positions(both, gold.lengths, centres, ones)
        with taking_turns(both.nbytes):
            return train_and_score(both, numbers, [gold], sizes, how, exact)

    def score(window: np.ndarray) -> float:
        return dev_score(trained(window, nothing, (0,), replace(how, draws=1)))

    with span(0.2, 0.4):
        window, reach = of_best_reach(embeddings, gold.lengths, score)
    numbers, parts = (*layers, max(layers) + 1), []
    together = max(1, AT_HAND // (8 * len(window) * (window.shape[1] + states.shape[2])))
    for first in range(0, len(numbers), together):
        ends = (min(1.0, at / len(numbers)) for at in (first, first + together))
        with span(*(0.4 + 0.6 * end for end in ends)):
            some = slice(first, first + together)
            parts.append(trained(window, states[:, some], numbers[some], how))
    scored = {
        name: part if name == "edges" else np.concatenate([each[name] for each in parts])
        for name, part in parts[0].items()
        if not name.endswith(("_dev", "_best", "_maps"))
    }
    return scored | {"notices": notices, "reach": np.full(len(scored["layers"]), reach)}


def score_best_window(
    model: str,
    trees: Trees,
    trained: Callable[[np.ndarray, int], Value],
    draws: int,
    judged: Callable[[Value], float],
) -> Value:
    """Train probes on the static window of the reach that is `judged` best on the development
    sentences, with one draw; `trained` takes vectors (word, 1, feature) and the number of draws."""
    with span(0.0, 0.1):
        _, embeddings, notices = read_with_embeddings(model, trees.words)
    with span(0.1, 0.6):
        window, reach = of_best_reach(
            embeddings, trees.lengths, lambda window: judged(trained(window[:, None], 1))
        )
    with span(0.6, 1.0):
        scored = trained(window[:, None], draws)
    return without_maps(scored) | {"notices": notices, "reach": np.array([reach])}


def dev_score(scored: Value) -> float:
    """How well the trained probes predict the development trees: the mean over kinds of probes."""
    return float(
        np.mean([np.mean(scored[name]) for name in ("dev_uuas", "dev_root") if name in scored])
    )


def read_with_embeddings(
    model: str, words: Sequence[Sequence[str]], layers: Sequence[int] = ()
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Vectors of all words at some layers, (word, layer, d_model), those of layer 0 (word,
    d_model), and notices, as `read_vectors` returns them."""
    every = sorted({0, *layers})
    vectors, notices = read_vectors(model, words, every)
    return vectors[:, [every.index(layer) for layer in layers]], vectors[:, 0], notices


def tag_windows(tags: Sequence[Sequence[str]], reach: int) -> Float[np.ndarray, "word feature"]:
    """One-hot tags of each word and of the words up to `reach` places before and behind it."""
    names, places = np.unique([tag for row in tags for tag in row], return_inverse=True)
    marks = np.eye(len(names), dtype=np.float32)[places]
    return windows_of_sentences(marks, np.array([len(row) for row in tags]), reach)


def _scaled(vectors: np.ndarray, training: int) -> np.ndarray:
    """Vectors (word, layer, d_model), centred and divided by their mean deviation in training."""
    centres, deviations = measure_vectors(vectors[:training])
    return np.asarray((vectors.astype(np.float32) - centres) / deviations[:, None])


@pure("probes.baselines", cost=lambda models, /, **_: Cost(BASELINES))
def score_baselines(trees: Trees, seed: int) -> Value:
    """Score the linear chain and random trees on the test sentences."""
    gold = gold_of(trees.rows)
    tick(0.1, "baselines")
    chain, random = linear_chain(gold), random_trees(gold, np.random.default_rng(seed))
    return {"edges": chain.edges, **columns("chain_", chain), **columns("random_", random)}


@pure("probes.parser", cost=parser_cost)
def score_parser(trees: Trees, pipeline: str, pipeline_identity: str) -> Value:
    """Score a parser's trees against gold ones. Raises ModelError if the parser is not there."""
    from core.text.parsing import parse_sentences

    gold = gold_of(trees.rows)
    parses = [parse.heads for parse in parse_sentences(trees.words, pipeline)]
    scores = parsed_trees(parses, gold)
    attached, counted = attachment(parses, gold)
    scored = columns("", scores)
    return {
        "lengths": scores.lengths,
        "edges": scores.edges,
        **scored,
        "attached": attached,
        "words": counted,
    }
