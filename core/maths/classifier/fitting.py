"""Linear classifiers of all layers and label sets at once: multinomial logistic regression.

The objective is the sum over items of -log softmax(x W)[label] plus half the penalty times the sum
of squared weights: scikit-learn's `LogisticRegression` with C = 1 / penalty and no intercept. The
features have a constant column instead (`standardised`), whose weights are penalised too, so that a
class that never occurred keeps a small, finite probability, which an online code needs.

The objective is convex, so that the solution does not depend on the start. It is minimised by
nonlinear conjugate gradients (Polak and Ribière's, restarted where they would turn back) in the
metric of X'X times the mean variance of a class, plus the penalty: one factorisation per layer
serves all classes and label sets. How far to go along a direction is Newton's method on the logits,
which needs no product of matrices. The penalty keeps the weights in the space that the items span,
so that fewer items than features are fitted by the coefficients of the items: the weights are X'
times these, and XX' takes the place of both X and X'X.

References:
    Minka 2003, A comparison of numerical optimizers for logistic regression. Nocedal & Wright 2006,
    Numerical Optimization, section 5.2. Schölkopf & Smola 2002, Learning with Kernels, section 4.2
    (the representer theorem).
Deviations: none in the model; the optimiser changes only the running time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from core.errors import ShapeError
from core.maths.classifier.design import Design

MOST_STEPS = 1_000
TOLERANCE = 1e-5  # nats per item that a step gains
SEARCHES, FLAT = 20, 0.1  # along a direction: most points, and the share of its slope that is left
LEAST_VARIANCE = 1e-4  # of a class, in the metric
TINY = 1e-30  # keeps a fit that is perfect from dividing by 0


def standardised(
    vectors: Float[np.ndarray, "item layer feature"], fitted: int, scale: float = 1.0
) -> Float[Tensor, "layer item wider"]:
    """Standardise features by layer on the first `fitted` items, and append a constant 1.

    A feature that does not vary over those items becomes 0.

    Args:
        vectors: Of any number format.
        fitted: Items, from the front, over which mean and deviation are computed; at least 1.
        scale: Deviation of each feature afterwards.
    """
    items, layers, width = vectors.shape
    if not 1 <= fitted <= items:
        raise ShapeError(f"Features are standardised on 1 to {items} items; got {fitted}.")
    wide = np.ones((layers, items, width + 1), dtype=np.float32)
    for layer in range(layers):  # one at a time: in full precision all would be twice the memory
        values = vectors[:, layer].astype(np.float32)
        values -= values[:fitted].mean(axis=0)
        deviation = values[:fitted].std(axis=0)
        varies = deviation > 1e-6 * max(float(deviation.max()), 1e-12)
        wide[layer, :, :width] = values * np.where(
            varies, scale / np.where(varies, deviation, 1.0), 0.0
        )
    return torch.from_numpy(wide)


def fit_classifiers(
    features: Float[Tensor, "layer item feature"] | Design,
    labels: Int[Tensor, "set item"],
    classes: int,
    penalty: float | Float[Tensor, " layer"],
    *,
    start: Float[Tensor, "layer set feature class"] | None = None,
    tolerance: float = TOLERANCE,
    most: int = MOST_STEPS,
    report: Callable[[float], None] | None = None,
) -> Float[Tensor, "layer set feature class"]:
    """Weights of one classifier for each layer and each set of labels.

    Args:
        features: Of the items, with a constant column; a design where several fits share them.
        labels: Class of each item, 0 to classes - 1; several sets are fitted on the same features.
        classes: Number of classes, including those that do not occur in these items.
        penalty: Half of it times the sum of squared weights is added; above 0; one for all layers,
            or one for each.
        start: Initial weights, such as those for fewer items; zeros by default.
        tolerance: Stops when two steps in a row gain less for every classifier (nats per item).
        most: Most steps.
        report: Called with the share of `most` that is done; may raise to end the fit.

    Raises:
        ShapeError: If features and labels differ in items, or a label is not a class.
    """
    design = features if isinstance(features, Design) else Design(features)
    layers, items, width = design.features.shape
    penalty = torch.as_tensor(penalty, dtype=design.features.dtype).expand(layers)
    _check(items, labels, classes, float(penalty.min()))
    sets = len(labels)
    begun = design.features.new_zeros(layers, width, sets * classes)
    if start is not None:
        begun = start.permute(0, 2, 1, 3).reshape(begun.shape).to(begun.dtype)
    line = _Line(design, labels, classes, penalty, begun)
    metric = design.metric(line.variance(), penalty)
    where = begun
    if design.by_item:  # coefficients of the start, but for what the penalty holds down anyway
        where = metric.variance * metric.solve(line.logits)
        line.put(where)
    direction = before = torch.zeros_like(where)
    strength, earlier = where.new_ones(layers, sets), torch.full((layers, sets), torch.inf)
    for step in range(most):
        gradient = design.gradient(line.errors).addcmul(where, penalty[:, None, None])
        move = metric.solve(gradient)
        image = metric.products_times(move, gradient) if design.by_item else move
        fresh = line.each(gradient * image)
        share = ((fresh - line.each(before * image)) / strength.clamp(min=TINY)).clamp(min=0)
        uphill = share * line.each(gradient * line.image) >= fresh
        kept = line.wide(share.masked_fill(uphill, 0.0))
        direction = kept * direction - move
        before, strength = gradient, fresh
        where, gain = line.follow(where, direction, kept * line.image - image)
        if bool((torch.maximum(gain, earlier) < tolerance * items).all()):
            break  # one small step may be that of a poor direction
        earlier = gain
        if report is not None:
            report(step / most)
    per_set = (layers, width, sets, classes)
    return design.weights(where).view(per_set).permute(0, 2, 1, 3).contiguous()


class _Line:
    """The objective of every classifier along a direction of its coefficients.

    Attributes:
        logits: (layer, item, set * class), at the coefficients that were reached last.
        errors: Probabilities less the true classes, of the same shape, there.
        image: Of the last direction, 0 before the first: what other coefficients are multiplied by
            to be the inner product of both's weights. The direction itself, or XX' times it where
            fits are by item.
    """

    def __init__(
        self,
        design: Design,
        labels: Int[Tensor, "set item"],
        classes: int,
        penalty: Float[Tensor, " layer"],
        weights: Float[Tensor, "layer feature columns"],
    ) -> None:
        layers, items, _ = design.features.shape
        sets = len(labels)
        self._design, self._penalty, self._classes = design, penalty[:, None], classes
        self._shape = (layers, -1, sets, classes)
        first = classes * torch.arange(sets)[:, None]  # column of each set
        self._true = (labels + first).T.expand(layers, items, sets)  # columns of the true classes
        self._one = torch.ones_like(self._true, dtype=weights.dtype)
        self.logits = torch.bmm(design.features, weights)
        self.errors = self._errors(self.logits)
        self.image = torch.zeros((), dtype=weights.dtype)

    def put(self, coefficients: Float[Tensor, "layer coefficient columns"]) -> None:
        """Go to these coefficients of a fit by item."""
        self.logits = torch.bmm(self._design.products, coefficients)
        self.errors = self._errors(self.logits)

    def each(self, values: Tensor) -> Float[Tensor, "layer set"]:
        """Sums over all but layers and sets, of (layer, any, set * class)."""
        return values.view(self._shape).sum(dim=(1, 3))

    def wide(self, values: Float[Tensor, "layer set"]) -> Float[Tensor, "layer 1 columns"]:
        """Repeat a value of each set for its classes."""
        return values.repeat_interleave(self._classes, dim=1)[:, None]

    def variance(self) -> Float[Tensor, " layer"]:
        """Mean variance of a class at the weights: p (1 - p) over items, sets and classes."""
        shares = self.errors.scatter_add(2, self._true, self._one)
        return (shares - shares.square()).mean(dim=(1, 2)).clamp(min=LEAST_VARIANCE)

    def follow(
        self,
        where: Float[Tensor, "layer coefficient columns"],
        direction: Float[Tensor, "layer coefficient columns"],
        image: Float[Tensor, "layer coefficient columns"],
    ) -> tuple[Float[Tensor, "layer coefficient columns"], Float[Tensor, "layer set"]]:
        """Go along the direction, which has this image, to where the slope is nearly 0.

        Returns:
            The coefficients there, and what the first step of Newton's method promised to gain
            (nats).
        """
        by_item = self._design.by_item
        self.image = image
        along = image if by_item else torch.bmm(self._design.features, direction)
        truly = along.gather(2, self._true)
        pull = self._penalty * self.each(self.image * where)
        stiffness = self._penalty * self.each(self.image * direction)

        def measured(reach: Tensor) -> tuple[Tensor, Tensor]:
            """Slope and curvature at a point; a curvature of 0 only where there is no way to go."""
            product = self.errors * along
            means = product.view(self._shape).sum(-1)
            squares = product.mul_(along).view(self._shape).sum(-1) + truly.square()
            curvature = (squares - (means + truly).square()).sum(1)
            return means.sum(1) + pull + reach * stiffness, curvature + stiffness

        reach = torch.zeros_like(pull)
        low, high = reach, torch.full_like(reach, torch.inf)
        slope, curvature = measured(reach)
        steepest, slow = slope.abs(), torch.zeros_like(reach, dtype=torch.bool)
        gain = 0.5 * slope.square() / curvature.clamp(min=TINY)
        for _ in range(SEARCHES):
            low, high = torch.where(slope > 0, low, reach), torch.where(slope > 0, reach, high)
            newton = reach - slope / curvature.clamp(min=TINY)
            inside = (newton >= low) & (newton <= high) & ~(slow & high.isfinite())
            reach = torch.where(inside, newton, (low + high) / 2)
            self.errors = self._errors(self.logits + self.wide(reach) * along)
            last = slope.abs()
            slope, curvature = measured(reach)
            slow = slope.abs() > last / 2  # such as between two points, back and forth: halve
            if bool((slope.abs() <= FLAT * steepest).all()):
                break
        else:  # the last point that is surely below the start
            reach = torch.where(slope > 0, low, reach)
            self.errors = self._errors(self.logits + self.wide(reach) * along)
        self.logits.add_(self.wide(reach) * along)
        return where + self.wide(reach) * direction, gain

    def _errors(self, logits: Float[Tensor, "layer item columns"]) -> Tensor:
        shares = torch.softmax(logits.view(self._shape), dim=-1).view(logits.shape)
        return shares.scatter_add_(2, self._true, -self._one)


def _check(items: int, labels: Int[Tensor, "set item"], classes: int, penalty: float) -> None:
    """Refuse labels that do not fit the items, and a penalty that is not above 0."""
    if labels.ndim != 2 or labels.shape[1] != items or items == 0:
        raise ShapeError(
            f"{items} items have {tuple(labels.shape)} labels; "
            "there must be one for each, in each set."
        )
    if int(labels.min()) < 0 or int(labels.max()) >= classes or penalty <= 0:
        raise ShapeError(
            f"Labels run from 0 to {classes - 1}, and the penalty is above 0; got {penalty}."
        )


def log_probabilities(
    features: Float[Tensor, "layer item feature"], weights: Float[Tensor, "layer set feature class"]
) -> Float[Tensor, "layer set item class"]:
    """Natural logarithm of every class's probability."""
    return torch.log_softmax(torch.matmul(features[:, None], weights), dim=-1)
