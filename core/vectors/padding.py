"""Token ids of a batch, padded to a common length.

Reference: none. Deviations: a padding token that the model has no vector of stands for none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    from core.models import LoadedModel


def padded(
    loaded: LoadedModel, sentences: Sequence[Sequence[int]]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Pad sentences of token ids to the longest: ids and mask, (sentence, subword)."""

    said, tokens = loaded.model.config.pad_token_id, loaded.model.config.vocab_size
    # RoBERTa counts positions from it
    pad = said if isinstance(said, int) and 0 <= said < tokens else 0
    ids, mask = pad_ids(sentences, pad)
    return ids.to(loaded.device), mask.to(loaded.device)


def pad_ids(sentences: Sequence[Sequence[int]], pad: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Pad sentences of token ids with an id: ids and mask, (sentence, subword)."""
    return pad_rows(sentences, pad), pad_rows([[1] * len(each) for each in sentences], 0)


def pad_rows(rows: Sequence[Sequence[int]], pad: int) -> torch.Tensor:
    """Put rows of whole numbers into one tensor, (row, longest), filled up with `pad`; it has one
    column at least."""
    import torch
    from torch.nn.utils.rnn import pad_sequence

    tensors = [torch.tensor(row or [pad], dtype=torch.long) for row in rows]
    return pad_sequence(tensors, batch_first=True, padding_value=pad)
