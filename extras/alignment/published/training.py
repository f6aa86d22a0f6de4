"""The maps of the code published with BERT-INN, trained as in that code.

Three networks: an invertible one (one RealNVP layer, which transforms both halves of the
coordinates in turn with the same pair of networks for log-scale and shift), a linear map, and an
MLP of four linear layers, which need not be invertible. All are initialised at random, data are
neither centred nor scaled, and Adam takes one step for each layer of each batch while gradients
accumulate over the layers of a batch. The learning rate starts at 1e-6 and falls by 1 % after every
batch, so that all steps together change a weight by little more than 1e-4 per layer, about a
hundredth of a typical initial weight.

References: arXiv 2305.14555; github.com/twinkle0331/BERT-similarity (`run_hidden_similarity.py`,
`utils/MLP.py`), and the package of its invertible layer, github.com/ELIFE-ASU/INNLab. From the
code: architecture, initialisation (Xavier normal, including biases), Adam, rates, batches of 64 in
the order of the text, 3,000 batches, incomplete batches skipped while the rate still falls. Whether
the paper's figures were made with these settings is not known.
Deviations: bfloat16 products where the processor has units for them, as for the maps of the study.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import gelu, selu

from core.maths.arrays import Value
from core.maths.maps.bank import fast_bfloat16
from core.maths.progress import checkpoint, tick
from extras.alignment.published.spec import BATCH, DECAY, LEARNING_RATE

WIDER = 4  # hidden width of the invertible layer's networks, in units of d
NETWORKS = {"inn": ("scale", "shift"), "linear": ("map",), "mlp": ("map",)}
FORM = "alignment.published/1"  # version of the checkpoint
LARGEST_STATE = 2e8  # bytes; a larger checkpoint costs more to write than to compute again

Weights = dict[str, Tensor]


@dataclass(frozen=True)
class Trained:
    """Networks before and after training on `seen` batches, one for all layers or one per layer;
    weights are (network, in, out)."""

    kind: str
    start: Weights
    end: Weights
    seen: int

    def map(self, rows: Float[np.ndarray, "layer row d"], trained: bool = True) -> np.ndarray:
        """Map the rows of every layer by its network, float64."""
        weights = self.end if trained else self.start
        double = {name: weight.double() for name, weight in weights.items()}
        with torch.inference_mode():
            given = torch.from_numpy(np.asarray(rows, dtype=np.float64))
            return np.asarray(apply(self.kind, double, given))


def draw(kind: str, d: int, count: int, generator: torch.Generator) -> Weights:
    """Draw the initial weights of `count` networks: Xavier normal, biases like matrices of one
    column."""
    wide = WIDER * d
    widths = {"inn": [d, wide, wide, d], "linear": [d, d], "mlp": [d] * 5}[kind]
    weights: Weights = {}
    for part in NETWORKS[kind]:
        for number, (inward, outward) in enumerate(pairwise(widths)):
            for name, shape, fans in (
                ("weight", (count, inward, outward), inward + outward),
                ("bias", (count, 1, outward), 1 + outward),
            ):
                weights[f"{part}/{number}/{name}"] = (
                    torch.randn(shape, dtype=torch.float32, generator=generator) * (2 / fans) ** 0.5
                )
    return weights


def apply(
    kind: str, weights: Weights, rows: Float[Tensor, "layer row d"]
) -> Float[Tensor, "layer row d"]:
    """Apply the networks to rows; a single network maps the rows of all layers."""
    layers, count, d = rows.shape
    if next(iter(weights.values())).shape[0] == 1 and layers > 1:
        return apply(kind, weights, rows.reshape(1, layers * count, d)).reshape(layers, count, d)
    if kind != "inn":
        return _through(weights, "map", rows, gelu)
    mask = (torch.arange(d) % 2 == 0).to(rows.dtype)
    for held in (mask, 1 - mask):
        fixed = held * rows
        scale = torch.exp(torch.tanh(_through(weights, "scale", fixed, selu)))
        rows = fixed + (1 - held) * (rows * scale + _through(weights, "shift", fixed, selu))
    return rows


def _through(weights: Weights, part: str, rows: Tensor, activation: object) -> Tensor:
    depth = sum(name.startswith(f"{part}/") for name in weights) // 2
    for number in range(depth):
        rows = torch.baddbmm(
            weights[f"{part}/{number}/bias"], rows, weights[f"{part}/{number}/weight"]
        )
        if number + 1 < depth:
            rows = activation(rows)  # type: ignore[operator]
    return rows


def train(
    kind: str,
    x: Float[np.ndarray, "layer row d"],
    y: Float[np.ndarray, "layer row d"],
    *,
    steps: int,
    shared: bool,
    seed: int,
) -> Trained:
    """Train a map of the published code (`kind` of `NETWORKS`) on paired rows, neither centred nor
    scaled, for so many batches: one network for all layers in turn (`shared`), or one per layer. A
    run saves a checkpoint of the training at intervals and resumes from it."""
    layers, count, d = x.shape
    start = draw(kind, d, 1 if shared else layers, torch.Generator().manual_seed(seed))
    weights = {name: weight.clone().requires_grad_() for name, weight in start.items()}
    optimiser = torch.optim.Adam(list(weights.values()), lr=LEARNING_RATE, fused=True)
    sources, targets = (
        torch.from_numpy(np.asarray(x, np.float32)),
        torch.from_numpy(np.asarray(y, np.float32)),
    )
    batch = min(BATCH, count)
    stored, begun, place, seen = checkpoint(FORM), 0, 0, 0
    small = 12 * sum(weight.numel() for weight in start.values()) <= LARGEST_STATE
    if small and (resumed := stored.find()) is not None:
        begun, place, seen = (int(number) for number in resumed["at"])
        _restore(weights, optimiser, resumed)
    turns = [slice(layer, layer + 1) for layer in range(layers)] if shared else [slice(0, layers)]
    for step in range(begun, steps):
        tick(step / steps, f"batch {step + 1:,} of {steps:,}")
        if small and stored.due:
            stored.keep(_state(weights, optimiser, (step, place, seen)))
        optimiser.param_groups[0]["lr"] = LEARNING_RATE * DECAY**step
        if place + batch > count:  # the published loop skips such a batch and still lowers its rate
            place = 0
            continue
        some = slice(place, place + batch)
        optimiser.zero_grad()
        for turn in turns:
            with torch.autocast("cpu", torch.bfloat16, enabled=fast_bfloat16(d)):
                mapped = apply(kind, weights, sources[turn, some])
            ((mapped.float() - targets[turn, some]) ** 2).mean((1, 2)).sum().backward()
            optimiser.step()
        place, seen = place + batch, seen + 1
    end = {name: weight.detach() for name, weight in weights.items()}
    return Trained(kind, start, end, seen)


def _state(weights: Weights, optimiser: torch.optim.Adam, at: tuple[int, int, int]) -> Value:
    """Collect everything needed to resume training."""
    value: Value = {"at": np.asarray(at)}
    for name, weight in weights.items():
        value[f"weight/{name}"] = weight.detach().numpy()
        for part, moment in optimiser.state[weight].items():
            value[f"{part}/{name}"] = moment.numpy()
    return value


def _restore(weights: Weights, optimiser: torch.optim.Adam, checkpoint: Value) -> None:
    with torch.no_grad():
        for name, weight in weights.items():
            weight.copy_(torch.tensor(checkpoint[f"weight/{name}"]))
            parts = [
                part for part in ("step", "exp_avg", "exp_avg_sq") if f"{part}/{name}" in checkpoint
            ]
            if parts:
                optimiser.state[weight] = {
                    part: torch.tensor(checkpoint[f"{part}/{name}"]) for part in parts
                }
