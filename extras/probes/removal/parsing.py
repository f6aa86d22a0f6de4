"""The included parser's arc head on sentences: which words get the right head."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float

from core.models.loading.layers import Batch, run_model
from core.models.loading.task_models import TaskModel
from core.studies.probes.trees.data import Tree
from core.vectors.forward import cut_sentences

TOGETHER = 32  # sentences in a batch


def attached(task: TaskModel, trees: Sequence[Tree]) -> Float[np.ndarray, " sentence"]:
    """Count the words of each tree whose head the parser predicts; punctuation is left out.

    Args:
        task: A model with an arc head.
        trees: With the heads that count as right.
    """
    cut = cut_sentences(task.tokenizer, [tree.words for tree in trees])
    right = np.zeros(len(trees))
    order = sorted(range(len(trees)), key=lambda number: len(cut[number].ids))
    for first in range(0, len(order), TOGETHER):
        chosen = order[first : first + TOGETHER]
        width = max(len(cut[number].ids) for number in chosen)
        longest = max(len(trees[number].words) for number in chosen)
        ids = torch.full((len(chosen), width), task.tokenizer.pad or 0)
        mask, starts = torch.zeros_like(ids), torch.full((len(chosen), longest), -1)
        for row, number in enumerate(chosen):
            tokens = cut[number]
            ids[row, : len(tokens.ids)] = torch.tensor(tokens.ids)
            mask[row, : len(tokens.ids)] = 1
            for place, word in reversed(list(enumerate(tokens.words))):
                if word >= 0:
                    starts[row, word] = place
        guesses = run_model(task.model, Batch(ids, mask, chosen, starts)).argmax(dim=-1)
        for row, number in enumerate(chosen):
            tree = trees[number]
            hits = guesses[row, : len(tree.words)].numpy() == np.array(tree.heads)
            right[number] = float((hits & np.array(tree.keep)).sum())
    return right
