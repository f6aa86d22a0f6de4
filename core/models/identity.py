"""What a model is known by: the first thing that a study asks, in tasks, because the hub may have to answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from core.errors import ModelError
from core.models.describing import describe, fingerprint, tokenizer_fingerprint
from core.runs.runner import Outputs
from core.runs.tasks import IDENTITY, Task, pure


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
    return Identity(ref, content_of(ref), info.layers, info.d_model, info.model_type)


def content_of(ref: str) -> str:
    """Fingerprints of a model's weights and tokenizer, for keys.

    Raises:
        ModelError: As `describe`.
    """
    return f"{fingerprint(ref)} {tokenizer_fingerprint(ref)}"


@contextmanager
def as_identified(arguments: Mapping[str, Any]) -> Iterator[None]:
    """The guard of tasks that run models: each is what the key says, and stays at that commit inside the block.

    Args:
        arguments: Of a task; `x_identity` says what the model `x` is known by, `identity` what `model` is.

    Raises:
        ModelError: If a model has changed since the study asked.
    """
    from core.models.hub.client import pinned

    with pinned():
        for name in arguments:
            if name.endswith(IDENTITY):
                ref = arguments[name.removesuffix(IDENTITY).rstrip("_") or "model"]
                if content_of(ref) != arguments[name]:
                    raise ModelError(f"{ref} has changed since this study began: run the study again.")
        yield


def identity_tasks(refs: Iterable[str]) -> list[Task]:
    """A task for each distinct reference, with the role ("identity", reference)."""
    return [Task.of(ref, identify, role=("identity", ref), fleeting=True, ref=ref) for ref in dict.fromkeys(refs)]


def identities(ready: Outputs) -> dict[str, Identity]:
    """Identity by reference, of those that could be found; the others are among its failures."""
    return {role[1]: value for role, value in ready.values.items() if isinstance(value, Identity)}


def contents(ready: Outputs) -> dict[str, str]:
    """What each model's weights and tokenizer are known by, of those that could be found."""
    return {ref: identity.content for ref, identity in identities(ready).items()}
