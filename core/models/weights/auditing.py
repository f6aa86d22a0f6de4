"""The audit as the first step of a study of a training run or of seeds: what it leaves out.

A model whose weights cannot be sampled, such as one with random weights, is not judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from core.errors import counted
from core.models.identity import IDENTICAL
from core.models.weights.audit import (
    ALIKE,
    FINAL,
    FINE,
    MISPLACED,
    RELATED,
    SWAPPED,
    Audit,
    Sample,
    Verdict,
    audit_run,
    audit_seeds,
    fault_in_words,
)
from core.models.weights.samples import look_at, sample_of
from core.runs.runner import Outputs
from core.runs.tasks import Task

LOOK = "look"  # role of a task that samples weights, with the reference
WHERE = "The audit of checkpoints shows how this is known."


def look_tasks(refs: Iterable[str]) -> list[Task]:
    """Make a task per distinct reference, which samples a model's weights."""
    return [
        Task.of(f"weights of {ref}", look_at, role=(LOOK, ref), fleeting=True, ref=ref)
        for ref in dict.fromkeys(refs)
    ]


def find_unusable_steps(ready: Outputs, steps: Sequence[str], end: str) -> dict[str, Verdict]:
    """Find the checkpoints of a run, in the order of training, that cannot be used: copies, swapped
    ones, those of another run, and one that is the final model. One that may be a copy is used."""
    verdicts = _judge(audit_run, ready, (*steps, end))
    return {
        ref: each
        for ref, each in verdicts.items()
        if end in verdicts and each.fault not in (FINE, ALIKE) and ref != end
    }


def find_dependent_seeds(ready: Outputs, seeds: Sequence[str]) -> dict[str, Verdict]:
    """Find the models of a group that are, or may be, copies of others in it, or related to
    them."""
    verdicts = _judge(audit_seeds, ready, seeds)
    dependent = (IDENTICAL, ALIKE, RELATED)
    return {ref: each for ref, each in verdicts.items() if each.fault in dependent}


def usable_seeds(ready: Outputs, seeds: Sequence[str]) -> tuple[str, ...]:
    """List the models of a group without copies; all of them where fewer than two would be left."""
    verdicts = find_dependent_seeds(ready, seeds)
    distinct = [ref for ref in seeds if verdicts.get(ref, Verdict()).fault != IDENTICAL]
    return tuple(distinct if len(distinct) > 1 else seeds)


def describe_steps(verdicts: Mapping[str, Verdict]) -> list[str]:
    """Say which checkpoints were left out and why, by the verdicts of `find_unusable_steps`."""
    faults = {ref: each for ref, each in verdicts.items() if each.fault != FINAL}
    notices = [
        f"{ref} was left out, because it {_words(each)}."
        for ref, each in verdicts.items()
        if ref not in faults
    ]
    if faults:
        were = counted(len(faults), "checkpoint was", "checkpoints were")
        moved = any(each.fault in (SWAPPED, MISPLACED) for each in faults.values())
        why = "weights do not fit their places" if moved else "files cannot be right"
        notices.append(
            f"{were} left out, because their {why}: "
            f"{'; '.join(f'{ref} {_words(each)}' for ref, each in faults.items())}. {WHERE}"
        )
    return notices


def describe_seeds(ready: Outputs, seeds: Sequence[str]) -> list[str]:
    """Say which models were left out as copies, and which ones are no independent seeds."""
    verdicts, usable = find_dependent_seeds(ready, seeds), usable_seeds(ready, seeds)
    left = [f"{ref} {_words(each)}" for ref, each in verdicts.items() if ref not in usable]
    dependent = [f"{ref} {_words(each)}" for ref, each in verdicts.items() if ref in usable]
    notices = []
    if left:
        were = counted(len(left), "model was", "models were")
        notices.append(f"{were} left out as copies: {'; '.join(left)}. {WHERE}")
    if dependent:
        notices.append(
            "Some models are no independent seeds, "
            f"so what they share may come from their common start: {'; '.join(dependent)}. {WHERE}"
        )
    return notices


def _words(verdict: Verdict) -> str:
    """Say what is wrong, without its subject."""
    return fault_in_words(verdict.fault, "", verdict.partner, {}).lstrip()


def _judge(
    audit: Callable[[Mapping[str, Sample], Mapping[str, str]], Audit],
    ready: Outputs,
    refs: Iterable[str],
) -> dict[str, Verdict]:
    """Audit the models whose weights could be sampled, if these are two or more."""
    looks = {ref: ready.values.get((LOOK, ref), {}) for ref in refs}
    samples = {ref: sample_of(look) for ref, look in looks.items() if "numbers" in look}
    contents = {ref: str(looks[ref]["weights"]) for ref in samples}
    return audit(samples, contents).verdicts if len(samples) > 1 else {}
