"""Erasing a subspace from the state of one layer while a model runs.

Every token's state is changed, those of special and of mask tokens too; the layers above read the
changed state.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from core.errors import ModelError
from core.maths.erasure import Eraser
from core.models.loading.layers import final_norm, first_of, layer_list


@contextmanager
def erased(model: nn.Module, layer: int, eraser: Eraser | None) -> Iterator[None]:
    """Erase a subspace from a model's state at a layer inside the block; nothing for None.

    Args:
        model: With or without a head.
        layer: 0 is the embedding output.
        eraser: Fitted to that layer's vectors.

    Raises:
        ModelError: If the model has no such layer, or its layers cannot be told apart, or the
            vectors of the layer are those after a final norm, which no layer returns.
    """
    if eraser is None:
        yield
        return
    layers = layer_list(model)
    if not 0 <= layer <= len(layers):
        raise ModelError(
            f"The model has layers 0 to {len(layers)}; nothing can be erased at {layer}."
        )
    if layer == len(layers) and not isinstance(final_norm(model), nn.Identity):
        raise ModelError(
            f"The vectors of layer {layer} are those after the model's final norm. "
            "Choose a layer below the top."
        )
    change = _Change(eraser)
    if layer == 0:
        hook = layers[0].register_forward_pre_hook(change.before, with_kwargs=True)
    else:
        hook = layers[layer - 1].register_forward_hook(change.after)
    with hook:
        yield


class _Change:
    """The hooks that apply an eraser, in the number format and on the device of the state."""

    def __init__(self, eraser: Eraser) -> None:
        parts = (eraser.factor * eraser.left, eraser.right, eraser.centre)
        self.parts = tuple(torch.from_numpy(part.copy()) for part in parts)

    def of(self, state: Tensor) -> Tensor:
        """The state without the subspace."""
        left, right, centre = (part.to(state.device, state.dtype) for part in self.parts)
        return state - ((state - centre) @ right.T) @ left.T

    def before(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Change what a layer reads."""
        if args:
            return (self.of(args[0]), *args[1:]), kwargs
        return args, {**kwargs, "hidden_states": self.of(kwargs["hidden_states"])}

    def after(self, module: nn.Module, inputs: Any, output: Any) -> Any:
        """Change what a layer returns."""
        state = self.of(first_of(output))
        return state if isinstance(output, Tensor) else (state, *output[1:])
