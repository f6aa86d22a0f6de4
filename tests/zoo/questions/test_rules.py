"""Questions of hand-parsed statements, word by word."""

from __future__ import annotations

import pytest

from core.text.conllu import Sentence, read_conllu
from zoo.recipe.questions.clauses import main_clause
from zoo.recipe.questions.rules import ask

LEMMAS = {("opened", "VBD"): "open", ("opens", "VBZ"): "open", ("saw", "VBD"): "see"}


def parse(rows: str) -> Sentence:
    """A sentence of rows `word upos xpos head label`."""
    lines = []
    for number, row in enumerate(filter(None, rows.strip().splitlines()), start=1):
        word, upos, xpos, head, label = row.split()
        columns = [str(number), word, "_", upos, xpos, "_", head, label, "_", "_"]
        lines.append("\t".join(columns))
    (sentence,) = read_conllu([*lines, ""], "made up")
    return sentence


OPENED = """
Yesterday NOUN NN 4 obl:unmarked
the DET DT 3 det
man NOUN NN 4 nsubj
opened VERB VBD 0 root
the DET DT 6 det
door NOUN NN 4 obj
in ADP IN 9 case
the DET DT 9 det
garden NOUN NN 4 obl
. PUNCT . 4 punct
"""
WILL_SEE = """
She PRON PRP 3 nsubj
will AUX MD 3 aux
see VERB VB 0 root
Ann PROPN NNP 3 obj
in ADP IN 6 case
1914 NUM CD 3 obl
. PUNCT . 3 punct
"""
PASSIVE = """
The DET DT 2 det
wolves NOUN NNS 4 nsubj:pass
were AUX VBD 4 aux:pass
killed VERB VBN 0 root
near ADP IN 7 case
the DET DT 7 det
lake NOUN NN 4 obl
. PUNCT . 4 punct
"""


def asked(rows: str) -> dict[str, tuple[str, str]]:
    """Kind -> (question, answer)."""
    sentence = parse(rows)
    return {
        question.kind: (
            " ".join(question.words),
            " ".join(sentence.words[question.start : question.stop]),
        )
        for question in ask(sentence, LEMMAS)
    }


def test_a_verb_without_auxiliary_asks_with_do_and_a_fronted_time_is_left_out() -> None:
    assert asked(OPENED) == {
        "subject": ("who opened the door in the garden", "the man"),
        "object": ("what did the man open in the garden", "the door"),
        "place": ("where did the man open the door", "in the garden"),
        "time": ("when did the man open the door in the garden", "Yesterday"),
    }


def test_an_answer_does_not_end_in_a_comma() -> None:
    rows = OPENED.replace("Yesterday NOUN NN 4", "Yesterday NOUN NN 5")
    shifted = [row.split() for row in rows.strip().splitlines()]
    for row in shifted[1:]:
        row[3] = str(int(row[3]) + (int(row[3]) > 0))
    lines = [" ".join(row) for row in shifted]
    with_comma = "\n".join([lines[0], ", PUNCT , 1 punct", *lines[1:]])
    assert asked(with_comma) == asked(OPENED)


def test_the_first_auxiliary_comes_before_the_subject_and_no_pronoun_is_an_answer() -> None:
    assert asked(WILL_SEE) == {
        "object": ("whom will she see in 1914", "Ann"),
        "time": ("when will she see Ann", "in 1914"),
    }


def test_a_passive_keeps_its_auxiliaries() -> None:
    assert asked(PASSIVE) == {
        "subject": ("what were killed near the lake", "The wolves"),
        "place": ("where were the wolves killed", "near the lake"),
    }


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("opened VERB VBD 0 root", "opening VERB VBG 0 root"),  # no finite verb
        (". PUNCT . 4 punct", "? PUNCT . 4 punct"),  # no statement
        ("the DET DT 6 det", "never ADV RB 4 advmod"),  # negated
        ("man NOUN NN 4 nsubj", "man NOUN NN 4 vocative"),  # no subject
        ("in ADP IN 9 case", "in ADP IN 3 case"),  # the subject is not one run of words
        ("opened VERB VBD 0 root", "open ADJ JJ 0 root"),
    ],
)
def test_what_the_rules_cannot_turn_gives_no_question(before: str, after: str) -> None:
    assert before in OPENED
    rows = OPENED.replace(before, after)
    assert main_clause(parse(OPENED)) is not None
    assert main_clause(parse(rows)) is None
    assert asked(rows) == {}


def test_a_verb_of_unknown_lemma_is_asked_about_its_subject_alone() -> None:
    assert set(asked(OPENED.replace("opened", "unlocked"))) == {"subject"}


def test_a_bare_verb_has_too_many_subjects_to_ask_for_one() -> None:
    rows = "Bob PROPN NNP 2 nsubj\nslept VERB VBD 0 root\n. PUNCT . 2 punct"
    assert asked(rows) == {}
