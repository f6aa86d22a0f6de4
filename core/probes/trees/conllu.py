"""Predicted trees of a study's test sentences as CoNLL-U.

Reference: https://universaldependencies.org/format.html. Deviations: predicted trees have no labels
(_).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from core.probes.trees.result import ProbeResult


def extra_files(result: ProbeResult) -> dict[str, bytes]:
    """The files that a study writes beside tables and figures: the predicted trees."""
    trees = predicted_conllu(result)
    return {"predicted.conllu": trees} if trees else {}


def predicted_conllu(result: ProbeResult) -> bytes:
    """Predicted heads of the test sentences, each model at its best layer, as CoNLL-U.

    Every sentence has the comments `# sent_id`, `# model` and `# layer`; of the annotation columns
    only heads are filled in. Empty unless distance and depth probes were both trained.
    """
    lines: list[str] = []
    starts = np.concatenate([[0], np.cumsum([len(tree.words) for tree in result.test])])
    for model, probes in result.probes.items():
        if probes.heads is None:
            continue
        layer = result.best_layer(model)
        rows = probes.heads[probes.layers.index(layer)]
        for number, tree in enumerate(result.test):
            comments = {"sent_id": f"{model}/{number + 1}", "model": model, "layer": str(layer)}
            lines += conllu_block(tree.words, rows[starts[number] : starts[number + 1]], comments)
    return "\n".join(lines).encode("utf8", "replace")


def conllu_block(words: Sequence[str], heads: Iterable[int], comments: dict[str, str]) -> list[str]:
    """One sentence as lines of CoNLL-U, with the empty line that ends it."""
    head = [f"# {name} = {' '.join(value.split())}" for name, value in comments.items()]
    head.append(f"# text = {' '.join(' '.join(words).split())}")
    rows = [
        "\t".join(
            [
                str(i),
                _cell(word),
                "_",
                "_",
                "_",
                "_",
                str(int(parent)),
                "root" if parent == 0 else "_",
                "_",
                "_",
            ]
        )
        for i, (word, parent) in enumerate(zip(words, heads, strict=True), start=1)
    ]
    return [*head, *rows, ""]


def _cell(word: str) -> str:
    """A word as a cell: white space would end the column, and "_" stands for no value."""
    return "_" if not word.split() else " ".join(word.split())
