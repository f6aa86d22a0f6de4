"""The structural probe: a linear map after which squared distances approximate tree distances.

For a map B of rank k (k rows, d columns) the distance probe predicts |B(h_i - h_j)|^2 for the path
length between words i and j, and the depth probe |B h_i|^2 for the number of edges between word i
and the root. A bank holds one map for each of several probes and applies them in one batched
product.

The losses are absolute errors, so their gradients need no graph. With s_ij the sign of the error
between words i and j over squared length, and L the Laplacian diag(sum_j s_ij) - s, the gradient of
the distance loss with respect to the projected words P is 4 L P; with s_i the sign of a word's
error over length, that of the depth loss is 2 s_i P_i.

Reference: Hewitt & Manning 2019, NAACL, "A Structural Probe for Finding Syntax in Word
Representations", section 2. Deviations: distances are computed from the Gram matrix of the
projected words (|a|^2 + |b|^2 - 2ab, clamped at 0) after subtracting the sentence's mean, which
leaves distances unchanged and reduces rounding; the published code computes every difference
vector, which takes rank times the memory.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from core.errors import ShapeError

PADDING = -1
"""Gold value of padding."""


def project(
    bank: Float[Tensor, "probe rank d_model"], vectors: Float[Tensor, "source item d_model"]
) -> Float[Tensor, "probe item rank"]:
    """Word vectors in each probe's subspace.

    Args:
        bank: One map per probe.
        vectors: One set for each probe (source = probe), or one that all probes read (source = 1).

    Raises:
        ShapeError: If sources or d_model do not fit the bank.

    Example:
        >>> project(torch.eye(2)[None], torch.tensor([[[3.0, 4.0]]])).tolist()
        [[[3.0, 4.0]]]
    """
    if vectors.shape[2] != bank.shape[2] or len(vectors) not in (1, len(bank)):
        raise ShapeError(
            f"A bank of {len(bank)} probes for vectors of {bank.shape[2]} dimensions does not fit "
            f"{len(vectors)} sets of vectors of {vectors.shape[2]} dimensions."
        )
    return torch.matmul(vectors, bank.transpose(1, 2))


def squared_distances(
    projected: Float[Tensor, "probe sentence word rank"],
) -> Float[Tensor, "probe sentence word word"]:
    """Squared L2 distance between every two words of a sentence, after projection; exactly 0 on the
    diagonal.

    Example:
        >>> squared_distances(torch.tensor([[[[0.0], [1.0], [3.0]]]])).tolist()
        [[[[0.0, 1.0, 9.0], [1.0, 0.0, 4.0], [9.0, 4.0, 0.0]]]]
    """
    probes, sentences, words, rank = projected.shape
    flat = projected.reshape(probes * sentences, words, rank)
    flat = flat - flat.mean(dim=1, keepdim=True)
    return _pairwise(flat).clamp_(min=0).view(probes, sentences, words, words)


def squared_norms(projected: Float[Tensor, "probe *items rank"]) -> Float[Tensor, probe * items]:
    """Squared L2 norm of every word after projection.

    Example:
        >>> squared_norms(torch.tensor([[[3.0, 4.0]]])).tolist()
        [[25.0]]
    """
    return projected.square().sum(dim=-1)


def weighted_error(
    predicted: Float[Tensor, "probe ..."],
    gold: Float[Tensor, "target ..."],
    weights: Float[Tensor, ...],
) -> Float[Tensor, " probe"]:
    """Weighted sum of absolute errors of distances or depths; overwrites `predicted`.

    Args:
        predicted: Squared distances or norms after projection (unitless).
        gold: Path lengths or depths in the tree, in edges; one target for each probe, or one for
            all.
        weights: With 1 / length**2 of a pair, or 1 / length of a word, over the sentences of a
            batch, the sum is the mean over sentences of the loss; 0 where padded.

    Reference:
        Hewitt & Manning 2019, sections 2.2 and 2.3, and the published `L1DistanceLoss` and
        `L1DepthLoss`. Deviations: none.

    Example:
        >>> gold = torch.tensor([[[[0.0, 1.0], [1.0, 0.0]]]])
        >>> weighted_error(gold + 1, gold, torch.full((1, 2, 2), 1 / 2**2)).tolist()
        [1.0]
    """
    return predicted.sub_(gold).abs_().mul_(weights).flatten(1).sum(dim=1)


def distance_gradient(
    projected: Float[Tensor, "probe sentence word rank"],
    gold: Float[Tensor, "target sentence word word"],
    weights: Float[Tensor, "sentence word word"],
) -> Float[Tensor, "probe sentence word rank"]:
    """Gradient of the weighted absolute error of squared distances, with respect to the projected
    words.

    Args:
        projected: Words after projection, near the origin (see `squared_distances`).
        gold: Path lengths; one target for each probe, or one for all.
        weights: Weight of a pair's error, such as 1 / length**2 over the sentences of a batch; 0
            where padded.

    Example:
        >>> words, gold = torch.tensor([[[[0.0], [2.0]]]]), torch.tensor([[[[0.0, 1.0], [1.0,
        ...     0.0]]]])
        >>> distance_gradient(words, gold, torch.ones(1, 2, 2)).tolist()
        [[[[-8.0], [8.0]]]]
    """
    probes, sentences, words, rank = projected.shape
    flat = projected.reshape(probes * sentences, words, rank)
    errors = _pairwise(flat).view(probes, sentences, words, words)
    signs = errors.sub_(gold).sign_().mul_(weights).view(probes * sentences, words, words)
    diagonal = flat * signs.sum(dim=2, keepdim=True)
    return torch.baddbmm(diagonal, signs, flat, beta=4, alpha=-4).view_as(projected)


def depth_gradient(
    projected: Float[Tensor, "probe item rank"],
    gold: Float[Tensor, "target item"],
    weights: Float[Tensor, " item"],
) -> Float[Tensor, "probe item rank"]:
    """Gradient of the weighted absolute error of squared norms, with respect to the projected
    words.

    Args:
        projected: Words after projection.
        gold: Depths; one target for each probe, or one for all.
        weights: Weight of a word's error, such as 1 / length over the sentences of a batch.

    Example:
        >>> depth_gradient(torch.tensor([[[2.0]]]), torch.tensor([[1.0]]), torch.ones(1)).tolist()
        [[[4.0]]]
    """
    signs = squared_norms(projected).sub_(gold).sign_().mul_(weights)
    return projected * signs.mul_(2)[..., None]


def _pairwise(flat: Float[Tensor, "set word rank"]) -> Float[Tensor, "set word word"]:
    """|a|^2 + |b|^2 - 2ab; exactly 0 on the diagonal, below 0 by rounding at most."""
    gram = torch.bmm(flat, flat.transpose(1, 2))
    norms = gram.diagonal(dim1=1, dim2=2)
    return (norms.unsqueeze(2) + norms.unsqueeze(1)).sub_(gram, alpha=2)
