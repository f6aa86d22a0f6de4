"""What a model is known by: the first thing that a study asks, in tasks, because the hub may have to answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from core.models.describing import describe, tokenizer_fingerprint
from core.runs.runner import Outputs
from core.runs.tasks import Task, pure


@dataclass(frozen=True)
class Identity:
    """What a model's vectors depend on, and its shape.

    Attributes:
        content: Fingerprints of weights and tokenizer, for keys.
        layers: Blocks; hidden states are one more.
        d_model: Width of a hidden state.
        model_type: As the configuration says it, such as "roformer".
    """

    ref: str
    content: str
    layers: int
    d_model: int
    model_type: str


@pure("models.identify")
def identify(ref: str) -> Identity:
    """Ask what a reference stands for now; a hub model's files are fetched.

    Raises:
        ModelError: If it cannot be found, read or trusted.
    """
    info = describe(ref)
    content = f"{info.fingerprint} {tokenizer_fingerprint(ref)}"
    return Identity(ref, content, info.layers, info.d_model, info.model_type)


def identity_tasks(refs: Iterable[str]) -> list[Task]:
    """A task for each distinct reference, with the role ("identity", reference)."""
    return [Task.of(ref, identify, role=("identity", ref), fleeting=True, ref=ref) for ref in dict.fromkeys(refs)]


def identities(ready: Outputs) -> dict[str, Identity]:
    """Identity by reference, of those that could be found; the others are among `ready.failures`."""
    return {role[1]: value for role, value in ready.values.items() if isinstance(value, Identity)}
