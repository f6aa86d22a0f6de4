"""Models in memory: tasks wait for their turn, use a model and release it.

Two BERT-base forward passes at once do not fit a host of 1 GB, and share its cores anyway: of
models that are not small, one is in memory at a time. Small ones fit side by side, and a pass
through one keeps a single core busy, so that each of the tasks that run at once has a place, with a
model of its own. A model stays for half a minute after its last use, because a page often asks
again; a large one goes at once. Of a model whose weights are too large to be read as a whole, one
layer is in memory at a time (`layerwise`).
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from core.maths.progress import tick
from core.runs.process.cores import TASKS_AT_ONCE
from core.runs.process.turns import POLL_SECONDS

if TYPE_CHECKING:
    from core.models.loading.model import LoadedModel
    from core.models.references import ModelRef

KEEP_SECONDS = 30.0
KEEP_PARAMETERS = 50_000_000  # 200 MB in float32
# side by side; and collected in its own time: a search through all objects takes longer
SMALL_PARAMETERS = 10_000_000

Key = tuple[Any, ...]


class _Place:
    """Room for one model.

    Attributes:
        resident: The model, by what it was made from; at most one.
        holder: The thread that uses it, None if nobody does.
    """

    def __init__(self) -> None:
        self.resident: dict[Key, LoadedModel] = {}
        self.holder: int | None = None
        self._farewell: threading.Timer | None = None

    def lend(self, key: Key, ref: str | ModelRef, how: dict[str, Any]) -> LoadedModel:
        """The model of that key, loaded unless it is here."""
        from core.models.loading.model import load_model

        if key not in self.resident:
            self.empty()
            tick(0.0, f"loading {ref}")
            self.resident[key] = load_model(ref, **how)
        return self.resident[key]

    @property
    def large(self) -> bool:
        """Whether it has a model that is not small."""
        return any(each.info.parameters > SMALL_PARAMETERS for each in self.resident.values())

    def empty(self) -> None:
        """Let the model go."""
        large = self.large
        self.resident.clear()
        if large:
            gc.collect()  # modules refer to each other in circles

    def stay(self) -> None:
        """Keep the model for a moment from now, unless somebody takes the place."""
        self._farewell = threading.Timer(KEEP_SECONDS, release_model, (self,))
        self._farewell.daemon = True
        self._farewell.start()

    def take(self, holder: int) -> None:
        """Give the place to a thread."""
        self.holder = holder
        if self._farewell is not None:
            self._farewell.cancel()
            self._farewell = None


_places = [_Place() for _ in range(TASKS_AT_ONCE)]
_changed = threading.Condition()
_alone: list[int] = []  # threads that use, or wait for, all places; the first has the turn


@contextmanager
def borrow_model(
    ref: str | ModelRef,
    *,
    device: str | None = None,
    dtype: str = "float32",
    attentions: bool = False,
    layerwise: bool = False,
) -> Iterator[LoadedModel]:
    """Load a model, as `load_model` does, for the length of the block; others wait meanwhile,
    unless they are small. A thread that has a model already does not wait for a second one."""
    from core.models.describing import describe, tokenizer_fingerprint

    info = describe(ref)
    how: dict[str, Any] = {
        "device": device,
        "dtype": dtype,
        "attentions": attentions,
        "layerwise": layerwise,
    }
    key: Key = (info.fingerprint, tokenizer_fingerprint(ref), *how.values())
    with _a_place(key, small=info.parameters <= SMALL_PARAMETERS) as place:
        try:
            yield place.lend(key, ref, how)
        finally:
            for loaded in list(place.resident.values()):
                if loaded.info.parameters > KEEP_PARAMETERS:
                    del loaded  # this name would keep it alive
                    place.empty()


@contextmanager
def _a_place(key: Key, *, small: bool) -> Iterator[_Place]:
    """A place for the length of the block, where there is one the one that has the model."""
    me = threading.get_ident()
    mine = next((place for place in _places if place.holder == me), None)
    if mine is not None:  # for a second model: who waited here could wait for itself
        yield mine
        return
    if not small:
        with _changed:
            _alone.append(me)
    try:
        while (place := _take_place(me, key, small)) is None:
            tick(0.0, "waiting for another model to finish")
        try:
            yield place
        finally:
            with _changed:
                place.holder = None
                if place.resident:
                    place.stay()
    finally:
        with _changed:
            if not small:
                _alone.remove(me)
            _changed.notify_all()


def _take_place(me: int, key: Key, small: bool) -> _Place | None:
    """Take a place, the one with this model where there is one; None if there was none for a
    moment."""
    with _changed:
        free = [place for place in _places if place.holder is None]
        if not free or (_alone and _alone[0] != me) or not (small or len(free) == len(_places)):
            _changed.wait(POLL_SECONDS)
            return None
        for place in free:
            if key not in place.resident and (place.large or not small):
                place.empty()
        best = min(free, key=lambda place: (key not in place.resident, bool(place.resident)))
        best.take(me)
        return best


def release_model(*places: _Place) -> None:
    """Remove from memory the models of these places, or of all, that nobody is using."""
    with _changed:
        for place in places or _places:
            if place.holder is None:
                place.empty()
