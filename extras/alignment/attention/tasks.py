"""The pure task of the attention study: heads matched, attention outputs mapped.

Its value, in which layer 1 is the first after the embeddings, holds `match` (layer, head), which
head of the target each of the source is matched with; `matched` (layer, head), their held-out
correlation; `null` (layer, draw), the mean correlation under random matchings; `matrix` (layer,
head, layer, head), the held-out correlation of every head with every head; and for each method m
`m/nmse` (layer,) of the attention outputs, or `m/refused`, the reason, where one does not fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np

from core.errors import ModelError, ShapeError
from core.maths.evaluation.costs import PRODUCTS, fitting
from core.maths.evaluation.judging import fit_each
from core.maths.evaluation.scoring import rows_for, unexplained
from core.maths.evaluation.split import SHARES, part_of, parts_from
from core.maths.permutations import correlations, match_units
from core.models import load_tokenizer
from core.models.identity import check_tokenizers
from core.models.loading.memory import borrow_model
from core.models.loading.tokenizers import Tokenizer
from core.studies.alignment.pairs import check_depths
from core.studies.task_kit import Cost, Size, Value, Words, as_identified, costs, pure, span, tick

if TYPE_CHECKING:
    from torch import Tensor, nn

    from core.models.loading.layers import Batch

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
    """Match heads and map attention outputs, layer by layer. Raises ModelError if a model does not
    return its attention, tokenizers or depths differ, or the source has more heads, ShapeError if
    there are too few sentences to split."""
    check_tokenizers(source, target, UNLIKE)
    tokenizer = load_tokenizer(target, source)
    where = np.array([part_of(words, seed) for words in sentences])
    if {*where} != {*SHARES}:
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
    (attended_x, x, owner, subwords), (attended_y, y, *_) = read
    check_depths(source, target, x, y)
    heads, others = (len(attended[0][0]) for attended in (attended_x, attended_y))
    if heads > others:
        raise ModelError(
            f"{source} has {heads} heads in a layer and {target} {others}, so that not every head "
            "has a match: choose models with the same number of heads."
        )
    value = _match_heads(attended_x, attended_y, seed)
    parts = parts_from(where[owner], subwords, owner)
    train, test = parts.train, parts.test
    mean = y[:, train].mean(1, keepdims=True)
    for name, aligner in fit_each(methods, seed, x, y, parts, value, low=0.6):
        mapped = aligner.transform(rows_for(aligner, x, parts.types)[:, test])
        value[f"{name}/nmse"] = unexplained(mapped, y[:, test], mean)
    return value


def _match_heads(x: list[np.ndarray], y: list[np.ndarray], seed: int) -> Value:
    """Match heads on training entries, correlate them on test entries; both have (layer, head,
    entry) of training and of test."""
    rng = np.random.default_rng(seed)
    layers, heads, _ = x[0].shape
    matched, match, null = [], [], []
    flat = (part.reshape(-1, part.shape[-1]).T for part in (x[1], y[1]))
    matrix = correlations(*flat).reshape(layers, heads, *y[1].shape[:2])
    for layer in range(layers):
        test = matrix[layer, :, layer]
        match.append(match_units(correlations(x[0][layer].T, y[0][layer].T)))
        matched.append(test[range(heads), match[-1]])
        drawn = [rng.permutation(test.shape[1])[:heads] for _ in range(NULL_DRAWS)]
        null.append(test[range(heads), drawn].mean(1))
    stacked = {"matched": matched, "match": match, "null": null}
    return {name: np.array(rows) for name, rows in stacked.items()} | {"matrix": matrix}


def _read(
    model: nn.Module, tokenizer: Tokenizer, sentences: Words, is_test: np.ndarray
) -> tuple[list[np.ndarray], np.ndarray, np.ndarray, np.ndarray]:
    """Read probabilities of training and of test (layer, head, entry), outputs (layer, row,
    d_model), and each row's sentence and subword."""
    from core.studies.alignment.forward import subword_rows

    entries: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])

    def outputs(model: nn.Module, batch: Batch) -> Tensor:
        probabilities, vectors = attend(model, batch)
        for row, number in enumerate(batch.sentences):
            length = int(batch.mask[row].sum())
            block = probabilities[:, row, :, :length, :length]
            entries[int(is_test[number])].append(block.flatten(2).numpy().astype(np.float64))
        tick(sum(map(len, entries)) / len(sentences), "computing attention")
        return vectors

    rows = subword_rows(model, tokenizer, sentences, outputs)
    return [np.concatenate(part, axis=-1) for part in entries], *rows


def attend(model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
    """Compute attention probabilities (layer, sentence, head, subword, subword), and the outputs of
    the attention blocks before the residual connection (layer, sentence, subword, d_model). Raises
    ModelError if the architecture's attention is not found, or the model does not return it."""
    import torch

    from core.models.loading.layers import first_of, layer_list

    captured: list[Tensor] = []

    def hook(module: nn.Module, inputs: Any, output: Any) -> None:
        captured.append(first_of(output))

    with ExitStack() as hooks, torch.inference_mode():
        for layer in layer_list(model):
            attention = getattr(getattr(layer, "attention", None), "self", None)
            if attention is None:
                raise ModelError(
                    f"The attention of {type(model).__name__} was not found: choose a BERT-like "
                    "model."
                )
            hooks.enter_context(attention.register_forward_hook(hook))
        result = model(input_ids=batch.ids, attention_mask=batch.mask, output_attentions=True)
    if not result.attentions or result.attentions[0] is None:
        raise ModelError(
            f"{type(model).__name__} does not return its attention probabilities: "
            "choose a BERT-like model."
        )
    return torch.stack(result.attentions), torch.stack(captured)
