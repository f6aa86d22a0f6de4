"""Intermediate checkpoints of a training run, in order of their steps."""

from __future__ import annotations

import re
from collections.abc import Iterable

from core.models.describing import zoo_models
from core.models.patterns import matching_refs

STEP = re.compile(r"(?:step|steps|checkpoint)[-_]?(\d+)(k|M)?", re.IGNORECASE)
TOKENS = re.compile(r"tokens[-_]?(\d+)(k|M|B|T)", re.IGNORECASE)
TIMES = {"": 1, "k": 1_000, "m": 1_000_000, "b": 10**9, "t": 10**12}


def find_steps(patterns: Iterable[str], end: str) -> tuple[str, ...]:
    """List the intermediate checkpoints that references and patterns name, in order of training.

    Raises:
        SpecError: If a pattern matches nothing.
    """
    refs = dict.fromkeys(
        ref for pattern in patterns for ref in matching_refs(pattern) if ref != end
    )
    return tuple(sorted(refs, key=lambda ref: (progress_of(ref)[0] or 0, ref)))


def progress_of(ref: str) -> tuple[int | None, int | None, float | None]:
    """Read steps, tokens seen and held-out loss (nats) from a model's card or name."""
    entry = next((entry for entry in zoo_models() if entry.get("ref") == ref), None)
    if entry is not None:
        steps, tokens = entry.get("step", entry.get("steps")), entry.get("tokens")
        loss = (entry.get("scores") or {}).get("held_out_loss")
        return steps, tokens, None if loss is None else float(loss)
    match = STEP.search(ref)
    seen = TOKENS.search(ref)
    return _number(match), _number(seen), None


def _number(match: re.Match[str] | None) -> int | None:
    """Read a number with its unit, such as 424B."""
    return None if match is None else int(match[1]) * TIMES[(match[2] or "").lower()]
