"""The demo as the box was shipped with it: the words and trees that are computed now, a miss when
anything changed."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from core.models.zoo import zoo_folder
from core.runs.store import default_store
from core.text import parsing
from core.text.corpora import parse_corpus, read_corpus
from core.text.parsing import (
    parse_sentences,
    parse_words,
    tokenize_lines,
    words_key,
)
from core.text.pipelines import pipeline_fingerprint
from core.text.shipped import FILE, Shipped, shipped
from core.text.shipping import ship_demo
from tests import ROOT

FRESH = """
import sys
from core.text.corpora import parse_corpus, read_corpus
corpus = parse_corpus(read_corpus("demo"))
assert len(corpus.sentences) > 1_000 and corpus.has_heads
parse_corpus(read_corpus("demo-gold"))
sys.exit("spacy" in sys.modules)
"""


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A box with a demo of three lines, and the parser."""
    (tmp_path / "corpus").mkdir()
    shutil.copy(zoo_folder() / "corpus" / "demo-gold.conllu", tmp_path / "corpus")
    (tmp_path / "corpus" / "demo.txt").write_text(
        "news\tDogs bark.\nfiction\tIt's late.\nnews\tThe cat sat down.\n"
    )
    (tmp_path / "parser").symlink_to(zoo_folder() / "parser")
    monkeypatch.setenv("PALIMPSEST_ZOO", str(tmp_path))
    return tmp_path


def test_what_is_shipped_belongs_to_the_text_and_the_parser_in_the_box() -> None:
    rows = [
        line.split("\t")[1]
        for line in (zoo_folder() / "corpus" / "demo.txt").read_text("utf8").splitlines()
    ]
    assert shipped().cut == words_key(rows, split=False), (
        "run `python -m core zoo demo` and commit the file"
    )
    assert shipped().parser == pipeline_fingerprint(), (
        "run `python -m core zoo demo` and commit the file"
    )
    assert (zoo_folder() / FILE).stat().st_size < 2**20


def test_what_is_shipped_is_what_is_computed() -> None:
    corpus = read_corpus("demo", limit=40)
    assert [words for line in shipped().lines[:40] for words in line] == list(corpus.words)
    rows = [
        line.split("\t")[1]
        for line in (zoo_folder() / "corpus" / "demo.txt").read_text("utf8").splitlines()
    ]
    assert (
        tuple(words for line in rows[:40] for words in parsing.tokenize(line, split=False))
        == corpus.words
    )
    assert parse_sentences(corpus.words) == parse_words(corpus.words)
    assert default_store().info().entries == 0


@pytest.mark.slow
def test_the_demo_is_read_and_parsed_without_spacy() -> None:
    assert subprocess.run([sys.executable, "-c", FRESH], cwd=ROOT, check=False).returncode == 0


@pytest.mark.slow
def test_another_text_or_parser_is_a_miss(box: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = ship_demo()
    assert path == box / FILE
    lines = ["Dogs bark.", "It's late.", "The cat sat down."]
    monkeypatch.setattr(parsing, "tokenize", lambda text, split=True: [("cut", "now")])
    assert tokenize_lines(lines, split=False) == [
        [("Dogs", "bark", ".")],
        [("It", "'s", "late", ".")],
        shipped().lines[2],
    ]
    assert tokenize_lines([*lines[:2], "The cat sat up."], split=False) == [[("cut", "now")]] * 3
    assert tokenize_lines(lines) == [[("cut", "now")]] * 3
    known = parse_sentences([("Dogs", "bark", ".")])
    monkeypatch.setattr(
        parsing, "parse_words", lambda sentences, pipeline="box": known * len(sentences)
    )
    assert parse_sentences([("It", "'s", "late", ".")]) != known
    monkeypatch.setattr(parsing, "pipeline_fingerprint", lambda pipeline="box": "another parser")
    assert parse_sentences([("It", "'s", "late", ".")]) == known


@pytest.mark.slow
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no gzip",
        gzip.compress(b"{"),
        gzip.compress(b"[]"),
        gzip.compress(b'{"parses": [[1]]}'),
    ],
)
def test_a_file_that_is_damaged_or_missing_is_as_if_nothing_was_shipped(
    box: Path, content: bytes
) -> None:
    assert shipped() == Shipped()
    (box / FILE).write_bytes(content)
    assert shipped() == Shipped()
    assert parse_corpus(read_corpus("demo")).has_heads


@pytest.mark.slow
def test_the_file_is_plain_json_and_made_the_same_each_time(box: Path) -> None:
    first = ship_demo().read_bytes()
    assert ship_demo().read_bytes() == first
    assert set(json.loads(gzip.decompress(first))) == {"cut", "lines", "parser", "parses"}
