"""Loading a model and its tokenizer from a reference.

A model is read under the policy of `checkpoints`:
safetensors first, `.bin` only as plain tensors, no code from a model ever, and weights that are
missing are an error, because transformers would fill them with random numbers and say nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from core.errors import ModelError
from core.maths.devices import choose_device
from core.maths.seeding import seeded
from core.models.describing import (
    RANDOM_SEED,
    ModelInfo,
    describe,
    how_to_restore,
    locate,
    saying_how_to_restore,
)
from core.models.files.checkpoints import longest_input, read_config
from core.models.files.layout import CONFIG
from core.models.files.pickled import not_plain
from core.models.loading.construction import MAKING_A_MODEL, import_transformers, maker, open_config
from core.models.loading.reading import is_layerwise, read_model
from core.models.loading.tokenizers import Tokenizer, open_tokenizer
from core.models.loading.tokenizing import first_line
from core.models.references import ModelRef, parse_ref
from core.models.trial import check_implied, making
from core.runs.process.memory import free_memory

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from core.models.loading.layerwise import Layerwise

DTYPES = {"float32": 4, "float64": 8, "bfloat16": 2}  # types computed in, bytes of a number
COMPUTED = re.compile(r"(^|\.)(embed_positions|position_ids)(\.|$)")  # never learned
EXPECTED_MISSING = re.compile(rf"(^|\.)pooler(\.|$)|{COMPUTED.pattern}")  # unused or computed
NUMBER = re.compile(r"\.\d+\.")  # of a layer or an expert
NOTHING_MISSING: dict[str, Any] = {"missing_keys": ()}
HEADS = (
    *("ForMaskedLM", "ForPreTraining", "LMHeadModel", "ForCausalLM", "ForConditionalGeneration"),
    *("ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering"),
)


@dataclass
class LoadedModel:
    """A model ready to run: in evaluation mode, without gradients, on its device.

    `layerwise` holds the weights of a model whose layers are read from the disk one at a time; None
    where all weights are in memory.
    """

    info: ModelInfo
    model: PreTrainedModel
    tokenizer: Tokenizer
    device: str
    layerwise: Layerwise | None = None


def load_model(
    ref: str | ModelRef,
    *,
    device: str | None = None,
    attentions: bool = False,
    dtype: str = "float32",
    layerwise: bool = False,
    base: str = "",
) -> LoadedModel:
    """Load a model without its head, and its tokenizer.

    Args:
        device: "cpu", "cuda", "mps"; None chooses.
        attentions: Whether attention probabilities will be asked for (eager attention, slower).
        dtype: "float32", "float64" or "bfloat16".
        layerwise: Whether the layers of a large model may stay on the disk until they run; see
            `reading.is_layerwise`.
        base: Of an adapter, which is merged into it and reads with its tokenizer; "" for the one
            that it names.

    Raises:
        ModelError: If it cannot be found, read or trusted, lacks weights other than an unused
            pooler, or does not fit the free memory.
    """
    factory = import_transformers().AutoModel
    return _load(parse_ref(ref), factory, device, attentions, dtype, layerwise=layerwise, base=base)


def load_with_head(
    ref: str | ModelRef, *, device: str | None = None, layerwise: bool = False, base: str = ""
) -> LoadedModel:
    """Load the task model that the configuration names, with its head.

    Args:
        ref, device, layerwise, base: As for `load_model`.

    Raises:
        ModelError: As `load_model`; also if the configuration names no task model or weights of its
            head are missing.
    """
    name = describe(ref, base).architecture
    factory = class_with_head(name)
    if factory is None:
        raise ModelError(
            f"{parse_ref(ref)} was saved without a head ({name}): "
            f"choose a model saved with one of {', '.join(HEADS)}."
        )
    return _load(parse_ref(ref), factory, device, False, "float32", layerwise=layerwise, base=base)


def class_with_head(name: str) -> Any | None:
    """Find transformers' class of this name; None where there is none, or it has no head."""
    return getattr(import_transformers(), name, None) if name.endswith(HEADS) else None


def load_tokenizer(ref: str | ModelRef, *beside: str) -> Tokenizer:
    """Load a tokenizer; one that is not included runs in a separate process.

    Args:
        beside: Models that read the same subwords; its longest text is what all of them read.

    Raises:
        ModelError: If it cannot be read, is not a fast one, or takes too much memory or time.
    """
    ref = parse_ref(ref)
    folder = locate(ref)
    with saying_how_to_restore(ref):
        config = read_config(folder)
    configs = [config, *(read_config(locate(model)) for model in beside)]
    return open_tokenizer(ref, folder, min(map(longest_input, configs)), min(map(_rows, configs)))


def _rows(config: dict[str, Any]) -> int:
    """Count the tokens that a model has embeddings for."""
    size = config.get("vocab_size")
    return int(size or import_transformers().AutoConfig.for_model(config["model_type"]).vocab_size)


def _load(
    ref: ModelRef,
    factory: Any,
    device: str | None,
    attentions: bool,
    dtype: str,
    *,
    layerwise: bool = False,
    base: str = "",
) -> LoadedModel:
    import torch

    from core.models.loading.validation import check_model

    if dtype not in DTYPES:
        raise ModelError(f"dtype must be one of {', '.join(DTYPES)}, got {dtype!r}.")
    info = describe(ref, base)
    if info.lacks_decoder:
        raise ModelError(
            f"{ref} is the encoder of an encoder-decoder ({info.architecture}), which is run as a "
            "whole here: choose a model with its decoder, or compare the weights alone."
        )
    folder = locate(ref, base)
    settings = read_config(folder)
    check_implied(ref, folder, factory.__name__, info.parameters)
    tokenizer = load_tokenizer(base or ref)
    number = getattr(torch, dtype)
    target = device or choose_device()
    options: dict[str, Any] = {
        # While transformers makes a model, the type of its numbers is that of all new tensors of
        # the process, in other threads, too: double precision is made of single precision after.
        "dtype": torch.float32 if number == torch.float64 else number,
        **({"attn_implementation": "eager"} if attentions else {}),
    }
    weights: Layerwise | None = None
    with making(str(ref), settings):
        config = open_config(folder)
    try:
        with MAKING_A_MODEL:
            if layerwise and is_layerwise(
                info.parameters, info.model_type, target, number.itemsize, random=ref.random
            ):
                from core.models.loading.layerwise import open_layerwise

                options["dtype"] = number
                weights, report = open_layerwise(
                    factory, folder, config, options, target, info, random=ref.random
                )
                model = weights.model
            elif too_much := _lacking(ref, info, number.itemsize):
                raise too_much
            elif ref.random:
                model, report = _draw(factory, config, options), NOTHING_MISSING
            else:
                model, report = read_model(factory, folder, config, options)
        check_complete(ref, report, type(model).__name__)
        _check_depth(ref, model, report)
    except ModelError:
        raise
    except (
        Exception
    ) as error:  # the library raises whatever its many loaders raise; each is this model's fault
        raise _unreadable(ref, error) from error
    model.requires_grad_(False)
    if number == torch.float64 and not weights:
        model = model.double()
    model = model.eval() if weights else model.eval().to(target)
    with making(str(ref), settings):
        check_model(model, info.model_type, f"{info.fingerprint} {type(model).__name__} {dtype}")
    return LoadedModel(info, model, tokenizer, target, weights)


def _draw(factory: Any, config: Any, options: dict[str, Any]) -> PreTrainedModel:
    """Draw random weights in float32, the same for a configuration each time."""
    import torch

    with seeded(RANDOM_SEED):
        drawn = maker(factory)(config, **{**options, "dtype": torch.float32})
    return cast("PreTrainedModel", drawn.to(options["dtype"]))


def _lacking(ref: ModelRef, info: ModelInfo, width: int) -> ModelError | None:
    """Make the error of a model that does not fit the free memory as a whole; None if it does."""
    size, free = width * info.parameters, free_memory()
    if size <= free:
        return None
    return ModelError(
        f"{ref} takes {size / 1e9:,.1f} GB of memory where all its layers are needed at once, "
        f"and {free / 1e9:,.1f} GB are free: close other programs, or choose a smaller model."
    )


def _check_depth(ref: ModelRef, model: PreTrainedModel, report: dict[str, Any]) -> None:
    """Refuse weights of layers that the configuration does not count: they would be left out."""
    counted = {NUMBER.sub(".#.", name) for name in model.state_dict()}
    predicting = getattr(model.config, "num_nextn_predict_layers", 0) or 0  # stored as more layers
    for name in sorted(report.get("unexpected_keys", ())) if not predicting else ():
        plain = NUMBER.sub(".#.", name)
        if plain in counted or plain.partition(".")[2] in counted:
            raise ModelError(
                f"{ref} holds {name}, which its configuration does not count: "
                f"correct the number of layers in {CONFIG}."
            )


def check_complete(source: object, report: dict[str, Any], made: str) -> None:
    """Refuse a model (of class `made`) of which transformers reports missing weights; one that
    labels sentences reads the pooler, if it has one. Raises ModelError with the first three of
    them."""
    expected = COMPUTED if made.endswith("ForSequenceClassification") else EXPECTED_MISSING
    missing = sorted(name for name in report["missing_keys"] if not expected.search(name))
    if missing:
        raise ModelError(
            f"{source} lacks {len(missing)} weights ({', '.join(missing[:3])}), "
            "which would be random numbers: choose a model whose weights fit its configuration."
        )


def _unreadable(ref: ModelRef, error: Exception) -> ModelError:
    restore = how_to_restore(ref) or "get it again, or choose another"
    if type(error).__name__ == "UnpicklingError":  # whose message advises to trust the file
        return not_plain(ref, error)
    return ModelError(f"The weights of {ref} cannot be loaded ({first_line(error)}): {restore}.")
