"""Token map: the words of one passage through the layers, in two dimensions, the models beside each other.

All vectors (models, layers, words) share one pair of axes: each layer of each model is centred and scaled to unit
root mean square, and one PCA is fitted to all of them. Axes that are the same everywhere let the eye follow a word
from layer to layer and from model to model.

Reference:
    van Aken et al. 2019, CIKM, How Does BERT Answer Questions? (token maps by layer, PCA).
Deviations: one PCA for all layers and models and not one a layer; words and not subwords; centring and scaling by
layer, without which the first axis only tells layers apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from core.errors import CorpusError, ShapeError, SpecError
from core.models.changes import change_tasks, changes_of
from core.models.identity import as_identified, identities, identity_tasks
from core.results.export import Result, provenance
from core.results.names import short_names
from core.results.notices import start_notices
from core.results.numbers import text_of
from core.results.papers.citing import cite
from core.rsa.measures.preparing import centred
from core.rsa.prices import tokens_price
from core.rsa.tokens import PURPOSE
from core.rsa.tokens.charts import figures
from core.rsa.tokens.questions import (
    HIGHLIGHTED,
    OTHER,
    Passage,
    answer_table,
    answers_sentence,
    nearness_sentence,
    read_question,
    roles,
)
from core.rsa.tokens.spec import TokenMapSpec
from core.rsa.tokens.text import CAVEATS
from core.runs.runner import Outputs, Task
from core.runs.store import Value
from core.runs.tasks import pure
from core.study import Study

if TYPE_CHECKING:
    import pandas as pd

    from core.text.reading import Text


MOST_WORDS = 200
LEAST_WORDS = 3
CITATIONS = ("vanaken2019",)


@dataclass(frozen=True)
class Projection:
    """Joint PCA: `points` (model, layer, word, 2); `explained` (2,), shares of the variance of all vectors."""

    points: NDArray[np.float64]
    explained: NDArray[np.float64]


def project(vectors: NDArray[np.floating]) -> Projection:
    """Two axes for all layers and models.

    Args:
        vectors: Shape (model, layer, word, d_model).

    Raises:
        ShapeError: If the array has another number of dimensions, or fewer than 3 words.
    """
    if vectors.ndim != 4 or vectors.shape[2] < LEAST_WORDS:
        raise ShapeError(
            f"A token map needs vectors (model, layer, word, d_model) of {LEAST_WORDS} words or more, got "
            f"{vectors.shape}."
        )
    models, layers, words, width = vectors.shape
    stacked = np.empty((models * layers, words, width))
    for number, layer in enumerate(vectors.reshape(models * layers, words, width)):
        points = centred(layer)
        size = np.sqrt(np.mean(np.sum(points**2, axis=1)))
        stacked[number] = points / size if size > 0 else points
    flat = stacked.reshape(-1, width)
    variances, axes = np.linalg.eigh(flat.T @ flat)
    first = axes[:, ::-1][:, :2]
    # An axis's sign is arbitrary: make the largest loading positive, so that the picture is the same on every machine.
    first = first * np.sign(first[np.abs(first).argmax(axis=0), [0, 1]])
    shares = variances[::-1][:2] / max(float(variances.sum()), np.finfo(np.float64).tiny)
    return Projection((flat @ first).reshape(models, layers, words, 2), shares)


@pure("rsa.tokens", guard=as_identified)
def word_vectors(model: str, model_identity: str, words: tuple[str, ...]) -> Value:
    """Vectors of a passage's words in one model: `vectors` (layer, word, d_model) float32.

    Args:
        model: Reference.
        model_identity: Fingerprints of weights and tokenizer; part of the key.
        words: The passage, as one sequence.

    Raises:
        ModelError: If the model cannot be loaded.
        CorpusError: If the passage is longer than the model reads.
    """
    from core.vectors.activations import extract

    activations = extract(model, [words], items="words")
    if activations.vectors.shape[1] < len(words):
        raise CorpusError(f"The passage is too long for {model}: {' '.join(activations.notices)} Use a shorter one.")
    return {"vectors": activations.vectors}


@dataclass(frozen=True)
class Asked:
    """A token map's words: question and passage, and the words of the answer and of what supports it."""

    passage: Passage
    answer: tuple[str, ...]
    supporting: tuple[str, ...]

    @property
    def words(self) -> tuple[tuple[str, ...], ...]:
        """Question and passage as one sequence."""
        return (self.passage.together,)


@pure("rsa.passage")
def read_passage(passage: str, question: str, answer: str, supporting: str) -> Asked:
    """The passage's words, as one sequence, and those of the question and its answer.

    Raises:
        CorpusError: If there are too few or too many.
    """
    from core.text.parsing import tokenize_lines

    lines = [line for line in passage.splitlines() if line.strip()]
    sentences = [words for line in tokenize_lines(lines) for words in line]
    asked, replied, held = (
        tuple(word for line in tokenize_lines([text], split=False) for words in line for word in words)
        for text in (question, answer, supporting)
    )
    words = tuple(word for sentence in sentences for word in sentence)
    number = tuple(place for place, sentence in enumerate(sentences) for _ in sentence)
    if not LEAST_WORDS <= len(words) <= MOST_WORDS - len(asked):
        raise CorpusError(
            f"A token map draws {LEAST_WORDS} to {MOST_WORDS} words, and the passage has {len(words)}"
            f"{f', the question {len(asked)}' if asked else ''}."
        )
    return Asked(Passage(asked, words, number), replied, held)


def prepare(spec: TokenMapSpec, texts: Mapping[str, Text] | None = None) -> list[Task]:
    """The first stage: cut the passage into words, ask what the models are; no text comes with the request."""
    passage = Task.of(
        "passage", read_passage, fleeting=True, passage=spec.passage, question=spec.question, answer=spec.answer,
        supporting=spec.supporting,
    )  # fmt: skip
    return [passage, *identity_tasks(spec.models), *change_tasks(spec.models[0], spec.models[1:])]


def plan(spec: TokenMapSpec, ready: Outputs) -> list[Task]:
    """One task for each model that could be found.

    Raises:
        CorpusError: If the passage has too few or too many words.
    """
    passage = ready.need("passage").passage
    tasks = []
    for ref, identity in identities(ready).items():
        arguments = {"model": ref, "model_identity": identity.content, "words": passage.words}
        if passage.question:
            tasks.append(Task.of(ref, read_question, role=ref, group=ref, question=passage.question, **arguments))
        else:
            tasks.append(Task.of(ref, word_vectors, role=ref, group=ref, **arguments))
    return tasks


def collect(spec: TokenMapSpec, ready: Outputs, outputs: Outputs) -> Result:
    """Project and tabulate.

    Returns:
        A result with the tables `tokens` (model, layer, word, position, role, highlighted, predicted, x, y), `axes`
        (axis, explained) and, where a question was asked, `spans` (SPANS of `questions`).

    Raises:
        SpecError: If the models differ in d_model or depth.
    """
    import pandas as pd

    asked: Asked = ready.values["passage"]
    words = asked.passage.together
    values = {ref: outputs.values[ref] for ref in spec.models if ref in outputs.values}
    models = list(values)
    arrays = {ref: np.asarray(values[ref]["vectors"]) for ref in models}
    if len({array.shape for array in arrays.values()}) > 1:
        sizes = ", ".join(f"{ref}: {array.shape[0] - 1} layers of {array.shape[2]}" for ref, array in arrays.items())
        raise SpecError(f"One token map holds models with the same layers and d_model, and these differ ({sizes}).")
    given, notices = _roles(spec, asked)
    spans = answer_table(values, asked.passage, asked.answer)
    frames, explained = [], np.zeros(2)
    if models:
        projection = project(np.stack([arrays[ref] for ref in models]))
        explained = projection.explained
        for ref, layers in zip(models, projection.points, strict=True):
            for layer, points in enumerate(layers):
                frame = _layer_rows(ref, layer, words, points, given)
                answered = spans[(spans["model"] == ref) & (spans["layer"] == layer)]
                for first, last in zip(answered["first"], answered["last"], strict=True):
                    shift = len(asked.passage.question)
                    frame["predicted"] |= frame["position"].between(first + shift, last + shift)
                frames.append(frame)
    table = pd.concat(frames, ignore_index=True) if frames else _layer_rows("", 0, (), np.zeros((0, 2)), [])
    names = short_names(tuple(models))
    headline = (
        f"The two axes hold {text_of(explained.sum(), 'per cent')} of the variance of {len(words)} words in "
        f"{', '.join(names[ref] for ref in models)}."
        if models
        else "No model could read the passage; the reasons are below."
    )
    gathered = (
        nearness_sentence(arrays, given, words) if asked.passage.question and models else _gathering(table, names)
    )
    why = [str(value["why"]) for value in values.values() if value.get("why")]
    said = (
        f"{answers_sentence(spans, names)}{gathered.lstrip()} {headline}"
        if asked.passage.question
        else headline + gathered
    )
    return Result(
        study="tokens",
        spec=spec.plain(),
        headline=said,
        tables={"tokens": table, "axes": pd.DataFrame({"axis": [1, 2], "explained": explained})}
        | ({"spans": spans} if asked.passage.question else {}),
        notices=tuple(
            dict.fromkeys(
                (
                    *notices,
                    *why,
                    *start_notices(spec.models[0], changes_of(ready)),
                )
            )
        ),
        failures=ready.sentences | outputs.sentences,
        provenance=provenance(tuple(models)),
        methods=f"{_methods(bool(asked.passage.question))} {spec.settings()}".strip(),
        citations=cite(CITATIONS),
    )


def _layer_rows(
    ref: str, layer: int, words: tuple[str, ...], points: NDArray[np.float64], given: list[str]
) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(
        {
            "model": ref,
            "layer": layer,
            "word": list(words),
            "position": np.arange(len(words)),
            "role": given,
            "highlighted": [role != OTHER for role in given],
            "predicted": np.zeros(len(words), dtype=bool),
            "x": points[:, 0],
            "y": points[:, 1],
        }
    )


def _roles(spec: TokenMapSpec, asked: Asked) -> tuple[list[str], list[str]]:
    """What each word is, and what is not among them: parts of the question, or the words to highlight."""
    if asked.passage.question:
        return roles(asked.passage, asked.answer, asked.supporting)
    wanted = {word.casefold() for word in spec.highlight}
    words = [word.casefold() for word in asked.passage.words]
    missing = sorted(wanted - set(words))
    notices = [f"Not among the words: {', '.join(missing)}."] if missing else []
    return [HIGHLIGHTED if word in wanted else OTHER for word in words], notices


def _methods(question: bool) -> str:
    """A methods paragraph, ready to paste."""
    text = (
        "Each layer of each model was centred and scaled to unit root mean square over the words of the passage; "
        "one principal component analysis was fitted to all layers and models together. Points are words (means "
        "of their subwords)."
    )
    if question:
        text += (
            " Question and passage were read as one pair. Where a model has a head for spans, it was put on every "
            "layer's states, at the top checked against the model's own scores; the likeliest span of the passage "
            "is shown, with the probability of its first and last subword among those of the passage. Distances "
            "between question and passage are Euclidean, in the whole space; p-values count the runs of as many words "
            "elsewhere in the passage (circular shifts) that lie as near in some layer."
        )
    return text


def _gathering(table: pd.DataFrame, names: Mapping[str, str]) -> str:
    """Where the highlighted words lie closest together, against all words of the same layer; "" with fewer than two."""
    closest: dict[str, tuple[float, int]] = {}
    for (model, layer), rows in table.groupby(["model", "layer"], sort=False):
        chosen = rows[rows["highlighted"]]
        if len(chosen) < 2:
            return ""
        spread = _mean_distance(rows)
        value = (_mean_distance(chosen) / spread if spread > 0 else np.inf, int(layer))
        closest[str(model)] = min(closest.get(str(model), value), value)
    parts = [f"layer {layer} of {names[model]} ({text_of(ratio)})" for model, (ratio, layer) in closest.items()]
    if not parts:
        return ""
    closest_at = f" The highlighted words lie closest together at {', '.join(parts)}"
    return f"{closest_at}: their mean distance over that of all words."


def _mean_distance(rows: pd.DataFrame) -> float:
    points = rows[["x", "y"]].to_numpy()
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    return float(distances[np.triu_indices(len(points), 1)].mean())


STUDY = Study(
    name="tokens",
    title="Token map",
    purpose=PURPOSE,
    Spec=TokenMapSpec,
    prepare=prepare,
    plan=plan,
    collect=collect,
    figures=figures,
    price=tokens_price,
    caveats=CAVEATS,
)
