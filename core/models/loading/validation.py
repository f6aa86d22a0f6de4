"""Checks of a loaded model against its description, before any number is computed.

Three things are asked. Shapes: every layer has every matrix, and they fit the width that the
configuration says. The states of the last layer, through the norm, are what the model gives and
what its head reads. Changing the lowest layer changes what comes out. The last two take two forward
passes over eight random tokens, once for each model in a process: 0.16 s of processor time for
BERT-base, in proportion to the parameters for others. The included models are of one type, which is
tested, and are not asked. What cannot be checked is listed as the description's caveats."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn

from core.errors import ModelError
from core.models.architecture import Architecture, setting
from core.models.architectures import ARCHITECTURES
from core.models.loading.layers import body_of, first_of, module_at, stack_of, state_in
from core.models.weights.matrix_families import find_slots
from core.runs.process.remembered import Memory

INCLUDED = frozenset({"roformer"})
"""Model types of the included models."""
TOKENS = 8
SEED = 5
TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 5e-2}  # of the largest number of a state


@dataclass
class _Pass:
    """The states of one forward pass, each (subword, d_model).

    Attributes:
        entering: What entered each layer.
        leaving: What left the last layer.
        heard: What entered the head; None where the model has none or its head reads another stack.
        given: Hidden states that the model gives, embeddings first.
    """

    entering: list[Tensor] = field(default_factory=list)
    leaving: Tensor | None = None
    heard: Tensor | None = None
    given: list[Tensor] = field(default_factory=list)


def check_model(model: nn.Module, model_type: str, identity: str) -> None:
    """Check a model in evaluation mode against the description of its type, once in a process for
    each identity of its weights and form. Raises ModelError with what differs."""
    if model_type in INCLUDED:
        return
    if _passed.fresh(identity):
        return
    architecture = ARCHITECTURES[model_type]
    body = body_of(model)
    check_shapes(body, model_type, architecture)
    with torch.inference_mode():
        _check_states(model, body, architecture)
    _passed.put(identity, True)


def check_shapes(body: nn.Module, model_type: str, architecture: Architecture) -> None:
    """Check that every layer has its matrices, and that these fit the model's width; raises
    ModelError with the first that does not."""
    config: Any = body.config
    settings = config.to_dict()
    shapes = {name: tuple(weight.shape) for name, weight in body.named_parameters()}
    slots = find_slots(model_type, shapes, settings)
    width = setting(settings, architecture.width)
    for slot in slots:
        if slot.latent:
            continue
        rows, columns = slot.shape(shapes[slot.tensor])
        role = slot.family.rpartition(" ")[2]
        if (rows if role in ("output", "ff2") else columns) != width:
            where = f"{slot.family} matrix of layer {slot.layer + 1} is {rows} x {columns}"
            raise _differs(model_type, f"has vectors of {width} numbers, and the {where}")
    table: Any = module_at(body, architecture.embedding)
    if getattr(table, "weight", None) is None or len(table.weight) != settings["vocab_size"]:
        raise _differs(
            model_type, f"has no embedding of its vocabulary at {architecture.embedding}"
        )


def _check_states(model: nn.Module, body: nn.Module, architecture: Architecture) -> None:
    config: Any = body.config
    stack = stack_of(body, architecture)
    seen = _run(model, body, stack, architecture)
    if not all(bool(state.isfinite().all()) for state in seen.given):
        return  # reported where they are read
    depth = setting(config.to_dict(), architecture.layers)
    if len(seen.entering) != depth or len(seen.given) != depth + 1:
        fault = (
            f"runs {len(seen.entering)} layers and gives {len(seen.given)} states, "
            f"for {depth} layers"
        )
        raise _differs(config.model_type, fault)
    for layer, (entering, given) in enumerate(zip(seen.entering, seen.given, strict=False)):
        if not _alike(entering, given):
            raise _differs(
                config.model_type, f"gives other states than enter its layer {layer + 1}"
            )
    norm = module_at(body, architecture.norm) if architecture.norm else None
    leaving = seen.leaving
    if leaving is None or not _alike(leaving if norm is None else norm(leaving), seen.given[-1]):
        raise _differs(config.model_type, "gives other states at the top than leave its last layer")
    if seen.heard is not None and not _proportional(seen.heard, seen.given[-1]):
        raise _differs(
            config.model_type,
            f"has a head ({architecture.head}) that reads other states than the last",
        )
    with stack[0].register_forward_hook(_disturb):
        disturbed = _run(model, body, stack, architecture)
    if torch.equal(disturbed.given[-1], seen.given[-1]):
        raise _differs(config.model_type, "gives the same states when its lowest layer is changed")


def _run(
    model: nn.Module, body: nn.Module, stack: nn.ModuleList, architecture: Architecture
) -> _Pass:
    seen = _Pass()

    def enter(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        seen.entering.append(_flat(state_in(args, kwargs)))

    def leave(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        seen.leaving = _flat(first_of(output))

    def hear(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        seen.heard = _flat(args[0] if args else next(iter(kwargs.values())))

    head = getattr(model, architecture.head, None) if model is not body else None
    reads_stack = isinstance(head, nn.Module) and architecture.family != "encoder-decoder"
    with ExitStack() as hooks:
        for layer in stack:
            hooks.enter_context(layer.register_forward_pre_hook(enter, with_kwargs=True))
        hooks.enter_context(stack[-1].register_forward_hook(leave))
        if isinstance(head, nn.Module) and reads_stack:
            hooks.enter_context(head.register_forward_pre_hook(hear, with_kwargs=True))
        seen.given = _give(model if reads_stack else body, architecture)
    return seen


def _give(model: nn.Module, architecture: Architecture) -> list[Tensor]:
    """Run the model on a few random tokens that are not special."""
    config: Any = model.config
    held = (weight.device for weight in chain(model.parameters(), model.buffers()))
    device = next((place for place in held if place.type != "meta"), torch.device("cpu"))
    drawn = torch.Generator().manual_seed(SEED)
    ids = torch.randint(config.vocab_size // 2, config.vocab_size, (1, TOKENS), generator=drawn).to(
        device
    )
    options: dict[str, Any] = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    options |= {"output_hidden_states": True, "return_dict": True}
    if architecture.family == "encoder-decoder":
        return [
            _flat(state) for state in model(**options, decoder_input_ids=ids).encoder_hidden_states
        ]
    return [_flat(state) for state in model(**options).hidden_states]


def _disturb(module: nn.Module, args: tuple[Any, ...], output: Any) -> Any:
    """Reverse a layer's output and shift it."""
    state = 1 - first_of(output).flip(-1)
    return state if isinstance(output, Tensor) else (state, *output[1:])


def _flat(state: Tensor) -> Tensor:
    """Flatten one sentence's state to (subword, d_model), without padding."""
    return state.reshape(-1, state.shape[-1])[:TOKENS]


def _alike(first: Tensor, second: Tensor) -> bool:
    if first.shape != second.shape:
        return False
    largest = float(second.abs().max())
    return float((first - second).abs().max()) <= TOLERANCE.get(second.dtype, 1e-2) * largest


def _proportional(first: Tensor, second: Tensor) -> bool:
    """Whether two states are equal up to a factor, which some models apply before the head."""
    if first.shape != second.shape:
        return False
    factor = float((first.float() * second.float()).sum()) / float((second.float() ** 2).sum())
    return factor != 0 and _alike(first / factor, second)


def _differs(model_type: str, fault: str) -> ModelError:
    return ModelError(
        f"This {model_type} {fault}, so its layers cannot be identified reliably; "
        "choose another model."
    )


_passed: Memory[bool] = Memory(4_096)  # by identity of a model
