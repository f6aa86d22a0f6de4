"""Non-linear maps: an invertible network (the paper's BERT-INN) and an MLP, which need not be
bijective.

The invertible network is a rotation followed by affine coupling blocks, each in a random basis:
rotate, couple both halves, rotate back. A coupling block scales and shifts one half of the
dimensions by functions of the other half, then the other way round, so its inverse is exact and
costs the same. The last layer of every block starts at zero, so that training starts from the
orthogonal Procrustes map; the MLP starts from ridge regression in the same way. Starting the
invertible network from ridge as well was tried on one pair: the error was no lower after 300 steps
and the inverse a thousand times less exact, because ridge shrinks unpredictable directions to
almost nothing.

References: Dinh et al. 2017 (RealNVP); Kingma & Dhariwal 2018 (both halves in a block); arXiv
2305.14555 (BERT-INN).
Deviations: the paper trains one network for all layers from a random initialisation, at a learning
rate of 1e-6; here each layer has a network.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Self, cast

import numpy as np
import torch
from FrEIA.framework import SequenceINN
from torch import Tensor, nn

from core.maths.maps.bank import Schedule, Stackable, linear
from core.maths.maps.coupling import Unturned, coupling_network
from core.maths.maps.fitting import Curve, train_bank
from core.maths.maps.linear import (
    Aligner,
    LinearAligner,
    Procrustes,
    Ridge,
    hold_out,
)
from core.maths.maps.moments import Moments, Rows, moments
from core.maths.seeding import seeded

CHUNK = 1000  # rows
COUPLED = Schedule(learning_rate=4e-3, patience=3, noise=0.4)
PLAIN = Schedule(batch=128, learning_rate=1e-3, noise=0.2)


class _TrainedAligner(Aligner):
    """Base of trained maps: a closed-form map, then a network for each layer on its output, in
    units of the spread."""

    from_moments = True
    curve: Curve | None = None

    def __init__(self, start: LinearAligner, hidden: int, schedule: Schedule, seed: int) -> None:
        self.start, self.hidden, self.seed = start, hidden, seed
        self.schedule = replace(schedule, seed=seed)

    @abstractmethod
    def _network(self, d: int, seed: int) -> nn.Module:
        """Make an untrained network."""

    def fit(self, x: Rows, y: Rows, validation: tuple[Rows, Rows] | None = None) -> Self:
        """Fit on paired training rows, with early stopping on the validation rows.

        Raises:
            ShapeError: If rows do not pair up, widths do not fit, or values are not finite.
        """
        x, y = np.asarray(x), np.asarray(y)
        self._check_widths(x, y)
        x, y, validation = hold_out(x, y, validation)
        return self.fit_known(x, y, validation, moments(x, y))

    def fit_known(self, x: Rows, y: Rows, validation: tuple[Rows, Rows], sums: Moments) -> Self:
        """Fit as `fit` does, from the known moments of the training rows."""
        self._check_widths(x, y)
        self.start.fit_moments(sums, validation)
        self.flat = x.ndim == 2
        variance = np.trace(sums.y.covariance, axis1=-2, axis2=-1) / y.shape[-1]
        self.spread = np.sqrt(np.where(variance > 0, variance, 1.0))[..., None, None]
        numbers = self.numbers or range(1 if self.flat else x.shape[0])
        self.bank = nn.ModuleList(
            [self._network(y.shape[-1], self.seed * 1000 + number) for number in numbers]
        )
        rows = [self._prepared(x, self.start.transform), self._prepared(y)]
        rows += [self._prepared(validation[0], self.start.transform), self._prepared(validation[1])]
        del x, y, validation, sums  # frees their memory during training
        inner, rows[1], rows[3] = self._inside(rows[1], rows[3])
        self.curve = train_bank(inner, rows[0], rows[1], rows[2], rows[3], self.schedule)
        # trained in float32, applied in float64: the inverse is then exact to rounding
        self.bank.double()
        return self

    def transform(self, x: Rows) -> Rows:
        """Map source rows into the target space."""
        rows = self._scaled(self.start.transform(x)).double()
        with torch.inference_mode():
            mapped = torch.stack([network(rows[i]) for i, network in enumerate(self.bank)])
        return self._unscaled(mapped)

    def _inside(self, y: Tensor, held_y: Tensor) -> tuple[nn.ModuleList, Tensor, Tensor]:
        """What is trained of the networks, and its training and validation targets."""
        return self.bank, y, held_y

    def _prepared(self, rows: Rows, through: Callable[[Rows], Rows] = np.asarray) -> Tensor:
        """The networks' input, in float32; made in chunks, because intermediate values are in
        float64."""
        starts = range(0, rows.shape[-2], CHUNK)
        return torch.cat(
            [self._scaled(through(rows[..., start : start + CHUNK, :])) for start in starts], dim=-2
        )

    def _scaled(self, y: np.ndarray) -> Tensor:
        scaled = np.asarray(y, dtype=np.float64) - self.start.mean_y
        scaled /= self.spread
        rows = torch.from_numpy(scaled)
        rows = rows[None] if self.flat else rows
        return rows.float() if self.curve is None else rows

    def _unscaled(self, rows: Tensor) -> np.ndarray:
        y = (rows.numpy()[0] if self.flat else rows.numpy()) * self.spread
        y += self.start.mean_y
        return cast(np.ndarray, y)


class Inn(_TrainedAligner):
    """An invertible network: Procrustes, then affine coupling blocks."""

    needs_equal_width = True
    invertible = True

    def __init__(
        self, blocks: int = 4, hidden: int = 64, schedule: Schedule = COUPLED, seed: int = 0
    ) -> None:
        super().__init__(Procrustes(scale=True), hidden, schedule, seed)
        self.blocks = blocks

    def _network(self, d: int, seed: int) -> nn.Module:
        return _Rows(coupling_network(d, self.blocks, self.hidden, seed))

    def _inside(self, y: Tensor, held_y: Tensor) -> tuple[nn.ModuleList, Tensor, Tensor]:
        """All but the last rotation, which changes no distance: its inverse turns the targets
        once, in place of every step's rows."""
        networks = [cast(_Rows, network).network for network in self.bank]
        inner = nn.ModuleList([Unturned(network) for network in networks])
        back = torch.stack([network.module_list[-1].M_inv for network in networks])
        return inner, y @ back, held_y @ back

    def inverse_transform(self, y: Rows) -> Rows:
        """Map target rows back into the source space, exactly."""
        rows = self._scaled(y).double()
        with torch.inference_mode():
            back = torch.stack([network(rows[i], rev=True) for i, network in enumerate(self.bank)])
        return self.start.inverse_transform(self._unscaled(back))


class _Rows(nn.Module):
    """An invertible network that returns rows without the Jacobian."""

    def __init__(self, network: SequenceINN) -> None:
        super().__init__()
        self.network = network

    def forward(self, rows: Tensor, rev: bool = False) -> Tensor:
        return cast("Tensor", self.network(rows, rev=rev, jac=False)[0])


class Mlp(_TrainedAligner):
    """Ridge regression plus a two-layer network, which need not be a bijection."""

    def __init__(self, hidden: int = 1024, schedule: Schedule = PLAIN, seed: int = 0) -> None:
        super().__init__(Ridge(), hidden, schedule, seed)

    def _network(self, d: int, seed: int) -> nn.Module:
        with seeded(seed):
            return _Residual(d, self.hidden)


class _Residual(Stackable):
    """rows + network(rows), with a network that starts at zero."""

    def __init__(self, d: int, hidden: int) -> None:
        super().__init__()
        self.inward, self.outward = nn.Linear(d, hidden), nn.Linear(hidden, d)
        nn.init.zeros_(self.outward.weight)
        nn.init.zeros_(self.outward.bias)

    def forward(self, rows: Tensor) -> Tensor:
        return cast("Tensor", rows + self.outward(nn.functional.gelu(self.inward(rows))))

    def stacked(self, weights: dict[str, Tensor], rows: Tensor) -> Tensor:
        hidden = nn.functional.gelu(linear(weights, "inward", rows))
        return rows + linear(weights, "outward", hidden)
