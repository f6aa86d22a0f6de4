"""How the cost of a study grows with models, layers, items and width, and what large ones will
cost.

    python -m benchmarks.scale > benchmarks/scale.md

Studies on models of random weights are measured in fresh processes (processor seconds, imports
included, as in `benchmarks.prices`); one factor is varied at a time. `Fit` is fitted to them and
extrapolated, beside the price that the command says. Measurements are kept and not repeated.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from scipy.optimize import least_squares

from benchmarks.prices import make_models, measured, used
from benchmarks.scheduling import workers
from core.catalogue import STUDIES
from core.models import costs
from core.models.sizes import Size
from core.runs.store import Store
from core.sweep.grid import read_sweep
from core.sweep.running import Run

FACTORS = ("models", "layers", "width", "items")
BERT_LARGE = Size(335_000_000, 24, 1024, 1_340_000_000)
BERT_BASE = Size(110_000_000, 12, 768, 440_000_000)
HEAD = 64  # width of an attention head


@dataclass(frozen=True)
class Curve:
    """A study, measured at several sizes.

    Attributes:
        study: Name of the study.
        counted: What its number of models counts.
        points: Values of `FACTORS`; a study without a text has no items.
        large: The size that is predicted, in words and as values.
        model: Size of the predicted models.
        assumed: What is assumed of it.
    """

    study: str
    counted: str
    points: tuple[tuple[int, ...], ...]
    large: tuple[str, tuple[int, ...]]
    model: Size
    assumed: str

    def spec(self, point: tuple[int, ...], refs: list[str]) -> dict[str, Any]:
        """Return the study's options at a point."""
        models, items = point[0], point[3]
        if self.study == "rsa":
            return {
                "base": refs[0],
                "compare": tuple(refs[1 : models + 1]),
                "sentences": items,
                "references": False,
                "pool_runs": False,
            }
        if self.study == "weights":
            return {"base": refs[0], "models": tuple(refs[1 : models + 1])}
        return {
            "models": tuple(refs[: _seeds(models)]),
            "methods": ("lookup", "procrustes", "ridge"),
            "sentences": items,
            "grid": "",
        }


CURVES = (
    Curve(
        "align",
        "pairs",
        ((1, 6, 192, 200), (3, 6, 192, 200), (6, 6, 192, 200), (1, 3, 192, 200), (1, 12, 192, 200),
         (1, 6, 384, 200), (1, 6, 768, 200), (1, 6, 192, 100), (1, 6, 192, 400)),
        ("25 MultiBERTs, 300 pairs, 250 sentences, linear maps", (300, 12, 768, 250)),
        BERT_BASE,
        "Maps by word, Procrustes and ridge, both directions, all layers; no networks. A model's "
        "vectors are counted once a pair, although they are computed once.",
    ),
    Curve(
        "weights",
        "fine-tunes",
        ((2, 6, 192, 1), (8, 6, 192, 1), (24, 6, 192, 1), (2, 3, 192, 1), (2, 12, 192, 1),
         (2, 6, 384, 1), (2, 6, 768, 1)),
        ("1,000 fine-tunes of BERT-base", (1000, 12, 768, 1)),
        BERT_BASE,
        "Default vectors and 2,000 permutations; distances between models grow with their square, "
        "which 24 models hardly show.",
    ),
    Curve(
        "rsa",
        "compared models",
        ((1, 6, 192, 200), (2, 6, 192, 200), (4, 6, 192, 200), (1, 3, 192, 200), (1, 12, 192, 200),
         (1, 6, 384, 200), (1, 6, 768, 200), (1, 6, 192, 100), (1, 6, 192, 400)),
        ("BERT-large and a fine-tune, 10,000 sentences", (1, 24, 1024, 10_000)),
        BERT_LARGE,
        "1,000 words sampled whatever the text's length; sentences as long as the demo's. The "
        "bootstrap, which grows with the square of the sentences, hardly shows in 400 of them.",
    ),
)  # fmt: skip


def _seeds(pairs: int) -> int:
    """Number of models that make this many pairs."""
    return round((1 + math.sqrt(1 + 8 * pairs)) / 2)


def models_of(layers: int, width: int, count: int, folder: Path) -> list[str]:
    """Return models of random weights of one shape, which are made where they are missing.

    The first is the base; the others are copies with a little noise.
    """
    place = folder / f"{layers}x{width}"
    if not place.is_dir():
        make_models(place, layers, width, width // HEAD)
    for number in range(2, count):
        _add_model(place, number)
    return [f"path:{place / 'a'}", *(f"path:{place / f'tuned-{n}'}" for n in range(count - 1))]


def _add_model(place: Path, number: int) -> None:
    """Write another copy of the base with noise."""
    import shutil

    import torch
    from safetensors.torch import load_file, save_file

    target = place / f"tuned-{number}"
    if target.is_dir():
        return
    shutil.copytree(place / "a", target)
    torch.manual_seed(100 + number)
    tensors = load_file(target / "model.safetensors")
    moved = {
        name: tensor + torch.randn_like(tensor) * 0.002 if tensor.dim() == 2 else tensor
        for name, tensor in sorted(tensors.items())  # their order in the file is not fixed
    }
    save_file(moved, target / "model.safetensors", metadata={"format": "pt"})


def measurements(
    curve: Curve, folder: Path, kept: Path
) -> Iterator[tuple[tuple[int, ...], float, float]]:
    """Measure a study at each point: the point, processor seconds, gigabytes at the peak."""
    for point in curve.points:
        models, layers, width, _ = point
        count = _seeds(models) if curve.study == "align" else models + 1
        refs = models_of(layers, width, count, folder)
        row = measured((curve.study, curve.spec(point, refs)), kept)
        if row is not None and not row["failures"]:
            yield point, row["cpu"], row["hwm"]


@dataclass(frozen=True)
class Fit:
    """seconds = start + models · (each + scale · layers · width^a · items^b).

    A study has a task for each model or pair, and does the same in every layer, so that models and
    layers count linearly; what is fitted of them is seen in the residuals alone.

    Attributes:
        start: Seconds before anything begins.
        each: Seconds of a model or pair, whatever its size.
        scale: Seconds of a model or pair at the first point that grow with its size.
        powers: Exponents of width and items.
        first: The first point.
    """

    start: float
    each: float
    scale: float
    powers: tuple[float, float]
    first: tuple[float, ...]

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """Return the seconds at points, of shape "point factor"."""
        ratios = points / np.array(self.first)
        grown = ratios[:, 1] * ratios[:, 2] ** self.powers[0] * ratios[:, 3] ** self.powers[1]
        return np.asarray(self.start + points[:, 0] * (self.each + self.scale * grown))


def fit(points: np.ndarray, seconds: np.ndarray) -> Fit:
    """Fit by least squares of the logarithms, without negative parts.

    Args:
        points: Shape "point factor".
        seconds: Shape "point".
    """
    first = tuple(points[0])

    def of(values: np.ndarray) -> Fit:
        start, each, scale, width, items = map(float, values)
        return Fit(start, each, scale, (width, items), first)

    least = seconds.min()
    result = least_squares(
        lambda values: np.log(of(values)(points) / seconds),
        np.array([least / 2, least / 10, least / 4, 1.5, 1.0]),
        bounds=(0.0, [np.inf, np.inf, np.inf, 3.0, 3.0]),
    )
    return of(result.x)


def price_at(curve: Curve) -> float:
    """Return the processor seconds of the command's price at the predicted size."""
    names = [f"hub:scale/m{number}" for number in range(1001)]
    sizes: Mapping[str, Size] = dict.fromkeys(names, curve.model)
    study = STUDIES[curve.study]
    with mock.patch.object(costs, "size_of", sizes.__getitem__):
        if curve.study == "weights":  # a study takes fewer; its price grows in proportion
            few = study.price(study.Spec(**curve.spec((50, 0, 0, 1), names)))
            fewer = study.price(study.Spec(**curve.spec((25, 0, 0, 1), names)))
            each = (few.processor - fewer.processor) / 25
            return float(fewer.processor + each * (curve.large[1][0] - 25))
        return float(study.price(study.Spec(**curve.spec(curve.large[1], names))).processor)


def show(curve: Curve, folder: Path, kept: Path) -> None:
    """Print the measurements of a study, the fit, and the prediction."""
    rows = list(measurements(curve, folder, kept))
    print(f"\n## {curve.study}\n")
    print(f"| {curve.counted} | layers | width | sentences | processor s | fitted s | GB |")
    print("|---|---|---|---|---|---|---|")
    points = np.array([point for point, _, _ in rows], float)
    seconds = np.array([row[1] for row in rows])
    fitted, text = fit(points, seconds), np.ptp(points[:, 3]) > 0
    for (point, took, held), again in zip(rows, fitted(points), strict=True):
        cells = [*map(str, point[:3]), str(point[3]) if text else "none"]
        print(f"| {' | '.join(cells)} | {took:.1f} | {again:.1f} | {held:.2f} |")
    error = np.sqrt(np.mean(np.log(fitted(points) / seconds) ** 2))
    sentences = f" · sentences^{fitted.powers[1]:.2f}" if text else ""
    print(f"\nFitted: {fitted.start:.1f} s + {curve.counted} · ({fitted.each:.2f} s + "
          f"{fitted.scale:.2f} s · layers · width^{fitted.powers[0]:.2f}{sentences}), the latter "
          f"relative to the first row; root mean square error {error:.0%}.")  # fmt: skip
    name, large = curve.large
    hours = float(fitted(np.array([large], float))[0]) / 3600
    said = price_at(curve) / 3600
    print(f"\n**{name}: {hours:.1f} processor hours, {hours / 2:.1f} hours on two workers** (the "
          f"command's price: {said:.1f} and {said / 2:.1f}). {curve.assumed}")  # fmt: skip


def show_workers(folder: Path) -> None:
    """Print what the same sweep takes on one worker and on two."""
    print("\n## One worker and two\n")
    print("Eight cells of RSA (four models of 6 x 384, two measures, 200 sentences) on processes "
          "of one machine that share a store.\n")  # fmt: skip
    print("| workers | seconds | processor s, start and imports included | load |")
    print("|---|---|---|---|")
    refs = models_of(6, 384, 5, folder)
    for count in (1, 2):
        with tempfile.TemporaryDirectory() as name:
            path, before = Path(name, "scale.yaml"), used()["cpu"]
            path.write_text(
                f"study: rsa\nbase: {refs[0]}\ncompare: [{', '.join(refs[1:])}]\n"
                "measure: [rsa, cka-debiased]\nreferences: false\n"
            )
            with workers(count) as executor:
                sweep = read_sweep(path)
                began = time.monotonic()
                state = Run(sweep, Path(name), Store(Path(name, "store"))).run(
                    sweep.cells, executor
                )
                took = time.monotonic() - began
            assert len(state.finished) == len(sweep.cells), state.failures
        cells = (str(count), f"{took:.0f}", f"{used()['cpu'] - before:.0f}")
        print(f"| {' | '.join(cells)} | {os.getloadavg()[0]:.1f} |", flush=True)


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    place = Path(tempfile.gettempdir())
    parser.add_argument("--models", type=Path, default=place / "palimpsest-scale")
    parser.add_argument("--kept", type=Path, default=place / "palimpsest-scale.jsonl")
    parser.add_argument("--only", default="", help="name of a single study")
    arguments = parser.parse_args()
    began = time.strftime("%d %B %Y")
    print(f"`python -m benchmarks.scale`, {began}, load {os.getloadavg()[0]:.1f}.")
    for curve in CURVES:
        if arguments.only in ("", curve.study):
            show(curve, arguments.models, arguments.kept)
            sys.stdout.flush()
    if arguments.only in ("", "workers"):
        show_workers(arguments.models)


if __name__ == "__main__":
    main()
