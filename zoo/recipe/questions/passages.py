"""Passages of three sentences, their questions with character offsets, and the nearest name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from core.text.conllu import Sentence
from zoo.recipe.questions.rules import Lemmas, Question, ask
from zoo.recipe.questions.vocabulary import FUNCTION_WORDS
from zoo.recipe.tasks import Example

SHORTEST, LONGEST = 5, 40  # words of a sentence that is asked about
LONGEST_PASSAGE = 90  # words
CLOSING = re.compile(r"[.,;:!?)\]%]+|''|'|n't|'(s|re|ve|ll|d|m)", re.IGNORECASE)
OPENING = re.compile(r"[(\[$]|``")
WORD = re.compile(r"\w+(?:['’]\w+)?")


def write_sentence(words: Sequence[str]) -> tuple[str, list[tuple[int, int]]]:
    """Write words as running text, with (start, stop) of each word in it."""
    text, places = "", []
    open_before = True
    for word in words:
        if text and not open_before and not CLOSING.fullmatch(word):
            text += " "
        places.append((len(text), len(text) + len(word)))
        text += word
        open_before = bool(OPENING.fullmatch(word))
    return text, places


def make_examples(document: Sequence[Sentence], lemmas: Lemmas) -> Iterator[tuple[str, Example]]:
    """Make (kind, example) of every question about the sentences of one document.

    The passage is the sentence that is asked about with the one before and the one after it.
    """
    for place, sentence in enumerate(document):
        if not SHORTEST <= len(sentence.words) <= LONGEST:
            continue
        around = document[max(0, place - 1) : place + 2]
        if sum(len(each.words) for each in around) > LONGEST_PASSAGE:
            continue
        written = [write_sentence(each.words) for each in around]
        passage = " ".join(text for text, _ in written)
        before = sum(len(text) + 1 for text, _ in written[: min(place, 1)])
        offsets = written[min(place, 1)][1]
        for question in ask(sentence, lemmas):
            yield question.kind, _example(question, passage, before, offsets)


def _example(
    question: Question, passage: str, before: int, offsets: Sequence[tuple[int, int]]
) -> Example:
    start, stop = before + offsets[question.start][0], before + offsets[question.stop - 1][1]
    text = write_sentence(question.words)[0]
    return Example(
        text[:1].upper() + text[1:] + "?",
        passage,
        answers=(passage[start:stop],),
        starts=(start,),
    )


def nearest_name(question: str, passage: str) -> str:
    """Pick the name or number nearest to the words that the passage shares with the question: the
    baseline of the readers.

    The nearest has the largest sum of 1 / distance in words. A name is a run of capitalised words,
    but not one word that begins a sentence. Names that the question mentions are left out; where no
    other is left, the nearest word that is not in the question answers. Function words never count.
    """
    asked = {word.lower() for word in WORD.findall(question)} - FUNCTION_WORDS
    matches = list(WORD.finditer(passage))
    words = [match.group().lower() for match in matches]
    shared = [place for place, word in enumerate(words) if word in asked]
    if not matches:
        return ""
    runs = [run for run in _names(passage, matches) if not asked & set(words[run[0] : run[1]])]
    if not runs:
        free = asked | FUNCTION_WORDS
        runs = [(place, place + 1) for place, word in enumerate(words) if word not in free]
    if not runs:
        return ""
    first, stop = min(runs, key=lambda run: sum(_distance(run, place) for place in shared))
    return passage[matches[first].start() : matches[stop - 1].end()]


def _distance(run: tuple[int, int], place: int) -> float:
    """Count the words between a run and a word, as a closeness: near words count most."""
    away = max(run[0] - place, place - run[1] + 1, 1)
    return -1.0 / away


def _names(passage: str, matches: Sequence[re.Match[str]]) -> list[tuple[int, int]]:
    """List runs of capitalised words and numbers (start, stop), in words."""
    runs: list[tuple[int, int]] = []
    for place, match in enumerate(matches):
        word = match.group()
        if not (word[0].isupper() or word[0].isdigit()) or word.lower() in FUNCTION_WORDS:
            continue
        joined = place and passage[matches[place - 1].end() : match.start()] == " "
        if joined and runs and runs[-1][1] == place:
            runs[-1] = (runs[-1][0], place + 1)
        else:
            runs.append((place, place + 1))
    return [run for run in runs if not _begins(passage, matches, run)]


def _begins(passage: str, matches: Sequence[re.Match[str]], run: tuple[int, int]) -> bool:
    """Whether a run is a single word that begins a sentence, which says nothing of names."""
    before = passage[: matches[run[0]].start()].rstrip()
    single = run[1] - run[0] == 1 and not matches[run[0]].group()[0].isdigit()
    return single and (not before or before[-1] in ".?!")


def documents(sentences: Iterable[Sentence]) -> Iterator[list[Sentence]]:
    """Group a treebank's sentences by document, which the identifiers name before their last
    hyphen."""
    group: list[Sentence] = []
    name = None
    for sentence in sentences:
        title = sentence.identifier.rpartition("-")[0]
        if group and title != name:
            yield group
            group = []
        group.append(sentence)
        name = title
    if group:
        yield group
