"""Forward passes for stitching and attention: batches of text, states of all subwords, labels.

`core.models.loading.layers` runs models and feeds states into their layers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from core.maths.evaluation.scoring import rows_for
from core.maths.maps.linear import Aligner
from core.maths.progress import tick
from core.models.loading.layers import Batch, answers_in_tuples, enter, layer_list, states
from core.models.loading.tokenizers import Tokenizer
from core.vectors.forward import pad_ids, plan_whole_batches

BATCH = 64
ROWS = 512  # mapped at once, in double precision


def batches(
    tokenizer: Tokenizer, texts: Sequence[str] | Sequence[Sequence[str]]
) -> Iterator[Batch]:
    """Give texts (strings, or lists of words), truncated to the longest input of the models, in
    batches of similar length, longest first."""
    encoded = [encoding.ids for encoding in tokenizer.encode(texts, longest=tokenizer.longest)]
    for chosen in plan_whole_batches([len(ids) for ids in encoded], BATCH):
        rows = [encoded[number] for number in chosen]
        yield Batch(*pad_ids(rows, tokenizer.pad or 0), chosen)


def subword_rows(
    model: nn.Module,
    tokenizer: Tokenizer,
    sentences: Sequence[Sequence[str]],
    read: Callable[[nn.Module, Batch], Tensor] = states,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute what `read` says of every subword, float64 (layer, row, d_model), and each row's
    sentence and subword. Their order depends only on the tokenizer and the text, so that the rows
    of two models with the same tokenizer pair up."""
    vectors, owners, subwords = [], [], []
    for batch in batches(tokenizer, sentences):
        real = batch.mask.bool()
        vectors.append(read(model, batch)[:, real].double().numpy())
        owners.append(np.repeat(batch.sentences, batch.mask.sum(1).numpy()))
        subwords.append(batch.ids[real].numpy())
    return np.concatenate(vectors, axis=1), np.concatenate(owners), np.concatenate(subwords)


def predict_labels(model: Any, tokenizer: Tokenizer, texts: Sequence[str]) -> np.ndarray:
    """Predict the class number of each text by a model with a classification head, (text,)."""
    predicted = np.zeros(len(texts), dtype=np.int64)
    for batch in batches(tokenizer, texts):
        with torch.inference_mode():
            output = model(input_ids=batch.ids, attention_mask=batch.mask)
        predicted[batch.sentences] = output.logits.argmax(-1).numpy()
    return predicted


def stitched_labels(
    lower: Any,
    upper: Any,
    tokenizer: Tokenizer,
    labelled: Sequence[tuple[str, str]],
    aligners: Mapping[str, Aligner],
) -> dict[str, np.ndarray]:
    """Predict the class number of each text by the lower layers of one model, a map, and the upper
    layers and head of the other: (layer, text) by method."""
    shape = (1 + len(layer_list(upper)), len(labelled))
    predicted = {name: np.zeros(shape, dtype=np.int64) for name in aligners}
    done, parts = 0, list(batches(tokenizer, [text for text, _ in labelled]))
    in_tuple = bool(parts) and answers_in_tuples(upper, parts[0])
    for batch in parts:
        hidden, real = states(lower, batch), batch.mask.bool()
        given, types = hidden[:, real], batch.ids[real].numpy()
        for name, aligner in aligners.items():
            mapped = hidden.clone()
            rows = torch.empty_like(given)
            for start in range(0, len(types), ROWS):
                part = slice(start, start + ROWS)
                chunk = rows_for(aligner, given[:, part].double().numpy(), types[part])
                rows[:, part] = torch.from_numpy(aligner.transform(chunk))
            mapped[:, real] = rows
            for layer in range(shape[0]):
                logits = enter(upper, batch, layer, mapped[layer], in_tuple=in_tuple).logits
                predicted[name][layer, batch.sentences] = logits.argmax(-1).numpy()
        done += len(batch.sentences)
        tick(done / len(labelled))
    return predicted
