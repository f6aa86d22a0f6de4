"""Scores of structural probes trained in double precision, in single, and with bfloat16 products.

    python -m benchmarks.probe_precision [MODEL ...] > benchmarks/probe_precision.md

Probes of one model read the same vectors and begin at the same maps; every second layer, DRAWS
probes each. A difference of precisions is that of scores on the test sentences of the demo, with
its standard error over probes; two draws in double precision differ by `draws`.
"""

from __future__ import annotations

import argparse
import time
from unittest import mock

import numpy as np
import torch

import core.maths.structural.training as training
from core.maths.structural.schedule import EPOCHS
from core.models import describe
from core.studies.probes.trees.data import Trees, gold_of, read_treebank
from core.studies.probes.trees.spec import ProbeSpec
from core.studies.probes.trees.tasks import Regime, read_vectors, train_and_score

DRAWS, RANK = 6, 64
PRECISIONS = {
    "double": (torch.float64, torch.float64),
    "single": (torch.float32, torch.float32),
    "bfloat16 products": (torch.float32, torch.bfloat16),
}
SCORES = {"distance": "UUAS", "depth": "root accuracy"}


def rows(model: str) -> list[str]:
    """A row of the table for each kind of probe and precision."""
    treebank = read_treebank(spec=ProbeSpec(models=(model,)), texts=None, others=())
    trees = Trees.of([tree for part in treebank.parts.values() for tree in part])
    train, dev, test = (len(part) for part in treebank.parts.values())
    layers, gold = tuple(range(0, describe(model).layers + 1, 2)), gold_of(trees.rows)
    vectors, _ = read_vectors(model, trees.words, layers)
    made = []
    for kind, metric in SCORES.items():
        how = Regime((kind,), (min(RANK, vectors.shape[2]),), DRAWS, 0, EPOCHS)
        scores: dict[str, np.ndarray] = {}
        for name, pair in PRECISIONS.items():
            begun = time.thread_time()
            with mock.patch.object(training, "_precisions", lambda exact, pair=pair: pair):
                value = train_and_score(vectors, layers, [gold], (train, dev, test), how)
            taken = time.thread_time() - begun
            right = value["hits"] if kind == "distance" else value["root"]
            count = value["edges"].sum() if kind == "distance" else right.shape[1]
            scores[name] = 100 * right.sum(1) / count
            loss = np.nanmin(value[f"{kind}_dev"], axis=0).mean()
            apart = scores[name] - scores["double"]
            error = apart.std(ddof=1) / np.sqrt(len(apart))
            draws = scores["double"].reshape(len(layers), DRAWS).std(1, ddof=1).mean()
            made.append(
                f"| {model.rpartition('/')[2]} | {metric} | {name} | {scores[name].mean():.2f} | "
                f"{apart.mean():+.2f} ± {error:.2f} | {draws:.2f} | {loss:.4f} | {taken:.1f} |"
            )
    return made


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=["zoo:seed-0"], metavar="MODEL")
    models = parser.parse_args().models
    torch.set_num_threads(1)
    print("# Structural probes in three precisions\n")
    print("| model | score, % | precision | mean | against double | draws | loss | s |")
    print("|---|---|---|---|---|---|---|---|")
    for model in models:
        print("\n".join(rows(model)), flush=True)


if __name__ == "__main__":
    main()
