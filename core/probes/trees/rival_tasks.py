"""The pure tasks of the baselines: position only, the linear chain, random trees, the parser."""

from __future__ import annotations

import numpy as np

from core.models.identity import as_identified
from core.probes.structural.baselines import attachment, linear_chain, parsed_trees, random_trees
from core.probes.structural.positions import SIZE, beside_positions, measure_vectors, position_code
from core.probes.trees.data import Trees, gold_of
from core.probes.trees.spec import WINDOW_REACH
from core.probes.trees.tasks import Regime, columns, read_vectors, train_and_score
from core.runs.runner import span, tick
from core.runs.store import Value
from core.runs.tasks import pure
from core.vectors.window import static_window


@pure("probes.positions")
def score_positions(
    trees: Trees,
    sizes: tuple[int, int, int],
    probes: tuple[str, ...],
    rank: int,
    draws: int,
    seed: int,
    epochs: int,
) -> Value:
    """Train probes on position codes alone: the score that word order reaches without a model.

    Args: as in `train_probes` and `Regime`; `rank` is lowered to the size of the code.

    Returns:
        As `train_probes`, for one layer numbered 0.
    """
    gold = gold_of(trees.rows)
    regime = Regime(probes, (min(rank, SIZE),), draws, seed, epochs)
    return train_and_score(position_code(gold.lengths)[:, None], (0,), [gold], sizes, regime)


@pure("probes.window", guard=as_identified)
def score_window(
    model: str,
    model_identity: str,
    trees: Trees,
    sizes: tuple[int, int, int],
    probes: tuple[str, ...],
    rank: int,
    draws: int,
    position: bool,
    seed: int,
    epochs: int,
) -> Value:
    """Train probes on the model's embedding table read through a window of words: what a score owes
    to no layer.

    Args: as in `train_probes`; `rank` is lowered to the width of the window.

    Returns:
        What `train_probes` returns but its maps, for one layer numbered 0.

    Raises:
        ModelError: If the model cannot be loaded.
    """
    gold = gold_of(trees.rows)
    with span(0.0, 0.2):
        vectors, notices = read_vectors(model, trees.words, (0,))
    sentence = np.repeat(np.arange(len(gold.lengths)), gold.lengths)
    starts = np.repeat(np.cumsum(gold.lengths) - gold.lengths, gold.lengths)
    window = static_window(
        vectors[:, 0], sentence, np.arange(len(sentence)) - starts, WINDOW_REACH
    )[:, None]
    if position:
        centres, deviations = measure_vectors(window[: int(gold.lengths[: sizes[0]].sum())])
        window = beside_positions(window, gold.lengths, centres, deviations)
    regime = Regime(probes, (min(rank, window.shape[-1]),), draws, seed, epochs)
    with span(0.2, 1.0):
        scored = train_and_score(window, (0,), [gold], sizes, regime)
    return {name: part for name, part in scored.items() if not name.endswith("_maps")} | {
        "notices": notices
    }


@pure("probes.baselines")
def score_baselines(trees: Trees, seed: int) -> Value:
    """Scores of the linear chain and of random trees on the test sentences.

    Returns:
        `edges` (sentence,), and for "chain" and "random" `..._hits`, `..._dspr`, `..._nspr`,
        `..._root` (1, sentence).
    """
    gold = gold_of(trees.rows)
    tick(0.1, "baselines")
    chain, random = linear_chain(gold), random_trees(gold, np.random.default_rng(seed))
    return {"edges": chain.edges, **columns("chain_", chain), **columns("random_", random)}


@pure("probes.parser")
def score_parser(trees: Trees, pipeline: str, pipeline_identity: str) -> Value:
    """Scores of a parser's trees against gold heads.

    Args:
        trees: The gold trees.
        pipeline: The parser.
        pipeline_identity: Fingerprint of its files; part of the key.

    Returns:
        `lengths`, `edges` (sentence,), `hits`, `dspr`, `nspr`, `root` (1, sentence); `attached` and
        `words` (sentence,) for unlabelled attachment.

    Raises:
        ModelError: If the parser is not there.
    """
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
