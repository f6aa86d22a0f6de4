"""Parsing: one root a sentence whatever comes in, and spaCy only when something is new."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import sys
import threading
import types
from pathlib import Path

import pytest
import spacy

from core.errors import CancelledError, CorpusError, ModelError
from core.maths.trees import validate_heads
from core.runs.process.remembered import forget_all
from core.runs.store import Store, default_store, using
from core.text import parsing
from core.text.corpora import is_punctuation, read_corpus
from core.text.parsing import (
    Parse,
    parse_sentences,
    tokenize,
    tokenize_lines,
)
from core.text.pipelines import available_pipelines, box_scores, pipeline_fingerprint
from tests import ROOT

STRANGE = [
    (),
    ("Word",),
    (".",),
    (" ",),
    ("\n", "a", "\t"),
    ("",),
    ("👩‍🚀", "🎉", "!"),
    ("שלום", "עולם", "."),
    ("مرحبا", "بالعالم"),
    ("<script>", "alert(1)", "</script>"),
    ("a\u0301", "\u200b", "\x07"),
    ("x" * 5000, "y"),
    ("10 000", "km"),
    tuple(f"word{i % 7}" for i in range(300)),
    ("the",) * 300,
    ("(", "(", ")", ".", ".", "."),
]


def install(package: Path, monkeypatch) -> None:
    """Let the folder look like an installed package."""
    about = package.parent / f"{package.name}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package.name}\nVersion: 1.0\n")
    monkeypatch.syspath_prepend(str(package.parent))


@pytest.mark.parametrize("words", STRANGE, ids=range(len(STRANGE)))
def test_whatever_the_words_are_the_answer_is_one_tree_over_them(words):
    [parse] = parse_sentences([words])
    assert len(parse.heads) == len(parse.upos) == len(parse.xpos) == len(parse.deprel) == len(words)
    assert all(isinstance(tag, str) and tag for tag in (*parse.upos, *parse.xpos, *parse.deprel))
    if words:
        validate_heads(parse.heads)
        assert parse.deprel[parse.heads.index(0)] == "root"
        assert parse.deprel.count("root") == 1


def test_a_plain_sentence_is_parsed_as_one_would_expect():
    [parse] = parse_sentences([("The", "cat", "does", "not", "see", "the", "dogs", ".")])
    assert parse.heads == (2, 5, 5, 5, 0, 7, 5, 5)
    assert parse.deprel == ("det", "nsubj", "aux", "advmod", "root", "det", "obj", "punct")
    assert parse.upos == ("DET", "NOUN", "AUX", "PART", "VERB", "DET", "NOUN", "PUNCT")
    assert parse.xpos == ("DT", "NN", "VBZ", "RB", "VB", "DT", "NNS", ".")


def test_the_parser_in_the_box_agrees_with_the_hand_checked_trees():
    gold = read_corpus("demo-gold").sentences
    parses = parse_sentences([sentence.words for sentence in gold])
    right = total = 0
    for sentence, parse in zip(gold, parses, strict=True):
        keep = ~is_punctuation(sentence)
        total += int(keep.sum())
        right += sum(sentence.heads[i] == parse.heads[i] for i in keep.nonzero()[0])
    assert right / total > 0.8
    assert box_scores()["uas"] > 85
    assert box_scores()["las"] > 80


def test_extra_roots_hang_under_the_first():
    import spacy
    from spacy.tokens import Doc

    words = ["Yes", "it", "rains"]
    doc = Doc(spacy.blank("en").vocab, words=words, heads=[0, 2, 2], deps=["ROOT", "nsubj", "ROOT"])
    assert parsing._one_tree(doc, {}) == Parse(
        (0, 3, 1), ("X",) * 3, ("_",) * 3, ("root", "nsubj", "parataxis")
    )


def test_order_and_repeats_are_kept_and_many_batches_equal_one_by_one():
    sentences = [(f"Dog{i}", "barks", ".") for i in range(5)] * 60
    together = parse_sentences(sentences)
    assert len(together) == 300
    assert together[0] == together[5] == parse_sentences([sentences[0]])[0]


@pytest.mark.slow
def test_what_was_parsed_and_cut_before_is_read_without_spacy():
    run = "import sys; from core.text.parsing import parse_sentences, tokenize_lines\n"
    run += "print(parse_sentences(tokenize_lines(['It rains. It pours.'])[0])); print('spacy' in sys.modules)"
    here = parse_sentences(tokenize_lines(["It rains. It pours."])[0])
    done = subprocess.run(
        [sys.executable, "-c", run], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [str(here), "False"]


def test_words_and_parses_go_into_the_store_of_the_run(tmp_path):
    mine = Store(tmp_path / "mine")
    with using(mine):
        parse_sentences(tokenize_lines(["Dogs bark loudly."])[0])
    assert mine.info().entries == 2
    assert default_store().info().entries == 0


@pytest.mark.slow
def test_threads_load_the_pipeline_once_and_agree(monkeypatch):
    import spacy

    loads = []
    load = spacy.load
    forget_all()
    monkeypatch.setattr(spacy, "load", lambda *a, **k: loads.append(a) or load(*a, **k))
    results: list[list[Parse]] = []
    threads = [
        threading.Thread(
            target=lambda i=i: results.append(parse_sentences([("Go", f"there{i % 2}", "!")] * 3))
        )
        for i in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loads) == 1
    assert len(results) == 6
    assert all(parse.heads == (0, 1, 1) for result in results for parse in result)


def test_text_becomes_sentences_of_words():
    assert tokenize("It's late. Don't go!\nStay\r\n\n") == [
        ("It", "'s", "late", "."),
        ("Do", "n't", "go", "!"),
        ("Stay",),
    ]
    assert tokenize("One. Two.", split=False) == [("One", ".", "Two", ".")]
    assert tokenize(" \n\t\n") == tokenize("") == []
    assert tokenize("Mr. Smith  left.") == [("Mr.", "Smith", "left", ".")]
    assert tokenize_lines(["Go on. Yes", "", "no"]) == [
        [("Go", "on", "."), ("Yes",)],
        [],
        [("no",)],
    ]
    assert tokenize_lines(["Go on. Yes"], split=False) == [[("Go", "on", ".", "Yes")]]


@pytest.mark.parametrize("mark", ["\u200f", "\u200e", "\u202c", "\u2069", "\ufeff", "\xad", "\x07"])
def test_a_mark_that_nobody_sees_changes_no_word(mark: str) -> None:
    words = [("The", "dog", "barked", "."), ("He", "left", ".")]
    assert tokenize(f"The {mark}dog barked.{mark} He left.{mark}") == words
    assert tokenize_lines([f"The dog{mark} barked{mark}. {mark}He left."]) == [words]
    assert tokenize(mark) == []


def test_marks_that_belong_to_a_word_stay_and_a_zero_width_space_ends_one() -> None:
    assert tokenize("می\u200cخواهم dogs\u200bbark") == [("می\u200cخواهم", "dogs", "bark")]


def test_a_line_longer_than_spacy_takes_is_cut():
    sentences = tokenize("word " * 110_000)
    assert sum(len(words) for words in sentences) == 110_000


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("(" * 9_000, "The text has 9,000 characters without a space, but at most 500"),
        ("fine\nalso " + ")" * 501, "Line 2 of the text has 501 characters without a space"),
        ("a " * 500_001, "The text has 1,000,002 characters, but at most 1,000,000"),
    ],
)
def test_what_would_hold_the_tokenizer_is_refused_before_it_sees_it(text, reason, monkeypatch):
    monkeypatch.setattr(parsing, "_blank", lambda: pytest.fail("the tokenizer was asked"))
    with pytest.raises(CorpusError, match=re.escape(reason)):
        tokenize(text)
    with pytest.raises(CorpusError, match=" characters"):
        tokenize_lines([text])


def test_the_longest_run_that_is_allowed_is_read():
    assert tokenize("(" * 500) == [("(",) * 500]


@pytest.mark.slow
def test_a_line_in_pieces_is_cut_as_spacy_cuts_it_whole():
    whole = spacy.blank("en")
    whole.add_pipe("sentencizer")
    rng = random.Random(3)
    parts = [
        "word",
        " ",
        "  ",
        "\t",
        ". ",
        "! ",
        "(",
        ")",
        "don't ",
        "Mr. ",
        "8 a.m. ",
        "...",
        "\xa0",
        "'s ",
        "5km ",
    ]
    for _ in range(30):
        line = "".join(
            rng.choice(parts) if rng.random() < 0.6 else " x" for _ in range(rng.randint(300, 900))
        )
        doc = whole(line)
        words = [tuple(token.text for token in part if not token.is_space) for part in doc.sents]
        assert tokenize(line) == [sentence for sentence in words if sentence]
        assert tokenize(line, split=False) == [
            tuple(word for sentence in words for word in sentence)
        ]


def test_the_tokenizer_is_given_small_pieces_and_let_go_between_them(monkeypatch):
    """It holds the interpreter for as long as a piece takes, which grows with the square of its
    longest run."""
    line, pieces, free = " ".join(f"{'=' * 490}{i}" for i in range(30)), [], []

    class Tokenizer:
        def __call__(self, piece):
            assert parsing._lock.locked()
            pieces.append(piece)
            return []

    blank = spacy.blank("en")
    blank.add_pipe("sentencizer")
    blank.tokenizer = Tokenizer()
    monkeypatch.setattr(parsing, "_blank", lambda: blank)
    monkeypatch.setattr(
        "core.maths.progress.tick",
        lambda fraction, note="": free.append(not parsing._lock.locked()),
    )
    tokenize(line)
    assert "".join(pieces) == line
    assert max(map(len, pieces)) <= 501
    assert free == [True] * len(pieces)


def test_cutting_a_long_line_can_be_cancelled(monkeypatch):
    heard = []

    def tick(fraction, note=""):
        heard.append(fraction)
        if len(heard) == 4:
            raise CancelledError

    monkeypatch.setattr("core.maths.progress.tick", tick)
    with pytest.raises(CancelledError):
        tokenize(
            " ".join(f"{'=' * 490}{i}" for i in range(900))
        )  # whole, it takes more than half a minute
    assert len(heard) == 4
    assert 0 < heard[-1] < 0.01


def test_pipelines_there_are(monkeypatch):
    names = ["en_core_web_sm", "de_core_news_sm", "en_core_web_sm"]
    entries = [types.SimpleNamespace(name=name) for name in names]
    monkeypatch.setattr(parsing.importlib.metadata, "entry_points", lambda group: entries)
    assert available_pipelines.__wrapped__() == ("box", "en_core_web_sm")


@pytest.mark.parametrize("name", ["", "../box", "de_core_news_sm", "/etc", "en_core_web_sm; rm"])
def test_other_names_are_no_parsers(name):
    with pytest.raises(ModelError, match="box"):
        parse_sentences([("a",)], name)


def test_a_pipeline_that_is_not_installed_says_how_to_install_it():
    with pytest.raises(ModelError, match="python -m spacy download en_core_web_xxl"):
        pipeline_fingerprint("en_core_web_xxl")


def test_an_empty_box_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("PALIMPSEST_ZOO", str(tmp_path))
    with pytest.raises(ModelError, match="make zoo"):
        parse_sentences([("a",)])
    assert box_scores() == {}
    (tmp_path / "parser").mkdir()
    (tmp_path / "parser" / "config.cfg").touch()  # without meta.json, as a copy that was cut short
    with pytest.raises(ModelError, match="missing or incomplete"):
        pipeline_fingerprint()


@pytest.mark.slow
def test_a_damaged_pipeline_is_named(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "zoo" / "parser", tmp_path / "parser")
    (tmp_path / "parser" / "parser" / "model").write_bytes(b"nonsense")
    monkeypatch.setenv("PALIMPSEST_ZOO", str(tmp_path))
    with pytest.raises(ModelError, match="could not be loaded"):
        parse_sentences([("a",)])


def test_the_fingerprint_follows_the_content_not_the_place(tmp_path, monkeypatch):
    here = pipeline_fingerprint()
    shutil.copytree(ROOT / "zoo" / "parser", tmp_path / "parser")
    monkeypatch.setenv("PALIMPSEST_ZOO", str(tmp_path))
    assert pipeline_fingerprint() == here
    monkeypatch.setenv("PALIMPSEST_ZOO", str(tmp_path / "moved"))
    shutil.copytree(tmp_path / "parser", tmp_path / "moved" / "parser")
    (tmp_path / "moved" / "parser" / "upos.json").write_text("{}")
    assert pipeline_fingerprint() != here


@pytest.mark.slow
def test_an_installed_pipeline_is_taken_with_its_own_upos(tmp_path, monkeypatch):
    package = tmp_path / "en_core_web_tiny"
    shutil.copytree(ROOT / "zoo" / "parser", package)
    (package / "upos.json").unlink()
    (package / "__init__.py").write_text(
        "from pathlib import Path\nfrom spacy.util import load_model_from_path\n"
        "def load(**given):\n    return load_model_from_path(Path(__file__).parent, **given)\n"
    )
    install(package, monkeypatch)
    [parse] = parse_sentences([("Dogs", "bark", ".")], "en_core_web_tiny")
    assert parse.heads == (2, 0, 2)
    assert parse.upos == ("X", "X", "X")


@pytest.mark.slow
def test_a_pipeline_without_a_parser_is_refused(tmp_path, monkeypatch):
    import spacy

    package = tmp_path / "en_core_web_bare"
    spacy.blank("en").to_disk(package)
    (package / "__init__.py").write_text(
        "import spacy\ndef load(**given):\n    return spacy.blank('en')\n"
    )
    install(package, monkeypatch)
    with pytest.raises(ModelError, match="en_core_web"):
        parse_sentences([("a",)], "en_core_web_bare")
