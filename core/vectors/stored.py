"""The vectors of single sentences in the store: read where they are there, computed where not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from core.errors import ModelError
from core.maths.progress import span, tick
from core.models import (
    ModelInfo,
    ModelRef,
    describe,
    longest_text,
    parse_ref,
    tokenizer_fingerprint,
)
from core.models.loading.model import DTYPES
from core.models.loading.reading import HELD, is_layerwise
from core.models.precision import SINGLE, precision_of
from core.runs.store import Store, current_store, key_of

if TYPE_CHECKING:
    from core.maths.arrays import Value
    from core.models import LoadedModel
    from core.vectors.forward import SentenceVectors

VERSION = 1  # raised when the vectors of the same model and words change
CHUNK = 128  # sentences computed under one lock and written at once
LARGEST_HALF = 65_504.0

Sentences = Sequence[Sequence[str]]
# a model, the share of its weight change that it keeps and, where that is rotated at random, a seed
Functions = tuple[str, float] | tuple[str, float, int]


@dataclass(frozen=True)
class Reading:
    """How one model reads, and the key of its stored sentences.

    `between` is the base that weights are interpolated from, with the share; `functions` the model
    whose layers read this one's states.
    """

    ref: ModelRef
    info: ModelInfo
    dtype: str
    device: str | None
    layers: int
    longest: int
    store: Store
    identity: str
    between: tuple[str, float] | None = None
    functions: Functions | None = None

    def key(self, words: Sequence[str], part: str) -> str:
        """Compute the store key of one sentence's "words" or "summary"."""
        return key_of(self.identity, part, tuple(words))


def read_with(
    ref: str | ModelRef,
    device: str | None = None,
    dtype: str | None = None,
    between: tuple[str, float] | None = None,
    functions: Functions | None = None,
) -> Reading:
    """Describe how a model reads; arguments as for `core.vectors.activations.extract`. Raises
    ModelError if there is none, or the layers of `functions` cannot read its states."""
    ref = parse_ref(ref)
    info = describe(ref)
    side = "encoder" if info.family == "encoder-decoder" else info.family
    # a share of a small change would be lost in half precision
    shared = any(how is not None and how[1] < 1.0 for how in (between, functions))
    dtype = dtype or (SINGLE if shared else precision_of(ref))
    identity = key_of(
        "activations", VERSION, info.fingerprint, tokenizer_fingerprint(ref), side, dtype
    )
    if between is not None:
        identity = key_of("between", identity, describe(between[0]).fingerprint, between[1])
    if functions is not None:
        donor = describe(functions[0])
        if (donor.model_type, donor.d_model, donor.layers, donor.vocabulary) != (
            info.model_type, info.d_model, info.layers, info.vocabulary,
        ):  # fmt: skip
            raise ModelError(
                f"The layers of {functions[0]} cannot read the states of {ref}, because the two "
                f"models differ in type, depth, width or vocabulary: choose a fine-tune of {ref}."
            )
        identity = key_of("functions", identity, donor.fingerprint, *functions[1:])
    return Reading(
        ref,
        info,
        dtype,
        device,
        info.layers + 1,
        longest_text(ref),
        current_store(),
        identity,
        between,
        functions,
    )


def visit_sentences(
    reading: Reading, sentences: Sentences, part: str, place: Callable[[int, Value], None]
) -> None:
    """Pass the stored value of every sentence with words to `place`, in any order; compute what is
    missing."""
    places: dict[str, list[int]] = {}
    for index, words in enumerate(sentences):
        if words:
            places.setdefault(reading.key(words, part), []).append(index)
    keys, absent = list(places), []
    for start in range(0, len(keys), CHUNK):
        chunk = keys[start : start + CHUNK]
        stored = reading.store.get_many(chunk)
        absent += [key for key in chunk if key not in stored]
        for key, value in stored.items():
            for index in places[key]:
                place(index, value)
    if not absent:
        return
    # Long sentences first, as in the batches: a chunk then holds sentences of about one length.
    missing = {key: tuple(sentences[places[key][0]]) for key in absent}
    order = sorted(missing, key=lambda key: -sum(map(len, missing[key])))
    with (
        _borrowed(reading, reading.between, str(reading.ref)) as loaded,
        _donor(reading, loaded) as donor,
    ):
        # every run reads the weights of a model whose layers are on the disk once
        most = HELD // (4 * reading.layers * reading.info.d_model) if loaded.layerwise else None
        for start, stop in _chunks([len(missing[key]) for key in order], most):
            with span(start / len(order), stop / len(order)):
                texts = {key: missing[key] for key in order[start:stop]}
                made = _compute(reading, loaded, donor, texts, part)
            for key, value in made.items():
                for index in places[key]:
                    place(index, value)


def _chunks(words: Sequence[int], most: int | None) -> Iterator[tuple[int, int]]:
    """Cut sentences of so many words into runs, each with its first sentence and the one behind its
    last: of CHUNK sentences or, where a limit is given, of `most` words."""
    start = held = 0
    for place, count in enumerate(words):
        full = place - start == CHUNK if most is None else held + count > most
        if full and place > start:
            yield start, place
            start, held = place, 0
        held += count
    yield start, len(words)


def is_by_layer(reading: Reading) -> bool:
    """Whether the model's layers are read from the disk one at a time; see `is_layerwise`."""
    how: dict[str, Any] = {
        "parameters": reading.info.parameters,
        "model_type": reading.info.model_type,
        "width": DTYPES[reading.dtype],
        "random": reading.ref.random,
    }
    if _is_between(reading) or not is_layerwise(**how):
        return False
    from core.maths.devices import choose_device

    return is_layerwise(device=reading.device or choose_device(), **how)


def _is_between(reading: Reading) -> bool:
    """Whether weights are made from those of two models, which are then both in memory."""
    return any(
        how is not None and (how[1] < 1.0 or len(how) > 2)
        for how in (reading.between, reading.functions)
    )


def _borrowed(
    reading: Reading, between: tuple[str, float] | None, ref: str
) -> AbstractContextManager[LoadedModel]:
    """Load a model, or the one at a share of the way to it from a base, for a block."""
    from core.models.changes import borrow_between
    from core.models.loading.memory import borrow_model

    place: dict[str, Any] = {"device": reading.device, "dtype": reading.dtype}
    return (
        borrow_model(ref, layerwise=not _is_between(reading), **place)
        if between is None
        else borrow_between(between[0], ref, between[1], **place)
    )


@contextmanager
def _donor(reading: Reading, loaded: LoadedModel) -> Iterator[LoadedModel | None]:
    """Load the model whose layers are the functions, None if the model reads by itself."""
    if reading.functions is None:
        yield None
        return
    ref, share, *seeds = reading.functions
    between = (str(reading.ref), share) if share < 1.0 else None
    with _borrowed(reading, between, ref) as donor:
        if seeds:
            from core.vectors.turning import turned_copy

            turned: Any = turned_copy(loaded.model, donor.model, seeds[0])
            yield replace(donor, model=turned)
        else:
            yield donor


def _compute(
    reading: Reading,
    loaded: LoadedModel,
    donor: LoadedModel | None,
    missing: dict[str, tuple[str, ...]],
    part: str,
) -> dict[str, Value]:
    """Compute the values of `missing`, after looking in the store once more under the model's
    lock."""
    from core.vectors.forward import cut_sentences, read_sentences
    from core.vectors.layerwise import read_by_layer

    with reading.store.lock(
        reading.identity, waiting=lambda: tick(0.0, "waiting for another process")
    ):
        stored = reading.store.get_many(missing)
        absent = [key for key in missing if key not in stored]
        if not absent:
            return stored
        cut = cut_sentences(loaded.tokenizer, [missing[key] for key in absent])
        fit = [index for index, subwords in enumerate(cut) if len(subwords.ids) <= reading.longest]
        made: dict[str, dict[str, Value]] = {"words": {}, "summary": {}}
        for index in sorted(set(range(len(cut))) - set(fit)):
            for name, values in made.items():
                values[reading.key(missing[absent[index]], name)] = {
                    "too_long": cut[index].subwords
                }
        done = 0
        read = [cut[index] for index in fit]
        for batch in (
            read_by_layer(loaded, read, donor)
            if loaded.layerwise
            else read_sentences(loaded, read, donor)
        ):
            for index, vectors in batch:
                words = missing[absent[fit[index]]]
                made["words"][reading.key(words, "words")] = _stored_words(vectors)
                made["summary"][reading.key(words, "summary")] = _stored_summary(vectors)
            done += len(batch)
            if loaded.layerwise is None:  # else told by layer
                tick(done / len(fit), f"sentence {done:,} of {len(fit):,} through {reading.ref}")
        reading.store.put_many(made["words"] | made["summary"])
    return stored | made[part]


def _stored_words(vectors: SentenceVectors) -> Value:
    return {"words": _half(vectors.words), "pieces": vectors.pieces.astype(np.int16)}


def _stored_summary(vectors: SentenceVectors) -> Value:
    cls = {} if vectors.cls is None else {"cls": _half(vectors.cls)}
    return {"mean": _half(vectors.mean), "pieces": int(vectors.pieces.sum()), **cls}


def _half(values: np.ndarray) -> np.ndarray:
    """Convert to float16, unless a number would overflow."""
    return values.astype(np.float16) if np.abs(values).max(initial=0.0) <= LARGEST_HALF else values
