"""The units and heads of a network in another order, which leaves its function as it is.

What is permuted is found by the roles of the matrices, so that any architecture can be tried;
whether the function is unchanged is then seen on a text, and an order that changes it is taken
back.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from core.errors import ModelError
from core.maths.permutations import correlations, match_heads, match_units
from core.models.loading.layers import logits_of, module_at, run_model
from core.models.weights.matrix_families import Slot, find_slots
from core.vectors.predicting import Asked

UNCHANGED = 1e-3  # of the largest logit: what another order of additions may change
WRITTEN = ("ff2", "output")  # what reads units, and what reads heads
MADE = ("ff1", "gate")  # whose rows are units
Weights = Mapping[str, torch.Tensor]
Layer = Mapping[str, Slot]  # its matrices, by role
UNITS, HEADS = "units", "heads"


def layers_of(model: Any) -> list[Layer]:
    """Find the matrices of every layer of a loaded model. Raises ModelError if the layers are not
    those of one stack, each with an attention and a feed-forward part."""
    config = model.config.to_dict()
    names = [name for name, _ in model.named_parameters()]
    by_layer: dict[int, dict[str, Slot]] = {}
    for slot in find_slots(str(model.config.model_type), names, config):
        by_layer.setdefault(slot.layer, {})[slot.family] = slot
    layers: list[Layer] = [by_layer[number] for number in sorted(by_layer)]
    needed = {"query", "key", "value", *WRITTEN, "ff1"}
    if not layers or any(needed - {*layer} for layer in layers):
        raise ModelError(
            f"The units and heads of a {model.config.model_type} are not matched: its layers are "
            "not all one attention and one feed-forward part; choose another model."
        )
    return layers


def read_inputs(model: Any, layers: list[Layer], asked: Asked) -> dict[tuple[int, str], np.ndarray]:
    """Read what enters the matrices that read units and heads, (row, unit), by layer and role; rows
    are subwords of the text."""
    read: dict[tuple[int, str], list[np.ndarray]] = {}
    mask: list[torch.Tensor] = []  # of the batch that is read
    with ExitStack() as hooks:
        for number, layer in enumerate(layers):
            for role in WRITTEN:
                module = module_at(model, layer[role].tensor.removesuffix(".weight"))
                if module is None:
                    raise ModelError(
                        f"{layer[role].tensor} belongs to no module that can be listened to; "
                        "choose another model."
                    )

                def keep(module: Any, inputs: Any, place: tuple[int, str] = (number, role)) -> None:
                    rows = inputs[0].reshape(-1, inputs[0].shape[-1])  # some have them flat
                    read.setdefault(place, []).append(rows[mask[0].ravel()].double().numpy())

                hooks.enter_context(module.register_forward_pre_hook(keep))
        for batch, _ in asked:
            mask[:] = [batch.mask.bool()]
            run_model(model, batch)
    return {place: np.concatenate(parts) for place, parts in read.items()}


@dataclass(frozen=True)
class Order:
    """The order of one layer's units and heads.

    Attributes:
        units: Of the feed-forward part, (unit,).
        heads: Of the heads that have values of their own, (head,).
        within: Of the units of each head's values, in the new order of heads, (head, unit).
    """

    units: np.ndarray
    heads: np.ndarray
    within: np.ndarray


def value_heads(config: Any) -> tuple[int, int]:
    """Count the heads with values of their own, and the query heads for each of them."""
    heads = int(config.num_attention_heads)
    valued = int(getattr(config, "num_key_value_heads", None) or heads)
    return valued, heads // valued


def matched_orders(
    config: Any, layers: int, first: Mapping[Any, np.ndarray], second: Mapping[Any, np.ndarray]
) -> list[Order]:
    """Match a second network's units and heads to a first's, by what `read_inputs` read of both."""
    heads, parts = value_heads(config)

    def cut(rows: np.ndarray) -> np.ndarray:
        return rows.reshape(len(rows), heads, parts, -1)

    orders = []
    for layer in range(layers):
        units = match_units(correlations(*(read[layer, "ff2"] for read in (first, second))))
        outputs = [cut(read[layer, "output"]) for read in (first, second)]
        orders.append(Order(units, *match_heads(*outputs)))
    return orders


def drawn_orders(
    config: Any, read: Mapping[Any, np.ndarray], layers: int, rng: np.random.Generator
) -> list[Order]:
    """Draw orders at random."""
    heads, parts = value_heads(config)
    orders = []
    for layer in range(layers):
        units = rng.permutation(read[layer, "ff2"].shape[1])
        width = read[layer, "output"].shape[1] // (heads * parts)
        within = np.array([rng.permutation(width) for _ in range(heads)])
        orders.append(Order(units, rng.permutation(heads), within))
    return orders


def reorder(model: Any, layers: list[Layer], orders: list[Order], asked: Asked) -> tuple[str, ...]:
    """Put a network's units and heads into an order, in place, where its function stays as it is,
    and tell which were: "units", "heads", or both."""
    done = []
    for name, permute in ((UNITS, _permute_units), (HEADS, _permute_heads)):
        before = _logits(model, asked)
        weights = copied(model)
        try:
            for layer, order in zip(layers, orders, strict=True):
                permute(model, layer, order)
            moved = float((before - _logits(model, asked)).abs().max())
            unchanged = moved <= UNCHANGED * float(before.abs().max())
        except (ModelError, ValueError, IndexError):  # stored in pieces, or of other sizes
            unchanged = False
        if unchanged:
            done.append(name)
        else:
            model.load_state_dict(weights, strict=False)
    return tuple(done)


def copied(model: Any) -> Weights:
    """Copy a model's weights, by name; `load_state_dict` writes them back."""
    return {name: value.detach().clone() for name, value in model.named_parameters()}


def arrays_of(model: Any) -> dict[str, np.ndarray]:
    """Return a model's weights as arrays: what is written into them is written into the model."""
    return {name: value.detach().numpy() for name, value in model.named_parameters()}


def _logits(model: Any, asked: Asked) -> torch.Tensor:
    return logits_of(run_model(model, asked[0][0])).float()


def _permute_units(model: Any, layer: Layer, order: Order) -> None:
    for role in MADE:
        if role in layer:
            _take(model, layer[role], order.units)
    _take(model, layer["ff2"], order.units, columns=True)


def _permute_heads(model: Any, layer: Layer, order: Order) -> None:
    heads, parts = value_heads(model.config)
    width = order.within.shape[1]
    values = (order.heads[:, None] * width + order.within).ravel()
    _take(model, layer["value"], values)
    keys = (order.heads[:, None] * width + np.arange(width)).ravel()
    _take(model, layer["key"], keys)
    places = np.arange(heads * parts * width).reshape(heads, parts, width)[order.heads]
    _take(model, layer["query"], places.ravel())
    columns = np.stack([places[head][:, order.within[head]] for head in range(heads)])
    _take(model, layer["output"], columns.ravel(), columns=True)


def _take(model: Any, slot: Slot, order: np.ndarray, *, columns: bool = False) -> None:
    """Put the rows of a matrix and its bias, or its columns, into another order. Raises ModelError
    if it does not lie in its tensor as it is."""
    weights = arrays_of(model)
    matrix = slot.within(weights[slot.tensor])
    if columns:
        matrix[:] = matrix[:, order]
        return
    matrix[:] = matrix[order]
    bias = weights.get(f"{slot.tensor.removesuffix('.weight')}.bias")
    if bias is not None:
        rows = slot.within(bias[:, None])
        rows[:] = rows[order]
