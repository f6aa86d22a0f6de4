"""Intermediate checkpoints of a training run, in order; which models share a run or an origin."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from core.errors import ModelError, by_number, listed
from core.models.hub.revisions import natural_key
from core.models.patterns import matching_refs
from core.models.references import is_of_revisions, parse_ref
from core.models.weights.origins import adapter_folder, base_of
from core.models.zoo import included_entries, read_manifest

STEP = re.compile(r"(?:step|steps|checkpoint)[-_]?(\d+)(k|M)?", re.IGNORECASE)
TOKENS = re.compile(r"tokens[-_]?(\d+)(k|M|B|T)", re.IGNORECASE)
STAGE = re.compile(r"stage[-_]?(\d+)", re.IGNORECASE)
CHECKPOINT = re.compile(  # ends the name of an intermediate checkpoint
    r"(?:global[-_]?)?(?:checkpoint|ckpt|steps?|epochs?)[-_]?\d+[kM]?$", re.IGNORECASE
)
TIMES = {"": 1, "k": 1_000, "m": 1_000_000, "b": 10**9, "t": 10**12}
LARGEST = 2**53  # number that a column and an axis hold exactly
MOST_NAMED = 4  # missing steps


def find_steps(patterns: Iterable[str], end: str, most: int) -> tuple[str, ...]:
    """List the intermediate checkpoints that references and patterns name, in order of training,
    without the final model; at `most` so many of a pattern's revisions, spread evenly. Raises
    SpecError, ModelError as `matching_refs`."""
    refs = dict.fromkeys(
        ref for pattern in patterns for ref in _spread(_steps_of(pattern, end), pattern, most)
    )
    return tuple(sorted(refs, key=_place))


def notices_of_steps(patterns: Iterable[str], end: str, most: int) -> list[str]:
    """Say, of what `find_steps` reads, how many revisions a pattern matches if not all are read,
    which steps are missing, and where included checkpoints come from."""
    patterns = tuple(patterns)
    included = (each for each in patterns if each.strip().startswith("zoo:"))
    runs = [
        run_of(ref) for pattern in included for ref in _steps_of(pattern, end) if run_of(ref) != ref
    ]
    notices = [
        f"The included checkpoints of {run} are of a second run of its recipe, which ends close to "
        "it but not exactly at it."
        for run in dict.fromkeys(runs)
    ]
    for pattern in filter(is_of_revisions, patterns):
        steps = _steps_of(pattern, end)
        if len(steps) > most:
            notices.append(
                f"{pattern} matches {len(steps):,} revisions, of which {most:,} were read, "
                "spread evenly. Raise Checkpoints at most to read more."
            )
        missing = missing_steps(
            number for ref in steps if (number := progress_of(ref)[0]) is not None
        )
        if missing:
            named = listed([f"{step:,}" for step in missing], MOST_NAMED)
            notices.append(
                f"{pattern} has no revision for {by_number(len(missing), 'step', 'steps')} "
                f"{named}, although those before and after are evenly spaced."
            )
    return notices


def missing_steps(numbers: Iterable[int]) -> list[int]:
    """List the steps that are missing between evenly spaced ones.

    Example:
        >>> missing_steps([0, 1, 512, 1000, 2000, 4000, 5000])
        [3000]
    """
    steps = sorted(set(numbers))
    missing: list[int] = []
    for before, low, high, after in zip(steps, steps[1:], steps[2:], steps[3:], strict=False):
        apart = low - before
        if after - high == apart and high - low > apart and (high - low) % apart == 0:
            missing += range(low + apart, high, apart)
    return missing


def _steps_of(pattern: str, end: str) -> tuple[str, ...]:
    """List the checkpoints that a pattern names, in order of training."""
    refs = (ref for ref in matching_refs(pattern, most=None) if ref != end)
    return tuple(sorted(refs, key=_place))


def _spread(steps: tuple[str, ...], pattern: str, most: int) -> tuple[str, ...]:
    """Choose at most this many revisions, the first and the last among them; keep all
    references that are no revisions."""
    if len(steps) <= most or not is_of_revisions(pattern):
        return steps
    return tuple(steps[round(n * (len(steps) - 1) / (most - 1))] for n in range(most))


def _place(ref: str) -> tuple[int, int, tuple[int | str, ...]]:
    """The place of a checkpoint in its run: by stage, then by steps, then by other numbers."""
    stage = STAGE.search(ref)
    return int(stage[1]) if stage else 0, progress_of(ref)[0] or 0, natural_key(ref)


def progress_of(ref: str) -> tuple[int | None, int | None, float | None]:
    """Read steps, tokens seen and held-out loss (nats) from a model's card or name."""
    entry = next((entry for entry in read_manifest() if entry.get("ref") == ref), None)
    if entry is not None:
        steps, tokens = entry.get("step", entry.get("steps")), entry.get("tokens")
        loss = (entry.get("scores") or {}).get("held_out_loss")
        return steps, tokens, None if loss is None else float(loss)
    return _number(STEP, ref), _number(TOKENS, ref), None


def run_of(ref: str) -> str:
    """Name the run that a checkpoint is of, by its reference: the final model's; itself otherwise.

    Example:
        >>> run_of("zoo:seed-0@step-50"), run_of("path:runs/a/checkpoint-300"), run_of("zoo:nli-0")
        ('zoo:seed-0', 'path:runs/a', 'zoo:nli-0')
    """
    return CHECKPOINT.sub("", ref.partition("@")[0]).rstrip("-_/\\")


def in_order_of_training(refs: Iterable[str]) -> tuple[str, ...]:
    """Sort references by their steps; a final model has as many as its last checkpoint, or more."""

    def place(ref: str) -> tuple[float, bool]:
        steps = progress_of(ref)[0]
        return math.inf if steps is None else float(steps), run_of(ref) == ref

    return tuple(sorted(dict.fromkeys(refs), key=place))


def origin_of(ref: str) -> str:
    """Follow a model to its run, to the base or the run that it repeats, and so on to the first.
    Models with one origin are no independent observations; a fine-tune whose base is not known is
    its own."""
    listed = included_entries()
    seen: list[str] = []
    while ref and ref not in seen:
        seen.append(ref)
        run = run_of(ref)
        entry = listed.get(run, {})
        ref = str(entry.get("base") or entry.get("second_run_of") or "") or (
            run if run != ref else _adapted(ref)
        )
    return seen[-1]


def _adapted(ref: str) -> str:
    """The base of an adapter that has been downloaded; "" for anything else."""
    try:
        return base_of(ref) if adapter_folder(parse_ref(ref)) is not None else ""
    except ModelError:
        return ""


def _number(pattern: re.Pattern[str], ref: str) -> int | None:
    """Read the last number of this form with its unit, such as 424B: folders above a model's may
    have numbers too."""
    *_, match = None, *pattern.finditer(ref)
    number = None if match is None else int(match[1]) * TIMES[(match[2] or "").lower()]
    return number if number is not None and number < LARGEST else None
