"""RSA, debiased CKA and the jackknife, compared with their direct implementations.

    OMP_NUM_THREADS=1 python -m benchmarks.rsa > benchmarks/rsa.txt

Processor times are the best of three, memory is numpy's peak in addition to the inputs. The latest
table is committed as `rsa.txt`.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from functools import partial

import numpy as np

from core.maths.similarity.cka import debiased_cka
from core.maths.similarity.kernels import similarity_matrix
from core.maths.similarity.rdm import rsa
from core.maths.similarity.registry import MEASURES
from core.maths.similarity.scoring import JACKKNIFE_GROUPS

ITEMS, WIDTH = 5000, 768
WORDS, SENTENCES = 1000, 300
REPEATS = 3


def corrcoef_rsa(x: np.ndarray, y: np.ndarray) -> float:
    """Both matrices in memory, upper triangles by index, `corrcoef`."""
    upper = np.triu_indices(len(x), 1)
    return float(
        np.corrcoef(similarity_matrix(x, "cosine")[upper], similarity_matrix(y, "cosine")[upper])[
            0, 1
        ]
    )


def strip_rsa(x: np.ndarray, y: np.ndarray) -> float:
    """Strips of rows, for kernels that have no form in feature space: here the Euclidean one."""
    return rsa(x, y, kernel="euclidean")


def corrcoef_euclidean(x: np.ndarray, y: np.ndarray) -> float:
    """The same, with both distance matrices in memory."""
    upper = np.triu_indices(len(x), 1)
    return float(
        np.corrcoef(
            similarity_matrix(x, "euclidean")[upper], similarity_matrix(y, "euclidean")[upper]
        )[0, 1]
    )


def matrix_debiased_cka(x: np.ndarray, y: np.ndarray) -> float:
    """Song et al.'s formula on n x n matrices, its products of matrices taken as sums over
    entries."""
    k, l = x @ x.T, y @ y.T  # noqa: E741
    np.fill_diagonal(k, 0.0)
    np.fill_diagonal(l, 0.0)
    n = len(k)

    def hsic(a: np.ndarray, b: np.ndarray) -> float:
        rows_a, rows_b = a.sum(axis=0), b.sum(axis=0)
        whole = rows_a.sum() * rows_b.sum() / ((n - 1) * (n - 2))
        return float((a * b).sum() + whole - 2.0 / (n - 2) * (rows_a @ rows_b))

    return hsic(k, l) / float(np.sqrt(hsic(k, k) * hsic(l, l)))


def measured(function: Callable[[], object]) -> tuple[float, float]:
    """Best processor time of three in seconds, and peak memory in MB."""
    times = []
    for _ in range(REPEATS):
        began = time.process_time()
        function()
        times.append(time.process_time() - began)
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return min(times), peak


def forward_pass() -> float:
    """Processor time of BERT-base's shape reading the sentences that the words come from, 24
    subwords on average."""
    import torch
    from transformers import BertConfig, BertModel

    rng = np.random.default_rng(0)
    model = BertModel(BertConfig()).eval()
    lengths = np.sort(rng.integers(8, 41, SENTENCES))
    batches = [lengths[start : start + 8] for start in range(0, SENTENCES, 8)]
    began = time.process_time()
    with torch.inference_mode():
        for batch in batches:
            tokens = torch.as_tensor(rng.integers(1000, 30000, (len(batch), int(batch.max()))))
            model(tokens, output_hidden_states=True)
    return time.process_time() - began


def print_ratios() -> None:
    """RSA and debiased CKA at n = 5,000, d = 768."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((ITEMS, WIDTH)) * np.linspace(0.2, 2.0, WIDTH)
    y = x + rng.standard_normal((ITEMS, WIDTH))
    block = ITEMS**2 * 8 / 1e6
    print(f"n = {ITEMS:,}, d = {WIDTH}; one float64 n x n matrix is {block:.0f} MB\n")
    print(f"{'':44}{'seconds':>9}{'MB':>8}{'ratio':>8}")
    comparisons = (
        ("RSA, cosine", corrcoef_rsa, rsa, "materialised, corrcoef", "feature space"),
        ("RSA, Euclidean", corrcoef_euclidean, strip_rsa, "materialised, corrcoef", "strips"),
        ("debiased CKA", matrix_debiased_cka, debiased_cka, "n x n", "feature space"),
    )
    for name, slow, fast, slow_name, fast_name in comparisons:
        assert abs(slow(x, y) - fast(x, y)) < 1e-6, name
        slow_time, slow_peak = measured(partial(slow, x, y))
        fast_time, fast_peak = measured(partial(fast, x, y))
        print(f"{f'{name}: {slow_name}':44}{slow_time:9.2f}{slow_peak:8.0f}{1:8.1f}")
        times = slow_time / fast_time
        print(f"{f'{name}: {fast_name}':44}{fast_time:9.2f}{fast_peak:8.0f}{times:8.1f}")


def print_jackknife() -> None:
    """Bands of all layers against the forward pass that the vectors come from."""
    rng = np.random.default_rng(1)
    sentence = np.sort(rng.integers(0, SENTENCES, WORDS))
    x = rng.standard_normal((WORDS, WIDTH))
    y = x + rng.standard_normal((WORDS, WIDTH))
    forward = forward_pass()
    print(
        f"\n{JACKKNIFE_GROUPS} groups left out, {WORDS:,} words of {SENTENCES} sentences, "
        f"d = {WIDTH}, 13 layers\n"
    )
    print(f"{'':44}{'seconds':>9}{'share':>16}")
    print(f"{'forward pass, BERT-base shape':44}{forward:9.2f}{'1':>16}")
    for name in ("rsa", "cka", "cka-debiased", "cosine"):
        measure = MEASURES[name]
        bands = partial(measure.replicates, x, y, sentence, JACKKNIFE_GROUPS, rng)
        seconds = 13 * measured(bands)[0]
        print(f"{f'jackknife, {measure.label}':44}{seconds:9.2f}{seconds / forward:16.2f}")


if __name__ == "__main__":
    print("Processor time on one thread (OMP_NUM_THREADS=1); ratios are within one run.\n")
    print_ratios()
    print_jackknife()
