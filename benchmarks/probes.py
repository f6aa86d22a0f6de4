"""Training all probes of a model together, compared with the published code: time and root
accuracy.

`python benchmarks/probes.py` prints the table that lies beside this file; `--treebank DIR` (a
folder with en_ewt-ud-{train,dev,test}.conllu.gz) adds the depth probe's root accuracy over six
seeds. The published way, as in its
`regimen.py`: one layer after another, padded batches, differences tiled, autograd, torch's Adam.
Both draw sentences anew each epoch; given the same order and the same maps they agree to rounding,
which the tests assert.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np
import torch

from core.maths.structural.batches import ProbeData
from core.maths.structural.predict import predict_depths
from core.maths.structural.schedule import (
    BATCH,
    DECAY,
    EPOCHS,
    IMPROVEMENT,
    LEARNING_RATE,
    PATIENCE,
    SPREAD,
)
from core.maths.structural.scores import Gold, score, score_depths
from core.maths.structural.training import Probe, train_bank
from core.maths.trees import tree_distances
from core.studies.probes.trees.data import as_tree, gold_of
from core.text.corpora import read_corpus
from core.vectors.activations import extract

LAYERS, D_MODEL, RANK, SENTENCES, DEV = 7, 128, 64, 600, 100
DRAWS = 5


def made_up(count: int, seed: int) -> ProbeData:
    """Sentences of 3 to 45 words, as long as those of web text (median 14), random trees, random
    vectors."""
    rng = np.random.default_rng(seed)
    lengths = np.clip(np.round(rng.lognormal(2.6, 0.65, count)), 3, 45).astype(int)
    gold = [
        tree_distances((0, *(int(rng.integers(place)) + 1 for place in range(1, n))))[None]
        for n in lengths
    ]
    vectors = rng.normal(size=(int(lengths.sum()), LAYERS, D_MODEL)).astype(np.float32)
    return ProbeData(torch.from_numpy(vectors), gold)


def padded(
    data: ProbeData, chosen: np.ndarray, layer: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Vectors, gold (-1 where padded) and lengths of a batch, padded to its longest sentence."""
    starts = np.concatenate([[0], np.cumsum(data.lengths)])
    longest, dimensions = int(data.lengths[chosen].max()), data.gold[0].ndim - 1
    words = torch.zeros(len(chosen), longest, data.vectors.shape[2])
    gold = torch.full((len(chosen), *[longest] * dimensions), -1.0)
    for row, i in enumerate(chosen):
        n = int(data.lengths[i])
        words[row, :n] = data.vectors[starts[i] : starts[i + 1], layer]
        gold[row][(slice(n),) * dimensions] = torch.from_numpy(data.gold[i][0]).float()
    return words, gold, torch.from_numpy(data.lengths[chosen])


def published_loss(
    proj: torch.Tensor, data: ProbeData, chosen: np.ndarray, layer: int
) -> torch.Tensor:
    """`L1DistanceLoss` or `L1DepthLoss` of a batch."""
    words, gold, lengths = padded(data, chosen, layer)
    read, mask = words @ proj, (gold != -1).float()
    if gold.ndim == 2:
        return (((read**2).sum(-1) - gold).abs() * mask).sum(1).div(lengths).mean()
    tiled = read.unsqueeze(2).expand(-1, -1, read.shape[1], -1)
    squared = (tiled - tiled.transpose(1, 2)).pow(2).sum(-1)
    return ((squared - gold).abs() * mask).sum((1, 2)).div(lengths.float() ** 2).mean()


def train_published(
    train: ProbeData, dev: ProbeData, layer: int, seed: int, epochs: int = EPOCHS
) -> np.ndarray:
    """One probe by the published loop; its B."""
    generator = torch.Generator().manual_seed(seed)
    proj = (
        (torch.rand(train.vectors.shape[2], RANK, generator=generator) * 2 - 1) * SPREAD
    ).requires_grad_()
    rate, minimum, best, kept = LEARNING_RATE, float("inf"), -1, proj.detach().clone()
    optimizer = torch.optim.Adam([proj], lr=rate)
    for epoch in range(epochs):
        for chosen in torch.randperm(len(train.gold), generator=generator).split(BATCH):
            optimizer.zero_grad()
            published_loss(proj, train, chosen.numpy(), layer).backward()
            optimizer.step()
        with torch.no_grad():
            parts = np.array_split(np.arange(len(dev.gold)), -(-len(dev.gold) // BATCH))
            loss = sum(
                float(published_loss(proj, dev, part, layer)) * len(part) for part in parts
            ) / len(dev.gold)
        if loss < minimum - IMPROVEMENT:
            minimum, best, kept = loss, epoch, proj.detach().clone()
            continue
        rate *= DECAY
        optimizer = torch.optim.Adam([proj], lr=rate)
        if epoch - best >= PATIENCE:
            break
    return kept.T.numpy()


def compare_time(epochs: int) -> None:
    """Processor seconds of both ways, and of ours on several sets of trees at once."""
    train, dev = made_up(SENTENCES, 0), made_up(DEV, 1)
    several = [
        ProbeData(data.vectors, [np.repeat(gold, DRAWS, axis=0) for gold in data.gold])
        for data in (train, dev)
    ]
    print(
        f"{LAYERS} layers, d = {D_MODEL}, rank {RANK}, {SENTENCES} sentences, {epochs} epochs, one "
        f"thread,"
    )
    print(f"torch {torch.__version__}, load average {os.getloadavg()[0]:.1f} before\n")
    print(f"{'way':64}{'CPU s':>8}{'per probe':>11}")

    def row(name: str, probes: int, began: float) -> None:
        used = time.process_time() - began
        print(f"{name:64}{used:8.2f}{used / probes:11.3f}")

    began = time.process_time()
    for layer in range(LAYERS):
        train_published(train, dev, layer, 0, epochs)
    row("published: one layer after another, tiled, autograd", LAYERS, began)
    began = time.process_time()
    train_bank(train, dev, [Probe(layer, RANK) for layer in range(LAYERS)], epochs=epochs)
    row("all layers together, gradients in closed form", LAYERS, began)
    began = time.process_time()
    train_bank(
        several[0],
        several[1],
        [Probe(i, RANK, j, j) for i in range(LAYERS) for j in range(DRAWS)],
        epochs=epochs,
    )
    row(f"the same on {DRAWS} sets of trees", LAYERS * DRAWS, began)


def compare_root(folder: Path, seeds: int, layers: list[int]) -> None:
    """Root accuracy of the depth probe, both ways, seed by seed."""
    data: dict[str, tuple[Gold, ProbeData]] = {}
    for part, limit in (("train", SENTENCES), ("dev", 300), ("test", None)):
        read = read_corpus(str(folder / f"en_ewt-ud-{part}.conllu.gz")).sentences
        sentences = [sentence for sentence in read if 4 <= len(sentence.words) <= 40][:limit]
        vectors = extract(
            "zoo:seed-0", [sentence.words for sentence in sentences], layers=layers
        ).vectors
        gold = gold_of([as_tree(sentence) for sentence in sentences])
        words = torch.from_numpy(np.ascontiguousarray(vectors.swapaxes(0, 1)))
        data[part] = gold, ProbeData(words, [depths[None] for depths in gold.depths])
    train, dev = data["train"][1], data["dev"][1]
    gold, held = data["test"][0], data["test"][1].vectors.numpy()
    found = np.zeros((2, seeds, len(layers)))
    for seed in range(seeds):
        published = np.stack([train_published(train, dev, row, seed) for row in range(len(layers))])
        ours = train_bank(
            train,
            dev,
            [Probe(layer, RANK) for layer in layers],
            kind="depth",
            layers=layers,
            seed=seed,
        )
        for way, maps in enumerate((published, ours.maps)):
            found[way, seed] = 100 * score(
                score_depths(predict_depths(maps, held, gold.lengths), gold), "root"
            )
    print(
        f"\nRoot accuracy (%) on EWT test, {SENTENCES} training sentences, zoo:seed-0, layers "
        f"{layers}, {seeds} seeds"
    )
    for name, values in zip(("published", "ours"), found.mean(axis=2), strict=True):
        print(
            f"{name:12}"
            + "".join(f"{value:7.2f}" for value in values)
            + f"   mean {values.mean():.2f}"
        )
    paired = (found[1] - found[0]).mean(axis=1)
    print(
        f"difference {paired.mean():+.2f}, standard error over seeds "
        f"{paired.std(ddof=1) / seeds**0.5:.2f}"
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--treebank", type=Path)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--layers", type=int, nargs="+", default=[2, 4, 6])
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    compare_time(arguments.epochs)
    if arguments.treebank:
        compare_root(arguments.treebank, arguments.seeds, arguments.layers)


if __name__ == "__main__":
    main()
