"""The settings of `make zoo`, and the fine-tunes that follow from them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from core.models.zoo import READING
from zoo.recipe.quick import QUICK_TASKS
from zoo.recipe.settings import Finetuning, adapter_settings, run_settings
from zoo.recipe.tasks import BOX_TASKS, REVIEW

STAGES = (
    *("text", "pretrain", "finetune", "adapters", "decoders", "reviews"),
    *("parser", "questions", "readers", "manifest"),
)
# steps of seed 0 that are shipped: its initialisation, then log-spaced
SNAPSHOTS = (0, 50, 200, 800, 3200)
AGAIN = "seed-0-again"  # the recipe of seed 0 run a second time, with other kernels
DECODERS = 3  # causal models of the seeds' size, text and tokenizer
REVIEW_RANK, READER_RANK = 8, 16  # of adapters of decoders, and of the seeds' that answer questions
ACROSS = "sentiment"  # fine-tuned from every seed, for stitching
ADAPTED, RANKS = ("parse", "sentiment"), (1, 8, 64)  # tasks and ranks of adapters


@dataclass(frozen=True)
class Run:
    """One included fine-tune.

    Attributes:
        base_seed: Number of the seed, or decoder, that it starts from.
        run: Draws its head and the order of its data.
        frozen: Lowest layers that do not train, with the embeddings.
        dose: Factor on the common rate.
        rank: Of an adapter's factors; 0 for a fine-tune of all weights.
        family: "seed", or "decoder": what it starts from.
    """

    name: str
    task: str
    base_seed: int = 0
    run: int = 0
    frozen: int = 0
    dose: float = 1.0
    rank: int = 0
    family: str = "seed"

    @property
    def base(self) -> str:
        """Name of the included model that it starts from."""
        return f"{self.family}-{self.base_seed}"


KNOWN_TRUTHS = (
    *(
        Run(f"{task}-frozen-{layers}", task, frozen=layers)
        for task in ("parse", "sentiment")
        for layers in (2, 4)
    ),
    Run("sentiment-fast", "sentiment", dose=3.0),
    Run("parse-slow", "parse", dose=1 / 3),
)
"""Models with known answers: frozen layers, or another learning rate."""


@dataclass(frozen=True)
class Plan:
    """The settings of `make zoo`.

    Attributes:
        snapshots: Steps of seed 0 that become models of their own (`seed-0@step-N`).
        jobs: Models trained at once, one process each.
        steps: Pretraining steps, where not the recipe's own number.
    """

    out: Path
    work: Path
    text: str | None = None
    dataset: str | None = None
    data: Path | None = None
    treebank: Path | None = None
    seeds: int = 5
    runs: int = 3
    jobs: int = 1
    steps: int | None = None
    snapshots: tuple[int, ...] = SNAPSHOTS
    quick: bool = False
    only: tuple[str, ...] = STAGES

    @property
    def tasks(self) -> tuple[str, ...]:
        """Return the six included tasks, or those that a quick run can learn from the demo."""
        return QUICK_TASKS if self.quick and self.data is None else BOX_TASKS


def decoder_names(plan: Plan) -> list[str]:
    """Name the decoders, a single one when quick."""
    return [f"decoder-{seed}" for seed in range(1 if plan.quick else DECODERS)]


def finetune_runs(plan: Plan) -> list[Run]:
    """List every fine-tune: one of each task, further runs, other seeds, frozen and fast."""
    runs = [Run(f"{task}-{run}", task, run=run) for run in range(plan.runs) for task in plan.tasks]
    demo = plan.quick and plan.data is None
    across = plan.tasks[1] if demo else ACROSS
    runs += [
        Run(f"{across}-0-from-seed-{seed}", across, base_seed=seed) for seed in range(1, plan.seeds)
    ]
    return runs if demo else [*runs, *KNOWN_TRUTHS]


def adapter_runs(plan: Plan) -> list[Run]:
    """List every adapter of seed 0: each rank of each task, or a single small one."""
    small = plan.quick and plan.data is None
    tasks = plan.tasks[-1:] if small else ADAPTED
    ranks = RANKS[:1] if small else RANKS
    return [Run(f"{task}-0-lora-{rank}", task, rank=rank) for task in tasks for rank in ranks]


def review_runs(plan: Plan) -> list[Run]:
    """List the adapters of decoders, one of each, that write film reviews."""
    return [
        Run(f"review-{seed}", REVIEW, base_seed=seed, run=seed, rank=REVIEW_RANK, family="decoder")
        for seed in range(len(decoder_names(plan)))
    ]


def reader_runs(plan: Plan) -> list[Run]:
    """List the adapters of seed 0 that answer questions."""
    return [Run(f"qa-{run}", READING, run=run, rank=READER_RANK) for run in range(plan.runs)]


def settings_of(plan: Plan, run: Run) -> Finetuning:
    """Return the settings of one fine-tune or adapter."""
    if run.rank:
        return adapter_settings(run.task, run.rank, plan.quick, seed=run.run)
    return run_settings(run.task, run.run, plan.quick, frozen=run.frozen, dose=run.dose)


def run_steps(plan: Plan, run: Run) -> int:
    """Count the steps of a fine-tune or adapter, about."""
    settings = settings_of(plan, run)
    return settings.steps or (settings.train_limit or 0) // settings.batch
