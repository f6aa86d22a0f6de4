"""The pure task of the attention study: heads matched, attention outputs mapped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from core.errors import ModelError, ShapeError
from core.maths.evaluation.costs import PRODUCTS, fitting
from core.maths.evaluation.judging import fit_each
from core.maths.evaluation.scoring import rows_for, unexplained
from core.maths.evaluation.split import part_of, parts_from
from core.maths.permutations import correlations, match_units
from core.models import load_tokenizer
from core.models.identity import check_tokenizers
from core.models.loading.memory import borrow_model
from core.models.loading.tokenizers import Tokenizer
from core.studies.alignment.pairs import check_depths
from core.studies.task_kit import Cost, Size, Value, Words, as_identified, costs, pure, span, tick

if TYPE_CHECKING:
    from torch import nn


NULL_DRAWS = 200
UNLIKE = "their attention cannot be compared"  # of models with different tokenizers


def _cost(
    sizes: Mapping[str, Size], source: str, target: str, sentences: Words,
    methods: tuple[str, ...], **_: Any,
) -> Cost:  # fmt: skip
    pair, count = (sizes[source], sizes[target]), len(sentences)
    width, layers = (max(getattr(size, name) for size in pair) for name in ("d_model", "layers"))
    rows, entries = count * costs.SUBWORDS, count * costs.SUBWORDS**2 * 1.3
    heads = layers * max(1.0, width / 64)
    work = sum(costs.running(size, count) for size in pair)
    work += PRODUCTS * 2 * entries * heads**2 + 2e-8 * entries * heads
    held = 2 * entries * heads * 3 + 2 * layers * rows * width * 2
    weights = costs.SINGLE * max(size.parameters for size in pair)
    return Cost(
        work + fitting(methods, width, rows, layers),
        held * costs.DOUBLE,
        shared={"weights": Cost(0.0, weights)},
    )


@pure("alignment.attention", version=3, guard=as_identified, cost=_cost)
def align_attention(
    source: str,
    target: str,
    source_identity: str,
    target_identity: str,
    sentences: Words,
    methods: tuple[str, ...],
    seed: int,
) -> Value:
    """Match heads and map attention outputs, layer by layer (layer 1 is the first after the
    embeddings).

    Returns:
        `matched` (layer, head): held-out correlation of each source head with its match; `match`
        (layer, head): the number of that target head; `null` (layer, draw): mean correlation under
        random matchings; `matrix` (layer, head, layer, head): held-out correlation of every source
        head with every target head; `m/nmse` (layer,) of the attention outputs for each method,
        `m/refused` with the reason where a method does not fit.

    Raises:
        ModelError: If a model cannot be loaded, does not return its attention, the tokenizers or
            depths differ, or the source has more heads.
        ShapeError: If there are too few sentences to split.
    """
    check_tokenizers(source, target, UNLIKE)
    tokenizer = load_tokenizer(target, source)
    where = np.array([part_of(words, seed) for words in sentences])
    if min((where == part).sum() for part in ("train", "validation", "test")) < 1:
        raise ShapeError(
            "The text has too few sentences for training, validation and test: use more sentences."
        )
    read = []
    for place, ref in enumerate((source, target)):
        with (
            span(0.3 * place, 0.3 * (place + 1)),
            borrow_model(ref, device="cpu", attentions=True) as loaded,
        ):
            read.append(_read(loaded.model, tokenizer, sentences, where == "test"))
    (moments_x, x), (moments_y, y) = read[0][:2], read[1][:2]
    check_depths(source, target, x, y)
    _check_heads(source, target, *(len(moments[0][0]) for moments in (moments_x, moments_y)))
    owner, subwords = read[0][2:]
    value: Value = _match_heads(moments_x, moments_y, seed)
    parts = parts_from(where[owner], subwords, owner)
    train, test = parts.train, parts.test
    mean = y[:, train].mean(1, keepdims=True)
    for name, aligner in fit_each(methods, seed, x, y, parts, value, low=0.6):
        mapped = aligner.transform(rows_for(aligner, x, parts.types)[:, test])
        value[f"{name}/nmse"] = unexplained(mapped, y[:, test], mean)
    return value


def _check_heads(source: str, target: str, heads: int, others: int) -> None:
    """Refuse a target with too few heads for a match of each head of the source."""
    if heads > others:
        raise ModelError(
            f"{source} has {heads} heads in a layer and {target} {others}, so that not every head "
            "has a match: choose models with the same number of heads."
        )


def _match_heads(x: list[np.ndarray], y: list[np.ndarray], seed: int) -> Value:
    """Match heads on training entries, correlate them on test entries; (part, layer, head,
    entry)."""
    rng = np.random.default_rng(seed)
    layers, heads = len(x[0]), len(x[0][0])
    matched, match, null = np.zeros((layers, heads)), np.zeros((layers, heads), dtype=np.int64), []
    flat = (part.reshape(-1, part.shape[-1]).T for part in (x[1], y[1]))
    matrix = correlations(*flat).reshape(layers, heads, *y[1].shape[:2])
    for layer in range(layers):
        train, test = correlations(x[0][layer].T, y[0][layer].T), matrix[layer, :, layer]
        match[layer] = match_units(train)
        matched[layer] = test[np.arange(heads), match[layer]]
        null.append(
            [
                test[np.arange(heads), rng.permutation(test.shape[1])[:heads]].mean()
                for _ in range(NULL_DRAWS)
            ]
        )
    return {"matched": matched, "match": match, "null": np.array(null), "matrix": matrix}


def _read(
    model: nn.Module, tokenizer: Tokenizer, sentences: Words, is_test: np.ndarray
) -> tuple[list[np.ndarray], np.ndarray, np.ndarray, np.ndarray]:
    """Probabilities (training, test; layer, head, entry), outputs (layer, row, d_model), their
    sentences, subwords."""
    from core.studies.alignment.seeds.forward import attend, batches

    entries: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    outputs, owners, subwords, done = [], [], [], 0
    for batch in batches(tokenizer, sentences):
        probabilities, vectors = attend(model, batch)
        for row, number in enumerate(batch.sentences):
            length = int(batch.mask[row].sum())
            block = probabilities[:, row, :, :length, :length]
            entries[int(is_test[number])].append(block.flatten(2).numpy().astype(np.float64))
        real = batch.mask.bool()
        outputs.append(vectors[:, real].double().numpy())
        owners.append(np.repeat(batch.sentences, batch.mask.sum(1).numpy()))
        subwords.append(batch.ids[real].numpy())
        done += len(batch.sentences)
        tick(done / len(sentences), "computing attention")
    parts = [np.concatenate(part, axis=-1) for part in entries]
    return parts, np.concatenate(outputs, axis=1), np.concatenate(owners), np.concatenate(subwords)
