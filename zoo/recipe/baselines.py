"""Cross-entropy of held-out text under unigram and interpolated bigram models of the training text.

A masked language model that has learned more than frequencies is better than both. The bigram model
sees the true previous token, never masked; the masked model sees both sides, with a quarter of the
tokens masked.

Reference: Witten & Bell 1991 (the interpolation weight, no parameter to tune); add-one unigrams.
Deviations: tokens after a [CLS] or [SEP] are predicted from that token.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zoo.recipe.text import CLS, PAD, SEP


@dataclass(frozen=True)
class TextBaselines:
    """Nats a token."""

    unigram: float
    bigram: float


def text_baselines(training: np.ndarray, held_out: np.ndarray, vocabulary: int) -> TextBaselines:
    """Compute the held-out cross-entropies of both models, from token ids (window, subword);
    special tokens are not predicted."""
    words = training[(training != CLS) & (training != SEP) & (training != PAD)]
    unigram = (np.bincount(words, minlength=vocabulary) + 1.0) / (len(words) + vocabulary)
    previous, following = _pairs(training)
    codes, counts = np.unique(previous * vocabulary + following, return_counts=True)
    context = np.bincount(previous, minlength=vocabulary).astype(np.float64)
    kinds = np.bincount(codes // vocabulary, minlength=vocabulary).astype(
        np.float64
    )  # distinct followers
    before, after = _pairs(held_out)
    wanted = before * vocabulary + after
    place = np.minimum(np.searchsorted(codes, wanted), len(codes) - 1)
    seen = np.where(codes[place] == wanted, counts[place], 0)
    total = context[before] + kinds[before]
    bigram = np.where(
        total > 0, (seen + kinds[before] * unigram[after]) / np.maximum(total, 1), unigram[after]
    )
    return TextBaselines(float(-np.log(unigram[after]).mean()), float(-np.log(bigram).mean()))


def _pairs(windows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """List (previous, following) ids where the following one is a token of the text."""
    previous, following = (
        windows[:, :-1].astype(np.int64).ravel(),
        windows[:, 1:].astype(np.int64).ravel(),
    )
    keep = (following != CLS) & (following != SEP) & (following != PAD)
    return previous[keep], following[keep]
