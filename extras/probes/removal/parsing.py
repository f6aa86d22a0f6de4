"""The included parser's arc head on sentences: which words get the right head."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from core.models.loading.layers import Batch, run_model
from core.models.loading.task_models import TaskModel
from core.studies.probes.trees.data import Tree
from core.vectors.forward import cut_sentences, pad_ids, pad_rows

TOGETHER = 32  # sentences in a batch


def attached(task: TaskModel, trees: Sequence[Tree]) -> Float[np.ndarray, " sentence"]:
    """Count the words of each tree whose head the parser predicts; punctuation is left out."""
    cut = cut_sentences(task.tokenizer, [tree.words for tree in trees])
    starts = [
        [row.words.index(word) if word in row.words else -1 for word in range(row.length)]
        for row in cut
    ]
    right = np.zeros(len(trees))
    order = sorted(range(len(trees)), key=lambda number: len(cut[number].ids))
    for first in range(0, len(order), TOGETHER):
        chosen = order[first : first + TOGETHER]
        rows = [cut[number].ids for number in chosen]
        ids, mask = pad_ids(rows, task.tokenizer.pad or 0)
        begins = pad_rows([starts[number] for number in chosen], -1)
        guesses = run_model(task.model, Batch(ids, mask, chosen, begins)).argmax(dim=-1)
        for row, number in enumerate(chosen):
            tree = trees[number]
            hits = guesses[row, : len(tree.words)].numpy() == np.array(tree.heads)
            right[number] = float((hits & np.array(tree.keep)).sum())
    return right
