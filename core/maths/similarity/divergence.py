"""Divergence of two models' predictions: distributions over one vocabulary, a block of it at a
time.

A vocabulary of 250,000 tokens makes a megabyte of every prediction, so no distribution is held
whole: one pass over the vocabulary sums each model's exponentials, a second one adds up the
divergences. Everything is in bits.

References:
    Kullback & Leibler 1951. Lin 1991, Divergence measures based on the Shannon entropy.
Deviations: none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

if TYPE_CHECKING:
    from torch import Tensor

Logits = Callable[[int, int], "Tensor"]
"""First and last token of a block -> logits (position, token)."""


@dataclass(frozen=True)
class Divergences:
    """How much two models' predictions differ, position by position.

    Attributes:
        js: Jensen-Shannon divergence in bits: 0 for equal distributions, 1 for disjoint ones.
        kl: Kullback-Leibler divergence of the second model's from the first's, in bits.
        reverse_kl: That of the first model's from the second's, in bits.
        chance: `js` of the first model's prediction and the second's at another position; NaN
            where there is none.
        first_surprisal, second_surprisal: Bits of the token that is there.
        first_top, second_top: The most likely token.
    """

    js: Float[ndarray, " position"]
    kl: Float[ndarray, " position"]
    reverse_kl: Float[ndarray, " position"]
    chance: Float[ndarray, " position"]
    first_surprisal: Float[ndarray, " position"]
    second_surprisal: Float[ndarray, " position"]
    first_top: Int[ndarray, " position"]
    second_top: Int[ndarray, " position"]

    @property
    def agree(self) -> Bool[ndarray, " position"]:
        """Whether both models find the same token most likely."""
        return np.asarray(self.first_top == self.second_top)


def divergences(
    first: Logits, second: Logits, targets: Tensor, vocabulary: int, block: int
) -> Divergences:
    """Compare two models' predictions at the same positions.

    Args:
        first, second: Logits of a block of tokens; called twice for each block.
        targets: The token at each position, shape (position,).
        vocabulary: Number of tokens.
        block: Tokens of one block; four times as many numbers per position are held at once.

    Example:
        >>> import torch
        >>> halves = torch.tensor([[0.5, 0.5], [0.5, 0.5]]).log()
        >>> certain = torch.tensor([[1 - 1e-9, 1e-9], [0.5, 0.5]]).log()
        >>> first, second = (lambda a, b: certain[:, a:b]), (lambda a, b: halves[:, a:b])
        >>> compared = divergences(first, second, torch.tensor([0, 1]), 2, 1)
        >>> compared.kl.round(3).tolist(), compared.second_surprisal.round(3).tolist()
        ([1.0, 0.0], [1.0, 1.0])
    """
    import torch

    parts = [(start, min(start + block, vocabulary)) for start in range(0, vocabulary, block)]
    whole_first, at_first, top_first = _sum_exponentials(first, targets, parts)
    whole_second, at_second, top_second = _sum_exponentials(second, targets, parts)
    count, turn = len(targets), len(targets) // 2
    sums = torch.zeros(4, count, dtype=torch.float64, device=targets.device)
    for start, stop in parts:
        p = first(start, stop).float() - whole_first[:, None]
        q = second(start, stop).float() - whole_second[:, None]
        likely_p, likely_q = p.exp(), q.exp()
        sums[0] += (likely_p * (p - q)).sum(1, dtype=torch.float64)
        sums[1] += (likely_q * (q - p)).sum(1, dtype=torch.float64)
        sums[2] += _to_mixture(p, q, likely_p, likely_q)
        if turn:
            sums[3] += _to_mixture(p, q.roll(turn, 0), likely_p, likely_q.roll(turn, 0))
    kl, reverse_kl, js, chance = (sums / math.log(2)).clamp(min=0.0).cpu().numpy()
    surprisals = [
        ((whole - at).double() / math.log(2)).cpu().numpy()
        for whole, at in ((whole_first, at_first), (whole_second, at_second))
    ]
    if not turn:
        chance = np.full(count, np.nan)
    return Divergences(
        js,
        kl,
        reverse_kl,
        chance,
        first_surprisal=surprisals[0],
        second_surprisal=surprisals[1],
        first_top=top_first.cpu().numpy(),
        second_top=top_second.cpu().numpy(),
    )


def _to_mixture(p: Tensor, q: Tensor, likely_p: Tensor, likely_q: Tensor) -> Tensor:
    """Sum the mean divergence from the mixture of two distributions over the tokens of a block."""
    import torch

    middle = torch.logaddexp(p, q) - math.log(2)
    return (likely_p * (p - middle) + likely_q * (q - middle)).sum(1, dtype=torch.float64) / 2


def _sum_exponentials(
    logits: Logits, targets: Tensor, parts: list[tuple[int, int]]
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute log of the sum of exponentials, the target's logit, and the most likely token."""
    import torch

    whole = torch.full((len(targets),), -math.inf, device=targets.device)
    at, highest, top = whole.clone(), whole.clone(), torch.zeros_like(targets)
    for start, stop in parts:
        scores = logits(start, stop).float()
        whole = torch.logaddexp(whole, scores.logsumexp(1))
        best, place = scores.max(1)
        top = torch.where(best > highest, place + start, top)
        highest = torch.maximum(highest, best)
        inside = (targets >= start) & (targets < stop)
        mine = scores.gather(1, (targets - start).clamp(0, stop - start - 1)[:, None])[:, 0]
        at = torch.where(inside, mine, at)
    return whole, at, top
