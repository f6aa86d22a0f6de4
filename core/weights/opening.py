"""From a model reference to a checkpoint whose tensors are read when asked for: box, folder, or hub.

A hub model that was downloaded earlier is read from the disk; any other through range requests, at the commit that
its name leads to, so that only the matrices that are needed travel.
"""

from __future__ import annotations

import json
from pathlib import Path

from core.errors import ModelError
from core.models import adapters, checkpoints, fingerprint, hub, hub_listing, locate, parse_ref
from core.models.hub_ranges import RangeFile
from core.weights.adapters import Adapter
from core.weights.tensors import INDEX, Checkpoint, LocalFile, open_checkpoint, open_folder, read_index, weight_files


def identify(ref: str) -> str:
    """What a model's weights are known by, for a task's key: a content hash, or the hub's commit.

    Returns:
        "" where the model cannot be found: its task then fails with the reason.
    """
    try:
        parsed = parse_ref(ref)
        if parsed.kind != "hub":
            held = _adapter_folder(ref)
            return adapters.adapter_fingerprint(held) if held else fingerprint(parsed)
        folder = _downloaded(parsed.name, parsed.revision)
        commit = folder.name if folder else hub_listing.look_up(parsed.name, parsed.revision).commit
        return f"{parsed.name} {commit}"
    except ModelError:
        return ""


def is_remote(ref: str) -> bool:
    """Whether its tensors come over the network."""
    parsed = parse_ref(ref)
    return parsed.kind == "hub" and _downloaded(parsed.name, parsed.revision) is None


def open_model(ref: str) -> Checkpoint:
    """A model's configuration and the places of its tensors.

    Raises:
        ModelError: If it cannot be found, read or trusted, or is a random control, which has no base.
    """
    parsed = parse_ref(ref)
    if parsed.random:
        raise ModelError(f"{ref} is drawn afresh: it has no weights of its own to compare. Name a trained model.")
    if _adapter_folder(ref) is not None:
        raise ModelError(f"{ref} is an adapter: it has a change and no weights of its own; ask for those of its base.")
    if parsed.kind != "hub":
        folder = locate(parsed)
        return open_folder(ref, folder, checkpoints.read_config(folder))
    earlier = _downloaded(parsed.name, parsed.revision)
    if earlier is not None:
        return open_folder(ref, earlier, checkpoints.read_config(earlier))
    return _open_remote(ref, parsed.name, parsed.revision)


def open_adapter(ref: str) -> Adapter | None:
    """A LoRA adapter's configuration and the places of its factors; None where the reference is no adapter.

    Raises:
        ModelError: If it is an adapter that cannot be found, read or used.
    """
    parsed = parse_ref(ref)
    folder = _adapter_folder(ref)
    if folder is not None:
        config = adapters.read_adapter(folder)
        return Adapter(config, open_checkpoint(ref, {}, [LocalFile(folder / adapters.ADAPTER_WEIGHTS)]))
    if parsed.kind != "hub" or _downloaded(parsed.name, parsed.revision) is not None:
        return None
    found = hub_listing.look_up(parsed.name, parsed.revision)
    if not hub_listing.is_adapter(found.files):
        return None
    adapters.check_files(list(found.files), ref)
    raw = hub_listing.read_small(parsed.name, found.commit, checkpoints.ADAPTER)
    config = adapters.parse_adapter(raw, ref)
    return Adapter(config, open_checkpoint(ref, {}, [RangeFile(parsed.name, found.commit, adapters.ADAPTER_WEIGHTS)]))


def _adapter_folder(ref: str) -> Path | None:
    """The folder that a reference names, if it holds an adapter."""
    parsed = parse_ref(ref)
    if parsed.kind != "path" or parsed.random:
        return None
    folder = locate(parsed)
    return folder if adapters.is_adapter(folder) else None


def _open_remote(ref: str, name: str, revision: str | None) -> Checkpoint:
    found = hub_listing.look_up(name, revision)
    try:
        config = json.loads(hub_listing.read_small(name, found.commit, checkpoints.CONFIG))
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{name} has a damaged {checkpoints.CONFIG}: choose another model.") from error
    checkpoints.check_config(config if isinstance(config, dict) else {}, name)
    index = None
    if INDEX in found.files:
        index = read_index(ref, hub_listing.read_small(name, found.commit, INDEX))
    files = weight_files(ref, list(found.files), index)
    missing = [file for file in files if file not in found.files]
    if missing:
        raise ModelError(f"{ref} is incomplete on the hub: {missing[0]} is missing; choose another model.")
    return open_checkpoint(ref, config, [RangeFile(name, found.commit, file) for file in files])


def _downloaded(name: str, revision: str | None) -> Path | None:
    """Folder of the model if it was downloaded earlier, at the commit that its name leads to now."""
    try:
        commit = hub_listing.look_up(name, revision).commit
    except ModelError:
        return hub.earlier_download(name, revision or "main")  # offline: what was downloaded is what there is
    return hub.earlier_download(name, commit)
