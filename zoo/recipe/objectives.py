"""What a model is pretrained on: masked tokens, masked whole words, or tokens that a small
generator replaced.

Masking asks for the true token at a quarter of the places. Replaced-token detection lets a
generator of a quarter of the width fill those places with tokens drawn from its predictions, and
asks the model of every place whether the token is the text's own; generator and model share their
word embeddings and learn together.

Every random choice comes from the generator that is passed in, so that a step is a function of its
number.

Reference: Devlin et al. 2019 (masking 80/10/10) and the whole-word option of the published BERT
code; Clark et al. 2020 (ELECTRA: small generator, shared embeddings, detection weighted 50).
Deviations: the generator's input is corrupted 80/10/10 as for masking, where the published ELECTRA
code masks 85 % and keeps 15 %; whole words are drawn until the next would exceed the share, where
BERT skips those that are too long.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from zoo.recipe.text import CLS, MASK, PAD, SEP, SPECIALS

DETECTION_WEIGHT = 50.0
GENERATOR_SHARE = 4  # the model's width over the generator's


def scored_places(flat: Tensor) -> Tensor:
    """Tell which of the flat ids are text: neither [CLS], [SEP] nor padding."""
    return (flat != CLS) & (flat != SEP) & (flat != PAD)


def mask_tokens(
    ids: Tensor,
    share: float,
    vocabulary: int,
    generator: torch.Generator,
    continues: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Corrupt a share of `ids` (window, subword) as BERT does; return (corrupted ids, flat
    positions, true ids there). With `continues`, bool (vocabulary,), whole words are predicted."""
    flat = ids.flatten()
    count = int(share * len(flat))  # constant for a batch shape: a compiled graph is compiled once
    if continues is None:
        eligible = torch.nonzero(scored_places(flat)).flatten()
        positions = eligible[torch.randperm(len(eligible), generator=generator)[:count]]
    else:
        positions = draw_words(ids, continues, count, generator)
    truth = flat[positions]
    kind = torch.rand(len(positions), generator=generator)
    drawn = torch.randint(len(SPECIALS), vocabulary, (len(positions),), generator=generator)
    corrupted = flat.clone()
    corrupted[positions] = torch.where(
        kind < 0.8, torch.full_like(truth, MASK), torch.where(kind < 0.9, drawn, truth)
    )
    return corrupted.view_as(ids), positions, truth


def draw_words(ids: Tensor, continues: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Draw the flat positions of all tokens of random words, `count` tokens at most. A word is a
    token and the continuations after it in the same window; a continuation that begins a window is
    a word of its own."""
    begins = ~continues[ids] | ~scored_places(
        ids
    )  # a special token may begin a word, but is none of its tokens
    word = torch.cumsum(begins.flatten(), 0) - 1
    places = torch.nonzero(scored_places(ids.flatten())).flatten()
    sizes = torch.bincount(word[places], minlength=int(word[-1]) + 1)
    words = torch.nonzero(sizes).flatten()
    words = words[torch.randperm(len(words), generator=generator)]
    chosen = torch.zeros(len(sizes), dtype=torch.bool)
    chosen[words[torch.cumsum(sizes[words], 0) <= count]] = True
    return places[chosen[word[places]]]


def masked_logits(
    model: Any, encoder: Callable[..., Any], corrupted: Tensor, positions: Tensor
) -> Tensor:
    """Compute logits at the masked positions only, which saves three quarters of the vocabulary
    projections."""
    hidden = encoder(corrupted)[0].flatten(0, 1)[positions]
    return cast("Tensor", model.cls(hidden))


def draw_tokens(logits: Tensor, generator: torch.Generator) -> Tensor:
    """Draw one token from each row's softmax, of logits (position, vocabulary)."""
    reached = torch.cumsum(logits.detach().float().cpu().softmax(-1), -1)
    level = torch.rand(len(logits), 1, generator=generator) * reached[:, -1:]
    return torch.searchsorted(reached, level, right=True).flatten().clamp_(max=logits.shape[1] - 1)


class ReplacedTokens(nn.Module):
    """A model that detects replaced tokens, and the masked language model that replaces them.

    Args:
        encoder: Model to be trained, a `RoFormerModel`.
        generator: `RoFormerForMaskedLM` with embeddings as wide as the encoder's; they become the
            encoder's.
    """

    def __init__(self, encoder: Any, generator: Any) -> None:
        super().__init__()
        d_model = encoder.config.hidden_size
        self.roformer = encoder
        self.generator = generator
        generator.set_input_embeddings(encoder.get_input_embeddings())
        generator.tie_weights()
        self.dense = nn.Linear(d_model, d_model)
        self.verdict = nn.Linear(d_model, 1)

    def detect(self, ids: Tensor) -> Tensor:
        """Compute the logit of each token having been replaced, shape (window, subword)."""
        hidden = functional.gelu(self.dense(self.roformer(ids)[0]))
        return cast("Tensor", self.verdict(hidden)[..., 0].float())

    def replace_tokens(
        self, ids: Tensor, corrupted: Tensor, positions: Tensor, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """Return (ids with the generator's tokens at `positions`, the generator's logits there)."""
        logits = masked_logits(self.generator, self.generator.roformer, corrupted, positions)
        replaced = ids.flatten().clone()
        replaced[positions] = draw_tokens(logits, generator).to(ids.device)
        return replaced.view_as(ids), logits


def masking_loss(
    model: Any, encoder: Callable[..., Any], ids: Tensor, corrupted: Tensor, positions: Tensor
) -> Tensor:
    """Compute the mean cross-entropy (nats) of the true tokens at the masked positions."""
    logits = masked_logits(model, encoder, corrupted, positions)
    return functional.cross_entropy(logits.float(), ids.flatten()[positions])


def replacement_loss(
    model: ReplacedTokens,
    ids: Tensor,
    corrupted: Tensor,
    positions: Tensor,
    generator: torch.Generator,
) -> Tensor:
    """Add 50 times the detection loss (a mean over all text tokens, of which one drawn true is not
    replaced) to the generator's masking loss, which it has no gradient for."""
    replaced, logits = model.replace_tokens(ids, corrupted, positions, generator)
    masking = functional.cross_entropy(logits.float(), ids.flatten()[positions])
    return masking + DETECTION_WEIGHT * detection_loss(model.detect(replaced), ids, replaced)


def detection_loss(verdicts: Tensor, ids: Tensor, replaced: Tensor) -> Tensor:
    """Compute the mean binary cross-entropy (nats per token) of `verdicts` on whether a token
    differs from the text's."""
    text = scored_places(ids)
    return functional.binary_cross_entropy_with_logits(
        verdicts[text], (replaced != ids)[text].float()
    )
