"""The study's tasks: the predictions of two models, and the states of two models, word by word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.errors import ModelError, ShapeError
from core.maths.similarity.divergence import Divergences, divergences
from core.models.identity import check_tokenizers
from core.models.loading.language_models import LanguageModel, load_language_model, predicts
from core.studies.rsa.divergence.reading import COLUMNS, NAMED, Inputs, batches, make_queries
from core.studies.task_kit import Cost, Size, Value, Words, as_identified, costs, pure, tick
from core.vectors.forward import cut_sentences, pass_budget
from core.vectors.notices import read_by_layer, too_long
from core.vectors.pairs import Items, extract_pair

BLOCK = 512  # words whose cosines with all words are held at once
VOCABULARY = 30_000  # tokens, where they are not counted
PREDICTED, COSINE = 1.5e-8, 1e-8  # processor seconds per prediction and token; of a pair of words
HELD = 2**22  # numbers of a block of logits (position, token) that are held at once


def _predicting_cost(
    sizes: Mapping[str, Size], base: str, other: str, sentences: Words, masking: str, **_: Any
) -> Cost:
    """Estimate a pass for each word, or one in all, and the vocabulary's matrix."""
    seconds, count = 0.0, len(sentences)
    pair = {ref: sizes[ref] for ref in (base, other)}
    for size in pair.values():
        predicted = VOCABULARY * (size.d_model * costs.PASSING * 2 + PREDICTED)
        causal = predicts(size.architecture) == "causal"
        passes = 1.0 if causal or masking != "masked" else costs.WORDS
        seconds += costs.passes(size, count, passes) + costs.SUBWORDS * count * predicted
    return Cost(seconds, 2 * costs.resident(pair, head=True) + 8 * HELD * costs.SINGLE)


def _states_cost(sizes: Mapping[str, Size], base: str, other: str, items: Items, **_: Any) -> Cost:
    layers = (sizes[base].layers + sizes[other].layers) / 2
    return Cost(
        layers * COSINE * items.count**2,
        4 * BLOCK * items.count * costs.DOUBLE,
        shared=costs.reading(sizes, (base, other), items.sentences),
    )


@pure("rsa.tags", cost=lambda sizes, sentences: Cost(costs.PARSING * len(sentences)))
def tag_words(sentences: Words) -> Value:
    """Tag words with the included parser: `tags`, universal parts of speech of every word in
    order."""
    from core.text.parsing import parse_sentences

    return {"tags": [tag for parse in parse_sentences(sentences) for tag in parse.upos]}


@pure("rsa.divergence", guard=as_identified, cost=_predicting_cost)
def compare_predictions(
    base: str,
    other: str,
    base_identity: str,
    other_identity: str,
    sentences: Words,
    masking: str,
) -> Value:
    """Compare what two models predict for every word, in bits: `sentence`, `word` and COLUMNS
    (word,), `top` and `base_top`, the likeliest first subwords of the first NAMED sentences. Raises
    ModelError if the two cannot be compared, ShapeError if they can read no sentence."""
    first, second = load_language_model(base), load_language_model(other)
    _check_pair(first, second, masking)
    tokenizer = first.loaded.tokenizer
    cut = cut_sentences(tokenizer, sentences)
    longest = min(tokenizer.longest, second.loaded.tokenizer.longest)
    long = [number for number, subwords in enumerate(cut) if len(subwords.ids) > longest]
    queries = [
        query
        for query in make_queries(cut, first.kind, masking)
        if len(cut[query.sentence].ids) <= longest
    ]
    if not queries:
        raise ShapeError(
            f"{base} and {other} can read no sentence of this text: use shorter sentences."
        )
    budget = pass_budget(first.loaded, second.loaded)
    read: list[tuple[Inputs, Divergences]] = []
    made = batches(
        cut, queries, mask_token=tokenizer.mask or 0, pad=tokenizer.pad or 0, tokens=budget
    )
    total, done = sum(len(cut[query.sentence].ids) for query in queries), 0
    for inputs in made:
        tick(done / total, f"predictions of {base} and {other}")
        read.append((inputs, _compare(first, second, inputs)))
        done += int(inputs.mask.sum())
    value = _by_word(read)
    shown = [int(at) for at in np.flatnonzero(value["sentence"] < NAMED)]
    for name in ("top", "base_top"):
        tops = value.pop(f"{name}_token")
        value[name] = tokenizer.tokens([int(tops[at]) for at in shown])
    value["notices"] = [
        *([too_long(base, sentences, long, longest)] if long else []),
        *(
            read_by_layer(model.ref, model.loaded.info.parameters)
            for model in (first, second)
            if model.loaded.layerwise
        ),
    ]
    return value


@pure("rsa.word_changes", guard=as_identified, cost=_states_cost)
def compare_states(
    base: str,
    other: str,
    base_identity: str,
    other_identity: str,
    items: Items,
    sinks: str = "",
) -> Value:
    """Measure how much each word's similarities to all other words differ between two models:
    `change` (layer, word), `sentence` and `word` (word,), `notices` and `sinks`. Raises ModelError
    if a model cannot be loaded, ShapeError if too few words are left."""
    paired = extract_pair(base, other, items, sinks=sinks)
    return {
        "change": np.stack([row_changes(x, y) for x, y in paired.layers()]),
        "sentence": paired.sentence,
        "word": paired.word,
        **paired.remarks,
    }


def row_changes(x: NDArray[np.float32], y: NDArray[np.float32]) -> NDArray[np.float64]:
    """Compute 1 minus the correlation of each item's cosine similarities to all others in two
    spaces, (item, d_model) each: (item,)."""
    units = [
        vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(float).tiny)
        for vectors in (x.astype(np.float64), y.astype(np.float64))
    ]
    changes: NDArray[np.float64] = np.full(len(x), np.nan)
    for start in range(0, len(x), BLOCK):
        rows = np.arange(start, min(start + BLOCK, len(x)))
        first, second = (_centred_rows(vectors, rows) for vectors in units)
        norms = np.sqrt((first**2).sum(1) * (second**2).sum(1))
        inside = norms > 0
        changes[rows[inside]] = 1.0 - ((first * second).sum(1)[inside] / norms[inside])
    return changes


def _centred_rows(units: NDArray[np.float64], rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Compute cosines of some items with all others, less their mean; 0 with themselves."""
    cosines = units[rows] @ units.T
    itself = (np.arange(len(rows)), rows)
    cosines[itself] = 0.0
    cosines -= cosines.sum(1, keepdims=True) / (len(units) - 1)
    cosines[itself] = 0.0
    return cosines


def _check_pair(first: LanguageModel, second: LanguageModel, masking: str) -> None:
    """Refuse a pair whose predictions are not about the same thing, or that cannot be masked."""
    if first.kind != second.kind:
        raise ModelError(
            f"{first.ref} predicts {_predicts(first)} and {second.ref} {_predicts(second)}, "
            "so their predictions cannot be compared: choose two models of one kind."
        )
    check_tokenizers(first.ref, second.ref, "their predictions cannot be compared")
    mask = first.loaded.tokenizer.mask
    if (first.kind, masking) == ("masked", "masked") and (
        mask is None or mask >= min(first.vocabulary, second.vocabulary)
    ):
        raise ModelError(
            f"The tokenizer of {first.ref} has no mask token, so no word can be masked: "
            "read the unmasked text (--masking unmasked)."
        )


def _predicts(model: LanguageModel) -> str:
    return "masked tokens" if model.kind == "masked" else "the next token"


def _compare(first: LanguageModel, second: LanguageModel, inputs: Inputs) -> Divergences:
    """Compare the two models' predictions on one batch."""
    import torch

    ids, mask = torch.from_numpy(inputs.ids), torch.from_numpy(inputs.mask)
    rows, places = inputs.rows.tolist(), inputs.places.tolist()
    mine, theirs = (model.predict(ids, mask, rows, places) for model in (first, second))
    block = max(1, HELD // len(rows))
    targets = torch.from_numpy(inputs.targets).to(first.loaded.device)
    with torch.inference_mode():
        return divergences(
            mine.logits,
            theirs.logits,
            targets,
            min(first.vocabulary, second.vocabulary),  # rows beyond are padding
            block,
        )


def _by_word(read: list[tuple[Inputs, Divergences]]) -> dict[str, Any]:
    """Average over each word's subwords, words in the order of the text."""
    sentence, word = (
        np.concatenate([getattr(inputs, name) for inputs, _ in read])
        for name in ("sentence", "word")
    )
    keys, first, slot = np.unique(
        np.stack([sentence, word], 1), axis=0, return_index=True, return_inverse=True
    )
    slot = slot.ravel()
    pieces = np.bincount(slot, minlength=len(keys))
    value: dict[str, Any] = {"sentence": keys[:, 0], "word": keys[:, 1]}
    for name, attribute in COLUMNS.items():
        values = np.concatenate([getattr(compared, attribute) for _, compared in read])
        value[name] = np.bincount(slot, values.astype(np.float64), minlength=len(keys)) / pieces
    for name, attribute in (("top_token", "second_top"), ("base_top_token", "first_top")):
        value[name] = np.concatenate([getattr(compared, attribute) for _, compared in read])[first]
    return value
