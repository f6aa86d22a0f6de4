"""Training all layers' probes together against the usual way: one layer after another, differences tiled.

`python benchmarks/probes.py` prints the table that lies beside this file. Both ways train on the same batches, from the
same maps, with the same optimizer, for the same epochs; what differs is the arithmetic. Memory is measured as the
largest growth of the process's resident set while a step's graph is alive, in a process of its own each.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import torch

from core.probes import training
from core.probes.training import ProbeData, train_bank
from core.text.trees import heads_from_edges, random_tree_edges, tree_distances

LAYERS, D_MODEL, RANK, SENTENCES, DEV = 7, 384, 64, 1_000, 100


def made_up(count: int, seed: int) -> ProbeData:
    """Sentences of 3 to 45 words, as long as those of web text (median 14), random trees, random vectors."""
    rng = np.random.default_rng(seed)
    lengths = np.clip(np.round(rng.lognormal(2.6, 0.65, count)), 3, 45).astype(int)
    gold = [tree_distances(heads_from_edges(random_tree_edges(n, rng), 0, n)) for n in lengths]
    vectors = rng.normal(size=(int(lengths.sum()), LAYERS, D_MODEL)).astype(np.float32)
    return ProbeData(torch.from_numpy(vectors), gold)


def tiled_loss(maps: torch.Tensor, vectors: torch.Tensor, rows: list[int], batch, kind: str) -> torch.Tensor:
    """One layer's loss as in the published code: every difference vector, rank times the memory."""
    read = vectors[:, rows[0]][batch.places] @ maps[0].T
    n = read.shape[1]
    tiled = read.unsqueeze(2).expand(-1, -1, n, -1)
    squared = (tiled - tiled.transpose(1, 2)).pow(2).sum(-1)
    mask = (batch.gold != -1).float()
    error = (squared * mask - batch.gold * mask).abs().sum(dim=[1, 2]) / batch.lengths.float().pow(2)
    return (error.sum() / len(batch.lengths))[None]


def shuffled_batches(data, kind, size, rng, device):
    """Batches as the published code makes them: sentences as they come, padded to the longest."""
    lengths = np.array([len(target) for target in data.gold])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    order = rng.permutation(len(lengths))
    return [
        training._padded(data, order[at : at + size], lengths, starts, kind, device)
        for at in range(0, len(order), size)
    ]


def resident(field: str) -> float:
    """VmRSS or VmHWM of this process, in MiB."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return float(next(line for line in lines if line.startswith(field)).split()[1]) / 1024


def step_megabytes(way: str) -> float:
    """Peak growth of the resident set in one step, forward and back, on the longest batch."""
    data = made_up(SENTENCES, 0)
    batches = training._batches(data, "distance", 20, np.random.default_rng(0), "cpu")
    batch = max(batches, key=lambda one: one.places.shape[1])
    rows = list(range(LAYERS)) if way == "together" else [0]
    maps = training._initial(tuple(rows), (RANK,) * len(rows), D_MODEL, 0).requires_grad_()
    peaks = []
    for _ in range(3):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        before = resident("VmRSS")
        torch.autograd.grad(training._loss(maps, data.vectors, rows, batch, "distance").sum(), maps)
        peaks.append(resident("VmHWM") - before)
    return max(peaks)


def measure(way: str, epochs: int, pipe: Connection) -> None:
    """Train one way; send seconds, processor seconds, MiB of a step, and development losses after the last epoch."""
    torch.set_num_threads(1)
    train, dev = made_up(SENTENCES, 0), made_up(DEV, 1)
    if way != "together":
        training._loss = tiled_loss
    if way == "usual":
        training._batches = shuffled_batches
    grown = step_megabytes(way)
    began, used = time.perf_counter(), time.process_time()
    banks = [None] if way == "together" else [[layer] for layer in range(LAYERS)]
    losses = [train_bank(train, dev, rank=RANK, layers=layers, epochs=epochs).dev_losses[-1] for layers in banks]
    seconds, processor = time.perf_counter() - began, time.process_time() - used
    pipe.send((seconds, processor, grown, np.concatenate(losses)))


def run_apart(way: str, epochs: int) -> tuple[float, float, float, np.ndarray]:
    """`measure` in a fresh process, so that neither way inherits the other's memory."""
    context = multiprocessing.get_context("fork")  # spares each the imports
    here, there = context.Pipe()
    worker = context.Process(target=measure, args=(way, epochs, there))
    worker.start()
    answer = here.recv()
    worker.join()
    return answer


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=2)
    epochs = parser.parse_args().epochs
    ways = {
        "usual": "one layer after another, tiled differences, batches as they come",
        "bucketed": "the same on batches of similar length",
        "together": "all layers together, Gram matrices, batches of similar length",
    }
    print(f"{LAYERS} layers, d = {D_MODEL}, rank {RANK}, {SENTENCES} sentences, {epochs} epochs, one thread,")
    print(f"torch {torch.__version__}, load average {os.getloadavg()[0]:.1f} before\n")
    results = {way: run_apart(way, epochs) for way in ways}
    base = results["usual"]
    print(f"{'way':68}{'seconds':>9}{'CPU s':>8}{'x (CPU)':>9}{'step MiB':>11}{'dev loss':>10}")
    for way, name in ways.items():
        seconds, processor, grown, losses = results[way]
        ratio = base[1] / processor
        print(f"{name:68}{seconds:9.1f}{processor:8.1f}{ratio:9.1f}{grown:11.1f}{losses.mean():10.4f}")
    gap = np.abs(results["together"][3] - results["bucketed"][3]).max()
    print(f"\nLargest difference in loss on the same batches, over layers: {gap:.1e}")
    usual, together = base[2], results["together"][2]
    print(f"Memory of a step, for each probe: {usual:.1f} MiB tiled, {together / LAYERS:.1f} MiB together,")
    print(f"{LAYERS * usual / together:.1f} times less. (The usual way holds one probe at a time, ours all {LAYERS}.)")


if __name__ == "__main__":
    main()
