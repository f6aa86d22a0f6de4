"""Attention of two models: do their heads look at the same words, and do their attention outputs span one space?

Heads have no order that two seeds would share, so each head of the source is first matched with one of the target,
one to one, so that the summed correlation of their attention probabilities is largest (the Hungarian method), on
training sentences. What is shown is of held-out sentences: how well matched heads correlate, beside heads matched at
random (the null), and how well a map of the attention outputs does, as for hidden states.

References: arXiv 2305.14555 (attention); Kuhn 1955 (the Hungarian method, through scipy). Deviations: probabilities
are compared head by head after matching, because a map between two sets of distributions would not keep them such.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from core.alignment.live import Batch, batches, layer_list
from core.alignment.protocol import split_of
from core.alignment.registry import METHODS, make_aligner
from core.errors import ModelError, ShapeError
from core.models import load_model, load_tokenizer, tokenizer_fingerprint
from core.runs.runner import span, tick
from core.runs.store import Value
from core.runs.tasks import pure
from core.vectors.pairs import Words

NULL_DRAWS = 200


@pure("alignment.attention")
def align_attention(
    source: str,
    target: str,
    source_identity: str,
    target_identity: str,
    sentences: Words,
    methods: tuple[str, ...],
    seed: int,
) -> Value:
    """Matched heads and mapped attention outputs, layer by layer (layer 1 is the first).

    Returns:
        `matched` (layer, head): held-out correlation of each source head with its match; `match` (layer, head): which
        head of the target it is; `null` (layer, draw): mean correlation under random matchings; `m/nmse` (layer,) of
        the attention outputs for each method, `m/refused` where one does not fit.

    Raises:
        ModelError: If a model cannot be loaded, does not show its attention, or the tokenizers or depths differ.
        ShapeError: If there are too few sentences to split.
    """
    if tokenizer_fingerprint(source) != tokenizer_fingerprint(target):
        raise ModelError(f"{source} and {target} cut words differently, so their attention cannot be compared.")
    tokenizer = load_tokenizer(target)
    parts = np.array([split_of(words, seed) for words in sentences])
    if min((parts == part).sum() for part in ("train", "validation", "test")) < 1:
        raise ShapeError("Too few sentences to split into training, validation and test; use more.")
    read = []
    for place, ref in enumerate((source, target)):
        with span(0.3 * place, 0.3 * (place + 1)):
            model = load_model(ref, device="cpu", attentions=True).model
            read.append(_read(model, tokenizer, sentences, parts == "test"))
            del model  # one at a time in memory
    (moments_x, x), (moments_y, y) = read[0][:2], read[1][:2]
    if len(x) != len(y):
        raise ModelError(f"{source} has {len(x)} layers and {target} {len(y)}; attention is compared layer by layer.")
    owner = read[0][2]
    value: Value = _match_heads(moments_x, moments_y, seed)
    rows = parts[owner]
    train, held, test = (np.flatnonzero(rows == part) for part in ("train", "validation", "test"))
    spread = ((y[:, test] - y[:, train].mean(1, keepdims=True)) ** 2).sum((-1, -2))
    for number, name in enumerate(methods):
        with span(0.6 + 0.4 * number / len(methods), 0.6 + 0.4 * (number + 1) / len(methods)):
            tick(0.0, METHODS[name].label)
            aligner = make_aligner(name, seed)
            try:
                aligner.fit(x[:, train], y[:, train], (x[:, held], y[:, held]))
            except ShapeError as error:
                value[f"{name}/refused"] = str(error)
                continue
            value[f"{name}/nmse"] = ((aligner.transform(x[:, test]) - y[:, test]) ** 2).sum((-1, -2)) / spread
    return value


def _match_heads(x: np.ndarray, y: np.ndarray, seed: int) -> Value:
    """Match on the training entries, measure on the test entries; x and y are (part, layer, head, entry)."""
    from scipy.optimize import linear_sum_assignment

    rng = np.random.default_rng(seed)
    layers, heads = len(x[0]), len(x[0][0])
    matched, match, null = np.zeros((layers, heads)), np.zeros((layers, heads), dtype=np.int64), []
    for layer in range(layers):
        train, test = (_correlations(x[part][layer], y[part][layer]) for part in (0, 1))
        rows, columns = linear_sum_assignment(-train)
        match[layer, rows] = columns
        matched[layer, rows] = test[rows, columns]
        null.append([test[np.arange(heads), rng.permutation(test.shape[1])[:heads]].mean() for _ in range(NULL_DRAWS)])
    return {"matched": matched, "match": match, "null": np.array(null)}


def _correlations(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Pearson correlation of every head of x (head, entry) with every head of y."""
    x = x - x.mean(-1, keepdims=True)
    y = y - y.mean(-1, keepdims=True)
    norms = np.outer(np.linalg.norm(x, axis=-1), np.linalg.norm(y, axis=-1))
    return x @ y.T / np.maximum(norms, 1e-300)


def _read(model: nn.Module, tokenizer: Any, sentences: Words, is_test: np.ndarray):
    """Probabilities (train and test; layer, head, entry), outputs (layer, row, d_model), the sentence of each row."""
    entries: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    outputs, owners, done = [], [], 0
    for batch in batches(tokenizer, [list(words) for words in sentences], split=True):
        probabilities, vectors = _forward(model, batch)
        for row, number in enumerate(batch.sentences):
            length = int(batch.mask[row].sum())
            block = probabilities[:, row, :, :length, :length]
            entries[int(is_test[number])].append(block.flatten(2).numpy().astype(np.float64))
        real = batch.mask.bool()
        outputs.append(vectors[:, real].double().numpy())
        owners.append(np.repeat(batch.sentences, batch.mask.sum(1).numpy()))
        done += len(batch.sentences)
        tick(done / len(sentences), "reading attention")
    parts = [np.concatenate(part, axis=-1) for part in entries]
    return parts, np.concatenate(outputs, axis=1), np.concatenate(owners)


def _forward(model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
    """Attention probabilities (layer, sentence, head, subword, subword), outputs (layer, sentence, subword, d_model).

    The output is what the attention block adds up from its heads, before the residual connection.
    """
    captured: list[Tensor] = []

    def hook(module: nn.Module, inputs: Any, output: Any) -> None:
        captured.append(output if isinstance(output, Tensor) else output[0])

    handles = []
    for layer in layer_list(model):
        attention = getattr(getattr(layer, "attention", None), "self", None)
        if attention is None:
            raise ModelError(
                f"{type(model).__name__} keeps its attention where we do not find it; use a BERT-like model."
            )
        handles.append(attention.register_forward_hook(hook))
    try:
        with torch.inference_mode():
            result = model(input_ids=batch.ids, attention_mask=batch.mask, output_attentions=True)
    finally:
        for handle in handles:
            handle.remove()
    if not result.attentions or result.attentions[0] is None:
        raise ModelError(f"{type(model).__name__} does not return its attention probabilities.")
    return torch.stack(result.attentions), torch.stack(captured)
