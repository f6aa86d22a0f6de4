"""A model made without numbers, and the operations of one short forward pass, counted.

The model is on torch's meta device, where tensors have shapes and no numbers. Where code asks for a
number (is any token masked?), the answer is no, or one. `core.models.trial` runs this in a
process with limits.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from core.errors import ModelError
from core.models.architectures import ARCHITECTURES
from core.models.costs import PASSING
from core.models.files import checkpoints
from core.models.loading.construction import import_transformers, make_empty, open_config
from core.models.trial import making

MOST_MODULES = 20_000  # of a model; 126 layers of Llama have 1,900
TOKENS = 32  # of the sentence that is read
CALLING = 5e-6  # processor seconds of an operation on few numbers
WRITING = 1e-9  # processor seconds per number that an operation gives
# Processor seconds that any pass may take, and times that its parameters explain: Longformer fills
# a short sentence up to its window of 512 subwords
FREE, TIMES = 0.1, 50
LARGEST = 2**22  # numbers of one result, beside as many as there are parameters
META = torch.device("meta")
ATEN = torch.ops.aten
PRODUCTS = {ATEN.mm: 0, ATEN.bmm: 0, ATEN.addmm: 1, ATEN.baddbmm: 1, ATEN._grouped_mm: 0}
"""Matrix products, and the place of the argument whose last side is summed over."""
NUMBERS = (ATEN.item, ATEN._local_scalar_dense, ATEN.is_nonzero)
ASKED = {"__bool__": False, "__int__": 1, "__index__": 1, "__float__": 1.0}


class TooMuchError(BaseException):
    """More modules, or more work, than a model has; the message is the end of a sentence."""


def answer(request: dict[str, Any]) -> Iterator[int]:
    """Try a configuration: the four-byte numbers of its model. Raises ModelError if no model can be
    made of it, or one that does too much."""
    ref, folder = request["ref"], Path(request["folder"])
    settings = checkpoints.read_config(folder)
    try:
        with making(ref, settings):
            factory = getattr(import_transformers(), request["factory"])
            model = make_counted(factory, open_config(folder))
            count_work(model, settings["model_type"])
    except TooMuchError as error:
        raise ModelError(
            f"The configuration of {ref} describes a model {error}: "
            "correct its sizes, or choose another model."
        ) from None
    tables = sum(table.numel() * table.element_size() for table in model.buffers())
    yield sum(weight.numel() for weight in model.parameters()) + tables // 4


def make_counted(factory: Any, config: Any) -> Any:
    """Make a model without numbers, unless it has more modules than any has."""
    from torch.nn.modules.module import register_module_module_registration_hook

    left = iter(range(MOST_MODULES))

    def count(*_: Any) -> None:
        if next(left, None) is None:
            raise TooMuchError(f"of more than {MOST_MODULES:,} modules, which no model has")

    with register_module_module_registration_hook(count):
        return make_empty(factory, config).to(META)  # XLNet's weights are elsewhere


def count_work(model: Any, model_type: str) -> None:
    """Let a model without numbers read a short sentence, unless that takes too much.

    Code that cannot run without numbers ends the count.
    """
    parameters = sum(weight.numel() for weight in model.parameters())
    ids = torch.ones((1, TOKENS), dtype=torch.long, device=META)
    options = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    if ARCHITECTURES[model_type].family == "encoder-decoder":
        options["decoder_input_ids"] = ids
    seconds = FREE + TIMES * PASSING * TOKENS * parameters
    try:
        with torch.inference_mode(), _Numbers(), _Operations(seconds, LARGEST + parameters):
            model.eval()(**options)
    except MemoryError:
        raise
    except Exception:
        return


class _Numbers(TorchFunctionMode):
    """Answers code that asks for a number that is not there."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        name = getattr(func, "__name__", "")
        if name in (*ASKED, "item", "tolist") and args[0].device == META:
            if name == "tolist":
                return torch.ones(args[0].shape, dtype=args[0].dtype, device="cpu").tolist()
            return ASKED.get(name, args[0].dtype != torch.bool)
        return func(*args, **(kwargs or {}))


class _Operations(TorchDispatchMode):
    """Counts operations, and ends the pass that takes more seconds of a processor, or a result of
    more numbers, than it may."""

    def __init__(self, seconds: float, largest: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.left, self.largest = seconds, largest

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        packet = func.overloadpacket
        if packet in NUMBERS and args[0].device == META:
            return args[0].dtype != torch.bool
        if packet is ATEN.nonzero and args[0].device == META:
            return args[0].new_empty((1, args[0].dim()), dtype=torch.long)
        if packet is ATEN._grouped_mm:  # known for numbers of 16 bits alone
            result = args[0].new_empty((*args[0].shape[:-1], args[1].shape[-1]))
        else:
            result = func(*args, **(kwargs or {}))
        numbers = 0 if func.is_view else _size(result)
        self.left -= CALLING + WRITING * numbers
        if packet in PRODUCTS:
            self.left -= PASSING * numbers * args[PRODUCTS[packet]].shape[-1]
        if self.left < 0:
            raise TooMuchError("that computes far more than its size explains")
        if numbers > self.largest:
            raise TooMuchError("that needs far more memory for a sentence than its size explains")
        return result


def _size(result: Any) -> int:
    """Count the numbers of the largest tensor that an operation gives."""
    results = result if isinstance(result, list | tuple) else [result]
    return max((part.numel() for part in results if isinstance(part, torch.Tensor)), default=0)
