"""One model in memory at a time: tasks wait for it, use it and release it.

Two BERT-base forward passes at once do not fit a host of 1 GB, and share its cores anyway. A small
model stays for half a minute after its last use, because a page often asks again; a large one goes
at once. Of a model whose weights are too large to be read as a whole, one layer is in memory at a
time (`layerwise`).
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from core.maths.progress import tick

if TYPE_CHECKING:
    from core.models.loading.model import LoadedModel
    from core.models.references import ModelRef

KEEP_SECONDS = 30.0
KEEP_PARAMETERS = 50_000_000  # 200 MB in float32
# collected in its own time: a search through all objects takes longer than the model
SMALL_PARAMETERS = 10_000_000
LOOK_UP_SECONDS = 0.25  # how often waiting tasks check for cancellation

_turn = threading.RLock()
_resident: dict[tuple[str, str, str | None, str, bool, bool], LoadedModel] = {}  # at most one
_farewell: list[threading.Timer] = []  # at most one


@contextmanager
def borrow_model(
    ref: str | ModelRef,
    *,
    device: str | None = None,
    dtype: str = "float32",
    attentions: bool = False,
    layerwise: bool = False,
) -> Iterator[LoadedModel]:
    """Load a model for the length of the block; other models wait meanwhile.

    Args:
        ref, device, dtype, attentions, layerwise: As in `models.load_model`.

    Raises:
        ModelError: If it cannot be loaded.
        CancelledError: If the run is cancelled while it waits its turn.
    """
    from core.models.describing import describe, tokenizer_fingerprint
    from core.models.loading.model import load_model

    how: dict[str, Any] = {"device": device, "dtype": dtype, "attentions": attentions}
    identity = (describe(ref).fingerprint, tokenizer_fingerprint(ref), *how.values(), layerwise)
    while not _turn.acquire(timeout=LOOK_UP_SECONDS):
        tick(0.0, "waiting for another model to finish")
    try:
        _stop_farewell()
        if identity not in _resident:
            release_model()
            tick(0.0, f"loading {ref}")
            _resident[identity] = load_model(ref, layerwise=layerwise, **how)
        yield _resident[identity]
    finally:
        for loaded in list(_resident.values()):
            if loaded.info.parameters > KEEP_PARAMETERS:
                del loaded  # this name would keep it alive
                release_model()
            else:
                _start_farewell()
        _turn.release()


def release_model() -> None:
    """Remove the resident model from memory if nobody is using it."""
    if not _turn.acquire(blocking=False):
        return
    try:
        large = any(loaded.info.parameters > SMALL_PARAMETERS for loaded in _resident.values())
        _resident.clear()
        if large:
            gc.collect()  # modules refer to each other in circles
    finally:
        _turn.release()


def _start_farewell() -> None:
    timer = threading.Timer(KEEP_SECONDS, release_model)
    timer.daemon = True
    timer.start()
    _farewell.append(timer)


def _stop_farewell() -> None:
    while _farewell:
        _farewell.pop().cancel()
