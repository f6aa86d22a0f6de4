"""What classifiers of the same items share: the products of their features, and a step's metric.

With at least as many items as features, a fit has a coefficient for each feature and the metric is
of X'X; with fewer, one for each item and XX'.
"""

from __future__ import annotations

from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from core.maths.classifier import LARGE

BLOCK = 2**10  # rows of a product that is computed at once
SERVES = 30.0  # times the penalty, by variance, up to which a large factor serves another fit
SLACK = 1e-7  # of the metric's diagonal, added where it has no factor; ten times more each time


class Design:
    """Features of some items, with what fits to any labels share: it is made once.

    Attributes:
        features: With a constant column.
        by_item: Whether fits have a coefficient for each item, in place of each feature.
    """

    def __init__(self, features: Float[Tensor, "layer item feature"]) -> None:
        self.features = features
        self.by_item = features.shape[1] < features.shape[2]
        self._metric: Metric | None = None

    @cached_property
    def products(self) -> Float[Tensor, "layer coefficient coefficient"]:
        """X'X of each layer, or XX' where fits are by item."""
        return _products(self.features if self.by_item else self.features.transpose(1, 2))

    def metric(self, variance: Float[Tensor, " layer"], penalty: Float[Tensor, " layer"]) -> Metric:
        """What gradients are divided by: the one before, where it is large and near enough.

        The gradient has the fit's own penalty, so that another one's metric changes the steps and
        not where they lead.
        """
        if self._metric is None or not self._metric.serves(variance, penalty):
            self._metric = None  # two of them would be twice the memory
            self._metric = Metric(self.products, variance, penalty)
        return self._metric

    def weights(
        self, coefficients: Float[Tensor, "layer coefficient columns"]
    ) -> Float[Tensor, "layer feature columns"]:
        """The weights that these coefficients stand for."""
        if not self.by_item:
            return coefficients
        return torch.bmm(self.features.transpose(1, 2), coefficients)

    def gradient(self, errors: Float[Tensor, "layer item columns"]) -> Tensor:
        """The coefficients of X' times the errors."""
        return errors if self.by_item else torch.bmm(self.features.transpose(1, 2), errors)


class Metric:
    """The products times a variance, plus the penalty: what a gradient is divided by.

    Factorised in double precision and inverted; a large one, whose factor takes longer than the
    steps that it could save, in single precision and not inverted.

    Attributes:
        variance: (layer, 1, 1).
    """

    def __init__(
        self,
        products: Float[Tensor, "layer size size"],
        variance: Float[Tensor, " layer"],
        penalty: Float[Tensor, " layer"],
    ) -> None:
        self._products, self._large = products, products.shape[-1] > LARGE
        self.variance, self._ratio = variance[:, None, None], penalty / variance
        metric = (products if self._large else products.double()) * self.variance
        diagonal = metric.diagonal(dim1=1, dim2=2)
        self._added = penalty[:, None].expand(diagonal.shape).clone()
        diagonal.add_(self._added)
        slack = SLACK
        while (done := torch.linalg.cholesky_ex(metric)).info.any():
            more = slack * diagonal  # the penalty is within the rounding error of the products
            diagonal.add_(more)
            self._added.add_(more)
            slack *= 10
        self._held = done.L if self._large else torch.cholesky_inverse(done.L).to(products.dtype)

    def serves(self, variance: Float[Tensor, " layer"], penalty: Float[Tensor, " layer"]) -> bool:
        """Whether fits of this penalty need no factor of their own."""
        off = penalty / variance / self._ratio
        return self._large and bool(((off < SERVES) & (off > 1 / SERVES)).all())

    def solve(self, gradient: Float[Tensor, "layer size columns"]) -> Tensor:
        """The step, of the gradient's shape, that the metric turns into the gradient."""
        if not self._large:
            return torch.bmm(self._held, gradient)
        # one after the other they take a third of the time of `cholesky_solve`
        halfway = torch.linalg.solve_triangular(self._held, gradient, upper=False)
        step: Tensor = torch.linalg.solve_triangular(self._held.mT, halfway, upper=True)
        return step

    def products_times(
        self,
        step: Float[Tensor, "layer size columns"],
        gradient: Float[Tensor, "layer size columns"],
    ) -> Tensor:
        """The products times the step that was solved for this gradient.

        They are what the gradient has beyond the penalty's part, but for the error of the solution,
        which is that of a product where there is a factor, and larger where there is an inverse.
        """
        if self._large:
            return gradient.addcmul(step, self._added[..., None], value=-1.0) / self.variance
        return torch.bmm(self._products, step)


def _products(rows: Float[Tensor, "layer row column"]) -> Float[Tensor, "layer row row"]:
    """All rows times all rows, of which one half is computed and the other one mirrored."""
    layers, count, _ = rows.shape
    products = rows.new_empty(layers, count, count)
    for start in range(0, count, BLOCK):
        end = min(count, start + BLOCK)
        part = torch.bmm(rows[:, start:end], rows[:, :end].transpose(1, 2))
        products[:, start:end, :end] = part
        products[:, :start, start:end] = part[..., :start].transpose(1, 2)
    return products
