"""Settings of fine-tuning: common to the included tasks, and the usual ones of the Hub's.

The six tasks share all settings (steps, batch size, learning rate, warmup, decay), so that the size
of a weight change does not reveal the task. They were chosen for all six together on a tenth of the
training data (`python -m zoo.recipe.tune`, one run each), never on the test part:

    600 steps of 32, rate    3e-4   5e-4   1e-3
    parse, UAS               .794   .822   .845
    sentiment, accuracy      .741   .768   .768
    nli, accuracy                   .657   .649

The higher rate improves parse by two points and the other two not at all. At three times 1e-3,
sentiment was still at chance (loss .693) after 500 steps; at three times 5e-4 it learns its task.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace


@dataclass(frozen=True)
class Finetuning:
    """How a task is trained; `seed` draws the head and the order of the data.

    Attributes:
        steps: Optimiser steps; None to count `epochs` instead, as is usual for the hub's tasks.
        epochs: Passes over the training part, where `steps` is None.
        dose: Factor on `learning_rate`: 3 for the included fast models, 1/3 for the slow ones.
        frozen: Lowest layers that do not train, the embeddings with them; 0 trains everything.
        batch: Sentences a step.
        warmup: Share of the steps over which the rate rises, before it falls linearly to zero.
    """

    seed: int = 0
    steps: int | None = None
    epochs: float | None = 3.0
    learning_rate: float = 5e-4
    dose: float = 1.0
    frozen: int = 0
    batch: int = 32
    warmup: float = 0.1
    weight_decay: float = 0.01
    dropout: float = 0.0
    max_length: int = 128
    arc_size: int = 64
    train_limit: int | None = None
    test_limit: int | None = None


@dataclass(frozen=True)
class LowRank(Finetuning):
    """How a LoRA adapter is trained: in bfloat16 (autocast), with its numbers in float32.

    Attributes:
        rank: Of the factors.
        alpha: Numerator of their scaling, alpha / rank.
    """

    rank: int = 8
    alpha: float = 16.0


COMMON = Finetuning(steps=600, epochs=None, learning_rate=5e-4)
"""The common training settings of the included tasks."""

ADAPTER_TRAINING = {  # task, rank -> rate, steps
    ("sentiment", 1): (4e-3, 1200),
    ("sentiment", 8): (1.5e-3, 1000),
    ("sentiment", 64): (1e-3, 900),
    ("parse", 1): (1e-2, 1000),
    ("parse", 8): (5e-3, 800),
    ("parse", 64): (3e-3, 700),
}
# as above, for one rank each. On a tenth of the questions and 300 steps of 16, readers of rank 16
# reach F1 .69 at 4e-3 and .51 at 8e-3; a fine-tune of all weights .62 (250 steps at 1e-3).
LATER_TRAINING = {
    ("qa", 16): (4e-3, 1200),
    ("review", 8): (5e-3, 600),
}
QUICK_RATE = 5e-3

HUB_SETTINGS = {
    "mnli": Finetuning(epochs=3, learning_rate=3e-5, dropout=0.1),
    "squad": Finetuning(epochs=2, learning_rate=3e-5, dropout=0.1, max_length=384),
}
"""The usual settings for fine-tuning a Hub model on the two large data sets."""


def run_settings(
    task: str, seed: int, quick: bool = False, *, frozen: int = 0, dose: float = 1.0
) -> Finetuning:
    """Return one run's settings: the common ones, or a Hub task's own; a few steps when quick."""
    settings = replace(HUB_SETTINGS.get(task, COMMON), seed=seed, frozen=frozen, dose=dose)
    return (
        replace(settings, steps=None, epochs=1.0, train_limit=64, test_limit=32)
        if quick
        else settings
    )


def settings_on(
    task: str, seed: int, steps: int | None, rate: float | None, frozen: int, rank: int
) -> Finetuning:
    """Return the settings of one model fine-tuned by itself: those of `run_settings`, but for what
    is given; of an adapter if the rank is not 0."""
    usual = run_settings(task, seed, frozen=frozen)
    if steps:
        usual = replace(usual, steps=steps, epochs=None)
    if rate:
        usual = replace(usual, learning_rate=rate)
    return LowRank(**asdict(usual), rank=rank, alpha=2.0 * rank) if rank else usual


def adapter_settings(task: str, rank: int, quick: bool = False, seed: int = 0) -> LowRank:
    """Return the settings of an adapter of this rank; a few steps when quick."""
    training = ADAPTER_TRAINING | LATER_TRAINING
    rate, steps = training[task, rank] if not quick else (QUICK_RATE, None)
    shared = LowRank(
        seed=seed, steps=steps, epochs=None, learning_rate=rate, rank=rank, alpha=2.0 * rank
    )
    return replace(shared, epochs=1.0, train_limit=64, test_limit=32) if quick else shared
