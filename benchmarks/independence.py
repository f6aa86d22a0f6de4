"""Where the test of independent training holds, and where it breaks.

    python -m benchmarks.independence > benchmarks/independence.md

First included models: seeds, whose p-values should be uniform, and what was trained from them. Then
copies of a fine-tune whose feed-forward matrices were pruned, drowned in noise or drawn anew, as
they stand and with their units permuted, and one whose states were rotated. Half a minute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations

import numpy as np
from scipy.stats import kstest

from core.maths.independence import compare_units, layers_log_p
from core.models.identity import identify
from core.models.weights.sources import open_model
from core.studies.weights.lineage.independence import MOST_UNITS

Layers = list[list[np.ndarray]]  # of each layer two matrices with a row for every unit
BASE, TUNED = "zoo:seed-0", "zoo:parse-0"
SEEDS = tuple(f"zoo:seed-{number}" for number in range(5))
RELATIVES = (
    *((BASE, f"zoo:seed-0@step-{step}") for step in (0, 50, 200, 800, 3200)),
    *((BASE, ref) for ref in ("zoo:seed-0-again", TUNED, "zoo:pos-0", "zoo:parse-0-lora-8")),
    *(("zoo:decoder-0", ref) for ref in ("zoo:review-0", "zoo:decoder-1", "zoo:decoder-2")),
    *((f"zoo:seed-{n}", f"zoo:sentiment-0-from-seed-{n}") for n in (1, 2)),
    (BASE, "zoo:sentiment-0-from-seed-1"),
)


@cache
def layers_of(ref: str) -> Layers:
    """Read the first matrices of the feed-forward layers, and the gates or the second ones."""
    checkpoint = open_model(ref, identify(ref, run=False).content)
    slots = checkpoint.slots

    def read(family: str, layer: int) -> np.ndarray:
        slot = slots[family, layer]
        return slot.cut(checkpoint.read(slot.tensor)).astype(np.float64)

    gated = any(family == "gate" for family, _ in slots)
    return [
        [read("ff1", layer), read("gate", layer) if gated else read("ff2", layer).T]
        for family, layer in slots
        if family == "ff1"
    ]


def compared(first: Layers, second: Layers) -> tuple[float, float, float]:
    """Compare two networks: decadic logarithms of both p-values, share of units that agree."""
    orders = [compare_units(*pair, MOST_UNITS) for pair in zip(first, second, strict=True)]
    units = [each.units for each in orders]
    logs = (layers_log_p([getattr(each, name) for each in orders], units) / np.log(10)
            for name in ("order", "matched"))  # fmt: skip
    in_order, in_any = logs
    return in_order, in_any, float(np.mean([each.agreeing for each in orders]))


def pruned(share: float) -> Callable[[np.ndarray, np.random.Generator], np.ndarray]:
    """Set the smallest entries to 0."""

    def prune(matrix: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.where(np.abs(matrix) > np.quantile(np.abs(matrix), share), matrix, 0.0)

    return prune


def noised(size: float) -> Callable[[np.ndarray, np.random.Generator], np.ndarray]:
    """Add noise of this many times the matrix' norm."""

    def add(matrix: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.asarray(matrix + size * matrix.std() * rng.standard_normal(matrix.shape))

    return add


def redrawn(layers: Layers, count: int, rng: np.random.Generator) -> Layers:
    """Draw the upper layers anew."""
    kept = len(layers) - count
    fresh = [[m.std() * rng.standard_normal(m.shape) for m in layer] for layer in layers[kept:]]
    return [*layers[:kept], *fresh]


def copies(layers: Layers) -> Iterator[tuple[str, str, Layers]]:
    """Make what somebody might do to a model: a key, what was done, the layers."""
    rng = np.random.default_rng(0)

    def each(change: Callable[[np.ndarray, np.random.Generator], np.ndarray]) -> Layers:
        return [[change(matrix, rng) for matrix in layer] for layer in layers]

    yield "plain", "as it is", layers
    for share in (0.5, 0.9, 0.99):
        yield f"pruned-{share:.0%}", f"{share:.0%} of the entries pruned", each(pruned(share))
    for size in (1, 4, 16):
        yield f"noise-{size}", f"noise of {size} times its norm", each(noised(size))
    for count in (1, 3, 5, 6):
        what = f"{count} of {len(layers)} layers drawn anew"
        yield f"drawn-{count}", what, redrawn(layers, count, rng)
    turn = np.linalg.qr(rng.standard_normal((layers[0][0].shape[1],) * 2))[0]
    yield "rotated", "states rotated", each(lambda matrix, rng: matrix @ turn)


def permuted(layers: Layers, rng: np.random.Generator) -> Layers:
    """Put the units of every layer into a random order."""
    moved = []
    for layer in layers:
        order = rng.permutation(len(layer[0]))
        moved.append([matrix[order] for matrix in layer])
    return moved


def main() -> None:
    """Print the three tables."""
    print("# Tests of independent training\n\n`python -m benchmarks.independence`; p-values as "
          "decadic logarithms, combined over six layers.\n")  # fmt: skip
    print("## 1: pairs of seeds\n\n| pair | in_order | in_any | agreeing |\n|---|---|---|---|")
    pairs = [*combinations(SEEDS, 2), *combinations([f"zoo:decoder-{n}" for n in range(3)], 2)]
    rows = []
    for pair in pairs:
        rows.append(compared(*map(layers_of, pair)))
        print(f"| {' '.join(pair)} | {_cells(rows[-1])} |")
    tests = [kstest(10.0 ** np.array([row[n] for row in rows]), "uniform").pvalue for n in (0, 1)]
    print(f"| uniform, p | {tests[0]:.3f} | {tests[1]:.3f} | |")
    print("\n## 2: relatives\n\n| pair | in_order | in_any | agreeing |\n|---|---|---|---|")
    for pair in RELATIVES:
        row = compared(*map(layers_of, pair))
        print(f"| {' '.join(pair)} | {_cells(row)} |")
    print(f"\n## 3: copies of {TUNED}, compared with {BASE}\n")
    print("| key | copy | in_order | in_any | agreeing | permuted_in_order | permuted_in_any |")
    print("|---|---|---|---|---|---|---|")
    rng = np.random.default_rng(1)
    for key, what, layers in copies(layers_of(TUNED)):
        plain = compared(layers_of(BASE), layers)
        moved = compared(layers_of(BASE), permuted(layers, rng))
        print(f"| {key} | {what} | {_cells(plain)} | {_cells(moved, 2)} |")


def _cells(row: tuple[float, ...], count: int = 3) -> str:
    forms = ("{:.1f}", "{:.1f}", "{:.2f}")
    return " | ".join(form.format(n) for form, n in list(zip(forms, row, strict=True))[:count])


if __name__ == "__main__":
    main()
