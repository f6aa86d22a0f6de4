"""Identify models by content, in tasks of a study's first stage, because the Hub may be asked."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from core.errors import ModelError
from core.models.describing import describe, fingerprint, tokenizer_fingerprint
from core.models.precision import HALF, SINGLE, VARIABLE, precision_of
from core.runs.runner import Outputs
from core.runs.tasks import IDENTITY, Task, pure


@dataclass(frozen=True)
class Identity:
    """A model's content and shape.

    Attributes:
        content: See `content_of`.
        layers: Blocks; hidden states are one more.
        d_model: Width of a hidden state.
        model_type: As the configuration says it, such as "roformer".
        parameters: Numbers in its weights.
        positions: Whether it adds positions to its vectors, not to attention alone.
    """

    ref: str
    content: str
    layers: int
    d_model: int
    model_type: str
    parameters: int
    positions: bool = True


@pure("models.identify")
def identify(ref: str) -> Identity:
    """Identify the model that a reference names now; a Hub model is downloaded.

    Raises:
        ModelError: If it cannot be found, read or trusted.
    """
    info = describe(ref)
    return Identity(
        ref,
        content_of(ref),
        info.layers,
        info.d_model,
        info.model_type,
        info.parameters,
        info.positions,
    )


def content_of(ref: str) -> str:
    """Join the fingerprints of a model's weights and tokenizer, for keys; between them is the
    precision of its forward passes where that is half, see `precision_of`.

    Raises:
        ModelError, SpecError: As `precision_of`.
    """
    precision = precision_of(ref)
    half = [precision] if precision != SINGLE else []
    return " ".join([fingerprint(ref), *half, tokenizer_fingerprint(ref)])


@contextmanager
def as_identified(arguments: Mapping[str, Any]) -> Iterator[None]:
    """Guard a task: its models are those of its key, and keep their commit inside the block.

    Args:
        arguments: Of a task; `x_identity` says what the model `x` is known by, `identity` what
            `model` is.

    Raises:
        ModelError: If a model has changed since the study asked.
    """
    from core.models.hub.client import pinned

    with pinned():
        for name in arguments:
            if name.endswith(IDENTITY):
                ref = arguments[name.removesuffix(IDENTITY).rstrip("_") or "model"]
                content, asked = content_of(ref), arguments[name]
                if content != asked and _files(content) == _files(asked):
                    raise ModelError(
                        f"{ref} is computed in another precision on this machine than where the "
                        f"study began: set {VARIABLE}={SINGLE} on both."
                    )
                if content != asked:
                    raise ModelError(
                        f"{ref} has changed since this study began: run the study again."
                    )
        yield


def _files(content: str) -> list[str]:
    """Split a content into its fingerprints, without the precision."""
    return [part for part in content.split() if part != HALF]


def identity_tasks(refs: Iterable[str]) -> list[Task]:
    """Make a task per distinct reference, with the role ("identity", reference)."""
    return [
        Task.of(ref, identify, role=("identity", ref), fleeting=True, ref=ref)
        for ref in dict.fromkeys(refs)
    ]


def identities(ready: Outputs) -> dict[str, Identity]:
    """Collect identities by reference; models not found are in its failures."""
    return {role[1]: value for role, value in ready.values.items() if isinstance(value, Identity)}


def contents(ready: Outputs) -> dict[str, str]:
    """Collect the content of each model that was found, by reference."""
    return {ref: identity.content for ref, identity in identities(ready).items()}


def find_copies(contents: Mapping[str, Hashable]) -> dict[str, str]:
    """Find the models that have the content of an earlier one: that one, by the copy's reference.

    Args:
        contents: What each model is known by, in the order in which they were named.

    Example:
        >>> find_copies({"path:a": "1", "path:b": "2", "path:c": "1"})
        {'path:c': 'path:a'}
    """
    first: dict[Hashable, str] = {}
    pairs = {ref: first.setdefault(content, ref) for ref, content in contents.items()}
    return {ref: original for ref, original in pairs.items() if original != ref}


def describe_copies(copies: Mapping[str, str]) -> list[str]:
    """Say which models were left out as copies.

    Args:
        copies: Of `find_copies`.
    """
    if not copies:
        return []
    were = "model was" if len(copies) == 1 else "models were"
    pairs = "; ".join(f"{ref} is identical to {original}" for ref, original in copies.items())
    return [f"{len(copies)} {were} left out as copies, which are no further evidence: {pairs}."]
