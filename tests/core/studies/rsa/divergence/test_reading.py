"""Inputs of language models: every word is predicted once, and never where it can be seen."""

from __future__ import annotations

import numpy as np
import pytest

from core.studies.rsa.divergence.reading import batches, make_queries
from core.vectors.forward import Subwords

CLS, SEP, MASK, PAD = 1, 2, 3, 0
CUT = [
    Subwords([CLS, 10, 11, 12, SEP], [-1, 0, 1, 1, -1], 2, 5),
    Subwords([CLS, 13, SEP], [-1, 0, -1], 1, 3),
]


def predicted(kind: str, masking: str, tokens: int = 100) -> dict[tuple[int, int], list[int]]:
    """Targets of each word, after checks of each batch."""
    targets: dict[tuple[int, int], list[int]] = {}
    queries = make_queries(CUT, kind, masking)
    for inputs in batches(CUT, queries, mask_token=MASK, pad=PAD, tokens=tokens):
        assert ((inputs.ids == PAD) == (inputs.mask == 0)).all()
        seen = inputs.ids[inputs.rows, inputs.places]
        if kind == "masked" and masking == "masked":
            assert (seen == MASK).all()
        elif kind == "masked":
            assert (seen == inputs.targets).all()
        else:
            assert (inputs.ids[inputs.rows, inputs.places + 1] == inputs.targets).all()
        for sentence, word, target in zip(
            inputs.sentence.tolist(), inputs.word.tolist(), inputs.targets.tolist(), strict=True
        ):
            targets.setdefault((sentence, word), []).append(target)
    return targets


@pytest.mark.parametrize("tokens", [1, 8, 100])
@pytest.mark.parametrize(
    ("kind", "masking"), [("masked", "masked"), ("masked", "unmasked"), ("causal", "masked")]
)
def test_every_subword_is_predicted_once(kind: str, masking: str, tokens: int) -> None:
    assert predicted(kind, masking, tokens) == {(0, 0): [10], (0, 1): [11, 12], (1, 0): [13]}


def test_all_subwords_of_a_word_are_masked_together() -> None:
    queries = make_queries(CUT, "masked", "masked")
    assert [(query.sentence, query.masked, query.places) for query in queries] == [
        (0, 0, (1,)),
        (0, 1, (2, 3)),
        (1, 0, (1,)),
    ]
    (inputs,) = batches(CUT, queries, mask_token=MASK, pad=PAD, tokens=100)
    rows = {tuple(row) for row in inputs.ids.tolist()}
    assert rows == {
        (CLS, MASK, 11, 12, SEP),
        (CLS, 10, MASK, MASK, SEP),
        (CLS, MASK, SEP, PAD, PAD),
    }


def test_a_causal_model_does_not_predict_what_nothing_precedes() -> None:
    bare = [Subwords([10, 11], [0, 1], 2, 2), Subwords([10], [0], 1, 1)]
    queries = make_queries(bare, "causal", "masked")
    assert [(query.sentence, query.places, query.shift) for query in queries] == [(0, (1,), 1)]
    assert np.ravel([query.masked for query in queries]).tolist() == [-1]
