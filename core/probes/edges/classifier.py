"""Linear classifiers of all layers and label sets at once: multinomial logistic regression.

The objective is the sum over items of -log softmax(x W)[label] plus half the penalty times the sum
of squared weights: scikit-learn's `LogisticRegression` with C = 1 / penalty and no intercept. The
features have a constant column instead (`standardised`), whose weights are penalised too, so that a
class that never occurred keeps a small, finite probability, which an online code needs.

The objective is convex, so that the solution does not depend on the start. It is minimised by
accelerated gradient steps (Nesterov, with O'Donoghue & Candès' restarts) in the metric of a fixed
upper bound of the Hessian, half of X'X plus the penalty: one factorisation per layer serves all
classes and label sets, and no line search is needed. Few items of many features are fitted in
coordinates of the space that the items span: the penalty keeps the weights in it.

References:
    Böhning 1992, Multinomial logistic regression algorithm. Annals of the Institute of Statistical
    Mathematics 44. O'Donoghue & Candès 2015, Adaptive restart for accelerated gradient schemes.
Deviations: none in the model; the optimiser changes only the running time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from core.errors import ShapeError

if TYPE_CHECKING:
    from torch import Tensor

MOST_STEPS = 1_000
SPANNED = 0.75  # times the features: with fewer items than that, the fit is in the items' span
TOLERANCE = 1e-6  # nats per item that the next step would gain


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
    import torch

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
    features: Float[Tensor, "layer item feature"],
    labels: Int[Tensor, "set item"],
    classes: int,
    penalty: float,
    *,
    start: Float[Tensor, "layer set feature class"] | None = None,
    tolerance: float = TOLERANCE,
    most: int = MOST_STEPS,
    report: Callable[[float], None] | None = None,
) -> Float[Tensor, "layer set feature class"]:
    """Weights of one classifier for each layer and each set of labels.

    Args:
        features: Of the items, with a constant column.
        labels: Class of each item, 0 to classes - 1; several sets are fitted on the same features.
        classes: Number of classes, including those that do not occur in these items.
        penalty: Half of it times the sum of squared weights is added; above 0.
        start: Initial weights, such as those for fewer items; zeros by default.
        tolerance: Stops when the next step gains less for every classifier (nats per item).
        most: Most steps.
        report: Called with the share of `most` that is done; may raise to end the fit.

    Raises:
        ShapeError: If features and labels differ in items, or a label is not a class.
    """
    import torch

    layers, items, width = features.shape
    _check(items, labels, classes, penalty)
    if items < SPANNED * width:
        basis, inside = _in_span(features)
        if start is not None:
            start = torch.matmul(basis.transpose(1, 2)[:, None], start.to(features.dtype))
        options: dict[str, Any] = {"start": start, "tolerance": tolerance, "most": most}
        weights = fit_classifiers(inside, labels, classes, penalty, **options, report=report)
        return torch.matmul(basis[:, None], weights)
    sets = len(labels)
    first = classes * torch.arange(sets)[:, None]  # column of each set
    columns = (labels + first).T.expand(layers, items, sets)  # of the true classes
    back = features.transpose(1, 2)
    inverse = _inverse_bound(features, penalty)
    weights = features.new_zeros(layers, width, sets * classes)
    if start is not None:
        weights = start.permute(0, 2, 1, 3).reshape(weights.shape).to(features.dtype)
    ahead, speed = weights, features.new_ones(layers, sets)
    per_set = (layers, width, sets, classes)
    for step in range(most):
        logits = torch.bmm(features, ahead).view(layers, items, sets, classes)
        errors = torch.softmax(logits, dim=-1).view(layers, items, sets * classes)
        errors.scatter_add_(2, columns, -torch.ones_like(columns, dtype=features.dtype))
        gradient = torch.bmm(back, errors).add_(ahead, alpha=penalty)
        move = torch.bmm(inverse, gradient)
        fresh = ahead - move
        gain = 0.5 * (gradient * move).view(per_set).sum(dim=(1, 3)) / items
        if bool((gain < tolerance).all()):
            weights = fresh
            break
        # Where the last step increased the objective, the momentum of that classifier is reset.
        uphill = (gradient * (fresh - weights)).view(per_set).sum(dim=(1, 3)) > 0
        faster = torch.where(uphill, 1.0, (1 + torch.sqrt(1 + 4 * speed**2)) / 2)
        momentum = torch.where(uphill, 0.0, (speed - 1) / faster)
        momentum = momentum.repeat_interleave(classes, dim=1)[:, None]
        ahead, weights, speed = fresh + momentum * (fresh - weights), fresh, faster
        if report is not None:
            report(step / most)
    return weights.view(per_set).permute(0, 2, 1, 3).contiguous()


def _check(items: int, labels: Int[Tensor, "set item"], classes: int, penalty: float) -> None:
    """Refuse labels that do not fit the items, and a penalty that is not above 0."""
    if labels.ndim != 2 or labels.shape[1] != items or items == 0:
        raise ShapeError(
            f"{items} items have {tuple(labels.shape)} labels; there must be one for each, in each "
            f"set."
        )
    if int(labels.min()) < 0 or int(labels.max()) >= classes or penalty <= 0:
        raise ShapeError(
            f"Labels run from 0 to {classes - 1}, and the penalty is above 0; got {penalty}."
        )


def _in_span(
    features: Float[Tensor, "layer item feature"],
) -> tuple[Float[Tensor, "layer feature item"], Float[Tensor, "layer item item"]]:
    """An orthonormal basis of the space that the items span, in which the best weights lie, and the
    items' coordinates in it."""
    import torch

    basis, coordinates = torch.linalg.qr(features.transpose(1, 2))
    return basis, coordinates.transpose(1, 2)


def log_probabilities(
    features: Float[Tensor, "layer item feature"], weights: Float[Tensor, "layer set feature class"]
) -> Float[Tensor, "layer set item class"]:
    """Natural logarithm of every class's probability."""
    import torch

    return torch.log_softmax(torch.matmul(features[:, None], weights), dim=-1)


def _inverse_bound(features: Float[Tensor, "layer item feature"], penalty: float) -> Tensor:
    """Inverse of X'X / 2 + penalty, by layer; factorised in double precision."""
    import torch

    bounds = [0.5 * (layer.T @ layer).double() for layer in features]
    eye = penalty * torch.eye(features.shape[2], dtype=torch.float64)
    factors = torch.stack([torch.linalg.cholesky(bound + eye) for bound in bounds])
    return torch.cholesky_inverse(factors).to(features.dtype)
