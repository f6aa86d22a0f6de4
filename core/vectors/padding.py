"""Token ids of a batch: padded to a common length, and the token that a decoder begins with.

Reference: none. Deviations: a padding token that the model has no vector of stands for none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    from core.models import LoadedModel


def padded(
    loaded: LoadedModel, sentences: Sequence[Sequence[int]]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Pad sentences of token ids to the longest: ids and mask, (sentence, subword)."""
    import torch

    said = loaded.model.config.pad_token_id
    pad = said if _has_vector(loaded, said) else 0  # RoBERTa counts positions from it
    width = max(map(len, sentences))
    ids = torch.full((len(sentences), width), pad)
    mask = torch.zeros(len(sentences), width, dtype=torch.long)
    for row, sentence in enumerate(sentences):
        ids[row, : len(sentence)] = torch.tensor(sentence)
        mask[row, : len(sentence)] = 1
    return ids.to(loaded.device), mask.to(loaded.device)


def start_token(loaded: LoadedModel) -> int:
    """The token that the decoder reads before a sentence.

    Raises:
        ModelError: If the configuration names none that the model has.
    """
    start: Any = getattr(loaded.model.config, "decoder_start_token_id", None)
    if _has_vector(loaded, start):
        return int(start)
    raise ModelError(
        f"config.json of {loaded.info.ref} names no decoder_start_token_id of its vocabulary, "
        "which the decoder reads first: "
        "add the one that the model was trained with, or choose side encoder."
    )


def _has_vector(loaded: LoadedModel, token: object) -> bool:
    return isinstance(token, int) and 0 <= token < loaded.model.config.vocab_size
