"""Examples are batched by tokens: one long sentence does not pad all that share its batch."""

from __future__ import annotations

import numpy as np
import pytest

from core.models import load_tokenizer
from core.studies.alignment import forward as alignment
from core.vectors.examples import BATCH, Encoded, batches


def tokens_of(lengths: list[int]) -> int:
    ids = [[5] * length for length in lengths]
    total = np.ones(len(ids), dtype=np.int64)
    encoded = Encoded(ids, [[0]] * len(ids), [[0]] * len(ids), total, 0, "sentence")
    made = list(batches(encoded))
    assert sorted(number for batch in made for number in batch.sentences) == [*range(len(ids))]
    return sum(batch.ids.numel() for batch in made)


def test_one_long_example_pads_few_others() -> None:
    short = [12, 20, 16, 9] * 50
    assert tokens_of(short) == sum(
        max(part) * len(part)
        for part in np.array_split(sorted(short, reverse=True), range(BATCH, 200, BATCH))
    )
    assert tokens_of([*short, 300]) == tokens_of(short) + 300
    assert tokens_of([*short, *[300] * 20]) == tokens_of(short) + 300 * 20


@pytest.mark.parametrize("long", [1, 60])
def test_one_long_text_pads_few_others_in_alignment(long: int) -> None:
    tokenizer = load_tokenizer("zoo:seed-0")
    texts = ["the old dog went out to a quiet room"] * 200
    plain = sum(batch.ids.numel() for batch in alignment.batches(tokenizer, texts))
    made = [*alignment.batches(tokenizer, [*texts, " ".join([texts[0]] * long)])]
    assert sorted(number for batch in made for number in batch.sentences) == [*range(201)]
    longest = max(batch.ids.shape[1] for batch in made)
    assert sum(batch.ids.numel() for batch in made) <= plain + longest
