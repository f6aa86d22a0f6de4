"""Vectors of words, sentences or [CLS] from every layer, computed once per sentence and kept in the
store.

A sentence's vectors are stored in float16 (float32 where a number would overflow), under a key over
the weights, the tokenizer, the words, the side, the number format and a version. Only sentences
that are not in the store are run: adding 200 runs 200. The numbers are the same whether they were
stored or not, because what is returned always has the stored precision.

A sentence longer than the model's input is left out with a notice, never cut; so is a word that the
tokenizer removes entirely (some emoji and control characters).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.errors import ModelError, ShapeError, not_finite
from core.maths.arrays import Value
from core.models import ModelRef, load_tokenizer, tokenizer_fingerprint
from core.models.architectures import ARCHITECTURES
from core.models.precision import HALF
from core.runs.store import key_of
from core.vectors.notices import blank_items, half_precision, read_by_layer, too_long
from core.vectors.stored import (
    VERSION,
    Functions,
    Reading,
    Sentences,
    is_by_layer,
    read_with,
    visit_sentences,
)

ITEMS = ("words", "cls", "mean")


@dataclass(frozen=True)
class Activations:
    """Vectors of a model's layers.

    Attributes:
        vectors: float32 (layer, item, d_model); layer 0 is the embedding output.
        sentence: int (item,), index of the sentence in the input.
        word: int (item,), index of the word in its sentence; -1 for [CLS] and means.
        notices: What was left out, in sentences for readers.
    """

    vectors: np.ndarray
    sentence: np.ndarray
    word: np.ndarray
    notices: tuple[str, ...] = ()


def extract(
    ref: str | ModelRef,
    sentences: Sentences,
    *,
    items: str = "words",
    keep: Sequence[Sequence[int]] | None = None,
    layers: Sequence[int] | None = None,
    device: str | None = None,
    dtype: str | None = None,
    between: tuple[str, float] | None = None,
    functions: Functions | None = None,
) -> Activations:
    """Extract the vectors of `sentences` in every layer of a model, from the store if they are in
    it.

    Args:
        ref: The model.
        sentences: Words of each sentence.
        items: "words"; "cls" (the classification token); or "mean" (over the words of a sentence).
        keep: Word indices to keep for each sentence, in the order wanted; with items="mean", the
            words over which the mean is taken.
        layers: Layers to return, all by default; negative ones count from the top.
        device: "cpu", "cuda", "mps"; None chooses. Not part of the key of what is stored: devices
            should agree to rounding, which was tested on processors only.
        dtype: "float32"; "float64" is the same on any processor; None: see `precision_of`.
        between: (base, share) to interpolate the weights: base + share * (ref - base).
        functions: (model, share): the vectors are then the outputs of this model's layers on the
            states of `ref`, its base, with that share of its weight change; layer 0 is its
            embeddings. (model, share, seed): with that change rotated at random.

    Returns:
        Items in the order of the sentences, and of the words (or of `keep`) in each.

    Raises:
        ModelError: If a model cannot be loaded, has no [CLS] token although items are "cls",
            has layers that cannot read the states of the other, or vectors that are not finite.
        ShapeError: If `keep` or `layers` do not fit.
        CancelledError: If the run is cancelled; what was computed stays stored.
    """
    reading = read_with(ref, device, dtype, between, functions)
    _check(reading, sentences, items, keep)
    numbers = _layers(layers, reading.layers)
    wanted = _wanted(sentences, items, keep)
    starts = np.concatenate([[0], np.cumsum([len(words) for words in wanted])]).astype(np.int64)
    vectors = np.zeros((len(numbers), int(starts[-1]), reading.info.d_model), dtype=np.float32)
    there = np.zeros(int(starts[-1]), dtype=bool)
    long: list[int] = []

    def place(index: int, value: Value) -> None:
        if "too_long" in value:
            long.append(index)
            return
        if items == "mean" and keep is not None:
            mine, present = _mean_of(value, keep[index])
        else:
            mine, present = _select(reading, value, items, wanted[index])
        vectors[:, starts[index] : starts[index + 1]] = mine[numbers]
        there[starts[index] : starts[index + 1]] = present

    by_word = items == "words" or keep is not None
    visit_sentences(reading, sentences, "words" if by_word else "summary", place)
    check_finite(reading.ref, vectors)
    sentence = np.repeat(np.arange(len(sentences)), np.diff(starts))
    word = np.concatenate([np.zeros(0, dtype=np.int64), *wanted])
    notices = _notices(reading, sentences, sorted(long), sentence[~there], items)
    if there.all():
        return Activations(vectors, sentence, word, notices)
    return Activations(vectors[:, there], sentence[there], word[there], notices)


def check_finite(ref: str | ModelRef, vectors: np.ndarray) -> np.ndarray:
    """Return vectors of a model, (layer, item, d_model); raises ModelError where they are not
    finite."""
    if not all(np.isfinite(layer).all() for layer in vectors):
        raise not_finite(f"Some vectors of {ref}")
    return vectors


def fitting(ref: str | ModelRef, sentences: Sentences) -> np.ndarray:
    """Find the sentences that the model can read whole, with at least one word that its tokenizer
    keeps.

    Combine the masks of several models to give them all the same sentences.

    Returns:
        bool (sentence,).

    Raises:
        ModelError: If the model cannot be loaded.
    """
    reading = read_with(ref)
    texts = tuple(tuple(words) for words in sentences)

    def count() -> Value:
        from core.vectors.forward import cut_sentences

        there = [place for place, words in enumerate(texts) if words]
        subwords = np.zeros(len(texts), dtype=np.int32)
        cut = cut_sentences(load_tokenizer(ref), [texts[place] for place in there]) if there else []
        subwords[there] = [
            encoded.subwords if max(encoded.words, default=-1) >= 0 else 0 for encoded in cut
        ]
        return {"subwords": subwords}

    # Stored for all together: a stored mask needs no tokenizer, whose import takes longer than its
    # work.
    counted, _ = reading.store.get_or_compute(
        key_of("fitting", VERSION, tokenizer_fingerprint(ref), texts), count
    )
    fits: np.ndarray = (counted["subwords"] > 0) & (counted["subwords"] <= reading.longest)
    return fits


def _check(
    reading: Reading, sentences: Sentences, items: str, keep: Sequence[Sequence[int]] | None
) -> None:
    if items not in ITEMS:
        raise ShapeError(f"items must be one of {', '.join(ITEMS)}, not {items!r}.")
    if items == "cls" and not ARCHITECTURES[reading.info.model_type].cls:
        raise _no_cls(reading)
    if keep is None:
        return
    if items == "cls" or len(keep) != len(sentences):
        raise ShapeError(
            f"keep needs items 'words' or 'mean' and one list for each of {len(sentences)} "
            f"sentences, not {len(keep)} for {items!r}."
        )
    for index, (words, wanted) in enumerate(zip(sentences, keep, strict=True)):
        if any(not 0 <= word < len(words) for word in wanted):
            raise ShapeError(
                f"keep names words outside sentence {index}, which has {len(words)} words."
            )


def _no_cls(reading: Reading) -> ModelError:
    return ModelError(
        f"{reading.ref} has no [CLS] token (it is a {reading.info.model_type} model): "
        "choose words or sentence means as items."
    )


def _layers(layers: Sequence[int] | None, count: int) -> list[int]:
    if layers is None:
        return list(range(count))
    if any(not -count <= layer < count for layer in layers):
        raise ShapeError(
            f"layers must be between 0 (embeddings) and {count - 1} (top), not {list(layers)}."
        )
    return [layer % count for layer in layers]


def _wanted(
    sentences: Sentences, items: str, keep: Sequence[Sequence[int]] | None
) -> list[np.ndarray]:
    """List the word indices to return of each sentence; -1, once, for the whole sentence."""
    if items == "words":
        if keep is not None:
            return [np.asarray(words, dtype=np.int64) for words in keep]
        return [np.arange(len(words)) for words in sentences]
    return [np.full(min(1, len(words)), -1) for words in (sentences if keep is None else keep)]


def _select(
    reading: Reading, value: Value, items: str, wanted: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Select (layer, item, d_model) of one stored sentence, and whether each item exists."""
    if items == "words":
        return value["words"][:, wanted], value["pieces"][wanted] > 0
    if items == "cls" and "cls" not in value:
        raise _no_cls(reading)
    return value[items][:, None], np.array([value["pieces"] > 0])


def _mean_of(value: Value, kept: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Average the kept words of one stored sentence, (layer, item, d_model); none if none is
    kept."""
    vectors, pieces = value["words"][:, list(kept)], value["pieces"][list(kept)]
    count = min(1, len(kept))
    there = pieces > 0
    mean = vectors[:, there].astype(np.float32).sum(1, keepdims=True) / max(1, int(there.sum()))
    return mean[:, :count], np.full(count, there.any())


def _notices(
    reading: Reading, sentences: Sentences, long: list[int], absent: np.ndarray, items: str
) -> tuple[str, ...]:
    """Say what was left out, and why; `absent` are the sentences of the missing items."""
    ref, blank = str(reading.ref), int((~np.isin(absent, long)).sum())
    notices = (
        *ARCHITECTURES[reading.info.model_type].caveats,
        read_by_layer(ref, reading.info.parameters) if is_by_layer(reading) else "",
        half_precision(ref) if reading.dtype == HALF else "",
        too_long(ref, sentences, long, reading.longest) if long else "",
        blank_items(ref, blank, "word" if items == "words" else "sentence") if blank else "",
    )
    return tuple(filter(None, notices))
