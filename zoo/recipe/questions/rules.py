"""Rules that turn a statement into questions: who and what of the subject, what and whom of the
object, where and when.

A question about the subject keeps the statement's order ("Who opened the door?"). The others put
the first auxiliary, or a form of *do*, before the subject ("What did the man open?"). The answer is
a phrase of the statement, with its preposition for places and times. No pronoun is an answer.

The rules know English word order and lists of words that name persons, places and times; what they
make is not what people ask, and the cards of models trained on it say so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from core.text.conllu import Sentence
from zoo.recipe.questions.clauses import Clause, Part, main_clause
from zoo.recipe.questions.vocabulary import NEAR_PLACES, PERSONS, PLACE_CASES, PLACES, TIMES, YEAR

Lemmas = Mapping[tuple[str, str], str]  # (form in lower case, XPOS) -> lemma
LONGEST_ANSWER, LONGEST_QUESTION = 10, 18  # words
DO = {"VBD": "did", "VBZ": "does", "VBP": "do"}


@dataclass(frozen=True)
class Question:
    """A question about one statement.

    Attributes:
        words: Its words, without the question mark.
        kind: "subject", "object", "place" or "time".
        start: Place of the answer's first word in the statement.
        stop: Place after its last.
    """

    words: tuple[str, ...]
    kind: str
    start: int
    stop: int


def ask(sentence: Sentence, lemmas: Lemmas) -> Iterator[Question]:
    """Make every question that the rules give for a statement; a verb that is not among the lemmas
    gives no question with *do*."""
    clause = main_clause(sentence)
    if clause is None:
        return
    asked: list[tuple[str, Part, tuple[str, ...] | None]] = []
    if _is_name_or_noun(sentence, clause.subject):
        asked.append(("subject", clause.subject, _of_subject(sentence, clause)))
    for part in (*clause.fronted, *clause.parts):
        kind, word = _kind(sentence, part)
        if kind:
            asked.append((kind, part, _of_part(sentence, clause, part, word, lemmas)))
    for kind, part, words in asked:
        if words and len(words) <= LONGEST_QUESTION and part.stop - part.start <= LONGEST_ANSWER:
            yield Question(words, kind, *_without_marks(sentence, part))


def _kind(sentence: Sentence, part: Part) -> tuple[str, str]:
    """Say what a part answers, and by which question word; ("", "") if by none."""
    head = sentence.words[part.head].lower()
    if part.label == "obj" and _is_name_or_noun(sentence, part):
        return "object", "whom" if _is_person(sentence, part.head) else "what"
    if part.label != "obl":
        return "", ""
    if head in TIMES or YEAR.fullmatch(head):
        return "time", "when"
    first, tag = sentence.words[part.start].lower(), _tag(sentence, part.head)
    sure = first in NEAR_PLACES and tag == "NOUN"
    if (
        first in PLACE_CASES
        and part.stop - part.start > 1
        and (sure or tag == "PROPN" or head in PLACES)
    ):
        return "place", "where"
    return "", ""


def _of_subject(sentence: Sentence, clause: Clause) -> tuple[str, ...] | None:
    """Make "who opened the door": the question word, then the statement without its subject."""
    word = "who" if _is_person(sentence, clause.subject.head) else "what"
    places = sorted([*clause.auxiliaries, *_places(clause.parts)])
    if len(clause.parts) < 2:
        return None  # "who came" has many answers
    return (word, *(sentence.words[place] for place in places))


def _of_part(
    sentence: Sentence, clause: Clause, asked: Part, word: str, lemmas: Lemmas
) -> tuple[str, ...] | None:
    """Make "what did the man open": question word, auxiliary, subject, and what is left of the
    statement."""
    words, verb = sentence.words, clause.verb
    subject = [
        _lowered(sentence, place) for place in range(clause.subject.start, clause.subject.stop)
    ]
    left = sorted([*clause.auxiliaries[1:], *_places(clause.others(asked))])
    rest = {place: words[place] for place in left}
    if clause.auxiliaries:
        first = words[clause.auxiliaries[0]].lower()
    else:
        tag = sentence.xpos[verb] if sentence.xpos is not None else ""
        lemma = lemmas.get((words[verb].lower(), tag))
        if tag not in DO or lemma is None:
            return None
        first, rest[verb] = DO[tag], lemma
    if first.startswith("'"):
        return None  # a short form cannot stand before the subject
    return (word, first, *subject, *(rest[place] for place in left))


def _without_marks(sentence: Sentence, part: Part) -> tuple[int, int]:
    """Return the run of a part's words without punctuation at either end."""
    inside = [place for place in range(part.start, part.stop) if _tag(sentence, place) != "PUNCT"]
    return inside[0], inside[-1] + 1


def _places(parts: tuple[Part, ...]) -> list[int]:
    return [place for part in parts for place in range(part.start, part.stop)]


def _lowered(sentence: Sentence, place: int) -> str:
    """Return the word as it is written within a sentence."""
    word = sentence.words[place]
    keep = place or word == "I" or _tag(sentence, place) == "PROPN"
    return word if keep else word.lower()


def _tag(sentence: Sentence, place: int) -> str:
    return sentence.upos[place] if sentence.upos is not None else ""


def _is_name_or_noun(sentence: Sentence, part: Part) -> bool:
    return _tag(sentence, part.head) in ("PROPN", "NOUN")


def _is_person(sentence: Sentence, place: int) -> bool:
    word = sentence.words[place].lower()
    return word in PERSONS or (_tag(sentence, place) == "PROPN" and word not in PLACES)
