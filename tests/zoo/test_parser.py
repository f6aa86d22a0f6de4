"""The parser's recipe on the sixty gold sentences: it trains, resumes, and says what is wrong."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import pytest

from core.errors import RecipeError
from core.maths.trees import validate_heads
from core.text.conllu import Sentence
from core.text.parsing import parse_sentences
from tests import ROOT
from zoo.recipe import parser
from zoo.recipe.parser import ParserTraining, train_parser
from zoo.recipe.treebank import read_treebank, upos_table

GOLD = ROOT / "zoo" / "corpus" / "demo-gold.conllu"
TINY = ParserTraining(
    steps=6, width=16, depth=1, rows=(50, 50, 50, 50), evaluate_every=3, dev_sentences=10
)


def test_a_tiny_training_makes_a_pipeline_that_parses(tmp_path, monkeypatch):
    lines: list[str] = []
    scores = train_parser(GOLD, GOLD, tmp_path / "work", tmp_path / "parser", TINY, lines.append)
    assert json.loads((tmp_path / "parser" / "scores.json").read_text()) == json.loads(
        json.dumps(scores)
    )
    assert {"uas", "las", "tag_accuracy", "step", "settings", "train_sentences"} <= set(scores)
    assert scores["train_sentences"] == 60
    assert scores["dev_sentences"] == 10
    assert [line.split(":")[0] for line in lines] == ["step 3 of 6", "step 6 of 6"]
    monkeypatch.setenv("PALIMPSEST_ZOO", str(tmp_path))
    [parse] = parse_sentences([("The", "bridge", "reopened", ".")])
    validate_heads(parse.heads)


@pytest.mark.exhaustive
def test_an_interrupted_training_resumes_where_it_stopped(tmp_path):
    def interrupt(line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_parser(GOLD, GOLD, tmp_path / "work", tmp_path / "parser", TINY, interrupt)
    assert not (tmp_path / "parser").exists()
    lines: list[str] = []
    train_parser(GOLD, GOLD, tmp_path / "work", tmp_path / "parser", TINY, lines.append)
    assert [line.split(":")[0] for line in lines] == ["step 6 of 6"]
    train_parser(
        GOLD, GOLD, tmp_path / "work", tmp_path / "parser", replace(TINY, steps=9), lines.append
    )
    assert lines[-1].startswith("step 9 of 9")
    with pytest.raises(RecipeError, match="other settings"):
        train_parser(GOLD, GOLD, tmp_path / "work", tmp_path / "parser", replace(TINY, seed=1))


def test_batches_are_a_function_of_the_settings_and_never_run_dry():
    few = read_treebank(GOLD, 2)
    stream = parser._batches(few, TINY)
    assert [sorted(s.identifier for s in next(stream)) for _ in range(3)] == [
        [s.identifier for s in few]
    ] * 3
    many = read_treebank(GOLD)
    first, second = parser._batches(many, TINY), parser._batches(many, TINY)
    for _ in range(30):
        batch = next(first)
        assert batch == next(second)
        assert 0 < sum(len(s.words) for s in batch) < 200


def test_upos_is_the_commonest_by_tag_label_and_word():
    words = ("a", "a", "a", "b", "not", "not", "not", "once")
    upos = ("ADV", "ADV", "ADV", "ADV", "PART", "PART", "PART", "NOUN")
    sentence = Sentence(words, upos=upos, xpos=("RB",) * 8, deprel=("x",) * 7 + ("y",))
    assert upos_table([sentence]) == {"RB": "ADV", "RB y": "NOUN", "RB x not": "PART"}


def test_treebanks_that_cannot_teach_a_parser(tmp_path):
    with pytest.raises(RecipeError, match="No treebank at"):
        train_parser(tmp_path / "none.conllu", GOLD, tmp_path / "w", tmp_path / "o")
    bare = "1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n"
    (tmp_path / "bare.conllu").write_text(bare)
    with pytest.raises(RecipeError, match="lacks heads, labels or XPOS"):
        read_treebank(tmp_path / "bare.conllu")
    (tmp_path / "bad.conllu").write_text("nonsense\n")
    with pytest.raises(RecipeError, match=r"bad\.conllu, line 1"):
        read_treebank(tmp_path / "bad.conllu")
    (tmp_path / "cut.conllu.gz").write_bytes(gzip.compress(GOLD.read_bytes())[:-50])
    with pytest.raises(RecipeError, match="could not be read"):
        read_treebank(tmp_path / "cut.conllu.gz")


def test_a_full_disk_is_one_sentence(tmp_path, monkeypatch):
    def full(*arguments, **named):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(parser, "_train", full)
    with pytest.raises(RecipeError, match="Free some space and run again"):
        train_parser(GOLD, GOLD, tmp_path / "w", tmp_path / "o", TINY)
