"""Models: references, files, sizes and identity, and loading."""

from core.maths.devices import choose_device
from core.models.describing import (
    ModelInfo,
    describe,
    locate,
    tokenizer_fingerprint,
    zoo_models,
)
from core.models.loading.construction import import_transformers
from core.models.loading.model import (
    DTYPES,
    LoadedModel,
    load_model,
    load_tokenizer,
    load_with_head,
)
from core.models.references import ModelRef, parse_ref
from core.models.zoo import zoo_folder

__all__ = [
    "DTYPES",
    "LoadedModel",
    "ModelInfo",
    "ModelRef",
    "choose_device",
    "describe",
    "import_transformers",
    "load_model",
    "load_tokenizer",
    "load_with_head",
    "locate",
    "parse_ref",
    "tokenizer_fingerprint",
    "zoo_folder",
    "zoo_models",
]
