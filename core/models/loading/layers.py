"""Running models layer by layer: states of all layers, entry at any layer, layer swap.

Stitching and swapping need what the store does not keep: states of every subword, special tokens
included, and the upper layers of a model fed with states that it did not make. Both are done by
hooks on the model's own layers and by what stands in its list of layers, so that no forward pass is
written again here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from core.errors import ModelError
from core.models.architecture import Architecture
from core.models.architectures import describe_type


@dataclass(frozen=True)
class Batch:
    """Padded ids and mask (sentence, subword), and the sentences that they are.

    `starts` (sentence, word) is the place of each word's first subword, -1 where padded; None where
    words do not matter.
    """

    ids: Tensor
    mask: Tensor
    sentences: list[int]
    starts: Tensor | None = None


Call = tuple[tuple[Any, ...], dict[str, Any], Any]
"""A layer's arguments, by place and by name, and what it returned."""


class Passing(nn.Module):
    """Replaces a layer and passes its input on; other attributes are the layer's.

    `in_tuple` is the length of the tuple that the layer returns (True is 1), 0 without a tuple.
    """

    def __init__(self, layer: nn.Module, in_tuple: int) -> None:
        super().__init__()
        object.__setattr__(
            self, "stands_for", layer
        )  # no submodule: it is not to be run or counted
        self.in_tuple = in_tuple

    def forward(self, hidden_states: Tensor, *args: Any, **kwargs: Any) -> Any:
        """Return the input in the form that the model expects of a layer."""
        rest = [None] * (self.in_tuple - 1)
        return (hidden_states, *rest) if self.in_tuple else hidden_states

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(object.__getattribute__(self, "stands_for"), name)


def layer_list(model: nn.Module) -> nn.ModuleList:
    """Find the model's stack of layers, each of which can be run and replaced alone. Raises
    ModelError, with the reason, if they cannot be told apart."""
    body = body_of(model)
    model_type = str(getattr(getattr(body, "config", None), "model_type", ""))
    architecture = describe_type(model_type, type(model).__name__)
    if architecture.inseparable:
        raise ModelError(
            f"The layers of a {model_type} cannot be run one by one: {architecture.inseparable}. "
            "Choose another model."
        )
    return stack_of(body, architecture)


def body_of(model: nn.Module) -> Any:
    """Find the Transformer under a model's head; the model itself if it has none."""
    body = getattr(model, "body", None)  # of an arc parser
    return (
        body
        if isinstance(body, nn.Module)
        else getattr(model, str(getattr(model, "base_model_prefix", "")), model)
    )


def body_weights(model: nn.Module) -> dict[str, Tensor]:
    """Return the weights of the Transformer under a model's head, by name."""
    return dict(body_of(model).named_parameters())


def put_body(model: nn.Module, weights: Mapping[str, Tensor]) -> bool:
    """Write weights into the Transformer under a model's head, in place, if each of its own is
    among them with its shape; return whether that is so."""
    places = body_weights(model)
    if any(name not in weights or weights[name].shape != places[name].shape for name in places):
        return False
    with torch.no_grad():
        for name, place in places.items():
            place.copy_(weights[name])
    return True


def stack_of(body: nn.Module, architecture: Architecture) -> nn.ModuleList:
    """Find the list of layers at the place that the description names; raises ModelError if it is
    not there."""
    stack = module_at(body, architecture.stack)
    if not isinstance(stack, nn.ModuleList):
        raise ModelError(
            f"{type(body).__name__} has no list of layers at {architecture.stack}, "
            "where its description says: this version of transformers names it otherwise; "
            "install the version that Palimpsest asks for."
        )
    return stack


def module_at(body: nn.Module, path: str) -> nn.Module | None:
    """Find the module at a path under another; None if there is none."""
    place: Any = body
    for part in path.split("."):
        place = getattr(place, part, None)
    return place if isinstance(place, nn.Module) else None


def run_model(model: nn.Module, batch: Batch) -> Any:
    """Run the model on a batch; an arc parser is given the starts of words."""
    given: dict[str, Any] = {"input_ids": batch.ids, "attention_mask": batch.mask}
    if batch.starts is not None:
        given["word_starts"] = batch.starts
    with torch.inference_mode():
        return model(**given)


def logits_of(output: Any) -> Tensor:
    """Take the predictions of tokens out of a language model's output; with a second head, as for
    the next sentence, they have another name."""
    scores: Tensor = output["logits"] if "logits" in output else output["prediction_logits"]
    return scores


def run_seen(model: nn.Module, batch: Batch) -> tuple[list[Tensor], Any]:
    """Run the model; return the states of all layers, each (sentence, subword, d_model), embeddings
    first, and the output."""
    captured: list[Tensor] = []
    layers = layer_list(model)
    with ExitStack() as hooks:
        for layer in layers:
            hook = layer.register_forward_pre_hook(_capture(captured), with_kwargs=True)
            hooks.enter_context(hook)
        hooks.enter_context(
            layers[-1].register_forward_hook(
                lambda module, inputs, output: captured.append(first_of(output))
            )
        )
        output = run_model(model, batch)
    return captured, output


def states(model: nn.Module, batch: Batch) -> Tensor:
    """Compute the states of all layers, (layer, sentence, subword, d_model), embeddings first."""
    return torch.stack(run_seen(model, batch)[0])


def answers_in_tuples(model: nn.Module, batch: Batch) -> bool:
    """Whether this architecture's layers return their state in a tuple."""
    return isinstance(calls_of(model, partial(run_model, batch=batch))[0][-1], tuple)


def run_rebuilt(
    model: nn.Module,
    batch: Batch,
    hidden: Tensor,
    layers: Sequence[nn.Module | None],
    *,
    in_tuple: bool,
) -> Any:
    """Run the model with `hidden` (sentence, subword, d_model) as input of the lowest layer and
    `layers` as its layers; None passes the state on. Raises ModelError if there are not as many."""
    count = len(layer_list(model))
    if len(layers) != count:
        raise ModelError(
            f"The model has {count} layers, and {len(layers)} were given to replace them; "
            "give one per layer."
        )
    with _rebuilt(model, layers, in_tuple) as places, _entered(places[0], hidden):
        return run_model(model, batch)


def calls_of(model: nn.Module, run: Callable[[nn.Module], Any]) -> list[Call]:
    """Record how a model calls its layers where `run` runs it on a batch, without gradients."""
    calls: list[Call] = []
    with ExitStack() as hooks, _without_cache(model):
        for layer in layer_list(model):
            hook = layer.register_forward_hook(
                lambda _, *call: calls.append(call), with_kwargs=True
            )
            hooks.enter_context(hook)
        run(model)
    return calls


def apply_layers(
    calls: Sequence[Call], donor: nn.Module, run: Callable[[nn.Module], Any]
) -> list[Tensor]:
    """Call each layer of `donor` as `calls_of` a model of its shape called its own; `run` runs it
    on the same batch. Returns its embeddings and the outputs of its layers before any final norm;
    raises ModelError for another depth."""
    functions = list(layer_list(donor))
    if len(calls) != len(functions):
        raise ModelError(
            f"The layers of a model with {len(functions)} layers cannot read the states of one "
            f"with {len(calls)}: choose a fine-tune of the base."
        )
    embedded: list[Tensor] = []
    output = calls[0][-1]
    in_tuple = len(output) if isinstance(output, tuple) else 0
    with (
        _rebuilt(donor, [None] * len(functions), in_tuple) as places,
        places[0].register_forward_pre_hook(_capture(embedded), with_kwargs=True),
    ):
        run(donor)
    with torch.inference_mode():  # not by calls, which would run hooks of the donor's
        outputs = [
            first_of(function.forward(*args, **kwargs))
            for function, (args, kwargs, _) in zip(functions, calls, strict=True)
        ]
    return [*embedded, *outputs]


@contextmanager
def _without_cache(model: nn.Module) -> Iterator[None]:
    """Keep a decoder from storing keys and values, to which a second layer would add its own."""
    config = body_of(model).config
    before = getattr(config, "use_cache", None)
    try:
        if before:
            config.use_cache = False
        yield
    finally:
        if before:
            config.use_cache = before


def final_norm(model: nn.Module) -> nn.Module:
    """Find the norm between the last layer and what reads it; one that changes nothing if there is
    none."""
    body = body_of(model)
    architecture = describe_type(body.config.model_type, type(model).__name__)
    return (module_at(body, architecture.norm) if architecture.norm else None) or nn.Identity()


def enter(model: nn.Module, batch: Batch, layer: int, hidden: Tensor, *, in_tuple: bool) -> Any:
    """Run the model with `hidden` (sentence, subword, d_model) in place of its state at `layer`,
    without the layers below. Raises ModelError if the model has no such layer."""
    blocks = list(layer_list(model))
    if not 0 <= layer <= len(blocks):
        raise ModelError(
            f"The model has layers 0 to {len(blocks)}; it cannot be entered at {layer}."
        )
    return run_rebuilt(model, batch, hidden, [*[None] * layer, *blocks[layer:]], in_tuple=in_tuple)


@contextmanager
def _rebuilt(
    model: nn.Module, layers: Sequence[nn.Module | None], in_tuple: int
) -> Iterator[nn.ModuleList]:
    """Replace the model's layers inside the block; None passes the state on unchanged."""
    places = layer_list(model)
    blocks = list(places)
    try:
        for number, layer in enumerate(layers):
            places[number] = Passing(blocks[number], in_tuple) if layer is None else layer
        yield places
    finally:
        for number, block in enumerate(blocks):
            places[number] = block


@contextmanager
def _entered(lowest: nn.Module, hidden: Tensor) -> Iterator[None]:
    """Make `hidden` the input of the lowest layer inside the block."""

    def before(
        module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if args:
            return (hidden, *args[1:]), kwargs
        return args, {**kwargs, "hidden_states": hidden}

    with lowest.register_forward_pre_hook(before, with_kwargs=True):
        yield


def _capture(captured: list[Tensor]) -> Callable[..., None]:
    def hook(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        captured.append(state_in(args, kwargs))

    return hook


def state_in(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Take the state out of a layer's arguments."""
    return args[0] if args else kwargs["hidden_states"]  # type: ignore[no-any-return]


def first_of(output: Any) -> Tensor:
    """Take a layer's state out of its tuple, if there is one."""
    return output if isinstance(output, Tensor) else output[0]
