"""Attention sinks: words whose hidden states hold massive activations, found and left out.

Decoders let the first word of a sentence, and sometimes delimiters, take the attention that no
other word needs. The state of such a word has a few activations that are thousands of times larger
than the others, in the same dimensions whatever the word is, so that it dominates every similarity
and every map. A word that is a sink in any layer is left out of all layers, so that these are
compared on the same words; a comparison of two models leaves out the sinks of both.

References: Sun et al. 2024, COLM, Massive Activations in Large Language Models (the definition: a
magnitude above 100 and above 1,000 times the median magnitude of the hidden state); Xiao et al.
2024, ICLR, Efficient Streaming Language Models with Attention Sinks.
Deviations: the state of a word is the sum of its subwords', so that a massive subword is seen in a
long word; the median is over the words of the sentence, special tokens left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Bool, Float, Int

from core.maths.arrays import Value
from core.models import ModelRef, describe
from core.models.architectures import ARCHITECTURES
from core.models.identity import identities
from core.results.export import Result
from core.results.papers.reference import cite
from core.runs.runner import Outputs
from core.runs.store import key_of
from core.vectors.notices import sinks_left_out
from core.vectors.stored import Functions, Sentences, read_with, visit_sentences

VERSION = 1  # raised when the sinks of the same vectors change
LARGE = 100.0  # magnitude that a massive activation exceeds
TIMES = 1_000.0  # times the median magnitude of the hidden state that it exceeds
COLUMNS = ("model", "layer", "sinks", "first_words", "words", "largest", "times_median")
CITATIONS = ("sun2024", "xiao2024")
TABLE = "sinks"  # of a result, and the name under which a task returns what it left out
LEFT_OUT = (
    f"Words whose state in any layer holds a massive activation (a magnitude above {LARGE:,.0f} "
    f"and above {TIMES:,.0f} times the median magnitude of the sentence's states; Sun et al. "
    "2024) were left out of all layers."
)
POSITIONS = "positions"  # of a record: words that are left out of all models together
R = TypeVar("R", bound=Result)
Positions = tuple[tuple[int, ...], ...]
Entry = tuple[int, int, int, float, float]


@dataclass(frozen=True)
class Sinks:
    """The attention sinks of one model in a text; one entry for each sink and layer.

    Attributes:
        ref: The model.
        layers: Layers of the model, the embeddings included.
        words: Words that were read.
        layer: Layer whose state holds a massive activation, (entry,).
        sentence: Sentence of the word, (entry,).
        word: Position of the word in it, (entry,).
        largest: Largest magnitude of the word's state, (entry,).
        times_median: The same over the median magnitude of the sentence's states, (entry,).
    """

    ref: str
    layers: int
    words: int
    layer: Int[np.ndarray, " entry"]
    sentence: Int[np.ndarray, " entry"]
    word: Int[np.ndarray, " entry"]
    largest: Float[np.ndarray, " entry"]
    times_median: Float[np.ndarray, " entry"]

    def rows(self) -> list[list[Any]]:
        """Count the sinks by layer: rows of COLUMNS."""
        rows: list[list[Any]] = []
        for layer in range(self.layers):
            mine = self.layer == layer
            first = int((self.word[mine] == 0).sum())
            peaks = [
                float(values[mine].max(initial=0.0)) for values in (self.largest, self.times_median)
            ]
            rows.append([self.ref, layer, int(mine.sum()), first, self.words, *peaks])
        return rows


def massive_activations(
    states: Float[np.ndarray, "layer word d_model"], pieces: Int[np.ndarray, " word"]
) -> tuple[
    Bool[np.ndarray, "layer word"],
    Float[np.ndarray, "layer word"],
    Float[np.ndarray, "layer word"],
]:
    """Find the words of one sentence whose states, means over `pieces` subwords, hold a massive
    activation: whether in each layer, the largest magnitude, and that over the sentence's median.

    Example:
        >>> states = np.array([[[0.1, 2000.0], [0.1, -0.2], [0.3, 0.1]]])
        >>> massive_activations(states, np.array([1, 1, 2]))[0].tolist()
        [[True, False, False]]
    """
    there = pieces > 0
    magnitudes = np.abs(states.astype(np.float64)) * pieces[:, None]
    largest = magnitudes.max(axis=2, initial=0.0)
    if not there.any():
        return np.zeros(largest.shape, dtype=bool), largest, np.zeros_like(largest)
    medians = np.median(magnitudes[:, there].reshape(len(states), -1), axis=1)
    times = largest / np.maximum(medians, np.finfo(np.float64).tiny)[:, None]
    return (largest > LARGE) & (times > TIMES) & there, largest, times


def find_sinks(
    ref: str | ModelRef,
    sentences: Sentences,
    *,
    between: tuple[str, float] | None = None,
    functions: Functions | None = None,
) -> Sinks:
    """Find the attention sinks of a model, from its stored vectors where there are any; sentences
    that it cannot read whole have none. Options as of `core.vectors.activations.extract`."""
    reading = read_with(ref, between=between, functions=functions)
    entries: list[Entry] = []
    read = 0

    def look(index: int, value: Value) -> None:
        nonlocal read
        if "too_long" not in value:
            read += int((value["pieces"] > 0).sum())
            entries.extend(_entries(index, value["words"], value["pieces"]))

    def look_at_all() -> Value:
        visit_sentences(reading, sentences, "words", look)
        return {"entries": np.array(sorted(entries)).reshape(-1, 5), "words": read}

    texts = tuple(tuple(words) for words in sentences)
    stored, _ = reading.store.get_or_compute(
        key_of("sinks", VERSION, reading.identity, texts), look_at_all
    )
    named = str(ref) if functions is None else functions[0]
    return _sinks(named, reading.layers, stored["words"], stored["entries"])


def sinks_in(
    ref: str, states: Float[np.ndarray, "layer word d_model"], pieces: Int[np.ndarray, " word"]
) -> Sinks:
    """Find the attention sinks in the states of one sentence, see `massive_activations`."""
    entries = np.array(_entries(0, states, pieces)).reshape(-1, 5)
    return _sinks(ref, len(states), int((pieces > 0).sum()), entries)


def _entries(sentence: int, states: np.ndarray, pieces: np.ndarray) -> list[Entry]:
    """List the sinks of one sentence: layer, sentence, word, largest, times_median."""
    massive, largest, times = massive_activations(states, pieces)
    return [
        (layer, sentence, word, float(largest[layer, word]), float(times[layer, word]))
        for layer, word in np.argwhere(massive).tolist()
    ]


def _sinks(ref: str, layers: int, words: int, entries: np.ndarray) -> Sinks:
    places = entries[:, :3].astype(np.int64)
    return Sinks(ref, layers, words, *places.T, *entries[:, 3:].T)


def due(ref: str | ModelRef, choice: str) -> bool:
    """Whether the sinks of a model are left out by this choice of the option `sinks`."""
    return choice == "drop" or (choice == "auto" and describe(ref).family == "decoder")


def sink_argument(choice: str, ready: Outputs, *refs: str) -> dict[str, Any]:
    """Give the argument of a task that compares these models; none where no word is left out, so
    that the task keeps the key that it had before there was the option."""
    identified = identities(ready)
    types = {identified[ref].model_type for ref in refs if ref in identified}
    families = {ARCHITECTURES[model_type].family for model_type in types}
    leaves = choice == "drop" or (choice == "auto" and "decoder" in families)
    return {"sinks": choice} if leaves else {}


def positions_of(sinks: Iterable[Sinks], sentences: int) -> Positions:
    """Join the positions of the sinks of several models, for each sentence."""
    positions: list[set[int]] = [set() for _ in range(sentences)]
    for part in sinks:
        for sentence, word in zip(part.sentence.tolist(), part.word.tolist(), strict=True):
            positions[sentence].add(word)
    return tuple(tuple(sorted(words)) for words in positions)


def record(sinks: Iterable[Sinks], left_out: int, items: int) -> Value:
    """Make what a task returns as `TABLE`, for `with_sinks`."""
    rows = [row for part in sinks for row in part.rows()]
    return {"rows": rows, "left_out": left_out, "items": items}


def with_sinks(result: R, *parts: Outputs) -> R:
    """Add the table of sinks and a notice of what was left out to a result, where outputs of its
    tasks have a `record`, as the entry or the attribute `TABLE`."""
    import pandas as pd

    values = [value for outputs in parts for value in outputs.values.values()]
    records = [entry for value in values if (entry := _record_of(value))]
    if not records:
        return result
    rows = {(row[0], row[1]): row for entry in reversed(records) for row in entry["rows"]}
    table = pd.DataFrame(sorted(rows.values()), columns=list(COLUMNS))
    more: dict[str, Any] = {"tables": result.tables | {TABLE: table}}
    counts = [(int(entry["left_out"]), int(entry["items"])) for entry in records]
    if all(POSITIONS in entry for entry in records):  # models that share their words
        shared = {word for entry in records for word in entry[POSITIONS]}
        counts = [(len(shared), counts[0][1])]
    if any(left for left, _ in counts):
        models = list(dict.fromkeys(table.loc[table["sinks"] > 0, "model"]))
        more["notices"] = (sinks_left_out(models, counts), *result.notices)
        more["methods"] = f"{result.methods} {LEFT_OUT}".strip()
        more["citations"] = tuple(dict.fromkeys((*result.citations, *cite(CITATIONS))))
    return replace(result, **more)


def _record_of(value: Any) -> Value | None:
    entry = value.get(TABLE) if isinstance(value, Mapping) else getattr(value, TABLE, None)
    return entry if isinstance(entry, dict) and "left_out" in entry else None


def without(kept: Sequence[Sequence[int]], positions: Positions) -> list[list[int]]:
    """Take the sinks out of lists of words, one for each sentence.

    Example:
        >>> without([(0, 2), (1,)], ((0,), ()))
        [[2], [1]]
    """
    return [
        [word for word in words if word not in left]
        for words, left in zip(kept, positions, strict=True)
    ]


def words_without_sinks(
    sentences: Sentences,
    keep: Sequence[Sequence[int]] | None,
    choice: str,
    *readings: tuple[str, dict[str, Any]],
) -> tuple[list[list[int]], Value]:
    """Take the attention sinks of the models (reference, and how it reads, as of `find_sinks`) out
    of the words kept of each sentence (None: all); return what is left, and the record of the
    rest."""
    sinks = [find_sinks(ref, sentences, **how) for ref, how in readings if due(ref, choice)]
    kept = [range(len(words)) for words in sentences] if keep is None else keep
    left = without(kept, positions_of(sinks, len(sentences)))
    before, after = (sum(map(len, part)) for part in (kept, left))
    return left, record(sinks, before - after, before)
