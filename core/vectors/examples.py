"""Examples that a task model is scored on: sentences with labels, words with tags or dependency
heads.

Labels of sentences come from a file or from the included sentiment sentences. Tags and heads are
the text's own if it has them, otherwise a parser's: agreement with a parse is called so, never
accuracy against gold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.errors import CorpusError, ModelError
from core.models.loading.language_models import predicts
from core.models.loading.task_models import Head, describe_head, kind_of
from core.models.references import parse_ref
from core.models.sizes import Size
from core.models.weights.origins import adapter_folder
from core.runs.tasks import Task, pure
from core.text.corpora import Corpus, Sentence, parse_corpus
from core.text.labelled import LABELLED_FILE, expected_labelled, read_labelled
from core.text.reading import Text, Unread, UnreadCorpus, read_text
from core.vectors.forward import cut_sentences, pad_ids, pad_rows, plan_whole_batches

if TYPE_CHECKING:
    from core.models.loading.layers import Batch
    from core.models.loading.tokenizers import Tokenizer


BATCH = 32  # sentences; in larger batches more of the work is padding
IGNORED = -100
Pairs = tuple[tuple[Any, Any], ...]
"""(sentence, label), (words, tags) or (words, heads); heads are 1-based, 0 for the root."""

METRICS = {"sentence": "accuracy", "words": "tag accuracy", "arcs": "UAS"}
PARSE, OWN, LABELS = "a parse", "the text's own", "labels"


@dataclass(frozen=True)
class Examples:
    """Examples that the models of a study are scored on.

    Attributes:
        heads: The head of each model that can be scored.
        pairs: Examples by kind of head.
        truth: Where the right answers come from, by kind: `PARSE`, `OWN` or `LABELS`.
        refused: Sentence by model, for those that cannot be scored.
        corpus: The text that was read, for the record.
    """

    heads: Mapping[str, Head]
    pairs: Mapping[str, Pairs]
    truth: Mapping[str, str]
    refused: Mapping[str, str]
    corpus: Corpus

    @property
    def words(self) -> tuple[tuple[str, ...], ...]:
        """List the words of each sentence."""
        return self.corpus.words


def _expected(
    sizes: Mapping[str, Size],
    refs: tuple[str, ...],
    labelled: str,
    corpus: str,
    genres: tuple[str, ...],
    limit: int,
    given: Text | None = None,
) -> Examples:
    """Count the sentences of a text and those with labels; a model whose head is not known is
    scored on the more."""
    read = UnreadCorpus.of(corpus, genres, limit)
    whole = Unread(LABELLED_FILE, len(expected_labelled(labelled)))
    texts: dict[str, Any] = {"sentence": whole, "words": read.words}
    texts["arcs"] = max(texts.values(), key=len)
    heads: dict[str, Head] = {}
    for ref in refs:
        with suppress(ModelError):
            heads |= _expected_heads(ref, sizes[ref].architecture, expected_labelled(labelled))
    return Examples(heads, texts, {}, {}, read)


def _expected_heads(ref: str, architecture: str, labelled: Pairs) -> dict[str, Head]:
    """Expect what a model's head labels; of included models it is known whether they have these
    labels."""
    kind = kind_of(architecture)
    if predicts(architecture):
        return {}
    if kind != "sentence":
        return {ref: Head("words" if architecture else "arcs", ())}
    if parse_ref(ref).kind == "zoo" and adapter_folder(ref) is None:
        head = describe_head(ref)
        return {} if _unknown_label(ref, head, labelled) else {ref: head}
    return {ref: Head(kind, ())}


@pure("rsa.examples", expect=_expected)
def read_examples(
    refs: tuple[str, ...],
    labelled: str,
    corpus: str,
    genres: tuple[str, ...],
    limit: int,
    given: Text | None = None,
) -> Examples:
    """Find what the models' heads label, and read the examples that they are scored on: `labelled`
    sentences, those included if "", or the words of a text. Raises CorpusError if a text cannot be
    read, ModelError if there is no parser."""
    heads, refused = {}, {}
    for ref in refs:
        try:
            heads[ref] = describe_head(ref)
        except ModelError as error:
            refused[ref] = str(error)
    pairs: dict[str, Pairs] = {}
    truth: dict[str, str] = {}
    kinds = {head.kind for head in heads.values()}
    read = Corpus(labelled or LABELLED_FILE, ())
    if "sentence" in kinds:
        pairs["sentence"], truth["sentence"] = read_labelled(labelled), LABELS
        read = Corpus(
            read.ref, tuple(Sentence(tuple(text.split())) for text, _ in pairs["sentence"])
        )
    if kinds & {"words", "arcs"}:
        read, has_trees = _with_trees(read_text(corpus, genres, limit, given))
        for kind in kinds & {"words", "arcs"}:
            pairs[kind] = tuple(
                (s.words, s.upos if kind == "words" else s.heads) for s in read.sentences
            )
            truth[kind] = OWN if has_trees else PARSE
    for ref, head in list(heads.items()):
        reason = _unknown_label(ref, head, pairs[head.kind])
        if reason:
            refused[ref] = reason
            del heads[ref]
    return Examples(heads, pairs, truth, refused, read)


def examples_task(
    refs: tuple[str, ...],
    labelled: str,
    corpus: str,
    limit: int,
    genres: tuple[str, ...] = (),
    given: Text | None = None,
) -> Task:
    """Make the task of a first stage that reads examples, with the role "examples"."""
    return Task.of(
        "read examples", read_examples, role="examples", fleeting=True, refs=refs,
        labelled=labelled, corpus=corpus, genres=genres, limit=limit, given=given,
    )  # fmt: skip


def _with_trees(corpus: Corpus) -> tuple[Corpus, bool]:
    """Give the corpus tags and heads, and say whether they are its own."""
    has_trees = corpus.has_heads and all(sentence.upos is not None for sentence in corpus.sentences)
    return (corpus, True) if has_trees else (parse_corpus(corpus), False)


def _unknown_label(ref: str, head: Head, pairs: Pairs) -> str:
    """Say why a model cannot be scored on these examples; "" if it can. Single unknown tags count
    as wrong."""
    if head.kind == "arcs":
        return ""
    asked = Counter(
        label for _, answer in pairs for label in ([answer] if head.kind == "sentence" else answer)
    )
    covered = sum(count for label, count in asked.items() if label in head.labels)
    if head.kind == "sentence" and covered < asked.total():
        unknown = next(label for label in asked if label not in head.labels)
        return (
            f"{ref} cannot be scored on these sentences: "
            f"they have the label {unknown!r}, but its labels are {', '.join(head.labels)}. "
            "Give a file of sentences with these labels (--labelled on the command line)."
        )
    if 2 * covered < asked.total():
        return (
            f"{ref} cannot be scored on these words: its labels ({', '.join(head.labels[:4])} …) "
            "are not universal part-of-speech tags. Choose a model with universal tags."
        )
    return ""


@dataclass(frozen=True)
class Encoded:
    """Examples as one model reads them.

    Attributes:
        ids: Subwords of each sentence, special tokens included.
        starts: Place of each word's first subword; empty lists where sentences are labelled. A word
            without one (cut off, or removed by the tokenizer) has -1.
        answers: Class or dependency head of each word, or the one class of the sentence; `IGNORED`
            for a label that the model does not have, which counts as wrong.
        total: Answers per sentence, (sentence,).
        pad: The id to pad with.
    """

    ids: list[list[int]]
    starts: list[list[int]]
    answers: list[list[int]]
    total: NDArray[np.int64]
    pad: int
    kind: str


def encode(tokenizer: Tokenizer, head: Head, pairs: Pairs, longest: int) -> Encoded:
    """Encode examples as ids, places of words, and answers as numbers; what the model does not
    read, beyond `longest` subwords, counts as wrong. Raises CorpusError if there are none."""
    if not pairs:
        raise CorpusError("There are no examples to score: use more text.")
    numbers = {label: number for number, label in enumerate(head.labels)}
    pad = tokenizer.pad or 0
    if head.kind == "sentence":
        texts = [text for text, _ in pairs]
        ids = [encoding.ids for encoding in tokenizer.encode(texts, longest=longest)]
        answers = [[numbers.get(label, IGNORED)] for _, label in pairs]
        return Encoded(
            ids, [[] for _ in pairs], answers, np.ones(len(pairs), dtype=np.int64), pad, head.kind
        )
    cut = cut_sentences(tokenizer, [words for words, _ in pairs])
    starts = []
    for subwords in cut:
        place = {
            word: at
            for at, word in reversed(list(enumerate(subwords.words)))
            if word >= 0 and at < longest
        }
        starts.append([place.get(word, -1) for word in range(subwords.length)])
    answers = [
        [numbers.get(tag, IGNORED) for tag in answer]
        if head.kind == "words"
        else [int(number) for number in answer]
        for _, answer in pairs
    ]
    total = np.array([len(answer) for answer in answers], dtype=np.int64)
    return Encoded(
        [subwords.ids[:longest] for subwords in cut], starts, answers, total, pad, head.kind
    )


def batches(encoded: Encoded) -> Iterator[Batch]:
    """Batch examples of similar length, longest first."""
    from core.models.loading.layers import Batch

    for chosen in plan_whole_batches([len(ids) for ids in encoded.ids], BATCH):
        ids, mask = pad_ids([encoded.ids[number] for number in chosen], encoded.pad)
        starts = (
            pad_rows([encoded.starts[number] for number in chosen], -1)
            if encoded.kind == "arcs"
            else None
        )
        yield Batch(ids, mask, chosen, starts)


def hits(encoded: Encoded, batch: Batch, output: Any) -> NDArray[np.int64]:
    """Count the right answers of each sentence of a batch, (sentence,)."""
    logits = (output if encoded.kind == "arcs" else output.logits).float()
    best = logits.argmax(-1).cpu().numpy()
    correct = np.zeros(len(batch.sentences), dtype=np.int64)
    for row, number in enumerate(batch.sentences):
        answer = np.array(encoded.answers[number])
        if encoded.kind == "sentence":
            correct[row] = int(best[row] == answer[0])
            continue
        starts = np.array(encoded.starts[number])
        there = starts >= 0
        places = starts if encoded.kind == "words" else np.arange(len(answer))
        correct[row] = int((best[row, places[there]] == answer[there]).sum())
    return correct


def count_hits(model: Any, encoded: Encoded, parts: Iterable[Batch]) -> NDArray[np.int64]:
    """Count a model's right answers of each sentence, (sentence,), in `batches` of the examples."""
    from core.models.loading.layers import run_model

    right = np.zeros(len(encoded.total), dtype=np.int64)
    for batch in parts:
        right[batch.sentences] = hits(encoded, batch, run_model(model, batch))
    return right


def chance(kind: str, pairs: Pairs) -> tuple[str, float]:
    """Find the most frequent answer among the examples, and its share: the majority baseline.

    For heads, the most frequent position of the head relative to its word, or the root.
    """
    counts: Counter[str] = Counter()
    for _, answer in pairs:
        if kind == "sentence":
            counts[answer] += 1
        elif kind == "words":
            counts.update(answer)
        else:
            counts.update(
                "the root" if head == 0 else f"head at {head - word:+d}"
                for word, head in enumerate(answer, 1)
            )
    answer, count = counts.most_common(1)[0]
    return answer, count / counts.total()
