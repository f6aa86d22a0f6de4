"""A bigram model of tokens: the baseline that knows which token follows which, and nothing else.

Probabilities of pairs are interpolated with those of single tokens by Witten and Bell's weights,
and these with a uniform distribution by adding one.

Reference: Witten & Bell 1991, IEEE Transactions on Information Theory, The zero-frequency problem.
Deviations: single tokens are smoothed by adding one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import log


class Bigrams:
    """Counts of tokens and of pairs of neighbouring tokens.

    Args:
        sentences: Token ids of each, with a token that begins it first.
        vocabulary: Number of different tokens.

    Attributes:
        tokens: How many were counted, without those that begin a sentence.
    """

    def __init__(self, sentences: Iterable[Sequence[int]], vocabulary: int) -> None:
        self._vocabulary = vocabulary
        self._single: Counter[int] = Counter()
        self._pairs: defaultdict[int, Counter[int]] = defaultdict(Counter)
        for sentence in sentences:
            self._single.update(sentence[1:])
            for before, token in pairwise(sentence):
                self._pairs[before][token] += 1
        self.tokens = self._single.total()

    def chance(self, before: int, token: int) -> float:
        """Compute the probability of a token after another."""
        followers = self._pairs.get(before, Counter())
        single = (self._single[token] + 1) / (self.tokens + self._vocabulary)
        weight = len(followers)
        if not weight:
            return single
        return (followers[token] + weight * single) / (followers.total() + weight)

    def score(self, sentence: Sequence[int]) -> list[float]:
        """Compute the log-probabilities of a sentence's tokens, in nats; the first is given."""
        return [log(self.chance(before, token)) for before, token in pairwise(sentence)]
