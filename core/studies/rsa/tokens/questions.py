"""A question and a passage through one model: vectors of their words, and the span head's answer at
each layer.

The question and the passage are read as one pair, the way models of extractive question answering
are trained. If the model has such a head, it is applied to every layer's states: what would the
model answer if it ended there? At the top this is the model's own answer, which is checked before
any lower layer is shown.

References: van Aken, Winter, Löser & Gers 2019, CIKM, "How Does BERT Answer Questions?";
Devlin et al. 2019 (the span head: a start and an end score for every subword). Deviations: the head
at lower layers is added; answers are spans of the passage, so that "no answer" is impossible; an
answer has at most LONGEST subwords.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from core.errors import CorpusError
from core.models import describe, load_tokenizer, load_with_head, longest_text, parse_ref
from core.models.loading.memory import borrow_model
from core.studies.task_kit import Cost, Size, Value, as_identified, costs, pure
from core.studies.text_kit import words_beside
from core.vectors.activations import check_finite
from core.vectors.forward import Subwords, cut_pair
from core.vectors.sinks import POSITIONS, TABLE, Sinks, due, positions_of, record, sinks_in

if TYPE_CHECKING:
    from torch import Tensor

said = words_beside(__file__).sentence
PASSAGE, AXES = 2.0, 5e-10  # processor seconds beside the models; per cubed width
LONGEST = 30  # subwords of an answer
LARGEST_DIFFERENCE = 1e-3  # largest difference of the head's scores at the top from the model's own
SPANS = ("model", "layer", "first", "last", "span", "chance", "f1")
SPAN_HEAD = "ForQuestionAnswering"
QUESTION, ANSWER, SUPPORTING = "question", "answer", "supporting sentence"  # roles of words
HIGHLIGHTED, OTHER = "highlighted", "other words"


@dataclass(frozen=True)
class Passage:
    """The question and the passage of a token map, cut into words.

    Attributes:
        question: Words of the question; none where there is none.
        words: Words of the passage.
        sentence: Number of the sentence that each word of the passage stands in.
    """

    question: tuple[str, ...]
    words: tuple[str, ...]
    sentence: tuple[int, ...]

    @property
    def together(self) -> tuple[str, ...]:
        """List the question's words, then the passage's: the order of a map's points."""
        return self.question + self.words


def reading_cost(sizes: Mapping[str, Size], model: str, words: Sequence[str], **_: Any) -> Cost:
    """Estimate what it takes to read a passage, and what all layers of all models share: axes."""
    size, sentences = sizes[model], 1 + len(words) // 20
    return Cost(
        costs.vectors(size, sentences),
        costs.resident({model: size}, sentences),
        shared={"axes": Cost(PASSAGE + AXES * size.d_model**3, 3 * size.d_model**2 * costs.DOUBLE)},
    )


@pure("rsa.question", guard=as_identified, cost=reading_cost)
def read_question(
    model: str,
    model_identity: str,
    question: tuple[str, ...],
    words: tuple[str, ...],
    sinks: str = "",
) -> Value:
    """Compute the vectors (layer, word, d_model) of question and passage, the question's first,
    and, with a span head, the answers: `spans` (layer, 2), first and last word, `chances` (layer,),
    and `why` there are none, or none below the top.
    Raises ModelError if the model cannot be loaded, CorpusError if the words are too many for
    it."""
    import torch

    info = describe(model)
    headed = info.architecture.endswith(SPAN_HEAD) and info.family != "encoder-decoder"
    cut, types = cut_pair(load_tokenizer(model), question, words)
    if len(cut.ids) > longest_text(model):
        raise CorpusError(
            f"Question and passage have {cut.subwords:,} subwords, more than {model} can read: "
            f"shorten them."
        )
    inputs = {
        "input_ids": torch.tensor([cut.ids]),
        "attention_mask": torch.ones(1, len(cut.ids), dtype=torch.long),
    }
    borrowed = (
        nullcontext(load_with_head(model, device="cpu"))
        if headed
        else borrow_model(model, device="cpu", layerwise=True)
    )
    with borrowed as loaded, torch.inference_mode():
        # Included models were trained without a second segment, so its embedding was never learned.
        if types is not None and parse_ref(model).kind != "zoo" and _takes_types(loaded.model):
            inputs["token_type_ids"] = torch.tensor([types])
        reader: Any = (
            loaded.model.get_encoder() if info.family == "encoder-decoder" else loaded.model
        )
        output = reader(**inputs, output_hidden_states=True, return_dict=True)
        hidden = torch.stack([states[0].float() for states in output.hidden_states])
        value: Value = {"vectors": check_finite(model, _pooled(hidden.numpy(), cut))}
        if due(model, sinks):
            value |= left_out(sinks_in(model, value["vectors"], cut.pieces), cut.length)
        if not headed:
            return value | {"why": said("no_span_head", model=model)}
        logits = torch.stack([output.start_logits[0], output.end_logits[0]], dim=-1).float()
        scores, why = _scores_by_layer(loaded.model, hidden, logits, model)
    first = len(question)
    inside = np.array([place >= first for place in cut.words])
    best = [best_span(layer, inside) if layer is not None else (-1, -1, np.nan) for layer in scores]
    places = np.array(cut.words)
    spans = [[places[a] - first, places[b] - first] if a >= 0 else [-1, -1] for a, b, _ in best]
    return value | {
        "spans": np.array(spans),
        "chances": np.array([chance for *_, chance in best]),
        "why": why,
    }


def left_out(sinks: Sinks, words: int) -> Value:
    """Make what a task returns of the attention sinks among a passage's words."""
    (positions,) = positions_of([sinks], 1)
    return {TABLE: record([sinks], len(positions), words) | {POSITIONS: list(positions)}}


def best_span(
    scores: Float[np.ndarray, "subword two"], inside: np.ndarray
) -> tuple[int, int, float]:
    """Find the first and last subword of the most probable answer inside the passage, and its
    probability over all such answers, from the start and end score of each subword."""
    places = np.flatnonzero(inside)
    chosen = scores[places].astype(np.float64)
    logs = chosen - np.log(np.exp(chosen - chosen.max(axis=0)).sum(axis=0)) - chosen.max(axis=0)
    pairs = logs[:, None, 0] + logs[None, :, 1]
    length = np.arange(len(places))[None] - np.arange(len(places))[:, None]
    pairs[(length < 0) | (length >= LONGEST)] = -np.inf
    start, end = np.unravel_index(int(pairs.argmax()), pairs.shape)
    return int(places[start]), int(places[end]), float(np.exp(pairs[start, end]))


def roles(
    passage: Passage, answer: Sequence[str], supporting: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Give each word of question and passage its role, and say what is not in the passage. The
    answer's first occurrence counts; without a supporting sentence, the sentence that contains it
    does."""
    roles_of_words, notices = [OTHER] * len(passage.words), []
    place, support = _where(passage.words, answer), _where(passage.words, supporting)
    for words, at, what in (
        (answer, place, "expected answer"),
        (supporting, support, "supporting sentence"),
    ):
        if words and at is None:
            notices.append(said("missing_part", what=what, words=" ".join(words)))
    anchor = range(support, support + len(supporting)) if support is not None else ()
    if support is None and place is not None:
        anchor = range(place, place + len(answer))
    held = {passage.sentence[word] for word in anchor}
    for word, sentence in enumerate(passage.sentence):
        if sentence in held:
            roles_of_words[word] = SUPPORTING
    if place is not None:
        roles_of_words[place : place + len(answer)] = [ANSWER] * len(answer)
    return [QUESTION] * len(passage.question) + roles_of_words, notices


def overlap(given: Sequence[str], answer: Sequence[str]) -> float:
    """Compute F1 of two bags of words, ignoring case, as SQuAD scores answers; NaN without an
    answer."""
    if not answer:
        return float("nan")
    left, right = (
        Counter(word.casefold() for word in given),
        Counter(word.casefold() for word in answer),
    )
    shared = sum((left & right).values())
    return 2 * shared / (len(given) + len(answer)) if shared else 0.0


def answer_table(
    values: Mapping[str, Value], passage: Passage, answer: Sequence[str]
) -> pd.DataFrame:
    """Tabulate the answer of each model with a span head at each layer: SPANS."""
    rows = []
    for ref, value in values.items():
        for layer, (first, last) in enumerate(
            np.asarray(value.get("spans", np.zeros((0, 2), dtype=int))).tolist()
        ):
            if first < 0:
                continue
            words = passage.words[first : last + 1]
            chance, f1 = float(np.asarray(value["chances"])[layer]), overlap(words, answer)
            rows.append((ref, layer, first, last, " ".join(words), chance, f1))
    return pd.DataFrame(rows, columns=SPANS).astype(
        {"layer": int, "first": int, "last": int, "chance": float, "f1": float}
    )


def _where(words: Sequence[str], wanted: Sequence[str]) -> int | None:
    """Find where a run of words begins, ignoring case; None if nowhere."""
    lower, sought = [word.casefold() for word in words], [word.casefold() for word in wanted]
    starts = range(len(lower) - len(sought) + 1) if sought else range(0)
    return next((start for start in starts if lower[start : start + len(sought)] == sought), None)


def _pooled(hidden: Float[np.ndarray, "layer subword d_model"], cut: Subwords) -> np.ndarray:
    """Average the subwords of each word, (layer, word, d_model); zeros for a word without any."""
    owner = np.array(cut.words)
    vectors = np.zeros((len(hidden), cut.length, hidden.shape[-1]), dtype=np.float32)
    for word in range(cut.length):
        mine = owner == word
        if mine.any():
            vectors[:, word] = hidden[:, mine].mean(axis=1)
    return vectors


def _scores_by_layer(
    model: Any, hidden: Tensor, logits: Tensor, ref: str
) -> tuple[list[np.ndarray | None], str]:
    """Compute start and end scores of every layer, the model's own at the top; None where the head
    does not fit."""
    import torch

    head = getattr(model, "qa_outputs", None)
    if head is not None:
        scores = head(hidden)
        if scores.shape[-1] == 2 and torch.allclose(scores[-1], logits, atol=LARGEST_DIFFERENCE):
            return [layer.numpy() for layer in scores[:-1]] + [logits.numpy()], ""
    nothing: list[np.ndarray | None] = [None] * (len(hidden) - 1)
    return [*nothing, logits.numpy()], said("top_answer_only", model=ref)


def _takes_types(model: Any) -> bool:
    return int(getattr(model.config, "type_vocab_size", 0) or 0) > 1
