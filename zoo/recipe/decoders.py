"""Small decoders: Llama's form, trained to predict every next token of the same text.

Input and output embeddings are one matrix, as in the seeds. The last place of a window is neither
read nor predicted: it holds [SEP] in every window. Within a window, [SEP] ends a paragraph and is
predicted as any token is.

Reference: Touvron et al. 2023 (rotary positions, gated feed-forward part, RMS norms before each
part). Deviations: windows of 64 tokens may begin in the middle of a sentence; no dropout, biases
none.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from zoo.recipe.objectives import scored_places
from zoo.recipe.text import CLS, PAD, SEP

FEED_FORWARD = 344  # inner width of a gated part with about the parameters of a plain one of 512
STEPS, LEARNING_RATE = 4_500, 4e-3  # 9.2 million tokens; every one is predicted
SAVE_EVERY = 50  # steps between checkpoints: a busy machine may take minutes for them
EVALUATED = 128  # windows at once


def new_decoder(settings: Any) -> Any:
    """Initialise the `LlamaForCausalLM` of a `Pretraining` from torch's random state."""
    from transformers import LlamaConfig, LlamaForCausalLM

    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=settings.vocabulary,
            hidden_size=settings.d_model,
            num_hidden_layers=settings.layers,
            num_attention_heads=settings.heads,
            intermediate_size=settings.feed_forward,
            max_position_embeddings=512,
            initializer_range=0.05,
            tie_word_embeddings=True,
            pad_token_id=PAD,
            bos_token_id=CLS,
            eos_token_id=SEP,
        )
    )


def next_token_logits(model: Any, ids: Tensor) -> Tensor:
    """Compute logits (window, subword - 2, vocabulary); row i predicts place i + 1 of a window."""
    return cast("Tensor", model(ids[:, :-2], use_cache=False).logits.float())


def next_token_loss(model: Any, ids: Tensor) -> Tensor:
    """Compute the mean cross-entropy (nats) of each next token, ends of paragraphs included."""
    logits = next_token_logits(model, ids)
    return functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:-1].flatten())


def evaluate_decoder(model: Any, windows: np.ndarray, device: str = "cpu") -> dict[str, float]:
    """Score the prediction of each token of held-out windows from those before it: `held_out_loss`
    (nats a token) and `next_token_accuracy`. Special tokens are not scored, as in
    `text_baselines`."""
    losses, hits, count = 0.0, 0, 0
    model.eval()
    with torch.inference_mode():
        for start in range(0, len(windows), EVALUATED):
            ids = torch.from_numpy(windows[start : start + EVALUATED].astype(np.int64)).to(device)
            truth = ids[:, 1:-1]
            text = scored_places(truth)
            logits = next_token_logits(model, ids)[text]
            losses += float(functional.cross_entropy(logits, truth[text], reduction="sum"))
            hits += int((logits.argmax(1) == truth[text]).sum())
            count += int(text.sum())
    model.train()
    return {"held_out_loss": losses / count, "next_token_accuracy": hits / count}
