"""Tables of bits per byte: each model, and every two on the same sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from core.maths.arrays import Value
from core.maths.statistics import bootstrap_interval, sentence_counts
from core.studies.rsa.bits.tasks import FIRST

BITS = (
    *("model", "bits_per_byte", "low", "high", "bits_per_character", "bits_per_subword"),
    *("uniform_bits", "bytes_per_subword", "vocabulary_size", "bytes_read"),
)
BIT_GAPS = ("model", "other", "bits_gap", "bits_gap_low", "bits_gap_high", "fewer_bits")


def scored_text(words: Sequence[str]) -> str:
    """Join the words that are scored, a space before each.

    Example:
        >>> scored_text(["The", "dog", "ran"])
        ' dog ran'
    """
    return "".join(f" {word}" for word in words[FIRST:])


def shared_sentences(values: Mapping[str, Value], sentences: Sequence[Sequence[str]]) -> np.ndarray:
    """Find the sentences with something to score that every model reads whole, (sentence,)."""
    long = np.array([len(words) > FIRST for words in sentences])
    return np.flatnonzero(
        np.logical_and.reduce([long, *(each["whole"] for each in values.values())])
    )


def build_tables(
    values: Mapping[str, Value], sentences: Sequence[Sequence[str]], draws: int, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Build BITS, a row for each model, and BIT_GAPS, one for every two.

    Args:
        values: Of `score_sentences`, by model.
        sentences: Words of each.
        draws, seed: Of the bootstrap over sentences, the same for every model.
    """
    kept = shared_sentences(values, sentences) if values else np.zeros(0, np.int64)
    if not len(kept):
        return pd.DataFrame(columns=list(BITS)), pd.DataFrame(columns=list(BIT_GAPS))
    texts = [scored_text(sentences[number]) for number in kept.tolist()]
    size = np.array([len(text.encode()) for text in texts])
    counts = sentence_counts(len(kept), draws, np.random.default_rng(seed))
    rows: list[dict[str, Any]] = []
    bits = {ref: np.asarray(value["nats"])[kept] / np.log(2) for ref, value in values.items()}
    drawn = {ref: (counts @ each) / (counts @ size) for ref, each in bits.items()}
    for ref, value in values.items():
        total, subwords = float(bits[ref].sum()), int(np.asarray(value["subwords"])[kept].sum())
        low, high = bootstrap_interval(total / size.sum(), drawn[ref])
        uniform = float(np.log2(value["vocabulary"])) * subwords / size.sum()
        row = (
            *(ref, total / size.sum(), float(low), float(high), total / sum(map(len, texts))),
            *(total / max(subwords, 1), uniform, size.sum() / max(subwords, 1)),
            *(value["vocabulary"], size.sum()),
        )
        rows.append(dict(zip(BITS, row, strict=True)))
    gaps = []
    for first, second in combinations(values, 2):
        gap = float((bits[first] - bits[second]).sum() / size.sum())
        low, high = bootstrap_interval(gap, drawn[first] - drawn[second])
        fewer = float((bits[first] < bits[second]).mean())
        gaps.append(
            dict(zip(BIT_GAPS, (first, second, gap, float(low), float(high), fewer), strict=True))
        )
    return pd.DataFrame(rows, columns=list(BITS)), pd.DataFrame(gaps, columns=list(BIT_GAPS))
