"""Models from the Hugging Face Hub: one commit, the model's own files, clear errors.

The order is the policy: ask the Hub for the commit and the list of files (one request, a few
seconds at most), refuse what is too large, read and check config.json, and only then fetch weights
and tokenizer, at that commit. The commit that a name led to is written beside the files, so that
the same name works offline later.

Deviations: files are asked for one by one, not through snapshot_download, whose listing of the tree
has no time-out in huggingface_hub 2: a silent server would hang the app. What is fetched is the
same: named files at one commit.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from core.errors import ModelError
from core.limits import current_limits
from core.models.files import adapters, checkpoints, layout
from core.models.files.opening import count_parameters
from core.models.hub import repository as repositories
from core.models.hub.asking import ask, ask_json, is_offline
from core.models.hub.downloads import stopping_bar, within_limit
from core.models.hub.errors import TIMEOUT, explain, failures, is_unreachable
from core.runs.files import write_beside
from core.runs.process.parsing import MOST_BYTES
from core.runs.process.remembered import Memory

MAIN = "main"  # the branch that a reference without a revision names
RESOLVED_FOR = 600.0  # seconds before a name's commit is asked for again
WIDEST = 8  # bytes of a parameter
MOST_FILES = 100_000  # of all repositories that are remembered
MOST_NAMES = 1_024  # of models that pages look at


@dataclass(frozen=True)
class Answer:
    """What the Hub said of a model, and how often its commit had changed by then."""

    repository: repositories.Repository
    changes: int = 0


def download(name: str, revision: str | None = None) -> Path:
    """Find or download the folder of a Hub model at one commit. Raises ModelError, which says what
    to do, if the Hub is silent, it is unknown, gated, too large, has no weights that may be read,
    or is refused."""
    with within_limit(cache_folder(), model_folder(name)):
        return _download(name, revision)


def _download(name: str, revision: str | None) -> Path:
    pinned = revision is not None and repositories.COMMIT.fullmatch(revision) is not None
    earlier = earlier_download(name, revision) if pinned or is_offline() else None
    if earlier:
        return earlier
    try:
        repository = ask_about(name, revision)
    except failures() as error:
        earlier = earlier_download(name, revision) if is_unreachable(error) else None
        if earlier:
            return earlier
        raise refusal(error, name, revision) from error
    adapter = adapters.holds_adapter(repository.files)
    with refusing(name, revision):
        if adapter:
            adapters.check_files([*repository.files], name)
            raw = fetch_small(repository, layout.ADAPTER)
            adapters.check_adapter(checkpoints.read_json(raw), name)
            folder = raw.parent
        else:
            repositories.check_names(repository)
            folder = fetch_small(repository, layout.CONFIG).parent
            checkpoints.read_config(folder)
        for file in wanted_files(repository):
            fetch(repository, file)
    if not adapter:
        checkpoints.read_config(folder)  # again: the tokenizer's settings are here now
    _remember(name, revision or MAIN, repository.commit)
    return folder


def ask_about(name: str, revision: str | None) -> repositories.Repository:
    """Ask the Hub about a model, at most once in ten minutes. Raises ModelError in offline mode or
    if the Hub names no commit, else `errors.failures`."""
    from huggingface_hub.utils import validate_repo_id

    if is_offline():
        raise refusal(None, name, revision)
    key, held = (endpoint(), name, revision), _pinned.get({})
    if key in held:
        return held[key]
    if (answer := _resolved.fresh(key)) is not None:
        return held.setdefault(key, answer.repository)
    validate_repo_id(name)
    at = f"/revision/{quote(revision, safe='')}" if revision else ""
    read, _ = ask_json(f"{endpoint()}/api/models/{name}{at}", {"blobs": True}, login())
    repository = repositories.read_description(read, name, endpoint())
    earlier = _resolved.last(key) or Answer(repository)
    times = earlier.changes + (earlier.repository.commit != repository.commit)
    _resolved.put((endpoint(), name, repository.commit), Answer(repository))
    _resolved.put(key, Answer(repository, times))
    return held.setdefault(key, repository)


def last_answer(name: str, revision: str | None) -> repositories.Repository | None:
    """Return what the Hub said last about a model; None if it was not asked."""
    answer = _resolved.last((endpoint(), name, revision))
    return None if answer is None else answer.repository


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

    An answer that is too old is asked for again in a thread, so that a later call sees the change.
    """
    key = (endpoint(), name, revision)
    answer = _resolved.last(key)
    if answer is None:
        return 0
    if _resolved.fresh(key) is None and not is_offline():
        _renewed.get(key, threading.Thread(target=_renew, args=(name, revision), daemon=True).start)
    return answer.changes


def _renew(name: str, revision: str | None) -> None:
    with suppress(ModelError, *failures()):  # reported when the model is needed
        ask_about(name, revision)


def wanted_files(repository: repositories.Repository) -> list[str]:
    """List the weights and tokenizer files to fetch; an index is fetched."""
    return repositories.wanted_files(repository, partial(read_index, repository))


def read_index(repository: repositories.Repository, index: str) -> dict[str, Any]:
    """Fetch and read an index of files of weights; raises as `fetch_small` and `read_json` do."""
    return checkpoints.read_json(fetch_small(repository, index))


def fetch_small(repository: repositories.Repository, file: str) -> Path:
    """Fetch a file of settings; raises as `fetch` does, and ModelError if it is larger than one."""
    size = repository.files.get(file, 0)
    if size > MOST_BYTES:
        raise checkpoints.too_large(f"{repository.name}/{file}", size)
    return fetch(repository, file, size or MOST_BYTES)


def fetch(repository: repositories.Repository, file: str, most: int = 0) -> Path:
    """Fetch one file at the repository's commit, from the cache if it is there. Raises
    `errors.failures`, or ModelError if the server sends more bytes than `most`, or else than the
    Hub states or any model here may have."""
    from huggingface_hub import hf_hub_download

    name, where, cache = repository.name, endpoint(), cache_folder()
    most = most or repository.files.get(file, 0) or WIDEST * current_limits().max_parameters
    bar = stopping_bar(most, f"{name}/{file}")
    with within_limit(cache, model_folder(name)):
        path = ask(
            lambda: hf_hub_download(
                name,
                file,
                revision=repository.commit,
                endpoint=where,
                cache_dir=cache,
                token=login(),
                etag_timeout=TIMEOUT,
                headers={"Accept-Encoding": "identity"},  # so that its size is the one stated
                tqdm_class=bar,
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


def model_folder(name: str) -> Path:
    """The folder of a model in the cache: refs/ has commits, snapshots/ a folder per commit."""
    return cache_folder() / f"models--{name.replace('/', '--')}"


def _remember(name: str, revision: str, commit: str) -> None:
    if repositories.COMMIT.fullmatch(revision):
        return
    path = model_folder(name) / "refs" / revision
    with suppress(OSError):  # without the note, only this name does not work offline later
        path.parent.mkdir(parents=True, exist_ok=True)
        write_beside(path, commit.encode())


def earlier_download(name: str, revision: str | None) -> Path | None:
    """Find an earlier, complete download of this revision; None is the main branch."""
    revision = revision or MAIN
    note = model_folder(name) / "refs" / revision
    if repositories.COMMIT.fullmatch(revision):
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


@contextmanager
def refusing(name: str, revision: str | None) -> Iterator[None]:
    """Raise ModelError, with what to do, for each failure of the Hub inside the block."""
    try:
        yield
    except failures() as error:
        raise refusal(error, name, revision) from error


Asked = tuple[str, str, str | None]  # endpoint, name, revision
_resolved: Memory[Answer] = Memory(
    MOST_FILES, seconds=RESOLVED_FOR, weigh=lambda answer: 1 + len(answer.repository.files)
)
_renewed: Memory[None] = Memory(
    MOST_NAMES, seconds=RESOLVED_FOR
)  # that `changes` had the Hub asked
_pinned: ContextVar[dict[Asked, repositories.Repository]] = ContextVar("palimpsest_pinned")
