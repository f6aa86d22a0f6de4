"""The training of a task's model: batches, loss, AdamW with warmup and linear decay; a run that was
interrupted resumes where its state was kept last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from core.errors import RecipeError
from zoo.recipe.batches import IGNORED, Encoded, collate, training_order
from zoo.recipe.scores import forward
from zoo.recipe.settings import Finetuning, LowRank
from zoo.recipe.states import resume, save_tensors, state_of
from zoo.recipe.tasks import Kind

Report = Callable[[str], None]
SAVE_EVERY = 100  # steps


def train(
    model: Any,
    kind: Kind,
    items: list[Encoded],
    settings: Finetuning,
    pad: int,
    device: str,
    name: str,
    report: Report,
    state: Path | None = None,
) -> tuple[int, int]:
    """Train the parameters that are not frozen, in place; return the numbers of steps and of tokens
    seen, without padding. The run is resumed from the file `state`, if any. Raises RecipeError if
    the loss stops being a number, or the file is damaged or cannot be written."""
    lengths = [len(item.ids) for item in items]
    per_epoch = len(training_order(lengths, settings.batch, settings.seed, 0))
    total = settings.steps or max(1, round((settings.epochs or 0) * per_epoch))
    rate = settings.learning_rate * settings.dose
    decayed = [p for p in model.parameters() if p.requires_grad and p.ndim > 1]
    kept = [p for p in model.parameters() if p.requires_grad and p.ndim <= 1]
    groups = [
        {"params": decayed, "weight_decay": settings.weight_decay},
        {"params": kept, "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98), fused=True)
    model.train()
    done = resume(state, model, optimizer, settings)[0] if state is not None else 0
    step, epoch, tokens, running = 0, 0, 0, 0.0
    while step < total:
        for chosen in training_order(lengths, settings.batch, settings.seed, epoch)[: total - step]:
            tokens += sum(lengths[index] for index in chosen)
            if step < done:
                step += 1
                continue
            tensors = {
                key: value.to(device)
                for key, value in collate([items[i] for i in chosen], pad).items()
            }
            warming = (step + 1) / max(1.0, settings.warmup * total)
            decaying = (total - step) / max(1.0, (1 - settings.warmup) * total)
            for group in optimizer.param_groups:
                group["lr"] = rate * min(1.0, warming, decaying)
            with torch.autocast(device, torch.bfloat16, enabled=isinstance(settings, LowRank)):
                loss = task_loss(model, kind, tensors)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            step += 1
            running += (float(loss.detach()) - running) / min(step - done, 50)
            if step % 100 == 0 or step == total:
                report(f"{name} step {step}/{total} loss {running:.3f}")
                if running != running:
                    raise RecipeError(
                        f"{name}: the loss is not a number after {step} steps; "
                        "lower the learning rate."
                    )
            if state is not None and step % SAVE_EVERY == 0 and step < total:
                note = {"step": step, "settings": asdict(settings)}
                save_tensors(state, state_of(model, optimizer), note)
        epoch += 1
    return step, tokens


def task_loss(model: Any, kind: Kind, tensors: dict[str, Tensor]) -> Tensor:
    """Compute the cross-entropy of a batch: of labels, of heads, of next tokens, or the mean over a
    span's two ends."""
    output = forward(model, kind, tensors)
    if kind == "span":
        ends = ((output.start_logits, "start_positions"), (output.end_logits, "end_positions"))
        return (
            sum(
                (functional.cross_entropy(logits, tensors[key]) for logits, key in ends),
                torch.tensor(0.0),
            )
            / 2
        )
    if kind == "text":
        logits, truth = output.logits[:, :-1].float(), tensors["labels"][:, 1:]
        return functional.cross_entropy(logits.flatten(0, 1), truth.flatten(), ignore_index=IGNORED)
    logits, truth = (
        (output, tensors["heads"]) if kind == "arcs" else (output.logits, tensors["labels"])
    )
    return functional.cross_entropy(logits.flatten(0, -2), truth.flatten(), ignore_index=IGNORED)
