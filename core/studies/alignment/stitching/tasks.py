"""The pure task of stitching: a pair of models stitched by every map at every layer.

Its value holds `m/correct` (layer, text) for each method m, or `m/refused`, the reason, where one
does not fit the shapes; `own_target` and `own_source` (text,), whether the unmodified models are
correct; and `rows`, the number of training rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from core.errors import ModelError, ShapeError
from core.maths.evaluation.costs import fitting
from core.maths.evaluation.judging import fit_each
from core.maths.evaluation.split import part_of, parts_from
from core.models import load_tokenizer, load_with_head
from core.models.identity import check_tokenizers
from core.studies.alignment.pairs import check_depths
from core.studies.task_kit import Cost, Size, Value, Words, as_identified, costs, pure, span, tick
from core.text.labelled import Labelled

# Sentences that are stitched at once, their length over the mean's as they are padded, rows of them
# that are mapped at once, and copies of these that a network makes
STITCHED, LONGEST, MAPPED_ROWS, BY_NETWORK = 64, 2.0, 512, 6
UNLIKE = "one cannot continue from the other's states"  # of models with different tokenizers


def _cost(
    sizes: Mapping[str, Size],
    source: str,
    target: str,
    sentences: Words,
    labelled: Labelled,
    methods: tuple[str, ...],
    **_: Any,
) -> Cost:
    lower, upper = sizes[source], sizes[target]
    width, states = max(lower.d_model, upper.d_model), upper.layers + 1
    rows, texts = len(sentences) * costs.SUBWORDS, len(sentences) + len(labelled)
    read = sum(costs.running(size, texts) for size in (lower, upper))
    # the layers above the map run again for each map
    stitched = costs.passing(upper, len(labelled), len(methods) * states / 2)
    fitted = 3 * 2 * rows  # rows of both models, and copies of those of training
    padded = 2 * STITCHED * LONGEST * costs.SUBWORDS
    held = max(fitted, 2 * 2 * rows + padded + BY_NETWORK * MAPPED_ROWS)
    return Cost(
        read + stitched + fitting(methods, width, rows, states),
        states * width * costs.DOUBLE * held + costs.SINGLE * (upper.parameters + lower.parameters),
    )


@pure("alignment.stitch", version=3, guard=as_identified, cost=_cost)
def stitch_pair(
    source: str,
    target: str,
    source_identity: str,
    target_identity: str,
    sentences: Words,
    labelled: Labelled,
    methods: tuple[str, ...],
    seed: int,
) -> Value:
    """Stitch two classifiers by every method at every layer and classify the labelled sentences;
    maps are fitted on `sentences`. Raises ModelError if a model has no such head, or tokenizers or
    depths differ, ShapeError if a label is unknown to the target."""
    from core.studies.alignment.forward import predict_labels, stitched_labels, subword_rows

    check_tokenizers(source, target, UNLIKE)
    tokenizer = load_tokenizer(target, source)
    lower, upper = (load_with_head(ref, device="cpu").model for ref in (source, target))
    names = _labels(target, upper.config)
    unknown = sorted({label for _, label in labelled} - set(names))
    if unknown:
        raise ShapeError(
            f"{target} has no class {unknown[0]!r} among {', '.join(names)}: correct the labelled "
            "sentences."
        )
    with span(0.0, 0.2):
        tick(0.1, "computing states of the unlabelled sentences")
        x, owner, subwords = subword_rows(lower, tokenizer, sentences)
        y = subword_rows(upper, tokenizer, sentences)[0]
    check_depths(source, target, x, y, embeddings=1)
    where = np.array([part_of(words, seed) for words in sentences])[owner]
    parts = parts_from(where, subwords, owner)
    truth = np.array([names.index(label) for _, label in labelled])
    value: Value = {"rows": len(parts.train)}
    for name, model in (("own_target", upper), ("own_source", lower)):
        predicted = predict_labels(model, tokenizer, [text for text, _ in labelled])
        value[name] = predicted == truth
    aligners = dict(fit_each(methods, seed, x, y, parts, value, low=0.2, high=0.7))
    with span(0.7, 1.0):
        labels_by_method = stitched_labels(lower, upper, tokenizer, labelled, aligners)
    return value | {f"{name}/correct": labels == truth for name, labels in labels_by_method.items()}


def _labels(ref: str, config: Any) -> list[str]:
    """Name the classes, in order. Raises ModelError if the model has no sequence-classification
    head."""
    architecture = str((getattr(config, "architectures", None) or ["none"])[0])
    if not architecture.endswith("ForSequenceClassification"):
        raise ModelError(
            f"{ref} has no head that classifies sentences (architecture: {architecture}): choose a "
            "fine-tuned classifier, such as an included sentiment model."
        )
    return [str(config.id2label[number]) for number in range(config.num_labels)]
