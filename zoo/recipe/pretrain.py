"""Pretraining of one seed: a small BERT with rotary positions on masked or on replaced tokens, or
a small decoder on the next token (`zoo.recipe.decoders`).

The recipe: rotary positions (`RoFormerForMaskedLM`, BERT's six matrices a layer) because absolute
positions leave a model of this size on a plateau; windows of 64 tokens, AdamW with linear decay,
no dropout, loss on the predicted positions only. Every random choice is a function of (seed, step),
so that a run that was interrupted and resumed equals one that was not.

With a constant rate any step can be the last: what is kept then is the running average of the
weights over about the last tenth of the steps, which stands in for the decay (Shamir & Zhang 2013,
polynomial-decay averaging).

Reference: Devlin et al. 2019 (masking 80/10/10), Su et al. 2021 (rotary positions).
Deviations: 25 % of the tokens are predicted, not 15; no next-sentence task; one position in four of
a batch, not of each window, so that shapes are constant.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch.nn import functional

from core.errors import RecipeError
from zoo.recipe.decoders import evaluate_decoder, new_decoder, next_token_loss
from zoo.recipe.objectives import (
    GENERATOR_SHARE,
    ReplacedTokens,
    detection_loss,
    mask_tokens,
    masked_logits,
    masking_loss,
    replacement_loss,
    scored_places,
)
from zoo.recipe.states import add_to_average, resume, save_tensors, state_of, weights_of
from zoo.recipe.text import PAD

CHECKPOINT = "checkpoint.safetensors"
SAVE_EVERY = 250  # steps between checkpoints: about a minute on one thread
AVERAGE_EVERY = 10  # steps between two additions to the running average
OBJECTIVES = ("mask", "replaced", "causal")
SCHEDULES = ("linear", "constant")


@dataclass(frozen=True)
class Pretraining:
    """What a seed is trained with; the same for all seeds but for `seed`.

    Attributes:
        masked: Share of all positions that are predicted; a decoder predicts them all.
        objective: "mask", "replaced" (a generator replaces the masked tokens, the model detects
            which), or "causal" (a decoder predicts every next token).
        whole_words: Whether all tokens of a word are masked together.
        precision: "float32", or "bfloat16" (autocast; the weights stay float32).
        schedule: "linear" decay to 0 at the last step, or "constant" after the warm-up, whose
            result is the running average of the weights; `steps` may then be raised to train on.
        keep_steps: Steps whose weights (averaged, where there is an average) are kept.
    """

    seed: int
    vocabulary: int = 5000
    layers: int = 6
    d_model: int = 128
    heads: int = 4
    feed_forward: int = 512
    length: int = 64
    batch: int = 32
    steps: int = 12_300
    warmup: int = 200
    learning_rate: float = 1.5e-3
    weight_decay: float = 0.01
    masked: float = 0.25
    keep_steps: tuple[int, ...] = ()
    objective: str = "mask"
    whole_words: bool = False
    precision: str = "float32"
    schedule: str = "linear"

    def __post_init__(self) -> None:
        if self.objective not in OBJECTIVES or self.schedule not in SCHEDULES:
            raise RecipeError(
                f"There is no objective {self.objective!r} with a {self.schedule!r} schedule; "
                f"choose of {', '.join(OBJECTIVES)} and of {', '.join(SCHEDULES)}."
            )
        if self.precision not in ("float32", "bfloat16"):
            raise RecipeError(
                f"There is no precision {self.precision!r}; choose float32 or bfloat16."
            )

    @property
    def tokens(self) -> int:
        """Tokens seen in the whole training, special tokens included."""
        return self.steps * self.tokens_per_step

    @property
    def tokens_per_step(self) -> int:
        """Tokens of one batch, special tokens included."""
        return self.batch * self.length


def new_model(settings: Pretraining) -> Any:
    """Initialise a model as a function of the settings alone: a `RoFormerForMaskedLM`; for the
    objective "replaced" a `ReplacedTokens`, for "causal" a `LlamaForCausalLM`."""
    from transformers import RoFormerForMaskedLM, RoFormerModel

    torch.manual_seed(settings.seed)
    if settings.objective == "causal":
        return new_decoder(settings)
    if settings.objective == "mask":
        return RoFormerForMaskedLM(_configuration(settings))
    encoder = RoFormerModel(_configuration(settings))
    return ReplacedTokens(encoder, RoFormerForMaskedLM(_configuration(settings, GENERATOR_SHARE)))


def _configuration(settings: Pretraining, share: int = 1) -> Any:
    """Make the model's configuration, or that of one with 1 / `share` of its width and the same
    embeddings."""
    from transformers import RoFormerConfig

    return RoFormerConfig(
        vocab_size=settings.vocabulary,
        embedding_size=settings.d_model,
        hidden_size=settings.d_model // share,
        num_hidden_layers=settings.layers,
        num_attention_heads=max(1, settings.heads // share),
        intermediate_size=settings.feed_forward // share,
        max_position_embeddings=512,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        initializer_range=0.05,
        pad_token_id=PAD,
    )


def autocast(settings: Pretraining, device: str) -> torch.autocast:
    """Return the context of a forward pass in the settings' precision."""
    return torch.autocast(device, torch.bfloat16, enabled=settings.precision == "bfloat16")


def evaluate(
    model: Any, windows: np.ndarray, settings: Pretraining, device: str = "cpu"
) -> dict[str, float]:
    """Compute held-out masked loss (nats per token) and masked-token accuracy, with the same masks
    for every seed.

    Of a model that detects replaced tokens these are its generator's, with the model's own
    `detection_loss` (nats a token) beside them, and `detection_chance`, the loss of one that knows
    the share of replaced tokens alone. A decoder is scored by `evaluate_decoder`.
    """
    if settings.objective == "causal":
        return evaluate_decoder(model, windows, device)
    generator = torch.Generator().manual_seed(0)
    losses, hits, count, detected, replacements, tokens = 0.0, 0, 0, 0.0, 0, 0
    detector = model if isinstance(model, ReplacedTokens) else None
    model.eval()
    with torch.inference_mode():
        for start in range(0, len(windows), 128):
            ids = torch.from_numpy(windows[start : start + 128].astype(np.int64))
            corrupted, positions, truth = mask_tokens(
                ids, settings.masked, settings.vocabulary, generator
            )
            ids, corrupted, positions = (
                tensor.to(device) for tensor in (ids, corrupted, positions)
            )
            if detector is not None:
                drawn = torch.Generator().manual_seed(start)
                replaced, logits = detector.replace_tokens(ids, corrupted, positions, drawn)
                seen = int(scored_places(ids).sum())
                detected += float(detection_loss(detector.detect(replaced), ids, replaced)) * seen
                replacements, tokens = replacements + int((replaced != ids).sum()), tokens + seen
            else:
                logits = masked_logits(model, model.roformer, corrupted, positions)
            logits = logits.cpu()
            losses += float(functional.cross_entropy(logits, truth, reduction="sum"))
            hits += int((logits.argmax(1) == truth).sum())
            count += len(truth)
    model.train()
    scores = {"held_out_loss": losses / count, "masked_accuracy": hits / count}
    if detector is None:
        return scores
    share = torch.tensor(replacements / tokens)
    chance = float(functional.binary_cross_entropy(share, share))
    return scores | {"detection_loss": detected / tokens, "detection_chance": chance}


def pretrain(
    settings: Pretraining,
    windows: np.ndarray,
    work: Path,
    compile_graph: bool = False,
    report: Callable[[str], None] = lambda line: None,
    continues: np.ndarray | None = None,
    save_every: int = SAVE_EVERY,
) -> torch.nn.Module:
    """Train one seed on uint16 ids (window, subword), resuming from `work/checkpoint.safetensors`;
    `continues`, bool (vocabulary,), says which tokens continue a word. Raises RecipeError if the
    checkpoint is of other settings or cannot be written, or whole words lack `continues`."""
    if settings.whole_words and continues is None:
        raise RecipeError(
            "Whole words cannot be masked without knowing which tokens continue a word."
        )
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = new_model(settings).to(device)
    optimizer = _optimizer(model, settings)
    average: dict[str, torch.Tensor] = {}
    step, spent = resume(work / CHECKPOINT, model, optimizer, settings, average)
    loss_of = _loss_function(model, settings, compile_graph, continues, device)
    began, first, processor = time.monotonic(), step, time.process_time()
    if step == 0 and 0 in settings.keep_steps:
        save_tensors(work / "step-0.safetensors", weights_of(model), {})
    model.train()
    while step < settings.steps:
        for group in optimizer.param_groups:
            group["lr"] = _learning_rate(settings, step)
        loss = loss_of(torch.from_numpy(_batch(windows, settings, step).astype(np.int64)), step)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step += 1
        if settings.schedule == "constant" and step % AVERAGE_EVERY == 0:
            add_to_average(average, model, step // AVERAGE_EVERY)
        if step % 100 == 0 or step == settings.steps:
            pace = (time.monotonic() - began) / (step - first)
            tokens, minutes = settings.tokens_per_step / pace, pace * (settings.steps - step) / 60
            where = f"seed {settings.seed} step {step}/{settings.steps}"
            report(f"{where} loss {loss.item():.3f}, {tokens:.0f} tokens/s, {minutes:.0f} min left")
        note: dict[str, Any] = {"step": step, "settings": asdict(settings)}
        # runs compared at equal cost; the included models use another schedule
        if settings.schedule == "constant":
            note["processor_seconds"] = round(spent + time.process_time() - processor, 3)
        if step in settings.keep_steps:
            save_tensors(work / f"step-{step}.safetensors", average or weights_of(model), note)
        if step % save_every == 0 or step == settings.steps:
            save_tensors(work / CHECKPOINT, state_of(model, optimizer, average), note)
    return cast("torch.nn.Module", model.cpu())


def _optimizer(model: Any, settings: Pretraining) -> torch.optim.Optimizer:
    decayed = [p for p in model.parameters() if p.ndim > 1]
    kept = [p for p in model.parameters() if p.ndim <= 1]
    groups = [
        {"params": decayed, "weight_decay": settings.weight_decay},
        {"params": kept, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=settings.learning_rate, betas=(0.9, 0.98), fused=True)


def _loss_function(
    model: Any,
    settings: Pretraining,
    compile_graph: bool,
    continues: np.ndarray | None,
    device: str,
) -> Callable[[torch.Tensor, int], torch.Tensor]:
    """Make the function (ids, step) -> the objective's loss; its draws are a function of (seed,
    step)."""
    if settings.objective == "causal":

        def causal(ids: torch.Tensor, step: int) -> torch.Tensor:
            with autocast(settings, device):
                return next_token_loss(model, ids.to(device))

        return causal
    encoder = (
        torch.compile(model.roformer)
        if compile_graph and settings.objective == "mask"
        else model.roformer
    )
    words = torch.from_numpy(continues) if settings.whole_words and continues is not None else None

    def loss(ids: torch.Tensor, step: int) -> torch.Tensor:
        generator = torch.Generator().manual_seed(settings.seed * 1_000_003 + step)
        corrupted, positions, _ = mask_tokens(
            ids, settings.masked, settings.vocabulary, generator, words
        )
        ids, corrupted, positions = (tensor.to(device) for tensor in (ids, corrupted, positions))
        with autocast(settings, device):
            if settings.objective == "replaced":
                return replacement_loss(model, ids, corrupted, positions, generator)
            return masking_loss(model, encoder, ids, corrupted, positions)

    return loss


def _batch(windows: np.ndarray, settings: Pretraining, step: int) -> np.ndarray:
    """Return the `step`-th batch of a seed's own order: a fresh permutation every epoch."""
    per_epoch = max(1, len(windows) // settings.batch)
    epoch, place = divmod(step, per_epoch)
    order = np.random.default_rng([settings.seed, epoch]).permutation(len(windows))
    return windows[order[place * settings.batch : (place + 1) * settings.batch]]


def _learning_rate(settings: Pretraining, step: int) -> float:
    warm = min(1.0, (step + 1) / max(1, settings.warmup))
    return (
        settings.learning_rate
        * warm
        * (1 - step / settings.steps if settings.schedule == "linear" else 1.0)
    )
