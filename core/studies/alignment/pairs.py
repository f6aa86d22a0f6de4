"""Ordered pairs of models that read the same subwords: what attention and stitching plan alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from core.errors import ModelError
from core.studies.kit import Outputs, Task, Text, Value, contents, identity_tasks, text_task


def prepare_pairs(spec: Any, texts: Mapping[str, Text] | None = None) -> list[Task]:
    """Plan the first stage: read the text, identify the models and their tokenizers."""
    return [
        text_task(spec.corpus, spec.genres, spec.sentences, texts),
        *identity_tasks(spec.models, tokenizers=True),
    ]


def pair_tasks(
    spec: Any,
    ready: Outputs,
    function: Callable[..., Value],
    pairs: Iterable[tuple[str, str]],
    **more: Any,
) -> list[Task]:
    """Plan one task for each (source, target), which is its role.

    Args:
        spec: With `methods` and `seed`.
        ready: Outputs of `prepare_pairs`.
        function: The task's.
        pairs: References of identified models.
        more: Arguments of the function beside those of every pair.

    Raises:
        CorpusError: If the text could not be read.
    """
    content, words = contents(ready), ready.need("text").words
    return [
        Task.of(
            f"{source} → {target}",
            function,
            role=(source, target),
            group=target,
            source=source,
            target=target,
            source_identity=content[source],
            target_identity=content[target],
            sentences=words,
            methods=spec.methods,
            seed=spec.seed,
            **more,
        )
        for source, target in pairs
    ]


def check_depths(
    source: str, target: str, x: np.ndarray, y: np.ndarray, embeddings: int = 0
) -> None:
    """Refuse to pair the layers of models that have not equally many.

    Args:
        source, target: References.
        x, y: A row for each layer, the first `embeddings` of which are none.

    Raises:
        ModelError: If the depths differ.
    """
    if len(x) != len(y):
        raise ModelError(
            f"{source} has {len(x) - embeddings} layers and {target} {len(y) - embeddings}: "
            "choose models with the same number of layers."
        )


def refusals(outputs: Outputs, methods: Iterable[str]) -> list[str]:
    """Say of which pairs which methods do not fit the shapes."""
    return [
        f"{source} to {target}: {value[f'{method}/refused']}"
        for (source, target), value in outputs.values.items()
        for method in methods
        if f"{method}/refused" in value
    ]
