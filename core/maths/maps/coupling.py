"""Affine coupling blocks, and many networks of them computed at once in training.

Most of a block's time is spent on single numbers, not on products: every pass over a batch costs
as much as a small product. In training a coupling is therefore one operation with a gradient of its
own, which passes over the rows twelve times in place of some thirty.

In a wide space a dense rotation takes four fifths of a block's products. There a basis is the
previous one, its dimensions dealt out in turn to sets of at most BLOCK, and each set rotated: a
sixth of the products at 768 dimensions. After two of them every dimension depends on every other.

References: Dinh et al. 2017 (RealNVP); Kingma & Dhariwal 2018 (both halves in a block); Dao et al.
2022, ICML, for products of block-diagonal matrices and dealings (Monarch matrices). The networks
are FrEIA's; deviations: none.
"""

from __future__ import annotations

from typing import Any

import torch
from FrEIA.framework import SequenceINN
from FrEIA.modules import FixedLinearTransform, GLOWCouplingBlock, InvertibleModule
from torch import Tensor, nn

from core.errors import ShapeError
from core.maths.maps.bank import Stackable, linear
from core.maths.seeding import seeded

CLAMP = 1.0  # a block multiplies by at most exp(CLAMP), nearly
ATAN = 0.636  # FrEIA's factor on the arc tangent
BLOCK = 128  # dimensions up to which a rotation is dense


def coupling_network(d: int, blocks: int, hidden: int, seed: int, zero: bool = True) -> SequenceINN:
    """Build affine coupling blocks on d dimensions, each in a random basis.

    Args:
        d: Width of the space.
        blocks: How many blocks.
        hidden: Width of the networks in a block.
        seed: Of the weights and the rotations.
        zero: Start as the identity; False draws random weights (the bijection check's known
            bijection).

    Raises:
        ShapeError: If d is less than 2.

    Example:
        >>> import torch
        >>> rows = torch.tensor([[1.0, 2.0]])
        >>> coupling_network(2, blocks=2, hidden=4,
        ...     seed=0)(rows)[0].detach().numpy().round(3).tolist()
        [[1.0, 2.0]]
    """
    if d < 2:
        raise ShapeError(f"A coupling block needs at least two dimensions; the space has {d}.")
    with seeded(seed):

        def subnet(inward: int, outward: int) -> nn.Module:
            last = nn.Linear(hidden, outward)
            if zero:
                nn.init.zeros_(last.weight)
                nn.init.zeros_(last.bias)
            return nn.Sequential(nn.Linear(inward, hidden), nn.GELU(), last)

        network, sets = SequenceINN(d), sets_of(d)
        left = torch.eye(d)  # basis of the previous block: two successive rotations are one product
        for _ in range(blocks):
            basis = torch.linalg.qr(torch.randn(sets, d // sets, d // sets))[0]
            if sets == 1:  # a basis of its own, on which the box's precomputed results rest
                network.append(FixedLinearTransform, M=basis[0] @ left.T)
                left = basis[0]
            else:
                network.append(Turn, rotations=basis)
                left = turned(left.T[None], basis[None])[0].T
            network.append(GLOWCouplingBlock, subnet_constructor=subnet, clamp=CLAMP)
        network.append(FixedLinearTransform, M=left.T.contiguous())
    return network


def sets_of(d: int) -> int:
    """Count the sets of dimensions that are rotated: as few as have BLOCK dimensions at most.

    One set where that would leave them fewer than BLOCK / 4, as in a space of 257 dimensions.

    Example:
        >>> [sets_of(d) for d in (128, 257, 384, 768)]
        [1, 1, 3, 6]
    """
    sets = next(count for count in range(1, d + 1) if d % count == 0 and d // count <= BLOCK)
    return sets if d // sets >= BLOCK // 4 else 1


def turned(rows: Tensor, rotations: Tensor) -> Tensor:
    """Deal out each network's dimensions to sets in turn and rotate every set.

    Args:
        rows: (network, row, d).
        rotations: (network, set, d / sets, d / sets).

    Example:
        >>> turned(torch.arange(4.0).view(1, 1, 4), torch.eye(2).expand(1, 2, 2, 2)).tolist()
        [[[0.0, 2.0, 1.0, 3.0]]]
    """
    sets, size = rotations.shape[1:3]
    dealt = rows.unflatten(2, (size, sets)).permute(0, 3, 1, 2).flatten(0, 1)
    mixed = torch.bmm(dealt, rotations.flatten(0, 1)).view(-1, sets, *dealt.shape[1:])
    return mixed.transpose(1, 2).flatten(2)


class Turn(InvertibleModule):  # type: ignore[misc]
    """`turned`, for one network's rows, (row, d), and its inverse."""

    def __init__(self, dims_in: Any, rotations: Tensor) -> None:
        super().__init__(dims_in)
        self.rotations = nn.Parameter(rotations, requires_grad=False)

    def forward(self, x: Any, rev: bool = False, jac: bool = True) -> Any:
        """Turn rows, or turn them back; the volume stays."""
        (rows,) = x
        if not rev:
            return (turned(rows[None], self.rotations[None])[0],), rows.new_zeros(len(rows))
        sets, size, _ = self.rotations.shape
        dealt = rows.unflatten(1, (sets, size)).transpose(0, 1)
        back = torch.bmm(dealt, self.rotations.transpose(1, 2))
        return (back.permute(1, 2, 0).flatten(1),), rows.new_zeros(len(rows))

    def output_dims(self, input_dims: Any) -> Any:
        """As those of the input."""
        return input_dims


class Unturned(Stackable):
    """A coupling network without its last rotation.

    The rotation changes no distance, so the network can be trained without it on targets that are
    turned back.
    """

    def __init__(self, network: SequenceINN) -> None:
        super().__init__()
        self.steps = nn.ModuleList(list(network.module_list)[:-1])

    def forward(self, rows: Tensor) -> Tensor:
        """Map rows, (row, d)."""
        parts = (rows,)
        for step in self.steps:
            parts, _ = step(parts, jac=False)
        return parts[0]

    def stacked(self, weights: dict[str, Tensor], rows: Tensor) -> Tensor:
        for number, step in enumerate(self.steps):
            name = f"steps.{number}"
            if isinstance(step, FixedLinearTransform):
                rows = torch.bmm(rows, weights[f"{name}.M"])
                continue
            if isinstance(step, Turn):
                rows = turned(rows, weights[f"{name}.rotations"])
                continue
            left, right = rows.split([step.split_len1, step.split_len2], dim=-1)
            left = _couple(left, right, weights, f"{name}.subnet2")
            right = _couple(right, left, weights, f"{name}.subnet1")
            rows = torch.cat([left, right], dim=-1)
        return rows


def _couple(rows: Tensor, given: Tensor, weights: dict[str, Tensor], subnet: str) -> Tensor:
    """Scale and shift one half of the dimensions by functions of the other."""
    hidden = nn.functional.gelu(linear(weights, f"{subnet}.0", given))
    both = linear(weights, f"{subnet}.2", hidden)
    mapped: Tensor = _Affine.apply(rows, both)  # type: ignore[no-untyped-call]
    return mapped


class _Affine(torch.autograd.Function):
    """rows * exp(CLAMP * ATAN * atan(scale)) + shift, of (scale, shift) side by side."""

    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)  # type: ignore[untyped-decorator]
    def forward(ctx: Any, rows: Tensor, both: Tensor) -> Tensor:
        """Map rows; `both` has twice their width."""
        half = rows.shape[-1]
        factor = both[..., :half].atan().mul_(CLAMP * ATAN).exp_()
        ctx.save_for_backward(rows, both, factor)
        return (rows * factor).add_(both[..., half:])

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")  # type: ignore[untyped-decorator]
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        """The gradients of the rows and of both parts."""
        rows, both, factor = ctx.saved_tensors
        half = rows.shape[-1]
        of_rows = gradient * factor
        of_both = torch.empty_like(both)
        slope = both[..., :half].square().add_(1.0)
        torch.mul(of_rows, rows, out=of_both[..., :half])
        of_both[..., :half].div_(slope).mul_(CLAMP * ATAN)
        of_both[..., half:] = gradient
        return of_rows, of_both
