"""Forward passes of a model whose layers are on the disk: every batch through one layer, then
through the next, so that each layer is read once for all batches.

The model runs once over each batch with its lowest layer in place and all others passing their
input on, which says with what masks and positions it calls each of them. The layers are then called
with these arguments, one after the other. The numbers are those of the whole model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from core.maths.progress import tick
from core.models.loading.layers import Passing, final_norm, first_of
from core.vectors.forward import Pooling, SentenceVectors, Subwords, padded, plan, reader

if TYPE_CHECKING:
    from core.models import LoadedModel
    from core.models.loading.layerwise import Layerwise

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


class Recording(Passing):
    """Stands for a layer: passes its input on and notes what else it was called with."""

    def __init__(self, layer: nn.Module, calls: list[Arguments]) -> None:
        super().__init__(layer, 0)
        self.calls = calls

    def forward(self, hidden_states: Tensor, *args: Any, **kwargs: Any) -> Any:
        """Return the input in the form that the model expects of a layer."""
        self.calls.append((args, kwargs))
        return super().forward(hidden_states, *args, **kwargs)


@dataclass
class Pass:
    """One batch on its way through the layers.

    Attributes:
        pooling: Its words.
        hidden: The state that enters the next layer, (sentence, subword, d_model).
        calls: What each layer is called with beside the state.
        pooled: Word vectors of the layers so far.
    """

    pooling: Pooling
    hidden: Tensor
    calls: list[Arguments]
    pooled: list[Any] = field(default_factory=list)


def read_by_layer(
    loaded: LoadedModel,
    sentences: Sequence[Subwords],
    donor: LoadedModel | None = None,
) -> Iterator[list[tuple[int, SentenceVectors]]]:
    """Run a model over sentences as `forward.read_sentences` does, all batches of them through one
    layer after the other; model and donor are opened layer by layer."""
    weights, batches = _weights_of(loaded), plan(loaded, sentences)
    with torch.inference_mode():
        passes = _entered(loaded, [[sentences[index] for index in batch] for batch in batches])
        batched = [part.pooling.batch for part in passes]
        for part, entering in zip(
            passes, passes if donor is None else _entered(donor, batched), strict=True
        ):
            part.pooled.append(part.pooling.pool(entering.hidden))
        norm = final_norm((donor or loaded).model)
        count = len(weights.layers)
        for number in range(count):
            tick(number / count, f"layer {number + 1} of {count} of {loaded.info.ref}")
            _through(weights, donor, number, passes, norm)
    for batch, part in zip(batches, passes, strict=True):
        yield list(zip(batch, part.pooling.split(part.pooled), strict=True))
        part.pooled.clear()


def _weights_of(loaded: LoadedModel) -> Layerwise:
    assert loaded.layerwise is not None
    return loaded.layerwise


def _through(
    weights: Layerwise,
    donor: LoadedModel | None,
    number: int,
    passes: list[Pass],
    norm: Callable[[Tensor], Tensor],
) -> None:
    """Run every batch through one layer, and through the donor's layer of that number."""
    last = number == len(weights.layers) - 1
    with ExitStack() as held:
        layer = held.enter_context(weights.holding(number))
        function = held.enter_context(_weights_of(donor).holding(number)) if donor else None
        for part in passes:
            args, kwargs = part.calls[number]
            before = part.hidden
            part.hidden = first_of(layer(before, *args, **kwargs))
            given = part.hidden
            if function is not None:
                given = first_of(function(before, *args, **kwargs))
            part.pooled.append(part.pooling.pool(norm(given) if last else given))


def _entered(loaded: LoadedModel, batches: list[list[Subwords]]) -> list[Pass]:
    """Find what enters the lowest layer for each batch, and what each layer is called with."""
    weights = _weights_of(loaded)
    blocks = list(weights.layers)
    calls: list[Arguments] = []
    states: list[Tensor] = []
    stubs = [Recording(block, calls) for block in blocks[1:]]

    def enter(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        rest = dict(kwargs)
        states.append(args[0] if args else rest.pop("hidden_states"))
        calls.append((args[1:], rest))

    def leave(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        for stub in stubs:
            stub.in_tuple = len(output) if isinstance(output, tuple) else 0

    passes = []
    with ExitStack() as undone:
        lowest = undone.enter_context(weights.holding(0))
        for number, stub in enumerate(stubs, 1):
            undone.callback(weights.layers.__setitem__, number, blocks[number])
            weights.layers[number] = stub
        undone.enter_context(lowest.register_forward_pre_hook(enter, with_kwargs=True))
        undone.enter_context(lowest.register_forward_hook(leave))
        for batch in batches:
            ids, mask = padded(loaded, [sentence.ids for sentence in batch])
            reader(loaded.info.family, input_ids=ids, attention_mask=mask, return_dict=True)(
                loaded.model
            )
            pooling = Pooling.of(loaded, batch, ids.shape[1])
            passes.append(Pass(pooling, states.pop(), [*calls]))
            calls.clear()
    return passes
