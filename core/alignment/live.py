"""Running models by hand: all layers' states of the same subwords, and a model entered at any layer.

Stitching needs what the store does not keep: states of every subword, special tokens included, and the upper half of
a model fed with states that it did not make. Both are done by hooks on the model's own layers, so that no forward
pass is written again here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from core.errors import ModelError

BATCH = 64
LAYER_LISTS = ("encoder.layer", "transformer.layer", "encoder.layers", "layers", "h")  # under the body, by architecture


@dataclass(frozen=True)
class Batch:
    """Padded ids and mask (sentence, subword), and which sentences these are."""

    ids: Tensor
    mask: Tensor
    sentences: list[int]


def batches(tokenizer: Any, texts: Sequence[Any], split: bool) -> Iterator[Batch]:
    """Texts (strings, or lists of words where `split`) in batches of about one length, longest first."""
    encoded = tokenizer(list(texts), is_split_into_words=split, truncation=True, return_attention_mask=False)[
        "input_ids"
    ]
    order = sorted(range(len(texts)), key=lambda number: -len(encoded[number]))
    for start in range(0, len(order), BATCH):
        chosen = order[start : start + BATCH]
        width = len(encoded[chosen[0]])
        ids = torch.full((len(chosen), width), tokenizer.pad_token_id or 0)
        mask = torch.zeros(len(chosen), width, dtype=torch.long)
        for row, number in enumerate(chosen):
            ids[row, : len(encoded[number])] = torch.tensor(encoded[number])
            mask[row, : len(encoded[number])] = 1
        yield Batch(ids, mask, chosen)


def layer_list(model: nn.Module) -> nn.ModuleList:
    """The model's stack of layers.

    Raises:
        ModelError: If the architecture keeps them where we do not know.
    """
    body = getattr(model, str(getattr(model, "base_model_prefix", "")), model)
    for name in LAYER_LISTS:
        found: Any = body
        for part in name.split("."):
            found = getattr(found, part, None)
        if isinstance(found, nn.ModuleList):
            return found
    raise ModelError(
        f"{type(model).__name__} keeps its layers where stitching does not find them; use a BERT-like model."
    )


def states(model: nn.Module, batch: Batch) -> Tensor:
    """Hidden states of all layers, (layer, sentence, subword, d_model); layer 0 enters the first layer."""
    captured: list[Tensor] = []
    layers = layer_list(model)
    handles = [layer.register_forward_pre_hook(_capture(captured), with_kwargs=True) for layer in layers]
    handles.append(layers[-1].register_forward_hook(lambda module, inputs, output: captured.append(_first(output))))
    try:
        with torch.inference_mode():
            model(input_ids=batch.ids, attention_mask=batch.mask)
    finally:
        for handle in handles:
            handle.remove()
    return torch.stack(captured)


def enter(model: nn.Module, batch: Batch, layer: int, hidden: Tensor) -> Any:
    """The model's output when `hidden` (sentence, subword, d_model) stands in for its own state at `layer`."""
    with _entered(layer_list(model), layer, hidden), torch.inference_mode():
        return model(input_ids=batch.ids, attention_mask=batch.mask)


@contextmanager
def _entered(layers: nn.ModuleList, layer: int, hidden: Tensor) -> Iterator[None]:
    def before(
        module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if args:
            return (hidden, *args[1:]), kwargs
        return args, {**kwargs, "hidden_states": hidden}

    def after(module: nn.Module, inputs: Any, output: Any) -> Any:
        return hidden if isinstance(output, Tensor) else (hidden, *output[1:])

    if not 0 <= layer <= len(layers):
        raise ModelError(f"The model has layers 0 to {len(layers)}; it cannot be entered at {layer}.")
    if layer < len(layers):
        handle = layers[layer].register_forward_pre_hook(before, with_kwargs=True)
    else:
        handle = layers[-1].register_forward_hook(after)
    try:
        yield
    finally:
        handle.remove()


def subword_rows(
    model: nn.Module, tokenizer: Any, sentences: Sequence[Sequence[str]]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """States of every real subword, float64 (layer, row, d_model), and the sentence and the subword of each row.

    Rows are in the order of the batches, which depends on the tokenizer and the text alone: two models with one
    tokenizer give rows that pair up.
    """
    vectors, owners, subwords = [], [], []
    for batch in batches(tokenizer, [list(words) for words in sentences], split=True):
        real = batch.mask.bool()
        vectors.append(states(model, batch)[:, real].double().numpy())
        owners.append(np.repeat(batch.sentences, batch.mask.sum(1).numpy()))
        subwords.append(batch.ids[real].numpy())
    return np.concatenate(vectors, axis=1), np.concatenate(owners), np.concatenate(subwords)


def attend(model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
    """Attention probabilities (layer, sentence, head, subword, subword), outputs (layer, sentence, subword, d_model).

    The output is what the attention block adds up from its heads, before the residual connection.

    Raises:
        ModelError: If the architecture keeps its attention where we do not know, or does not return it.
    """
    captured: list[Tensor] = []

    def hook(module: nn.Module, inputs: Any, output: Any) -> None:
        captured.append(_first(output))

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


def _capture(captured: list[Tensor]) -> Callable[..., None]:
    def hook(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        captured.append(args[0] if args else kwargs["hidden_states"])

    return hook


def _first(output: Any) -> Tensor:
    return output if isinstance(output, Tensor) else output[0]


def predict_labels(model: Any, tokenizer: Any, texts: Sequence[str]) -> np.ndarray:
    """Number of the class that a model with a head gives each text, (text,)."""
    predicted = np.zeros(len(texts), dtype=np.int64)
    for batch in batches(tokenizer, texts, split=False):
        with torch.inference_mode():
            output = model(input_ids=batch.ids, attention_mask=batch.mask)
        predicted[batch.sentences] = output.logits.argmax(-1).numpy()
    return predicted
