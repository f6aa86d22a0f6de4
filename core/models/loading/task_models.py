"""Models with a head that labels: its description from the configuration, and the model.

Three kinds of heads are known: one label per sentence, one label per word, and one dependency head
per word.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from core.errors import ModelError
from core.models.architectures import class_in
from core.models.describing import UNNAMED, describe, locate
from core.models.files.checkpoints import HEAD_KEY, read_config
from core.models.loading.model import load_model, load_with_head
from core.models.loading.tokenizers import Tokenizer
from core.models.references import parse_ref
from core.models.weights.origins import adapter_folder

if TYPE_CHECKING:
    from torch import nn

Kind = Literal["sentence", "words", "arcs"]
ENDINGS: dict[str, Kind] = {
    "ForSequenceClassification": "sentence",
    "ForTokenClassification": "words",
}


@dataclass(frozen=True)
class Head:
    """The labels that a model's head predicts.

    Attributes:
        kind: "sentence" (one label each), "words" (one label per word) or "arcs" (one dependency
            head per word).
        labels: Names of the classes in order; none for arcs.
    """

    kind: Kind
    labels: tuple[str, ...]


@dataclass(frozen=True)
class TaskModel:
    """A model with its head, on the CPU, in evaluation mode without gradients."""

    ref: str
    head: Head
    model: nn.Module
    tokenizer: Tokenizer


def describe_head(ref: str, base: str = "") -> Head:
    """Describe the model's head from its configuration; `base` as for `describe`. Raises ModelError
    if the model cannot be found, or has no head of the known kinds."""
    if parse_ref(ref).random:
        raise ModelError(
            f"{ref} has no head that was trained for a task: choose a fine-tuned model."
        )
    describe(ref, base)  # under the policy of all models
    return head_in(read_config(locate(ref, base)), ref)


def kind_of(architecture: str) -> Kind | None:
    """Tell what the head of a class of transformers labels; None where it is no such head."""
    return next((kind for ending, kind in ENDINGS.items() if architecture.endswith(ending)), None)


def head_in(config: Mapping[str, Any], ref: str) -> Head:
    """Describe the head that a configuration names. Raises ModelError, which names `ref`, if it is
    none of the known kinds."""
    if config.get(HEAD_KEY) is not None:
        return Head("arcs", ())
    architecture = class_in(config) or UNNAMED
    kind = kind_of(architecture)
    if kind is None:
        raise ModelError(
            f"{ref} has no head that labels sentences or words ({architecture}): "
            "choose a model fine-tuned for that."
        )
    names = config.get("id2label")
    if (
        not isinstance(names, dict)
        or not names
        or not all(str(number) in names for number in range(len(names)))
    ):
        return Head(kind, ("LABEL_0", "LABEL_1"))  # what transformers takes where nothing is said
    return Head(kind, tuple(str(names[str(number)]) for number in range(len(names))))


def load_task(ref: str, base: str = "") -> TaskModel:
    """Load a model with its head and its tokenizer; an adapter merged into `base`, whose tokenizer
    reads, or into the base that it names. Raises ModelError as `describe_head`, or if weights are
    missing."""
    head = describe_head(ref, base)
    base = base if adapter_folder(ref) else ""
    if head.kind == "arcs":
        from core.models.loading.heads import put_arc_head

        loaded = load_model(ref, device="cpu", base=base)
        return TaskModel(ref, head, put_arc_head(loaded.model, locate(ref, base)), loaded.tokenizer)
    loaded = load_with_head(ref, device="cpu", base=base)
    return TaskModel(ref, head, loaded.model, loaded.tokenizer)


def load_whole(ref: str) -> nn.Module:
    """Load a model with the head that it was saved with, whatever that predicts. Raises ModelError
    as `load_with_head`."""
    if read_config(locate(ref)).get(HEAD_KEY) is not None:
        return load_task(ref).model
    return load_with_head(ref, device="cpu").model
