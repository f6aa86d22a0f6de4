"""The pure tasks of the baselines: position only, the linear chain, random trees, the parser."""

from __future__ import annotations

import numpy as np

from core.probes.structural.baselines import attachment, linear_chain, parsed_trees, random_trees
from core.probes.structural.positions import SIZE, position_code
from core.probes.trees.data import Tree, gold_of
from core.probes.trees.tasks import Heads, Keep, Regime, Words, columns, train_and_score
from core.runs.runner import tick
from core.runs.store import Value
from core.runs.tasks import pure


@pure("probes.positions")
def score_positions(
    words: Words,
    heads: Heads,
    keep: Keep,
    sizes: tuple[int, int, int],
    probes: tuple[str, ...],
    rank: int,
    draws: int,
    seed: int,
    epochs: int,
) -> Value:
    """Train probes on position codes alone: the score that word order reaches without a model.

    Args: as in `train_probes`; `rank` is lowered to the size of the code.

    Returns:
        As `train_probes`, for one layer numbered 0.
    """
    gold = gold_of([Tree(*rows) for rows in zip(words, heads, keep, strict=True)])
    regime = Regime(probes, (min(rank, SIZE),), draws, seed, epochs)
    return train_and_score(position_code(gold.lengths)[:, None], (0,), [gold], sizes, regime)


@pure("probes.baselines")
def score_baselines(words: Words, heads: Heads, keep: Keep, seed: int) -> Value:
    """Scores of the linear chain and of random trees on the test sentences.

    Returns:
        `edges` (sentence,), and for "chain" and "random" `..._hits`, `..._dspr`, `..._nspr`, `..._root` (1, sentence).
    """
    gold = gold_of([Tree(*rows) for rows in zip(words, heads, keep, strict=True)])
    tick(0.1, "baselines")
    chain, random = linear_chain(gold), random_trees(gold, np.random.default_rng(seed))
    return {"edges": chain.edges, **columns("chain_", chain), **columns("random_", random)}


@pure("probes.parser")
def score_parser(words: Words, heads: Heads, keep: Keep, pipeline: str, pipeline_identity: str) -> Value:
    """Scores of a parser's trees against gold heads.

    Args:
        words: Sentences with gold heads.
        heads: The gold heads.
        keep: Which words are not punctuation.
        pipeline: The parser.
        pipeline_identity: Fingerprint of its files; part of the key.

    Returns:
        `lengths`, `edges` (sentence,), `hits`, `dspr`, `nspr`, `root` (1, sentence); `attached` and `words` (sentence,)
        for unlabelled attachment.

    Raises:
        ModelError: If the parser is not there.
    """
    from core.text.parsing import parse_sentences

    gold = gold_of([Tree(*rows) for rows in zip(words, heads, keep, strict=True)])
    parses = [parse.heads for parse in parse_sentences(words, pipeline)]
    scores = parsed_trees(parses, gold)
    attached, counted = attachment(parses, gold)
    scored = columns("", scores)
    return {"lengths": scores.lengths, "edges": scores.edges, **scored, "attached": attached, "words": counted}
