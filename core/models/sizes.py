"""A model's size, and how much of it must be downloaded, without fetching weights.

A model on this machine is known from its header. One on the Hub is known from the list of its files
and its configuration, which is a few hundred bytes; where the Hub cannot be reached, the MultiBERTs
are known nevertheless.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from core.errors import ModelError
from core.models.architectures import ARCHITECTURES, class_in
from core.models.describing import describe, locate
from core.models.files import checkpoints, layout
from core.models.files.adapters import (
    AdapterConfig,
    check_adapter,
    holds_adapter,
    is_adapter,
    read_adapter,
)
from core.models.files.opening import count_parameters
from core.models.hub import client as hub
from core.models.hub.errors import failures, is_unreachable
from core.models.precision import SINGLE, precision_in, type_in
from core.models.references import parse_ref
from core.models.weights.merged import class_of
from core.models.weights.origins import adapter_folder, base_in, base_of

BYTES = 4  # of a number, in float32
HALVES = ("bfloat16", "float16")  # types of two bytes
MULTIBERTS = "google/multiberts-seed_"  # each a BERT-base with the heads that it was trained with


@dataclass(frozen=True)
class Size:
    """A model's size.

    Attributes:
        parameters: Numbers in its weights.
        layers, d_model: Blocks, and width of a hidden state.
        download: Bytes that are not on this machine yet.
        asked: Whether files said so, rather than what is known of models of its kind.
        architecture: Class that the configuration names; "" where it is not known.
        precision: In which its hidden states are computed on this machine, see `precision`.
        model_type, positions: As of `ModelInfo`.
        adapter: Whether it is read by its factors, see `size_of_adapter`.
    """

    parameters: int
    layers: int
    d_model: int
    download: int
    asked: bool = True
    architecture: str = ""
    precision: str = SINGLE
    model_type: str = "bert"
    positions: bool = True
    adapter: bool = False


MULTIBERT = Size(110_106_428, 12, 768, 440_000_000, asked=False)


def download_of(ref: str) -> int:
    """Count the bytes of a model that are not on this machine yet; 0 if the Hub is silent."""
    parsed = parse_ref(ref)
    if parsed.kind != "hub" or hub.earlier_download(parsed.name, parsed.revision):
        return 0
    with suppress(*failures(), ModelError):  # reported when the model is opened
        repository = hub.ask_about(parsed.name, parsed.revision)
        files = repository.files
        if holds_adapter(files):
            return sum(size for file, size in files.items() if file.startswith("adapter_"))
        return sum(files[file] for file in hub.wanted_files(repository))
    return 0


def was_downloaded(model: str, revision: str) -> bool:
    """Whether a revision of a Hub model ("hub:NAME") is complete on this machine."""
    return hub.earlier_download(model.removeprefix("hub:"), revision) is not None


def size_of(ref: str) -> Size:
    """Look up the size of a model, of which only the configuration is fetched; an adapter is as
    large as its base. Raises ModelError if it cannot be found, may not be read here, or is larger
    than this instance allows."""
    parsed = parse_ref(ref)
    name, revision = parsed.name, parsed.revision
    if parsed.kind == "hub":
        folder = hub.earlier_download(name, revision)
    else:
        folder = adapter_folder(replace(parsed, random=False))
    if folder is not None and is_adapter(folder):
        return _of_merged(read_adapter(folder), base_of(parsed), folder)
    if parsed.kind == "path":
        folder = locate(parsed)
    if folder is not None:  # from headers: a page does not wait until gigabytes are hashed
        return _of(count_parameters(folder, checkpoints.read_config(folder)), folder, 0)
    if parsed.kind == "zoo":
        info = describe(ref)
        return Size(
            info.parameters,
            info.layers,
            info.d_model,
            0,
            architecture=info.architecture,
            model_type=info.model_type,
            positions=info.positions,
        )
    try:
        repository = hub.ask_about(name, revision)
        files = hub.wanted_files(repository)
        if holds_adapter(repository.files):
            file = hub.fetch_small(repository, layout.ADAPTER)
            config = check_adapter(checkpoints.read_json(file), ref)
            size = _of_merged(config, base_in(config, parsed), file.parent)
            return replace(size, download=size.download + download_of(ref))
        folder = hub.fetch_small(repository, layout.CONFIG).parent
    except failures() as error:
        if is_unreachable(error) and name.startswith(MULTIBERTS):
            return MULTIBERT
        raise hub.refusal(error, name, revision) from error
    sizes = {file: repository.files.get(file, 0) for file in files}
    weights = sum(size for file, size in sizes.items() if file not in layout.TOKENIZER_FILES)
    number = BYTES // 2 if type_in(checkpoints.read_config(folder)) in HALVES else BYTES
    return _of(weights // number, folder, sum(sizes.values()), complete=False)


def names_adapter(ref: str) -> bool:
    """Whether a reference names an adapter; False for what cannot be found."""
    parsed = parse_ref(ref)
    if parsed.kind == "hub":
        with suppress(*failures(), ModelError):
            if holds_adapter(hub.ask_about(parsed.name, parsed.revision).files):
                return True
    with suppress(ModelError):
        return adapter_folder(parsed) is not None
    return False


def size_of_adapter(ref: str, base: Size) -> Size:
    """Look up the size of a LoRA adapter, whose matrices are those of its base. Raises ModelError
    if it cannot be found, or is no adapter."""
    if not names_adapter(ref):
        raise ModelError(f"{ref} is no adapter: choose one.")
    return replace(base, download=download_of(ref), adapter=True)


def _of_merged(config: AdapterConfig, base: str, folder: Path) -> Size:
    """Size of what an adapter makes of its base, without merging it. Raises ModelError if the base
    cannot be found, or is an adapter."""
    if names_adapter(base):
        raise ModelError(f"{base} is an adapter itself: choose a whole model as a base.")
    size = size_of(base)
    beside = folder / layout.CONFIG
    if beside.is_file():
        name = class_in(checkpoints.read_json(beside), beside)
    else:
        name = class_of(config, size.architecture) if config.saved else ""
    return replace(size, architecture=name or size.architecture)


def _of(parameters: int, folder: Path, download: int, *, complete: bool = True) -> Size:
    try:
        config = checkpoints.read_config(folder)
        layers, width, _ = checkpoints.sizes(config)
    except KeyError as error:
        raise ModelError(
            f"{folder} has a model type that is not supported ({error}): choose another model."
        ) from error
    named = class_in(config)
    precision = precision_in(folder, parameters, complete=complete)
    model_type = str(config["model_type"])
    positions = ARCHITECTURES[model_type].adds_positions(config)
    return Size(parameters, layers, width, download, True, named, precision, model_type, positions)
