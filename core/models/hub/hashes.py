"""What the weights of a model on the Hub are known by, without a download."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from core.errors import ModelError
from core.models.files import checkpoints
from core.models.files.adapters import holds_adapter, is_adapter
from core.models.files.layout import CONFIG
from core.models.hub import listing
from core.models.hub.client import earlier_download
from core.models.references import ModelRef

SHA256 = re.compile("[0-9a-f]{64}")


def known_by(ref: ModelRef) -> tuple[str, str]:
    """Return name and commit of a model on the Hub; and, for copies, the sha256 of each of its
    files of weights, or the same where the Hub does not say them. Raises ModelError if the Hub does
    not answer and there is no download."""
    try:
        commit = listing.look_up(ref.name, ref.revision).commit
    except ModelError:
        earlier = earlier_download(ref.name, ref.revision or "main")
        if earlier is None:
            raise
        commit = earlier.name  # offline: use the earlier download
    content = f"{ref.name} {commit}"
    return content, f"random {content}" if ref.random else _hashes(ref.name, commit) or content


def _hashes(name: str, commit: str) -> str:
    """Join the sha256 of the files of a Hub model's weights; "" of an adapter, and where the Hub
    does not say."""
    earlier = earlier_download(name, commit)
    if earlier is not None and not is_adapter(earlier):
        return " ".join(map(_hash_of_download, checkpoints.weight_files(earlier)))
    hashes: list[str] = []
    with suppress(ModelError):  # whoever reads the weights is told why they cannot be
        model = listing.look_up(name, commit)
        if not holds_adapter(model.files):
            listing.read_small(name, commit, CONFIG)  # a gated model is nobody's original
            hashes = [model.hashes.get(file, "") for file in listing.safe_weights(model)]
    return " ".join(hashes) if all(hashes) else ""


def _hash_of_download(path: Path) -> str:
    """The sha256 hex of a downloaded file's content, by which the Hub's cache names large ones."""
    name = path.resolve().name
    return name if SHA256.fullmatch(name) else checkpoints.content_hash(path)
