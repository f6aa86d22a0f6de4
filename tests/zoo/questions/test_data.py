"""Passages with offsets that hold the answer, the nearest name by hand, and files made once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.errors import RecipeError
from core.text.conllu import Sentence
from tests.zoo.made_up import write_treebank
from zoo.recipe.questions import data
from zoo.recipe.questions.passages import documents, make_examples, nearest_name, write_sentence
from zoo.recipe.scores import majority_baseline, score_answer

PASSAGE = "Anna went home. Then Bob Miller saw the old king in Rome. It rained."


def test_words_are_written_as_running_text_with_their_places() -> None:
    words = ("He", "did", "n't", "see", "``", "it", "''", "(", "here", ")", ".")
    text, places = write_sentence(words)
    assert text == "He didn't see ``it'' (here)."
    assert [text[start:stop] for start, stop in places] == list(words)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who saw the old king?", "Bob Miller"),  # nearer than Rome; Anna begins a sentence
        ("Where did Bob Miller see the king?", "Rome"),
        ("What rained?", "Rome"),
        (
            "What did Bob Miller of Rome do?",
            "saw",
        ),  # no other name: 1/2 + 1 + 1/5, most of all words
    ],
)
def test_the_nearest_name_is_the_one_next_to_the_questions_words(
    question: str, answer: str
) -> None:
    assert nearest_name(question, PASSAGE) == answer


def test_a_passage_without_words_has_no_name() -> None:
    assert nearest_name("Who?", "") == ""
    assert nearest_name("Who saw it?", "it was so") == ""


@pytest.mark.parametrize(
    ("given", "answers", "exact", "f1"),
    [
        ("The old man.", ("old man",), 1, 1),
        ("in the garden", ("the garden",), 0, 2 / 3),  # garden of in, garden: 2 * .5 * 1 / 1.5
        ("a red, red rose", ("red rose",), 0, 0.8),  # one red counts: 2 * (2/3) * 1 / (5/3)
        ("Rome", ("Paris", "in Rome"), 0, 2 / 3),  # the best of the answers
        ("", ("Rome",), 0, 0),
        ("", (), 1, 1),
    ],
)
def test_answers_are_scored_as_squad_does(
    given: str, answers: tuple[str, ...], exact: float, f1: float
) -> None:
    assert score_answer(given, answers) == (exact, pytest.approx(f1))


def statement(name: str, identifier: str) -> Sentence:
    """`NAME saw the dog .`"""
    return Sentence(
        (name, "saw", "the", "dog", "today", "."),
        (2, 0, 4, 2, 2, 2),
        upos=("PROPN", "VERB", "DET", "NOUN", "NOUN", "PUNCT"),
        xpos=("NNP", "VBD", "DT", "NN", "NN", "."),
        identifier=identifier,
        deprel=("nsubj", "root", "det", "obj", "obl:unmarked", "punct"),
    )


def test_a_passage_is_three_sentences_of_one_document_and_holds_the_answer_at_its_start() -> None:
    names = [("Ann", "a-1"), ("Bo", "a-2"), ("Cy", "a-3"), ("Di", "a-4"), ("Ed", "b-1")]
    first, second = documents(statement(*name) for name in names)
    assert [sentence.words[0] for sentence in first] == ["Ann", "Bo", "Cy", "Di"]
    assert len(second) == 1
    made = list(make_examples(first, {("saw", "VBD"): "see"}))
    assert len(made) == 12
    for _, example in made:
        start = example.starts[0]
        assert example.pair is not None
        assert example.pair[start : start + len(example.answers[0])] == example.answers[0]
    told = {example.text: example for _, example in made}
    passage = told["What did Cy see today?"].pair
    assert passage == "Bo saw the dog today. Cy saw the dog today. Di saw the dog today."
    third = len("Bo saw the dog today. Cy saw ")
    assert told["What did Cy see today?"].starts == (third,)
    assert told["What did Ann see today?"].starts == (len("Ann saw "),)


@pytest.mark.slow
def test_questions_of_treebank_and_text_are_written_once_and_none_is_in_both_parts(
    tmp_path: Path,
) -> None:
    treebank = write_treebank(tmp_path / "trees")
    text = [f"The farmer saw {number} horses in the garden." for number in range(60)]
    note = data.write_questions(treebank, text, tmp_path / "q", {"train": 40, "test": 9})
    task = data.read_questions(tmp_path / "q", "made-up text", "none")
    assert (task.name, task.kind) == ("qa", "span")
    assert task.data.endswith("made-up text")
    assert 0 < len(task.test) <= 9
    assert len(task.train) == 40
    assert sum(note["train"].values()) == 40
    assert {"treebank, object", "text, subject"} <= set(note["train"])
    keys = [
        {(e.text.lower(), e.answers[0].lower()) for e in part} for part in (task.train, task.test)
    ]
    assert not keys[0] & keys[1]
    assert len(keys[0]) == 40
    assert majority_baseline(task)["answer"] == "nearest name"


def test_missing_and_damaged_questions_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="run the stage again"):
        data.read_questions(tmp_path, "", "")
    row = {"question": "Who?", "context": "Ann.", "answers": {"text": ["Ann"], "answer_start": [0]}}
    (tmp_path / "train.jsonl").write_text(json.dumps(row) + "\n")
    (tmp_path / "test.jsonl").write_text("{half")
    with pytest.raises(RecipeError, match=r"test\.jsonl cannot be read"):
        data.read_questions(tmp_path, "", "")
    with pytest.raises(RecipeError, match="could not be written"):
        data._write(tmp_path / "train.jsonl" / "x", [])
    (tmp_path / "bad.conllu").write_bytes(b"\xff\xfe")
    with pytest.raises(RecipeError, match="could not be read"):
        data.read_lemmas(tmp_path / "bad.conllu")
