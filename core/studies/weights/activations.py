"""Delta activations: a fine-tune as the mean change of hidden states on a few included sentences.

Both models, base and fine-tune, read the same sentences. The mean over sentences of the fine-tune's
states minus that of the base's is a vector for each layer; two fine-tunes are compared by the
cosine of theirs, in the top layer or in the middle one. A fine-tune whose states equal the base's
has no direction: its cosine with every other counts as 0. Only fine-tunes of one base that cut the
sentences into the same tokens can be compared, because states of another base have other axes.

Reference: Xu et al. 2025 (top layer, last token, five instruction prompts).
Deviations: the prompts are the first `SENTENCES` sentences of the included text, two of each genre.
A decoder's last token is its last word, the mean of its subwords. An encoder has no token that
sums up what stands before it, because every token sees the whole sentence; the mean over the words
of the sentence is taken instead. The middle layer is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from core.errors import ModelError, TaskError
from core.maths.spectra.registry import VECTORS, Vector, calc_chords
from core.studies.kit import Outputs, Task
from core.studies.notices import nothing_compared
from core.studies.task_kit import Cost, Size, Value, as_identified, costs, pure, tick
from core.vectors.notices import half_precision, too_long
from core.vectors.notices import read_by_layer as said_by_layer

TEXT, SENTENCES = "demo", 20  # two sentences of each of its ten genres
STATES = "states"  # role of a model's mean states
ROUNDING_SHARE = 1e-5  # of the base's mean state: smaller changes are rounding


@dataclass(frozen=True)
class StateVector:
    """One way of turning a fine-tune's hidden states into a vector.

    Attributes:
        title: Its name in forms and legends.
        meaning: One sentence for the reader.
        layer: Function of the number of layers; returns the layer, 0 for the embeddings.
        gauge_safe, ranked, short: As for `Vector`.
    """

    title: str
    meaning: str
    layer: Callable[[int], int]
    gauge_safe: bool = True
    ranked: bool = False
    short: str = ""


STATE_VECTORS: dict[str, StateVector] = {
    "activations_top": StateVector(
        "Top-layer delta activations",
        "Mean change of the hidden states of the top layer on a few included sentences, "
        "as first proposed; both models are run.",
        lambda layers: layers,
    ),
    "activations_middle": StateVector(
        "Middle-layer delta activations",
        "Mean change of the hidden states of the middle layer on a few included sentences; "
        "both models are run.",
        lambda layers: (layers + 1) // 2,
    ),
}


def every_vector() -> dict[str, Vector | StateVector]:
    """List the vectors of weights, which may have been added to, and those of hidden states."""
    return {**VECTORS, **STATE_VECTORS}


def title_of(vector: str) -> str:
    """A vector's name inside a sentence."""
    title = every_vector()[vector].title
    return title[0].lower() + title[1:]


def name_of(vector: str) -> str:
    """A vector's name in a list."""
    return every_vector()[vector].short or title_of(vector)


def _cost(
    sizes: Mapping[str, Size], model: str, sentences: Sequence[Sequence[str]], **_: Any
) -> Cost:
    size, count = sizes[model], len(sentences)
    held = costs.resident({model: size}, count)
    return Cost(costs.vectors(size, count), shared={"states": Cost(0.0, held)})


@pure("weights.states", guard=as_identified, cost=_cost)
def measure_states(model: str, model_identity: str, sentences: Sequence[Sequence[str]]) -> Value:
    """Average a model's hidden states over sentences: "last" and "words", float32 (layer, d_model)
    from the embeddings up, of the last word and of the mean over words; "ids", the tokens that were
    read; "family" and "notices". Raises ModelError if the model cannot be loaded, or reads none of
    the sentences whole."""
    from core.models.loading.memory import borrow_model
    from core.models.precision import HALF
    from core.vectors.forward import SentenceVectors, cut_sentences, read_sentences
    from core.vectors.layerwise import read_by_layer
    from core.vectors.stored import read_with

    # not through the store, which keeps half of the digits: a change may be small
    reading = read_with(model)
    notices = [half_precision(model)] if reading.dtype == HALF else []
    with borrow_model(model, dtype=reading.dtype, layerwise=True) as loaded:
        cut = cut_sentences(loaded.tokenizer, sentences)
        read = [each for each in cut if each.inside and len(each.ids) <= reading.longest]
        long = [place for place, each in enumerate(cut) if len(each.ids) > reading.longest]
        if not read:
            raise ModelError(
                f"{model} can read none of the {len(sentences)} included sentences, "
                "so it has no delta activations; switch them off, or leave it out."
            )
        vectors: dict[int, SentenceVectors] = {}
        for batch in (
            read_by_layer(loaded, read) if loaded.layerwise else read_sentences(loaded, read)
        ):
            vectors.update(batch)
            done = len(vectors)
            tick(done / len(read), f"sentence {done} of {len(read)} through {model}")
        if loaded.layerwise:
            notices.append(said_by_layer(model, loaded.info.parameters))
    if long:
        notices.append(too_long(model, sentences, long, reading.longest))
    # in the order of the sentences, so that the sum is the same for every cut into batches
    ordered = [vectors[place] for place in range(len(read))]
    return {
        "last": calc_mean([each.words[:, each.pieces.nonzero()[0][-1]] for each in ordered]),
        "words": calc_mean([each.mean for each in ordered]),
        "family": reading.info.family,
        "ids": [each.ids for each in read],
        "notices": notices,
    }


def plan_states(contents: Mapping[str, str], sentences: Sequence[Sequence[str]]) -> list[Task]:
    """Make a task for each model, base or fine-tune, with the role (STATES, reference)."""
    return [
        Task.of(
            f"{ref} states",
            measure_states,
            role=(STATES, ref),
            group=ref,
            model=ref,
            model_identity=content,
            sentences=sentences,
        )
        for ref, content in contents.items()
    ]


def compare_states(
    base: str, refs: Iterable[str], outputs: Outputs
) -> tuple[list[str], dict[str, Float[ndarray, "model model"]], list[str]]:
    """Find the fine-tunes that read the base's tokens, their distances in every vector of
    `STATE_VECTORS`, and notices. Raises TaskError if the base could not be run, or no fine-tune is
    left."""
    states = outputs.of(STATES)
    if base not in states:
        reason = next(iter(outputs.sentences.values()), "")
        raise TaskError(f"Delta activations need {base}, which could not be run. {reason}".strip())
    run = [ref for ref in refs if ref in states]
    alike = [ref for ref in run if states[ref]["ids"] == states[base]["ids"]]
    notices = [
        f"{ref} is left out, because its tokenizer cuts the sentences of delta activations into "
        "other tokens than the base's."
        for ref in run
        if ref not in alike
    ]
    if not alike:
        raise nothing_compared([*notices, *outputs.sentences.values()])
    distances, still = measure_activations(states[base], {ref: states[ref] for ref in alike})
    return alike, distances, [*notices, *still]


def calc_mean(states: Sequence[Float[ndarray, "layer d_model"]]) -> Float[ndarray, "layer d_model"]:
    """Average states over sentences, in double precision; returns float32."""
    return np.asarray(np.mean(states, axis=0, dtype=np.float64), dtype=np.float32)


def summary_of(value: Value) -> Float[ndarray, "layer d_model"]:
    """Take the mean states of the last word of a decoder, of all words of any other model."""
    return np.asarray(value["last" if value["family"] == "decoder" else "words"], dtype=np.float64)


def calc_change(
    base: Float[ndarray, "layer d_model"], model: Float[ndarray, "layer d_model"]
) -> Float[ndarray, "layer d_model"]:
    """Subtract the base's mean states from a fine-tune's, layer by layer; zeros where they differ
    by rounding only.

    Example:
        >>> calc_change(np.ones((2, 2)), np.array([[1.0, 1.0], [1.0, 3.0]])).tolist()
        [[0.0, 0.0], [0.0, 2.0]]
    """
    change: ndarray = model - base
    rounding = np.linalg.norm(change, axis=1) <= ROUNDING_SHARE * np.linalg.norm(base, axis=1)
    change[rounding] = 0.0
    return change


def measure_activations(
    base: Value, values: Mapping[str, Value]
) -> tuple[dict[str, Float[ndarray, "model model"]], list[str]]:
    """Measure the distances between fine-tunes of one base, sqrt(2 - 2 cosine), in every vector of
    `STATE_VECTORS`; add notices of those without a direction. All read the same tokens."""
    start = summary_of(base)
    changes = np.stack([calc_change(start, summary_of(value)) for value in values.values()])
    distances, notices = {}, []
    for name, vector in STATE_VECTORS.items():
        layer = vector.layer(len(start) - 1)
        directions = changes[:, layer]
        distances[name] = calc_chords(directions)
        still = [ref for ref, row in zip(values, directions, strict=True) if not row.any()]
        notices += [describe_directionless(still, layer)] if still else []
    return distances, notices


def describe_directionless(refs: Sequence[str], layer: int) -> str:
    """Write the notice of models whose hidden states do not differ from the base's in a layer."""
    have, states = ("have", "their") if len(refs) > 1 else ("has", "its")
    return (
        f"{', '.join(refs)} {have} no delta activations in layer {layer}: "
        f"{states} mean hidden states equal the base's, so there is no direction, "
        "and the cosine with every other model counts as 0."
    )
