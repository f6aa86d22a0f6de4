"""Ordered pairs of models that read the same subwords: what attention and stitching plan alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from core.errors import ModelError
from core.models.identity import pairs_of_one_tokenizer
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
    """Plan one task for each (source, target), which is its role; `more` are arguments beside those
    of every pair. Raises CorpusError if the text could not be read."""
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
    """Raise ModelError where the layers of two models do not pair up; the first `embeddings` of `x`
    and `y`, (layer, ...), are no layers."""
    if len(x) != len(y):
        raise ModelError(
            f"{source} has {len(x) - embeddings} layers and {target} {len(y) - embeddings}: "
            "choose models with the same number of layers."
        )


def pair_notices(spec: Any, ready: Outputs, outputs: Outputs, so: str) -> list[str]:
    """Say which models do not read the same subwords, and what follows (`so`), and of which pairs
    which methods do not fit the shapes."""
    refusals = [
        f"{source} to {target}: {value[f'{method}/refused']}"
        for (source, target), value in outputs.values.items()
        for method in spec.methods
        if f"{method}/refused" in value
    ]
    return [*pairs_of_one_tokenizer(spec.models, ready, so)[1], *refusals]
