"""Models with a head that labels: its description from the configuration, and the model.

Three kinds of heads are known: one label per sentence, one label per word, and one dependency head
per word.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from core.errors import ModelError
from core.models.architectures import class_in
from core.models.describing import UNNAMED, describe, locate, locate_merged
from core.models.files.checkpoints import HEAD_KEY, read_config
from core.models.files.opening import count_parameters
from core.models.loading.model import load_tokenizer, load_with_head
from core.models.loading.tokenizers import Tokenizer
from core.models.references import parse_ref
from core.models.trial import check_implied
from core.models.weights.origins import adapter_folder, folder_of_adapter

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


def describe_head(ref: str) -> Head:
    """Describe the model's head from its configuration. Raises ModelError if the model cannot be
    found, or has no head of the known kinds."""
    if parse_ref(ref).random:
        raise ModelError(
            f"{ref} has no head that was trained for a task: choose a fine-tuned model."
        )
    describe(ref)  # under the policy of all models
    return head_in(read_config(locate(ref)), ref)


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


def load_task(ref: str) -> TaskModel:
    """Load a model with its head and its tokenizer. Raises ModelError as `describe_head`, or if
    weights are missing."""
    head = describe_head(ref)
    if head.kind == "arcs":
        return _read(ref, locate(ref), ref)
    loaded = load_with_head(ref, device="cpu")
    return TaskModel(ref, head, loaded.model, loaded.tokenizer)


def load_task_on(ref: str, base: str) -> TaskModel:
    """Load a model with its head; an adapter merged into this base."""
    return load_task(ref) if adapter_folder(ref) is None else load_adapted(ref, base)


def load_adapted(ref: str, base: str) -> TaskModel:
    """Load the base with an adapter's factors merged into it, and with the adapter's head. Raises
    ModelError if either cannot be read, or the adapter does not fit the base or has no head."""
    folder_of_adapter(ref)
    return _read(ref, locate_merged(ref, base), base)


def _read(ref: str, folder: Path, reader: str) -> TaskModel:
    """Load the model in a folder with its head, and the tokenizer of the reference `reader`."""
    from core.models.loading.heads import load_task_model

    config = read_config(folder)
    check_implied(parse_ref(ref), folder, "AutoModel", count_parameters(folder, config))
    return TaskModel(ref, head_in(config, ref), load_task_model(folder), load_tokenizer(reader))
