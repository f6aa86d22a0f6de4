"""Models from the Hugging Face Hub: one commit, the model's own files, clear errors.

The order is the policy: ask the Hub for the commit and the list of files (one request, a few
seconds at most), refuse what is too large, read and check config.json, and only then fetch weights
and tokenizer, at that commit. The commit that a name led to is written beside the files, so that
the same name works offline later.

Deviations: files are asked for one by one, not through snapshot_download, whose listing of the tree
has no time-out
in huggingface_hub 2: a silent server would hang the app. What is fetched is the same: named files
at one commit.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import core.models.files.checkpoints as checkpoints
from core.errors import ModelError
from core.limits import current_limits
from core.models.files import adapters
from core.models.files.opening import count_parameters
from core.models.hub.asking import ask, ask_json
from core.models.hub.cache import trim_downloads
from core.models.hub.errors import BOX, TIMEOUT, explain, failures, is_unreachable
from core.runs.files import write_beside

MOST_TOKENIZER = 128 * 2**20  # bytes of all its files; a large vocabulary takes 35 MB
RESOLVED_FOR = 600.0  # seconds before a name's commit is asked for again
COMMIT = re.compile(r"[0-9a-f]{40}")


def download(name: str, revision: str | None = None) -> Path:
    """Find or download the folder of a Hub model at one commit.

    Args:
        name: "model" or "organisation/model".
        revision: Branch, tag or commit; None for the main branch.

    Raises:
        ModelError: Offline and not downloaded earlier, silent hub, unknown, gated, rate-limited,
            too large, no weights that may be read, or refused by the loading policy; each says
            which and what to do.
    """
    folder = _download(name, revision)
    trim_downloads(cache_folder(), model_folder(name))
    return folder


def _download(name: str, revision: str | None) -> Path:
    pinned = revision is not None and COMMIT.fullmatch(revision) is not None
    earlier = earlier_download(name, revision or "main") if pinned or is_offline() else None
    if earlier:
        return earlier
    if is_offline():
        raise refusal(None, name, revision)
    try:
        commit, files = resolve(name, revision)
    except failures() as error:
        earlier = earlier_download(name, revision or "main") if is_unreachable(error) else None
        if earlier:
            return earlier
        raise refusal(error, name, revision) from error
    adapter = adapters.holds_adapter(files)
    try:
        if adapter:
            adapters.check_files([*files], name)
            raw = fetch(name, commit, checkpoints.ADAPTER)
            adapters.check_adapter(checkpoints.read_json(raw), name)
            folder = raw.parent
        else:
            folder = fetch(name, commit, checkpoints.CONFIG).parent
            checkpoints.read_config(folder)
        for file in wanted_files(name, commit, files):
            fetch(name, commit, file)
    except failures() as error:
        raise refusal(error, name, revision) from error
    if not adapter:
        checkpoints.read_config(folder)  # again: the tokenizer's settings are here now
    _remember(name, revision or "main", commit)
    return folder


@dataclass(frozen=True)
class Repository:
    """A model's description by the Hub at one commit.

    Attributes:
        commit: Forty hex digits.
        files: Size in bytes by path.
        hashes: The sha256 hex of large files' content, by path.
        tags: The hub's, many of them made from the card.
        card: What the card says in its header.
    """

    commit: str
    files: dict[str, int]
    hashes: dict[str, str]
    tags: tuple[str, ...]
    card: Mapping[str, Any]


def ask_about(name: str, revision: str | None) -> Repository:
    """Ask the Hub about a model, at most once in ten minutes.

    Raises:
        Exception: See `hub_errors.failures`.
        ModelError: If the Hub names no commit.
    """
    from huggingface_hub.utils import validate_repo_id

    key = (endpoint(), name, revision)
    held = _pinned.get()
    if held is not None and key in held:
        return held[key]
    with _resolved_lock:
        when, earlier = _resolved.get(key, (0.0, None))
    if earlier is not None and time.monotonic() - when < RESOLVED_FOR:
        return earlier if held is None else held.setdefault(key, earlier)
    validate_repo_id(name)
    at = f"/revision/{quote(revision, safe='')}" if revision else ""
    answer, _ = ask_json(f"{endpoint()}/api/models/{name}{at}", {"blobs": True}, login())
    said = _read_answer(answer, name)
    with _resolved_lock:
        _resolved[key] = _resolved[endpoint(), name, said.commit] = (time.monotonic(), said)
        _changes[key] = _changes.get(key, 0) + (
            earlier is not None and earlier.commit != said.commit
        )
    return said if held is None else held.setdefault(key, said)


@contextmanager
def pinned() -> Iterator[None]:
    """Let names lead to one commit inside the block, in this thread."""
    token = _pinned.set({})
    try:
        yield
    finally:
        _pinned.reset(token)


def changes(name: str, revision: str | None) -> int:
    """Count how often a name's commit has changed in this process, without asking the Hub.

    An answer that is too old to be believed is asked for again in a thread: who looks later sees
    the change.
    """
    key = (endpoint(), name, revision)
    now = time.monotonic()
    with _resolved_lock:
        when, earlier = _resolved.get(key, (now, None))
        old = earlier is not None and now - max(when, _renewed.get(key, when)) >= RESOLVED_FOR
        if old:
            _renewed[key] = now
        count = _changes.get(key, 0)
    if old and not is_offline():
        threading.Thread(target=_renew, args=(name, revision), daemon=True).start()
    return count


def _renew(name: str, revision: str | None) -> None:
    with suppress(ModelError, *failures()):  # reported when the model is needed
        ask_about(name, revision)


def _read_answer(answer: object, name: str) -> Repository:
    if not isinstance(answer, dict):
        raise ValueError("it does not describe a model")
    commit, card, tags = answer.get("sha"), answer.get("cardData"), answer.get("tags")
    if not isinstance(commit, str) or not COMMIT.fullmatch(commit):
        raise ModelError(
            f"The Hub at {endpoint()} did not name a commit for {name}: check HF_ENDPOINT, or "
            f"{BOX}."
        )
    siblings = [file for file in answer.get("siblings") or () if isinstance(file, dict)]
    files = {str(file.get("rfilename")): int(file.get("size") or 0) for file in siblings}
    hashes = {
        str(file.get("rfilename")): str(large["sha256"])
        for file in siblings
        if isinstance(large := file.get("lfs"), dict) and "sha256" in large
    }
    card = card if isinstance(card, dict) else {}
    return Repository(commit, files, hashes, tuple(map(str, tags or ())), card)


def resolve(name: str, revision: str | None) -> tuple[str, dict[str, int]]:
    """Resolve a model to (commit, bytes by file).

    Raises:
        Exception: As `ask_about`.
    """
    said = ask_about(name, revision)
    return said.commit, said.files


def wanted_files(name: str, commit: str, files: dict[str, int]) -> list[str]:
    """List the weights and tokenizer files to fetch, after checks of format and size.

    Raises:
        ModelError: If there are no weights that may be read here, or more than this instance
            allows.
    """
    limits = current_limits()
    if adapters.holds_adapter(files):
        weights = [adapters.ADAPTER_WEIGHTS, *({checkpoints.CONFIG} & files.keys())]
    elif checkpoints.SAFETENSORS in files:
        weights = [checkpoints.SAFETENSORS]
    elif checkpoints.SAFETENSORS_INDEX in files:
        weights = _shards(name, commit, checkpoints.SAFETENSORS_INDEX)
    elif checkpoints.PICKLED in files or checkpoints.PICKLED_INDEX in files:
        if limits.shared:
            raise ModelError(
                f"{name} has pickled weights only (.bin), which a shared instance does not open: "
                f"choose a model with "
                "safetensors, or run Palimpsest on your own computer."
            )
        whole = checkpoints.PICKLED in files
        weights = (
            [checkpoints.PICKLED] if whole else _shards(name, commit, checkpoints.PICKLED_INDEX)
        )
    else:
        raise ModelError(
            f"{name} has no PyTorch weights on the Hub (safetensors or .bin): choose another model."
        )
    numbers = (
        sum(files.get(file, 0) for file in weights) // 4
    )  # float32, or a lower bound for shorter formats
    if numbers > limits.max_parameters:
        raise ModelError(
            f"{name} is too large: about {numbers / 1e6:,.0f} million parameters, and this "
            f"instance allows "
            f"{limits.max_parameters / 1e6:,.0f} million. Choose a smaller model."
        )
    beside = [file for file in checkpoints.TOKENIZER_FILES if file in files]
    size = sum(files[file] for file in beside)
    if size > MOST_TOKENIZER:
        raise ModelError(
            f"The tokenizer of {name} is too large ({size / 2**20:,.0f} MB): choose another model."
        )
    return weights + beside


def _shards(name: str, commit: str, index: str) -> list[str]:
    path = fetch(name, commit, index)
    return checkpoints.shard_names(checkpoints.read_json(path), f"{name}/{index}")


def fetch(name: str, commit: str, file: str) -> Path:
    """Fetch one file at one commit, from the cache if it is there."""
    from huggingface_hub import hf_hub_download

    where, cache = endpoint(), cache_folder()
    path = ask(
        lambda: hf_hub_download(
            name,
            file,
            revision=commit,
            endpoint=where,
            cache_dir=cache,
            token=login(),
            etag_timeout=TIMEOUT,
        )
    )
    return Path(path)


def endpoint() -> str:
    """Read the address of the Hub at each call; huggingface_hub reads it at import only."""
    return os.environ.get("HF_ENDPOINT", "").rstrip("/") or "https://huggingface.co"


def cache_folder() -> Path:
    """The folder of huggingface_hub's downloads."""
    from huggingface_hub import constants

    home = os.environ.get("HF_HOME")
    folder = os.environ.get("HF_HUB_CACHE") or (
        Path(home) / "hub" if home else constants.HF_HUB_CACHE
    )
    return Path(folder).expanduser()


def login() -> bool | None:
    """The user's login (None), or none (False) on a shared instance."""
    return False if current_limits().shared else None


def is_offline() -> bool:
    """Whether offline mode is on."""
    return os.environ.get("HF_HUB_OFFLINE", "").strip().upper() in {"1", "ON", "YES", "TRUE"}


def model_folder(name: str) -> Path:
    """The folder of a model in the cache: refs/ has commits, snapshots/ a folder per commit."""
    return cache_folder() / f"models--{name.replace('/', '--')}"


def _remember(name: str, revision: str, commit: str) -> None:
    if COMMIT.fullmatch(revision):
        return
    path = model_folder(name) / "refs" / revision
    path.parent.mkdir(parents=True, exist_ok=True)
    write_beside(path, commit.encode())


def earlier_download(name: str, revision: str) -> Path | None:
    """Find an earlier, complete download of this revision."""
    note = model_folder(name) / "refs" / revision
    if COMMIT.fullmatch(revision):
        commit = revision
    elif note.is_file():
        commit = note.read_text(encoding="utf8").strip()
    else:
        return None
    folder = model_folder(name) / "snapshots" / commit
    try:
        if adapters.is_adapter(folder):
            adapters.read_adapter(folder)
            return folder
        config = checkpoints.read_config(folder)
        count_parameters(folder, config)
        checkpoints.tokenizer_hash(folder, config)
    except ModelError:
        return None  # incomplete: the Hub is asked again
    return folder


def refusal(error: Exception | None, name: str, revision: str | None) -> ModelError:
    """Make the error for a failure of the Hub; `error` is None if it was not asked."""
    return ModelError(explain(error, name, revision, endpoint(), cache_folder()))


Asked = tuple[str, str, str | None]  # endpoint, name, revision
_resolved: dict[Asked, tuple[float, Repository]] = {}
_renewed: dict[Asked, float] = {}  # when `changes` had the Hub asked
_changes: dict[Asked, int] = {}
_pinned: ContextVar[dict[Asked, Repository] | None] = ContextVar("palimpsest_pinned", default=None)
_resolved_lock = threading.Lock()
