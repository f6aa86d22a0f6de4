"""Models: references, files, sizes and identity, and loading."""

from core.models.describing import (
    ModelInfo,
    describe,
    locate,
    longest_text,
    tokenizer_fingerprint,
)
from core.models.loading.model import (
    LoadedModel,
    load_model,
    load_tokenizer,
    load_with_head,
)
from core.models.references import ModelRef, parse_ref
from core.models.zoo import included_entries, read_manifest, zoo_folder

__all__ = [
    "LoadedModel",
    "ModelInfo",
    "ModelRef",
    "describe",
    "included_entries",
    "load_model",
    "load_tokenizer",
    "load_with_head",
    "locate",
    "longest_text",
    "parse_ref",
    "read_manifest",
    "tokenizer_fingerprint",
    "zoo_folder",
]
