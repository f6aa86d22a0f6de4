"""Main clauses of parsed sentences: a verb, its auxiliaries, its dependents as runs of words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.text.conllu import Sentence

LEFT_OUT = frozenset(
    {"punct", "cc", "conj", "parataxis", "advcl", "discourse", "vocative", "dislocated", "mark"}
)  # labels of a verb's dependents that a question does without
NEGATIONS = frozenset({"not", "n't", "never", "no"})
FINITE = ("VBD", "VBZ", "VBP")
SUBJECTS = ("nsubj", "nsubj:pass")


@dataclass(frozen=True)
class Part:
    """A dependent of a verb, with all that depends on it; or the verb itself.

    Attributes:
        label: Dependency label, without its subtype; "verb" for the verb.
        head: Place of its head word.
        start: First place.
        stop: Place after its last.
    """

    label: str
    head: int
    start: int
    stop: int


@dataclass(frozen=True)
class Clause:
    """The main clause of a sentence, in the order of its words.

    Attributes:
        verb: Place of the verb.
        subject: Its subject.
        auxiliaries: Places of its auxiliaries, before the verb.
        parts: What follows the subject, auxiliaries left out: the verb, objects, adverbials.
        fronted: What stands before the subject; questions leave it out or ask for it.
    """

    verb: int
    subject: Part
    auxiliaries: tuple[int, ...]
    parts: tuple[Part, ...]
    fronted: tuple[Part, ...]

    def others(self, asked: Part) -> tuple[Part, ...]:
        """List the parts after the subject other than the one that is asked for."""
        return tuple(part for part in self.parts if part != asked)


def main_clause(sentence: Sentence) -> Clause | None:
    """Find the main clause of a statement; None where the sentence has none that rules can turn.

    The root is a finite verb after its subject, nothing is negated, and each dependent is one run
    of words.
    """
    heads, labels, upos = sentence.heads, sentence.deprel, sentence.upos
    if heads is None or labels is None or upos is None or sentence.words[-1] != ".":
        return None
    verb = heads.index(0)
    if upos[verb] != "VERB":
        return None
    children = [place for place, head in enumerate(heads) if head == verb + 1]
    if any(sentence.words[child].lower() in NEGATIONS for child in children):
        return None
    subjects = [child for child in children if labels[child] in SUBJECTS]
    runs = {child: _run(heads, child) for child in children}
    auxiliaries = tuple(child for child in children if labels[child] in ("aux", "aux:pass"))
    tag = sentence.xpos[verb] if sentence.xpos is not None else ""
    if not auxiliaries and tag not in FINITE:
        return None
    if len(subjects) != 1 or not all(subjects[0] < aux < verb for aux in auxiliaries):
        return None
    parts, fronted = [Part("verb", verb, verb, verb + 1)], list[Part]()
    for child in children:
        label = labels[child].partition(":")[0]
        if label in LEFT_OUT or child in subjects or child in auxiliaries:
            continue
        run = runs[child]
        if run is None or label in ("expl", "cop", "csubj", "reparandum"):
            return None
        (parts if child > subjects[0] else fronted).append(Part(label, child, *run))
    run = runs[subjects[0]]
    if run is None or run[1] > verb:
        return None
    subject = Part("nsubj", subjects[0], *run)
    parts.sort(key=lambda part: part.start)
    return Clause(verb, subject, auxiliaries, tuple(parts), tuple(fronted))


def _run(heads: Sequence[int], top: int) -> tuple[int, int] | None:
    """Find the run of words (start, stop) that depend on a word, itself included; None if they are
    not neighbours."""
    inside, before = {top}, 0
    while len(inside) > before:
        before = len(inside)
        inside |= {place for place, head in enumerate(heads) if head - 1 in inside}
    start, stop = min(inside), max(inside) + 1
    return (start, stop) if stop - start == len(inside) else None
