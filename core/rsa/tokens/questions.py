"""A question and a passage through one model: vectors of their words, and what a span head answers at each layer.

The question and the passage are read as one pair, the way models of extractive question answering are trained. Where
the model has such a head, it is put on every layer's states: where would the model place the answer if it ended
there? At the top this is the model's own answer, which is checked before anything lower is shown.

References: van Aken, Winter, Löser & Gers 2019, CIKM, "How Does BERT Answer Questions?"; Devlin et al. 2019 (the span
head: a start and an end score for every subword). Deviations: the head at lower layers is added; answers are looked
for in the passage alone, so that "no answer" is none; an answer has at most LONGEST subwords.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from core.errors import CorpusError
from core.models import describe, load_tokenizer, load_with_head, locate, parse_ref
from core.models.files.checkpoints import longest_input, read_config
from core.models.identity import as_identified
from core.models.loading.memory import borrow_model
from core.results.names import short_names
from core.results.numbers import text_of
from core.runs.store import Value
from core.runs.tasks import pure
from core.vectors.forward import Subwords, cut_pair

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor

LONGEST = 30  # subwords of an answer
CLEAR = 0.05  # p-value up to which the question is said to be near its answer
SAME = 1e-3  # how far the head at the top may be from the model's own scores
SPANS = ("model", "layer", "first", "last", "span", "chance", "f1")
SPAN_HEAD = "ForQuestionAnswering"
QUESTION, ANSWER, SUPPORTING = "question", "answer", "supporting sentence"  # what a word of the passage is
HIGHLIGHTED, OTHER = "highlighted", "other words"


@dataclass(frozen=True)
class Passage:
    """What a token map is drawn of, cut into words.

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
        """The question's words, then the passage's: the order of a map's points."""
        return self.question + self.words


@pure("rsa.question", guard=as_identified)
def read_question(model: str, model_identity: str, question: tuple[str, ...], words: tuple[str, ...]) -> Value:
    """Vectors of a question's and a passage's words in one model, and its answers by layer.

    Args:
        model: Reference.
        model_identity: Fingerprints of weights and tokenizer; part of the key.
        question: Its words.
        words: The passage's.

    Returns:
        `vectors` (layer, word, d_model) float32, the question's words first; where the model has a span head, `spans`
        (layer, 2), first and last word of the passage that it answers with, and `chances` (layer,), the probability
        that it gives to the answer's first and last subword; `why`, a sentence where there are no such answers, or
        none below the top (their spans are -1).

    Raises:
        ModelError: If the model cannot be loaded.
        CorpusError: If question and passage are longer than the model reads.
    """
    import torch

    info = describe(model)
    headed = info.architecture.endswith(SPAN_HEAD) and info.family != "encoder-decoder"
    cut, types = cut_pair(load_tokenizer(model), question, words)
    if len(cut.ids) > longest_input(read_config(locate(model))):
        raise CorpusError(f"Question and passage are too long for {model} ({cut.subwords:,} subwords): shorten them.")
    inputs = {"input_ids": torch.tensor([cut.ids]), "attention_mask": torch.ones(1, len(cut.ids), dtype=torch.long)}
    borrowed = nullcontext(load_with_head(model, device="cpu")) if headed else borrow_model(model, device="cpu")
    with borrowed as loaded, torch.inference_mode():
        # Models of the box never saw the second segment's embedding, so what stands there was not learned.
        if types is not None and parse_ref(model).kind != "zoo" and _takes_types(loaded.model):
            inputs["token_type_ids"] = torch.tensor([types])
        reader: Any = loaded.model.get_encoder() if info.family == "encoder-decoder" else loaded.model
        output = reader(**inputs, output_hidden_states=True, return_dict=True)
        hidden = torch.stack([states[0].float() for states in output.hidden_states])
        value: Value = {"vectors": _pooled(hidden.numpy(), cut)}
        if not headed:
            what = f"was saved as {info.architecture}, without a head that marks spans"
            return value | {"why": f"{model} {what}: it is drawn, and answers nothing."}
        logits = torch.stack([output.start_logits[0], output.end_logits[0]], dim=-1).float()
        scores, why = _scores_by_layer(loaded.model, hidden, logits, model)
    first = len(question)
    inside = np.array([place >= first for place in cut.words])
    best = [best_span(layer, inside) if layer is not None else (-1, -1, np.nan) for layer in scores]
    places = np.array(cut.words)
    spans = [[places[a] - first, places[b] - first] if a >= 0 else [-1, -1] for a, b, _ in best]
    return value | {"spans": np.array(spans), "chances": np.array([chance for *_, chance in best]), "why": why}


def best_span(scores: Float[np.ndarray, "subword two"], inside: np.ndarray) -> tuple[int, int, float]:
    """First and last subword of the likeliest answer, and its probability.

    Args:
        scores: Start and end score of each subword.
        inside: Which subwords belong to the passage; the probabilities are over these.
    """
    places = np.flatnonzero(inside)
    chosen = scores[places].astype(np.float64)
    logs = chosen - np.log(np.exp(chosen - chosen.max(axis=0)).sum(axis=0)) - chosen.max(axis=0)
    pairs = logs[:, None, 0] + logs[None, :, 1]
    length = np.arange(len(places))[None] - np.arange(len(places))[:, None]
    pairs[(length < 0) | (length >= LONGEST)] = -np.inf
    start, end = np.unravel_index(int(pairs.argmax()), pairs.shape)
    return int(places[start]), int(places[end]), float(np.exp(pairs[start, end]))


def roles(passage: Passage, answer: Sequence[str], supporting: Sequence[str]) -> tuple[list[str], list[str]]:
    """What each word of question and passage is to the question, and what could not be found.

    Args:
        passage: Question and passage.
        answer: Words of the answer; its first place in the passage counts.
        supporting: Words of the sentence that supports the answer; without any, the sentence that the answer is in.

    Returns:
        Its role for each word, the question's first; one sentence for each thing that is not in the passage.
    """
    roles_of_words, notices = [OTHER] * len(passage.words), []
    place, support = _where(passage.words, answer), _where(passage.words, supporting)
    for words, at, what in ((answer, place, "answer"), (supporting, support, "supporting sentence")):
        if words and at is None:
            notices.append(f"The {what} does not stand in the passage word for word: {' '.join(words)}.")
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


def nearness(
    vectors: Float[np.ndarray, "layer word d_model"], given: Sequence[str], words: Sequence[str]
) -> tuple[Float[np.ndarray, " layer"], float]:
    """How near the question's words lie to what answers it, layer by layer, in the whole space; and whether by chance.

    Args:
        vectors: Of question and passage, as in `read_question`.
        given: What each word is, as `roles` says.
        words: The words. Those of the passage that the question has too are left out: they lie near it as words.

    Returns:
        Mean distance from a word of the question to one of answer or supporting sentence, over that to any other word
        of the passage; below 1 where the question has drawn near to its answer. And how often a run of as many words
        elsewhere in the passage (all circular shifts, itself counted) lies as near in some layer. NaN where there
        are no such words.
    """
    asked = {word.casefold() for word, role in zip(words, given, strict=True) if role == QUESTION}
    kinds = np.array(given)
    question = kinds == QUESTION
    counted = ~question & np.array([word.casefold() not in asked for word in words])
    near = np.isin(kinds[counted], (ANSWER, SUPPORTING))
    if not question.any() or not near.any() or near.all():
        return np.full(len(vectors), np.nan), float("nan")
    gaps = np.linalg.norm(vectors[:, question, None] - vectors[:, None, counted], axis=-1).mean(axis=1)
    shifted = [np.roll(near, shift) for shift in range(len(near))]
    ratios = np.stack([gaps[:, run].mean(axis=1) / np.maximum(gaps[:, ~run].mean(axis=1), 1e-12) for run in shifted])
    lowest = ratios.min(axis=1)
    return ratios[0], float((lowest <= lowest[0]).mean())


def nearness_sentence(arrays: Mapping[str, np.ndarray], given: Sequence[str], words: Sequence[str]) -> str:
    """In which layer of each model the question lies nearest to what answers it, where that is more than chance."""
    names = short_names(tuple(arrays))
    parts, never = [], []
    for ref, vectors in arrays.items():
        ratios, p_value = nearness(vectors, given, words)
        if not np.isfinite(p_value):
            return ""
        layer = int(ratios.argmin())
        if ratios[layer] < 1 and p_value <= CLEAR:
            parts.append(f"layer {layer} of {names[ref]} ({text_of(ratios[layer])}, {text_of(p_value, 'p')})")
        else:
            never.append(names[ref])
    told = (
        f" The question lies nearest to answer and supporting sentence in {', '.join(parts)}: its distance to them "
        "over that to the other words, shared words left out."
        if parts
        else ""
    )
    unclear = f" In {', '.join(never)} the question lies no nearer to its answer than other runs of words do."
    return told + (unclear if never else "")


def overlap(given: Sequence[str], answer: Sequence[str]) -> float:
    """F1 of two bags of words, upper and lower case alike, as SQuAD scores answers; NaN without an answer."""
    if not answer:
        return float("nan")
    left, right = Counter(word.casefold() for word in given), Counter(word.casefold() for word in answer)
    shared = sum((left & right).values())
    return 2 * shared / (len(given) + len(answer)) if shared else 0.0


def answer_table(values: Mapping[str, Value], passage: Passage, answer: Sequence[str]) -> pd.DataFrame:
    """SPANS: what each model with a span head answers at each layer."""
    import pandas as pd

    rows = []
    for ref, value in values.items():
        for layer, (first, last) in enumerate(np.asarray(value.get("spans", np.zeros((0, 2), dtype=int))).tolist()):
            if first < 0:
                continue
            words = passage.words[first : last + 1]
            chance, f1 = float(np.asarray(value["chances"])[layer]), overlap(words, answer)
            rows.append((ref, layer, first, last, " ".join(words), chance, f1))
    kinds = {"layer": int, "first": int, "last": int, "chance": float, "f1": float}
    return pd.DataFrame(rows, columns=list(SPANS)).astype(kinds)


def answers_sentence(spans: pd.DataFrame, names: Mapping[str, str]) -> str:
    """What each model answers at the top, and from which layer up it answers that."""
    sentences = []
    for ref, rows in spans.groupby("model", sort=False):
        top = rows.iloc[-1]
        elsewhere = rows[(rows["first"] != top["first"]) | (rows["last"] != top["last"])]
        since = int(rows["layer"].iloc[0]) if elsewhere.empty else int(elsewhere["layer"].max()) + 1
        only = since == int(top["layer"])
        held = "" if len(rows) == 1 else " at its top layer only" if only else f" from layer {since} up"
        score = f", F1 {text_of(top['f1'])}" if np.isfinite(top["f1"]) else ""
        chance = text_of(float(top["chance"]), "probability")
        sentences.append(f"{names[str(ref)]} answers “{top['span']}”{held} (probability {chance}{score}). ")
    return "".join(sentences)


def _where(words: Sequence[str], wanted: Sequence[str]) -> int | None:
    """Where a run of words begins, upper and lower case alike; None if nowhere."""
    lower, sought = [word.casefold() for word in words], [word.casefold() for word in wanted]
    starts = range(len(lower) - len(sought) + 1) if sought else range(0)
    return next((start for start in starts if lower[start : start + len(sought)] == sought), None)


def _pooled(hidden: Float[np.ndarray, "layer subword d_model"], cut: Subwords) -> np.ndarray:
    """Means of the words' subwords, (layer, word, d_model); zeros for a word without any."""
    owner = np.array(cut.words)
    vectors = np.zeros((len(hidden), cut.length, hidden.shape[-1]), dtype=np.float32)
    for word in range(cut.length):
        mine = owner == word
        if mine.any():
            vectors[:, word] = hidden[:, mine].mean(axis=1)
    return vectors


def _scores_by_layer(model: Any, hidden: Tensor, logits: Tensor, ref: str) -> tuple[list[np.ndarray | None], str]:
    """Start and end scores of every layer, the model's own at the top; None below where the head does not fit there."""
    import torch

    head = getattr(model, "qa_outputs", None)
    if head is not None:
        scores = head(hidden)
        if scores.shape[-1] == 2 and torch.allclose(scores[-1], logits, atol=SAME):
            return [layer.numpy() for layer in scores[:-1]] + [logits.numpy()], ""
    nothing: list[np.ndarray | None] = [None] * (len(hidden) - 1)
    return [
        *nothing,
        logits.numpy(),
    ], f"The head of {ref} reads more than the top layer: its own answer is shown."


def _takes_types(model: Any) -> bool:
    return int(getattr(model.config, "type_vocab_size", 0) or 0) > 1
