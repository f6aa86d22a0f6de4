"""The task of bits per byte: losses of one model on every sentence, and what was read of it.

The first word of a sentence is read and not scored, because not every model has a token before it
to predict it from. So all models are scored on the same bytes.

Reference: Salazar et al. 2020 (pseudo-likelihood of masked models). Deviations: one in seven
subwords is masked at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from core.studies.task_kit import Cost, Size, Value, Words, as_identified, costs, pure, tick
from core.vectors.forward import cut_sentences
from core.vectors.predicting import (
    PREDICTING,
    check_losses,
    count_answers,
    open_to_ask,
    sum_losses,
    times_read,
)

FIRST = 1  # word that is scored first


def _cost(sizes: Mapping[str, Size], model: str, sentences: Words, **_: Any) -> Cost:
    size = sizes[model]
    asked = PREDICTING * costs.vocabulary(size) * costs.SUBWORDS * len(sentences)
    run = costs.running(size, len(sentences), times_read(sizes, model))
    return Cost(run + asked, costs.SINGLE * size.parameters)


@pure("rsa.bits", guard=as_identified, cost=_cost)
def score_sentences(model: str, model_identity: str, sentences: Words) -> Value:
    """Sum a model's losses over every sentence, the first word excepted: `nats` and `subwords` that
    were predicted (sentence,); `whole` (sentence,), whether it reads all of it; `vocabulary`,
    tokens that it can predict. Raises ModelError if it cannot be read or predicts no words."""
    loaded, ask = open_to_ask(model, model)
    tick(0.1, f"predictions of {model}")
    asked = ask(loaded, sentences, FIRST)
    cut = cut_sentences(loaded.tokenizer, sentences)
    return {
        "nats": check_losses(model, sum_losses(loaded.model, asked, len(sentences))),
        "subwords": count_answers(asked, len(sentences)),
        "whole": np.array([each.subwords <= loaded.tokenizer.longest for each in cut]),
        "vocabulary": int(loaded.model.get_output_embeddings().weight.shape[0]),
    }
