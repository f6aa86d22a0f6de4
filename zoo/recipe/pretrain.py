"""Masked-language-model pretraining of one seed: a small BERT with rotary positions.

The recipe: rotary positions (`RoFormerForMaskedLM`, BERT's six matrices a layer) because absolute
positions leave a model of this size on a plateau; windows of 64 tokens, AdamW with linear decay,
no dropout, loss on the masked positions alone. Every random choice is a function of (seed, step),
so that a run that was interrupted and resumed equals one that was not.

Reference: Devlin et al. 2019 (masking 80/10/10), Su et al. 2021 (rotary positions).
Deviations: 25 % of the tokens are predicted, not 15; no next-sentence task; one position in four of a
batch, not of each window, so that shapes are constant.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch.nn import functional

from core.errors import RecipeError
from zoo.recipe.text import CLS, MASK, PAD, SEP, SPECIALS

CHECKPOINT = "checkpoint.safetensors"
SAVE_EVERY = 250  # steps between checkpoints: about a minute on one thread


@dataclass(frozen=True)
class Pretraining:
    """What a seed is trained with; the same for all seeds but for `seed`."""

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

    @property
    def tokens(self) -> int:
        """Tokens seen in the whole training, special tokens included."""
        return self.steps * self.tokens_per_step

    @property
    def tokens_per_step(self) -> int:
        """Tokens of one batch, special tokens included."""
        return self.batch * self.length


def new_model(settings: Pretraining) -> Any:
    """A freshly initialised model, a function of the seed alone."""
    from transformers import RoFormerConfig, RoFormerForMaskedLM

    torch.manual_seed(settings.seed)
    return RoFormerForMaskedLM(
        RoFormerConfig(
            vocab_size=settings.vocabulary,
            embedding_size=settings.d_model,
            hidden_size=settings.d_model,
            num_hidden_layers=settings.layers,
            num_attention_heads=settings.heads,
            intermediate_size=settings.feed_forward,
            max_position_embeddings=512,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            initializer_range=0.05,
            pad_token_id=PAD,
        )
    )


def mask_tokens(
    ids: torch.Tensor, share: float, vocabulary: int, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """BERT's corruption of `ids` (window, subword): (corrupted ids, flat positions, true ids there)."""
    flat = ids.flatten()
    eligible = torch.nonzero((flat != CLS) & (flat != SEP) & (flat != PAD)).flatten()
    count = int(share * len(flat))  # constant for a batch shape: a compiled graph is compiled once
    positions = eligible[torch.randperm(len(eligible), generator=generator)[:count]]
    truth = flat[positions]
    kind = torch.rand(len(positions), generator=generator)
    drawn = torch.randint(len(SPECIALS), vocabulary, (len(positions),), generator=generator)
    corrupted = flat.clone()
    corrupted[positions] = torch.where(kind < 0.8, torch.full_like(truth, MASK), torch.where(kind < 0.9, drawn, truth))
    return corrupted.view_as(ids), positions, truth


def masked_logits(
    model: Any, encoder: Callable[..., Any], corrupted: torch.Tensor, positions: torch.Tensor
) -> torch.Tensor:
    """Logits at the masked positions only: a quarter of the vocabulary projections."""
    hidden = encoder(corrupted)[0].flatten(0, 1)[positions]
    return cast("torch.Tensor", model.cls(hidden))


def evaluate(model: Any, windows: np.ndarray, settings: Pretraining, device: str = "cpu") -> dict[str, float]:
    """Held-out masked loss (nats a token) and masked-token accuracy; the same masks for every seed."""
    generator = torch.Generator().manual_seed(0)
    losses, hits, count = 0.0, 0, 0
    model.eval()
    with torch.inference_mode():
        for start in range(0, len(windows), 128):
            ids = torch.from_numpy(windows[start : start + 128].astype(np.int64))
            corrupted, positions, truth = mask_tokens(ids, settings.masked, settings.vocabulary, generator)
            logits = masked_logits(model, model.roformer, corrupted.to(device), positions.to(device)).cpu()
            losses += float(functional.cross_entropy(logits, truth, reduction="sum"))
            hits += int((logits.argmax(1) == truth).sum())
            count += len(truth)
    model.train()
    return {"held_out_loss": losses / count, "masked_accuracy": hits / count}


def pretrain(
    settings: Pretraining,
    windows: np.ndarray,
    work: Path,
    compile_graph: bool = False,
    report: Callable[[str], None] = lambda line: None,
) -> torch.nn.Module:
    """Train one seed, resuming from `work/checkpoint.safetensors` where there is one.

    Args:
        windows: uint16 token ids, shape (window, subword).
        work: Folder of this seed's checkpoint; snapshots at `keep_steps` go to `work/step-N.safetensors`.

    Raises:
        RecipeError: If the checkpoint is of other settings or cannot be written.
    """
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = new_model(settings).to(device)
    decayed = [p for p in model.parameters() if p.ndim > 1]
    kept = [p for p in model.parameters() if p.ndim <= 1]
    groups = [{"params": decayed, "weight_decay": settings.weight_decay}, {"params": kept, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=settings.learning_rate, betas=(0.9, 0.98), fused=True)
    step = _resume(work, model, optimizer, settings)
    encoder = torch.compile(model.roformer) if compile_graph else model.roformer
    began, first = time.monotonic(), step
    if step == 0 and 0 in settings.keep_steps:
        _save(work / "step-0.safetensors", _weights(model), {})
    model.train()
    while step < settings.steps:
        ids = torch.from_numpy(_batch(windows, settings, step).astype(np.int64))
        generator = torch.Generator().manual_seed(settings.seed * 1_000_003 + step)
        corrupted, positions, truth = mask_tokens(ids, settings.masked, settings.vocabulary, generator)
        rate = _learning_rate(settings, step)
        for group in optimizer.param_groups:
            group["lr"] = rate
        logits = masked_logits(model, encoder, corrupted.to(device), positions.to(device))
        loss = functional.cross_entropy(logits.float(), truth.to(device))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step += 1
        if step % 100 == 0 or step == settings.steps:
            pace = (time.monotonic() - began) / (step - first)
            tokens, minutes = settings.batch * settings.length / pace, pace * (settings.steps - step) / 60
            where = f"seed {settings.seed} step {step}/{settings.steps}"
            report(f"{where} loss {loss.item():.3f}, {tokens:.0f} tokens/s, {minutes:.0f} min left")
        if step in settings.keep_steps:
            _save(work / f"step-{step}.safetensors", _weights(model), {})
        if step % SAVE_EVERY == 0 or step == settings.steps:
            note = {"step": step, "settings": asdict(settings)}
            _save(work / CHECKPOINT, _state(model, optimizer), note)
    return cast("torch.nn.Module", model.cpu())


def _batch(windows: np.ndarray, settings: Pretraining, step: int) -> np.ndarray:
    """The `step`-th batch of a seed's own order: a fresh permutation every epoch."""
    per_epoch = max(1, len(windows) // settings.batch)
    epoch, place = divmod(step, per_epoch)
    order = np.random.default_rng([settings.seed, epoch]).permutation(len(windows))
    return windows[order[place * settings.batch : (place + 1) * settings.batch]]


def _learning_rate(settings: Pretraining, step: int) -> float:
    warm = min(1.0, (step + 1) / max(1, settings.warmup))
    return settings.learning_rate * warm * (1 - step / settings.steps)


def _weights(model: Any) -> dict[str, torch.Tensor]:
    return {name: value.detach().cpu().contiguous() for name, value in model.named_parameters()}


def _state(model: Any, optimizer: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    state = {f"model.{name}": value for name, value in _weights(model).items()}
    for name, parameter in model.named_parameters():
        for key, value in optimizer.state[parameter].items():  # empty where there is no gradient: the rotary table
            state[f"{key}.{name}"] = value.detach().cpu().contiguous()
    return state


def _save(path: Path, tensors: dict[str, torch.Tensor], note: dict[str, Any]) -> None:
    """Whole or not at all: written beside, then moved into place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    try:
        save_file(tensors, partial, metadata={"note": json.dumps(note)})
        partial.replace(path)
    except OSError as error:
        raise RecipeError(f"{path} could not be written ({error}); free some space and run again to resume.") from error


def _resume(work: Path, model: Any, optimizer: torch.optim.Optimizer, settings: Pretraining) -> int:
    path = work / CHECKPOINT
    if not path.is_file():
        return 0
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as handle:
            note = json.loads(handle.metadata()["note"])
        state = load_file(path)
    except (SafetensorError, KeyError, json.JSONDecodeError) as error:
        raise RecipeError(f"{path} is damaged ({error}); delete it to start this seed again.") from error
    wanted = json.loads(json.dumps(asdict(settings)))
    if {**note["settings"], "keep_steps": None} != {**wanted, "keep_steps": None}:
        raise RecipeError(f"{path} was made with other settings; delete it or use another work folder.")
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(state[f"model.{name}"])
            if f"step.{name}" in state:
                optimizer.state[parameter] = {
                    key: state[f"{key}.{name}"].to(parameter.device) for key in ("step", "exp_avg", "exp_avg_sq")
                }
    return int(note["step"])
