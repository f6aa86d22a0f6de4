"""Token map: the words of one passage through the layers, in two dimensions, for one model or
several.

All vectors (models, layers, words) share one pair of axes: each layer of each model is centred and
scaled to unit root mean square, and one PCA is fitted to all of them. With the same axes
everywhere, a word can be followed from layer to layer and from model to model.

Reference:
    van Aken et al. 2019, CIKM, How Does BERT Answer Questions? (token maps by layer, PCA).
Deviations: one PCA for all layers and models instead of one per layer; words instead of subwords;
centring and scaling by layer, without which the first axis only separates layers.

The headline's number: `core.studies.rsa.tokens.questions.best_span`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.errors import CorpusError, ShapeError, SpecError, listed
from core.models.zoo import READING, read_adapters
from core.results.statements import Statement
from core.studies.kit import (
    Findings,
    Outputs,
    Study,
    Task,
    Text,
    Value,
    View,
    change_tasks,
    changes_of,
    identities,
    identity_tasks,
    sink_argument,
    start_notices,
    words_beside,
)
from core.studies.rsa.tokens import questions, report
from core.studies.rsa.tokens.charts import draw_maps, layers_shown, span_rows
from core.studies.rsa.tokens.neighbours import nearest_arrays, standardised
from core.studies.rsa.tokens.spec import LENGTHS, TokenMapSpec
from core.studies.task_kit import as_identified, extract, pure
from core.vectors.sinks import due, find_sinks

AXES = 3
CITATIONS = ("vanaken2019",)


def project(
    vectors: NDArray[np.floating],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Fit three axes to (model, layer, word, d_model); the map shows the first two, turned towards
    the third: points (model, layer, word, 3), and shares of the variance (3,). Raises ShapeError on
    fewer than 3 words."""
    if vectors.ndim != 4 or vectors.shape[2] < LENGTHS[0]:
        raise ShapeError(
            "A token map needs vectors of shape (model, layer, word, d_model) "
            f"with {LENGTHS[0]} words or more, got {vectors.shape}."
        )
    models, layers, words, width = vectors.shape
    stacked = np.empty((models * layers, words, width))
    for number, layer in enumerate(vectors.reshape(models * layers, words, width)):
        stacked[number] = standardised(layer)
    flat = stacked.reshape(-1, width)
    variances, axes = np.linalg.eigh(flat.T @ flat)
    first = axes[:, ::-1][:, :AXES]
    # An axis's sign is arbitrary: make the largest loading positive, so that the picture is the
    # same on every machine.
    first = first * np.sign(first[np.abs(first).argmax(axis=0), range(AXES)])
    shares = variances[::-1][:AXES] / max(float(variances.sum()), np.finfo(np.float64).tiny)
    return (flat @ first).reshape(models, layers, words, AXES), shares


@pure("rsa.tokens", guard=as_identified, cost=questions.reading_cost)
def word_vectors(model: str, model_identity: str, words: tuple[str, ...], sinks: str = "") -> Value:
    """Compute the vectors of a passage's words in one model, `vectors` (layer, word, d_model), and
    `sinks` as `questions.left_out` where they were looked for. Raises ModelError if the model
    cannot be loaded, CorpusError if it cannot read the whole passage."""
    activations = extract(model, [words], items="words")
    if activations.vectors.shape[1] < len(words):
        raise CorpusError(
            f"{model} cannot read the whole passage. "
            f"{' '.join(activations.notices)} Use a shorter passage."
        )
    value: Value = {"vectors": activations.vectors}
    if due(model, sinks):
        value |= questions.left_out(find_sinks(model, [words]), len(words))
    return value


@dataclass(frozen=True)
class Asked:
    """A token map's words: question and passage, answer and supporting sentence."""

    passage: questions.Passage
    answer: tuple[str, ...]
    supporting: tuple[str, ...]

    @property
    def words(self) -> tuple[tuple[str, ...], ...]:
        """Join question and passage to one sequence."""
        return (self.passage.together,)


def _expected(
    sizes: Mapping[str, Any], passage: str, question: str, answer: str, supporting: str
) -> Asked:
    asked, read, *rest = (tuple(text.split()) for text in (question, passage, answer, supporting))
    return Asked(questions.Passage(asked, read, ()), *rest)


@pure("rsa.passage", expect=_expected)
def read_passage(passage: str, question: str, answer: str, supporting: str) -> Asked:
    """Cut passage, question and answer into words. Raises CorpusError if there are too few or too
    many."""
    from core.text.parsing import tokenize_lines

    lines = [line for line in passage.splitlines() if line.strip()]
    sentences = [words for line in tokenize_lines(lines) for words in line]
    asked, replied, held = (
        tuple(
            word for line in tokenize_lines([text], split=False) for words in line for word in words
        )
        for text in (question, answer, supporting)
    )
    words = tuple(word for sentence in sentences for word in sentence)
    number = tuple(place for place, sentence in enumerate(sentences) for _ in sentence)
    fewest, most = LENGTHS
    short = len(words) < fewest
    if short or len(words) > most - len(asked):
        raise CorpusError(
            f"A token map draws {fewest} to {most} words, but the passage has "
            f"{len(words)}{f' and the question {len(asked)}' if asked else ''}: "
            f"{'add' if short else 'remove'} words."
        )
    return Asked(questions.Passage(asked, words, number), replied, held)


def prepare(spec: TokenMapSpec, texts: Mapping[str, Text] | None = None) -> list[Task]:
    """Make the tasks of the first stage: cut the passage into words, identify the models."""
    passage = Task.of(
        "passage",
        read_passage,
        fleeting=True,
        passage=spec.passage,
        question=spec.question,
        answer=spec.answer,
        supporting=spec.supporting,
    )
    return [passage, *identity_tasks(spec.models), *change_tasks(spec.models[0], spec.models[1:])]


def plan(spec: TokenMapSpec, ready: Outputs) -> list[Task]:
    """Make one task for each model that was found. Raises CorpusError if the passage was
    refused."""
    passage = ready.need("passage").passage
    read = questions.read_question if passage.question else word_vectors
    asked = {"question": passage.question} if passage.question else {}
    return [
        Task.of(
            ref,
            read,
            role=ref,
            group=ref,
            model=ref,
            model_identity=identity.content,
            words=passage.words,
            **asked,
            **sink_argument(spec.sinks, ready, ref),
        )
        for ref, identity in identities(ready).items()
    ]


def collect(spec: TokenMapSpec, ready: Outputs, outputs: Outputs) -> Findings:
    """Make the tables `tokens` (rows of `layer_rows`), `axes` (axis, explained) and, where a
    question was asked, `spans` (SPANS of `questions`), and what is said of them. Raises SpecError
    if the models differ in d_model or depth."""
    asked: Asked = ready.values["passage"]
    asked_one = bool(asked.passage.question)
    values = {ref: outputs.values[ref] for ref in spec.models if ref in outputs.values}
    models = list(values)
    drawn = report.drawn_words(values.values(), len(asked.passage.together))
    words = tuple(asked.passage.together[place] for place in drawn)
    arrays = {ref: np.asarray(values[ref]["vectors"])[:, drawn] for ref in models}
    if len({array.shape for array in arrays.values()}) > 1:
        sizes = ", ".join(
            f"{ref} has {array.shape[0] - 1} layers of {array.shape[2]}"
            for ref, array in arrays.items()
        )
        raise SpecError(
            "The models of one token map need the same number of layers and the same d_model, "
            f"but {sizes}: choose others."
        )
    every, notices = _roles(spec, asked)
    given = [every[place] for place in drawn]
    # no span can be scored against an answer that is not in the passage
    answer = asked.answer if questions.ANSWER in every else ()
    spans = questions.answer_table(values, asked.passage, answer)
    frames, explained = [], np.zeros(AXES)
    if models:
        points, explained = project(np.stack([arrays[ref] for ref in models]))
        for ref, layers in zip(models, points, strict=True):
            for layer, placed in enumerate(layers):
                frame = report.layer_rows(ref, layer, words, drawn, placed, given)
                answered = spans[(spans["model"] == ref) & (spans["layer"] == layer)]
                for first, last in zip(answered["first"], answered["last"], strict=True):
                    shift = len(asked.passage.question)
                    frame["predicted"] |= frame["position"].between(first + shift, last + shift)
                frames.append(frame)
    nothing = report.layer_rows("", 0, (), drawn[:0], np.zeros((0, AXES)), ())
    table = pd.concat(frames or [nothing], ignore_index=True)
    statements: tuple[Statement, ...] = ()
    if models:
        shown = report.explained_statement(models, float(explained[:2].sum()))
        statements = (*report.answer_statements(spans), shown)
        if asked_one:
            statements += report.nearness_statements(arrays, given, words)
        else:
            statements += report.gathering_statements(table)
    return Findings(
        headline=report.make_headline(statements, spans, models, len(words), asked=asked_one),
        caution=" ".join(notices) if asked_one else "",
        statements=statements,
        tables={
            "tokens": table,
            "axes": pd.DataFrame({"axis": np.arange(1, AXES + 1), "explained": explained}),
        }
        | ({"spans": spans} if asked_one else {})
        | report.nearness_tables(statements),
        arrays=nearest_arrays(list(arrays.values())),
        notices=(*notices, *_unanswered(values), *start_notices(spec.models[0], changes_of(ready))),
        models=tuple(models),
        methods=" ".join(map(report.said, ["methods", *["question"] * asked_one])),
    )


def _unanswered(values: Mapping[str, Value]) -> list[str]:
    """Say which models give no answer, or none below the top layer, and which ones would."""
    reasons = [
        report.said("top_answer_only" if "spans" in value else "no_span_head", model=ref)
        for ref, value in values.items()
        if value.get("why")
    ]
    readers = [str(entry["ref"]) for entry in read_adapters() if entry.get("task") == READING]
    unread = reasons and not any("spans" in value for value in values.values())
    return (
        [*reasons, report.said("these_answer", models=listed(readers))]
        if unread and readers
        else reasons
    )


def _roles(spec: TokenMapSpec, asked: Asked) -> tuple[list[str], list[str]]:
    """Give each word its role, and say which words of the question or of the highlight are
    missing."""
    if asked.passage.question:
        return questions.roles(asked.passage, asked.answer, asked.supporting)
    wanted = {word.casefold() for word in spec.highlight}
    words = [word.casefold() for word in asked.passage.words]
    missing = sorted(wanted - set(words))
    notices = [report.missing_words(missing)] if missing else []
    return [questions.HIGHLIGHTED if word in wanted else questions.OTHER for word in words], notices


STUDY = Study(
    name="tokens",
    words=words_beside(__file__),
    Spec=TokenMapSpec,
    prepare=prepare,
    plan=plan,
    collect=collect,
    cites=CITATIONS,
    views=(View(draw=draw_maps, choices=layers_shown, tables=span_rows),),
)
