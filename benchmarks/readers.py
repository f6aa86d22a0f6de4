"""From which layer an included reader finds an answer, beside what needs no layer or no question.

    python -m benchmarks.readers [zoo:qa-1] > benchmarks/readers.md

Questions are made by the recipe's rules from the included sentences, which no reader was trained
on: a passage is a sentence with its neighbours of the same genre. A reader's head is applied to
each layer, as on *Token map*. The rivals: the name nearest to the question's words; what the
question leaves of the sentence that shares most words with it; and the reader asked a question
about another passage.

Deviations: questions with a form of *do* need lemmas, which are those of `demo-gold` alone.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import numpy as np

from core.maths.statistics import interval
from core.models.identity import identify
from core.studies.rsa.tokens.questions import overlap, read_question
from core.text.conllu import Sentence
from core.text.parsing import parse_words, tokenize
from zoo.recipe.questions.data import read_lemmas
from zoo.recipe.questions.passages import make_examples, nearest_name
from zoo.recipe.tasks import Example

CORPUS = Path(__file__).resolve().parents[1] / "zoo" / "corpus"
ASKED = 100  # questions, evenly drawn: a reader is opened anew for each
DRAWS = 1_000
HEADER = "| answered by | asked | {} |"


def main(reader: str) -> None:
    """Print F1 of the rivals, and of a reader by layer."""
    every = [example for document in documents() for example in questions(document)]
    examples = every[:: max(1, len(every) // ASKED)][:ASKED]
    asked = [words_of(example.text) for example in examples]
    print("# From which layer a reader finds an answer\n")
    print(
        f"`python -m benchmarks.readers`: {len(examples)} of {len(every)} questions that rules "
        "make of the included sentences; F1 of the answer (%), brackets are 95 % intervals over "
        "questions.\n"
    )
    print("| answered by | F1 |\n|---|---|")
    for name, answer in (("nearest name", nearest), ("what the question leaves", left_over)):
        scores = [score(answer(example), example) for example in examples]
        print(f"| {name} | {band(scores)} |")
    print()
    for of, texts in (("its question", asked), ("another's", [*asked[1:], asked[0]])):
        found = [by_layer(reader, *each) for each in zip(texts, examples, strict=True)]
        cells = [band(scores) for scores in zip(*found, strict=True)]
        if texts is asked:
            layers = " | ".join(f"layer {layer}" for layer in range(len(cells)))
            print(HEADER.format(layers))
            print("|---|---|" + "---|" * len(cells))
        print(f"| {reader} | {of} | {' | '.join(cells)} |", flush=True)


def documents() -> Iterator[list[Sentence]]:
    """Yield the included sentences of each genre, parsed."""
    lines: dict[str, list[str]] = defaultdict(list)
    for line in (CORPUS / "demo.txt").read_text(encoding="utf8").splitlines():
        genre, _, text = line.partition("\t")
        if text:
            lines[genre].append(text)
    for texts in lines.values():
        words = [sentence for text in texts for sentence in tokenize(text)]
        yield [
            Sentence(each, parse.heads, upos=parse.upos, xpos=parse.xpos, deprel=parse.deprel)
            for each, parse in zip(words, parse_words(words), strict=True)
        ]


def questions(document: Sequence[Sentence]) -> Iterator[Example]:
    """Make the questions of the rules about each sentence."""
    lemmas = read_lemmas(CORPUS / "demo-gold.conllu")
    yield from (example for _, example in make_examples(document, lemmas))


def words_of(text: str) -> tuple[str, ...]:
    """Cut a text into words."""
    return tuple(word for sentence in tokenize(text) for word in sentence)


def score(answer: Sequence[str], example: Example) -> float:
    """F1 of an answer's words, in per cent."""
    return 100 * overlap(answer, words_of(example.answers[0]))


def nearest(example: Example) -> tuple[str, ...]:
    """Answer by the baseline of the readers' cards."""
    return words_of(nearest_name(example.text, example.pair or ""))


def left_over(example: Example) -> list[str]:
    """Answer by the longest run of words that the question does not have, in the sentence that
    shares most words with it."""
    asked = {word.casefold() for word in words_of(example.text)}
    sentences = [[*sentence] for sentence in tokenize(example.pair or "")]
    sentence = max(sentences, key=lambda each: len(asked & {word.casefold() for word in each}))
    runs = groupby(sentence, key=lambda word: word.casefold() not in asked and word.isalnum())
    return max(([*run] for free, run in runs if free), key=len, default=[])


def by_layer(reader: str, question: tuple[str, ...], example: Example) -> list[float]:
    """F1 of a reader's answer at each layer."""
    words = words_of(example.pair or "")
    value = read_question(reader, identify(reader).content, question, words)
    return [score(words[first : last + 1], example) for first, last in value["spans"].tolist()]


def band(scores: Sequence[float]) -> str:
    """A mean with its interval over questions."""
    values, draw = np.array(scores), np.random.default_rng(0)
    means = values[draw.integers(len(values), size=(DRAWS, len(values)))].mean(axis=1)
    low, high = interval(means)
    return f"{values.mean():.0f} [{low:.0f}, {high:.0f}]"


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "zoo:qa-0")
