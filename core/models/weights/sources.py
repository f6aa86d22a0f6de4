"""Open an included model, a folder or a Hub model as a checkpoint whose tensors are read on demand.

A hub model that was downloaded earlier is read from the disk; any other through range requests, so
that only the matrices that are needed travel. What a model is known by is asked once, before
anything is read; a hub model is then read at the commit in it, so that nothing of a newer commit is
kept under an older one.
"""

from __future__ import annotations

from dataclasses import replace

from core.errors import ModelError
from core.models import locate, parse_ref
from core.models.files import adapters, checkpoints, layout
from core.models.files.safetensors import ByteFile, LocalFile
from core.models.hub import client as hub
from core.models.hub import listing as hub_listing
from core.models.hub.ranges import RangeFile
from core.models.weights.adapters import Adapter
from core.models.weights.origins import adapter_folder
from core.models.weights.tensors import Checkpoint, open_checkpoint, open_folder
from core.runs.process.parsing import parse_json
from core.runs.store import identified


def is_remote(ref: str, identity: str) -> bool:
    """Whether the tensors of a model with this identity are read over the network."""
    parsed = parse_ref(ref)
    return parsed.kind == "hub" and hub.earlier_download(parsed.name, _commit(identity)) is None


def open_model(ref: str, identity: str) -> Checkpoint:
    """Open a model, or what an adapter makes of its base: its configuration and the places of its
    tensors, of a Hub model at the commit in its identity. Raises ModelError if it cannot be found,
    read or trusted, or has random weights."""
    parsed = parse_ref(ref)
    if parsed.random:
        raise ModelError(
            f"{ref} has random weights, so there is no update to compare; choose a trained model."
        )
    if parsed.kind == "hub":
        commit = _commit(identity)
        earlier = hub.earlier_download(parsed.name, commit)
        if earlier is None and not _is_remote_adapter(parsed.name, commit):
            return _open_remote(ref, parsed.name, commit)
        parsed = replace(parsed, revision=commit)
    folder = locate(parsed)
    return open_folder(ref, folder, checkpoints.read_config(folder))


def open_adapter(ref: str, identity: str) -> Adapter | None:
    """Open a LoRA adapter: its configuration and the places of its factors; None for a model.
    Raises ModelError if it cannot be found, read or used."""
    parsed = parse_ref(ref)
    if parsed.kind == "hub":
        parsed = replace(parsed, revision=_commit(identity))
    folder = adapter_folder(parsed)
    file: ByteFile
    if folder is not None:
        config = adapters.read_adapter(folder)
        file = LocalFile(folder / adapters.ADAPTER_WEIGHTS)
    elif is_remote(ref, identity) and _is_remote_adapter(parsed.name, _commit(identity)):
        on_hub = hub_listing.look_up(parsed.name, _commit(identity))
        adapters.check_files(list(on_hub.files), ref)
        raw = hub_listing.read_small(on_hub, layout.ADAPTER)
        config = adapters.check_adapter(parse_json(raw, f"{ref}/{layout.ADAPTER}"), ref)
        file = RangeFile(parsed.name, on_hub.commit, adapters.ADAPTER_WEIGHTS)
    else:
        return None
    return Adapter(config, open_checkpoint(ref, {}, [file]))


def _is_remote_adapter(name: str, commit: str) -> bool:
    """Whether a repository on the Hub holds an adapter and no model."""
    return adapters.holds_adapter(hub_listing.look_up(name, commit).files)


def _commit(identity: str) -> str:
    """Read the commit in a Hub model's identity."""
    return identified(identity).rpartition(" ")[2]


def _open_remote(ref: str, name: str, commit: str) -> Checkpoint:
    on_hub = hub_listing.look_up(name, commit)
    raw = hub_listing.read_small(on_hub, layout.CONFIG)
    config = checkpoints.checked_config(parse_json(raw, f"{name}/{layout.CONFIG}"), [], name)
    files = [RangeFile(name, on_hub.commit, file) for file in hub_listing.safe_weights(on_hub)]
    return open_checkpoint(ref, config, files)
