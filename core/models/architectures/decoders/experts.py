"""Tensors of mixtures of experts, as checkpoints and models in memory name them.

Most checkpoints hold a tensor for each expert; a model in memory holds all experts in one, gate and
first matrix together.
"""

from __future__ import annotations

from core.models.architecture import Sizes, Tensor, name_tensors

CAVEATS = (
    "A mixture of experts routes each token to a few experts; "
    "a small difference between two models can change the routing, and with it their states.",
)
GATED = {"gate": "gate_proj", "ff1": "up_proj", "ff2": "down_proj"}


def one_by_one(prefix: str, names: dict[str, str]) -> tuple[Tensor, ...]:
    """Describe tensors of single experts, by role; `prefix` has the numbers of layer and expert."""
    return name_tensors(prefix, {f"expert @ {role}": name for role, name in names.items()})


def in_one(
    prefix: str, experts: str, sizes: Sizes | None = None, *, transposed: bool = False
) -> tuple[Tensor, ...]:
    """Describe tensors that hold all experts, as many as config.json says under `experts`; `sizes`
    tell how the rows of gate and first matrix alternate (None: the gate's come first)."""
    gate_and_first = ("expert @ gate", "expert @ ff1")
    first, second = f"{prefix}gate_up_proj", f"{prefix}down_proj"
    return (
        Tensor(first, gate_and_first, sizes, transposed, row_axes=2, experts=experts),
        Tensor(second, ("expert @ ff2",), None, transposed, row_axes=2, experts=experts),
    )
