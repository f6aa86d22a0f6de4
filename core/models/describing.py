"""A model's location, sizes and fingerprint, read from its files without torch.

A model is known by its content, never by its name: see `core.models.identity`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from core.errors import ModelError
from core.limits import current_limits
from core.models.architecture import ENCODER_ALONE
from core.models.architectures import ARCHITECTURES, class_in
from core.models.files import checkpoints, layout
from core.models.files.adapters import ADAPTER_WEIGHTS, adapter_fingerprint, is_adapter
from core.models.files.opening import count_parameters
from core.models.files.tokenizer_json import marks_of
from core.models.references import ModelRef, parse_ref
from core.models.weights.merged import merged_folder
from core.models.weights.origins import base_of, folder_of, whole_base
from core.models.zoo import read_adapters, read_manifest, restoring, zoo_folder
from core.runs.process.remembered import READ_FILES, folder_state, remembered

RANDOM_SEED = 748_112_903  # unused elsewhere: 0 would give the initial weights of a seed 0
UNNAMED = "?"  # architecture of a configuration that names no class
RANDOM_VERSION = 1  # raised when `random:` draws other weights from the same configuration
# parameters above which a model's layers are read one at a time, and those of `random:` drawn by
# themselves in most types of model
LARGE = 2**29
LARGE_RANDOM_VERSION = 2  # the same for these: version 1 drew them as a whole


@dataclass(frozen=True)
class ModelInfo:
    """A model's sizes, from its configuration and the header of its weights.

    Attributes:
        ref: Its reference.
        fingerprint: The sha256 hex of its weights and configuration: the same of the same files
            under another name. That of `random:` depends on the configuration and the seed.
        weights: What its weights alone are known by: the sha256 of each of their files; of an
            adapter, that of its files and its base's fingerprint; of `random:` the fingerprint.
        architecture: Class named in the configuration, such as "BertForMaskedLM".
        layers: Number of layers (of the encoder if there are two stacks), without the embeddings.
        parameters: Numbers in the saved weights.
        family: "encoder", "decoder" or "encoder-decoder".
        positions: Whether the model adds positions to its vectors, not to attention alone.
    """

    ref: str
    fingerprint: str
    weights: str
    architecture: str
    model_type: str
    layers: int
    d_model: int
    heads: int
    vocabulary: int
    parameters: int
    family: str
    positions: bool

    @property
    def lacks_decoder(self) -> bool:
        """Whether it is the encoder of an encoder-decoder."""
        return self.family == "encoder-decoder" and self.architecture.endswith(ENCODER_ALONE)


def locate(ref: str | ModelRef, base: str = "") -> Path:
    """Find the folder with the model's config.json, tokenizer and weights; download a Hub model,
    merge an adapter into `base`, "" for the one that it names. Raises ModelError if it does not
    exist, is damaged, or is refused by the Hub or the loading policy; if it is an adapter, also if
    its base cannot be read, or it does not fit it."""
    ref = parse_ref(ref)
    folder = folder_of(ref)
    if not is_adapter(folder):
        return folder
    base = base or base_of(ref)
    return merged_folder(folder, whole_base(base, ref), _content_of_merged(folder, base))


def _content_of_merged(folder: Path, base: str) -> tuple[str, str]:
    """What an adapter and its base are known by; the sums in merged weights are rounded differently
    on another machine."""
    return adapter_fingerprint(folder), describe(base).fingerprint


def longest_text(ref: str | ModelRef) -> int:
    """Look up how many subwords a model reads at most. Raises ModelError as `locate` does."""
    return checkpoints.longest_input(checkpoints.read_config(locate(ref)))


def tokenizer_fingerprint(ref: str | ModelRef) -> str:
    """Calculate the sha256 hex of the model's tokenizer files, with what marks them: see
    `core.models.files.tokenizer_json`. Raises ModelError if there are none."""
    ref = parse_ref(ref)
    folder = locate(ref)
    with saying_how_to_restore(ref):
        return _tokenizer_of(folder)


@remembered(READ_FILES, state=folder_state)
def _tokenizer_of(folder: Path) -> str:
    config = checkpoints.read_config(folder)
    files = checkpoints.tokenizer_hash(folder, config)
    marks = marks_of(folder, config)
    return hashlib.sha256(json.dumps([files, *marks]).encode()).hexdigest() if marks else files


@remembered(READ_FILES, state=folder_state)
def _files_of(folder: Path) -> tuple[ModelInfo, tuple[str, ...], str]:
    """Read what a model's files say under any reference: its sizes, the sha256 hex of each file of
    weights, and that of its configuration."""
    config = checkpoints.read_config(folder)
    architecture = ARCHITECTURES[config["model_type"]]
    layers, width, heads = checkpoints.sizes(config)
    info = ModelInfo(
        ref="",
        fingerprint="",
        weights="",
        architecture=class_in(config) or UNNAMED,
        model_type=config["model_type"],
        layers=layers,
        d_model=width,
        heads=heads,
        vocabulary=int(config.get("vocab_size", 0)),
        parameters=count_parameters(folder, config),
        family=architecture.family,
        positions=architecture.adds_positions(config),
    )
    hashes = tuple(map(checkpoints.content_hash, checkpoints.weight_files(folder)))
    return info, hashes, checkpoints.config_hash(config)


def _is_pickled(folder: Path) -> bool:
    checkpoints.read_config(folder)  # whose errors come first
    return checkpoints.is_pickled(checkpoints.weight_files(folder))


def describe(ref: str | ModelRef, base: str = "") -> ModelInfo:
    """Read a model's sizes and fingerprint from its configuration and headers, without torch.

    Args:
        base: Of an adapter; "" for the one that it names.

    Raises:
        ModelError: If a file is missing or damaged, or the policy or the instance's limits refuse
            it.
    """
    ref = parse_ref(ref)
    held = folder_of(ref)
    base = (base or base_of(ref)) if is_adapter(held) else ""
    folder = locate(ref, base)
    limits = current_limits()
    with saying_how_to_restore(ref):
        # pickled files of strangers are not even parsed on a shared instance
        files = None if limits.shared and _is_pickled(folder) else _files_of(folder)
    if files is None:
        raise ModelError(
            f"{ref} has pickled weights only (.bin), which a shared instance does not open: "
            "choose another model."
        )
    info, hashes, config_hash = files
    stored = [checkpoints.content_hash(held / ADAPTER_WEIGHTS)] if base else hashes
    _check_manifest(ref, stored)
    if info.parameters > limits.max_parameters:
        raise too_large(ref, info.parameters, limits.max_parameters)
    version = LARGE_RANDOM_VERSION if info.parameters > LARGE else RANDOM_VERSION
    content = _content_of_merged(held, base) if base else hashes
    identity = ["random", version, RANDOM_SEED] if ref.random else content
    fingerprint = hashlib.sha256(json.dumps([identity, config_hash]).encode()).hexdigest()
    weights = fingerprint if ref.random else " ".join(content)
    return replace(info, ref=str(ref), fingerprint=fingerprint, weights=weights)


def too_large(ref: ModelRef, parameters: int, most: int) -> ModelError:
    """Make the error of a model that is larger than this instance allows."""
    return ModelError(
        f"{ref} is too large: {parameters / 1e6:,.0f} million parameters, "
        f"and this instance allows {most / 1e6:,.0f} million. Choose a smaller model."
    )


def _check_manifest(ref: ModelRef, hashes: Sequence[str]) -> None:
    """Refuse an included model whose hash is not the manifest's."""
    if ref.kind != "zoo":
        return
    for entry in (*read_manifest(), *read_adapters()):
        files = entry.get("files", {}) if entry.get("name") == ref.name else {}
        for name in (layout.SAFETENSORS, ADAPTER_WEIGHTS):
            if (wanted := files.get(name)) and wanted not in hashes:
                path = zoo_folder() / "models" / ref.name / name
                raise ModelError(
                    f"{path} is not the file that the manifest describes: {how_to_restore(ref)}."
                )


def how_to_restore(ref: ModelRef) -> str:
    """Say how to restore an included model; "" for others."""
    return f"restore it with {restoring(f'zoo/models/{ref.name}')}" if ref.kind == "zoo" else ""


@contextmanager
def saying_how_to_restore(ref: ModelRef) -> Iterator[None]:
    """Add to an error inside the block, about an included model's file, how to restore it."""
    try:
        yield
    except ModelError as error:
        if ref.kind != "zoo":
            raise
        problem = str(error).split(": ")[0]
        raise ModelError(f"{problem}: {how_to_restore(ref)}.") from error
