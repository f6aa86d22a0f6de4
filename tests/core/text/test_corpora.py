"""Corpora: the box's own, files, uploads and hub data sets, and a sentence for each way to be
refused."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from core.errors import CorpusError
from core.text import datasets as hub_text
from core.text import parsing, sources
from core.text.conllu import NO_HEADS
from core.text.corpora import (
    FORMS,
    GENRES,
    Corpus,
    Sentence,
    corpus_from_bytes,
    corpus_problem,
    left_out_notice,
    parse_corpus,
    read_corpus,
)
from core.text.datasets import FORM, HubText, parse_hub_ref
from tests import ROOT

TREE = (
    "# genre = "
    "news\n1\tDogs\t_\tNOUN\tNNS\t_\t2\tnsubj\t_\t_\n2\tbark\t_\tVERB\tVBP\t_\t0\troot\t_\t_\n\n"
)
BARE = "1\tDogs\t_\t_\t_\t_\t_\t_\t_\t_\n2\tbark\t_\t_\t_\t_\t_\t_\t_\t_\n\n"


@pytest.fixture
def cut_at_spaces(monkeypatch):
    """Words are what stands between blanks, so that a test needs no spaCy."""

    def tokenize_lines(lines, split=True, store=None):
        return [
            [tuple(part.split()) for part in (line.split(" / ") if split else [line])]
            for line in lines
        ]

    monkeypatch.setattr(parsing, "tokenize_lines", tokenize_lines)


@pytest.fixture
def read_here(monkeypatch):
    """Data sets are read in this process, where a test can put others in their place."""
    monkeypatch.setattr(hub_text, "rows_apart", hub_text.read_rows)


def refused(function, *arguments, **named) -> str:
    with pytest.raises(CorpusError) as caught:
        function(*arguments, **named)
    return str(caught.value)


# The demo corpus


def test_the_demo_corpus_is_what_it_promises():
    rows = [
        line.split("\t")
        for line in (ROOT / "zoo/corpus/demo.txt").read_text(encoding="utf8").splitlines()
    ]
    assert len(rows) >= 1200
    assert {genre for genre, _ in rows} == set(GENRES)
    assert len({" ".join(text.lower().split()) for _, text in rows}) == len(rows)
    assert all(4 <= len(text.split()) <= 40 for _, text in rows)
    assert "CC0" in (ROOT / "zoo/corpus/LICENSE.txt").read_text(encoding="utf8")


def test_demo_gives_words_and_genres_in_turn():
    corpus = read_corpus("demo", limit=20)
    assert corpus.ref == "demo"
    assert [sentence.genre for sentence in corpus.sentences] == list(GENRES) * 2
    assert corpus.sentences[0].words == ("The", "bridge", "reopened", "on", "Monday", ".")
    assert not corpus.has_heads
    assert corpus.notices == ()
    assert len(read_corpus("demo").sentences) >= 1200


def test_genres_narrow_the_demo_from_either_side():
    assert {s.genre for s in read_corpus("demo:fiction,news", limit=50).sentences} == {
        "fiction",
        "news",
    }
    assert {s.genre for s in read_corpus("demo", limit=50, genres=["legal"]).sentences} == {"legal"}
    assert {
        s.genre for s in read_corpus("demo:legal,news", limit=9, genres=["news"]).sentences
    } == {"news"}
    apart = refused(read_corpus, "demo:legal", genres=["news"])
    assert all(genre in apart for genre in ("legal", "news"))
    unknown = refused(read_corpus, "demo:poetry")
    assert all(genre in unknown for genre in ("poetry", *GENRES))


@pytest.mark.slow
def test_a_second_reading_of_the_demo_needs_no_spacy():
    first = read_corpus("demo", limit=30)
    run = "import sys; from core.text.corpora import read_corpus\n"
    run += "print(read_corpus('demo', limit=30).fingerprint); print('spacy' in sys.modules, 'torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", run], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [first.fingerprint, "False", "False"]


def test_demo_gold_has_trees_tags_and_genres():
    corpus = read_corpus("demo-gold")
    assert len(corpus.sentences) == 60
    assert corpus.has_heads
    assert all(
        s.genre in GENRES and s.xpos and s.upos and s.deprel and s.identifier
        for s in corpus.sentences
    )
    texts = {
        line.split("\t")[1]
        for line in (ROOT / "zoo/corpus/demo.txt").read_text(encoding="utf8").splitlines()
    }
    gold = (ROOT / "zoo/corpus/demo-gold.conllu").read_text(encoding="utf8").splitlines()
    named = [line.removeprefix("# text = ") for line in gold if line.startswith("# text = ")]
    assert len(named) == 60
    assert texts.issuperset(named)
    assert [s.words for s in corpus.sentences] == [
        parsing.tokenize(text, split=False)[0] for text in named
    ]


def test_a_box_without_its_corpus_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PALIMPSEST_ZOO", str(tmp_path))
    assert "git checkout -- zoo/corpus" in refused(read_corpus, "demo")
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "demo.txt").write_text("news\tAll well here.\nno tab\n")
    assert "demo.txt, sentence 2" in refused(read_corpus, "demo")


# Files


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "A.TXT"])
def test_text_files(tmp_path, cut_at_spaces, name):
    data = "\ufeffone two / three\r\n\r\nfour".encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    corpus = read_corpus(str(tmp_path / name))
    assert [s.words for s in corpus.sentences] == [("one", "two"), ("three",), ("four",)]
    assert corpus.words == corpus_from_bytes(name, (tmp_path / name).read_bytes()).words


@pytest.mark.parametrize("name", ["a.conllu", "a.conllu.gz"])
def test_conllu_files(tmp_path, name):
    data = (TREE * 3).encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    corpus = read_corpus(str(tmp_path / name), limit=2, genres=["news"])
    assert [s.heads for s in corpus.sentences] == [(2, 0)] * 2
    assert corpus.has_heads
    assert corpus.notices == ()


def test_conllu_without_heads_is_read_with_a_notice():
    corpus = corpus_from_bytes("bare.conllu", BARE.encode())
    assert not corpus.has_heads
    assert corpus.notices == (NO_HEADS.format(name="upload:bare.conllu"),)


def test_a_file_is_read_only_as_far_as_needed(tmp_path):
    path = tmp_path / "long.conllu"
    path.write_text(TREE * 2 + "nonsense\n")
    assert len(read_corpus(str(path), limit=1).sentences) == 1
    assert "long.conllu, line 9: " in refused(read_corpus, str(path))


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.txt", b"fine\nca\xe9\n", "a.txt, line 2: byte 3 of the line is not UTF-8"),
        ("a.conllu", b"GIF89a\n\0\0", "line 1: this is not text"),
        ("a.txt", "text".encode("utf-16"), "line 1: this is not text"),
        ("a.txt", b"", "holds no sentence"),
        ("a.conllu", b"", "holds no sentence"),
        ("a.txt", b" \n\t\n", "holds no sentence"),
        ("a.txt.gz", b"no gzip", "not a whole gzip file"),
        ("a.txt.gz", gzip.compress(b"word " * 999)[:-9], "not a whole gzip file"),
        ("a.conllu", TREE.replace("\t2\t", "\t0\t").encode(), "a.conllu, line 3: "),
        ("a.pdf", b"%PDF", "ends in .txt or .conllu"),
        ("../../x.conllu", b"1\n", "x.conllu, line 1: 1 columns"),
    ],
)
def test_files_that_are_not_what_they_say(name, data, reason, cut_at_spaces):
    message = refused(corpus_from_bytes, name, data)
    assert reason in message
    assert ".." not in message


def test_a_line_without_end_is_refused(monkeypatch):
    monkeypatch.setattr(sources, "LONGEST_LINE", 1000)
    assert "line 1 is longer than 1,000 bytes: break it" in refused(
        corpus_from_bytes, "a.txt", b"x" * 5000
    )


def test_brackets_that_would_hold_the_tokenizer_are_refused_by_line(monkeypatch):
    cut = []
    monkeypatch.setattr(
        "core.text.parsing._sentences", lambda line, split: cut.append(line) or [("fine",)]
    )
    message = refused(corpus_from_bytes, "a.txt", b"fine\n\n" + b"(" * 9_000 + b"\n")
    assert message.startswith("a.txt, line 3 has 9,000 characters without a space")
    assert not any("(" in line for line in cut), "the tokenizer never sees them"


def test_paths_that_cannot_be_read(tmp_path, monkeypatch):
    assert "There is no file" in refused(read_corpus, str(tmp_path / "none.txt"))
    (tmp_path / "folder.txt").mkdir()
    assert "There is no file" in refused(read_corpus, str(tmp_path / "folder.txt"))
    (tmp_path / "a.txt").write_text("a")

    def locked(*arguments, **named):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", locked)
    assert "cannot be read: Permission denied" in refused(read_corpus, str(tmp_path / "a.txt"))


@pytest.mark.parametrize("ref", ["", "demos", "a.docx", "zoo:seed-0", "hubs:x"])
def test_other_references_are_no_corpora(ref):
    message = refused(read_corpus, ref)
    assert repr(ref) in message
    assert FORMS in message


# Limits


def test_limits_of_sentences_words_and_bytes(tmp_path, cut_at_spaces, monkeypatch):
    (tmp_path / "a.txt").write_text("one two\n" * 1200)
    assert "at least 1" in refused(read_corpus, str(tmp_path / "a.txt"), limit=0)
    assert len(read_corpus(str(tmp_path / "a.txt"), limit=1200).sentences) == 1200
    monkeypatch.setenv("PALIMPSEST_MODE", "shared")
    assert "shared instance" in refused(read_corpus, str(tmp_path / "a.txt"))
    capped = corpus_from_bytes("a.txt", b"one two\n" * 1200)
    assert len(capped.sentences) == 1000
    assert "first 1,000 sentences" in capped.notices[0]
    wordy = corpus_from_bytes("a.txt", (b"word " * 400 + b"\n") * 100)
    assert len(wordy.sentences) == 62
    assert "first 62 sentences (25,000 words)" in wordy.notices[0]
    assert "2 MB" in refused(corpus_from_bytes, "a.txt", b"x" * (2**21 + 1))
    assert "2 MB" in refused(
        corpus_from_bytes, "a.txt.gz", gzip.compress((b" " * 2000 + b"\n") * 2**11)
    )


def test_sentences_that_are_too_long_are_left_out_with_a_notice(cut_at_spaces):
    data = b"short one\n" + b"long " * 513 + b"\nshort two\n"
    corpus = corpus_from_bytes("a.txt", data)
    assert [s.words for s in corpus.sentences] == [("short", "one"), ("short", "two")]
    assert corpus.notices == (left_out_notice("Sentences of more than 512 words", 1),)
    assert "512 words or fewer" in refused(corpus_from_bytes, "a.txt", b"long " * 513)


# Fingerprints and parses


def test_the_fingerprint_is_over_content_alone():
    one = Sentence(("a", "b"), heads=(0, 1), genre="news", identifier="x")
    same = Corpus(
        "elsewhere",
        (Sentence(("a", "b"), heads=(0, 1), genre="news", identifier="y"),),
        ("notice",),
    )
    assert Corpus("here", (one,)).fingerprint == same.fingerprint
    others = [
        Corpus("here", ()),
        Corpus("here", (one, one)),
        Corpus("here", (Sentence(("a b",)),)),
        Corpus("here", (Sentence(("a", "b")),)),
        Corpus("here", (Sentence(("a", "b"), heads=(2, 0), genre="news"),)),
        Corpus("here", (Sentence(("a", "b"), heads=(0, 1), genre="legal"),)),
        Corpus("here", (Sentence(("a", "b"), heads=(0, 1), genre="news", xpos=("A", "B")),)),
    ]
    assert len({corpus.fingerprint for corpus in (same, *others)}) == 1 + len(others)


@pytest.mark.slow
def test_parses_take_the_place_of_trees_and_say_that_they_are_parses(monkeypatch):
    corpus = corpus_from_bytes("bare.conllu", BARE.encode())
    parsed = parse_corpus(corpus)
    assert parsed.has_heads
    assert parsed.words == corpus.words
    assert parsed.sentences[0].deprel is not None
    assert "not gold" in parsed.notices[-1]
    assert "UAS 8" in parsed.notices[-1]
    fake = parsing.Parse((0, 1), ("X", "X"), ("X", "X"), ("root", "dep"))
    monkeypatch.setattr(parsing, "parse_sentences", lambda words, pipeline: [fake])
    assert "ClearNLP" in parse_corpus(corpus, "en_core_web_sm").notices[-1]


# Hub data sets


@pytest.mark.parametrize(
    ("ref", "source"),
    [
        ("hub:imdb", HubText("imdb")),
        ("hub:nyu-mll/glue", HubText("nyu-mll/glue")),
        (
            "hub:nyu-mll/glue/sst2#validation:sentence",
            HubText("nyu-mll/glue", "sst2", "validation", "sentence"),
        ),
        ("hub:wikitext#test", HubText("wikitext", "", "test")),
        ("hub:imdb:text", HubText("imdb", column="text")),
    ],
)
def test_hub_references(ref, source):
    assert parse_hub_ref(ref) == source


@pytest.mark.parametrize(
    "ref",
    ["hub:", "hub:../etc", "hub:/etc/passwd", "hub:a/b/c/d", "hub:a b", "hub:https://x", "hub:.x"],
)
def test_references_that_name_no_data_set(ref):
    assert FORM in refused(read_corpus, ref)


def test_a_folder_here_is_not_taken_for_a_data_set(tmp_path, monkeypatch):
    (tmp_path / "secrets").mkdir()
    monkeypatch.chdir(tmp_path)
    assert "hub:secrets cannot be read" in refused(read_corpus, "hub:secrets")


@pytest.fixture
def local_hub(tmp_path, monkeypatch, cut_at_spaces, read_here):
    """`datasets` itself, reading a folder where it would ask the hub."""
    import datasets

    rows = [
        {"id": i, "text": f"row {i} / more", "tokens": ["row", str(i), " "], "n": 1}
        for i in range(5)
    ]
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    load = datasets.load_dataset
    monkeypatch.setattr(
        datasets, "load_dataset", lambda name, *a, **k: load(str(tmp_path / "data"), *a, **k)
    )


@pytest.mark.slow
def test_rows_of_text_and_rows_of_words(local_hub):
    assert read_corpus("hub:some/data", limit=3).words == (("row", "0"), ("more",), ("row", "1"))
    assert read_corpus("hub:some/data:tokens", limit=2).words == (("row", "0"), ("row", "1"))
    assert len(read_corpus("hub:some/data").sentences) == 10


@pytest.mark.parametrize(
    ("ref", "reason"),
    [
        ("hub:some/data:label", "id, text, tokens, n"),
        ("hub:some/data:n", "int values"),
        ("hub:some/data#dev", "no split dev"),
        ("hub:some/data/nope", "'nope'"),
    ],
)
def test_columns_splits_and_configurations_that_are_not_there(local_hub, ref, reason):
    assert reason in refused(read_corpus, ref)


def test_a_data_set_without_text(monkeypatch, read_here):
    monkeypatch.setattr(hub_text, "_open", lambda source: [{"image": 1}])
    assert "image" in refused(read_corpus, "hub:some/data")


def failing(error):
    def load_dataset(*arguments, **named):
        raise error

    return load_dataset


def with_status(code: int) -> Exception:
    error = OSError(f"{code} Client Error")
    error.response = type("Response", (), {"status_code": code})()
    return error


def hub_errors():
    from datasets.exceptions import DataFilesNotFoundError, DatasetNotFoundError

    return [
        (
            ConnectionError("Couldn't reach 'a/b' on the Hub (LocalEntryNotFoundError)"),
            "cannot be reached",
        ),
        (
            ConnectionError("Couldn't reach 'a/b' on the Hub (OfflineModeIsEnabled)"),
            "HF_HUB_OFFLINE",
        ),
        (TimeoutError("timed out"), "cannot be reached"),
        (
            DatasetNotFoundError("Dataset 'a/b' doesn't exist on the Hub or cannot be accessed."),
            "no data set a/b",
        ),
        (DataFilesNotFoundError("Couldn't find any data file at a/b."), "no data set a/b"),
        (DatasetNotFoundError("Dataset 'a/b' is a gated dataset on the Hub."), "login"),
        (with_status(403), "login"),
        (with_status(429), "rate"),
        (RuntimeError("Dataset scripts are no longer supported, but found b.py"), "script"),
        (ValueError("BuilderConfig 'x' not found. Available: ['y']"), "configuration 'none'"),
        (ValueError("Bad split: train. Available splits: ['test']"), "no split train"),
        (ValueError("something else"), "could not be read as text (ValueError: something else)"),
    ]


@pytest.mark.parametrize("number", range(12))
def test_each_failure_of_the_hub_has_its_sentence(monkeypatch, read_here, number):
    import datasets

    error, reason = hub_errors()[number]
    monkeypatch.setattr(datasets, "load_dataset", failing(error))
    message = refused(read_corpus, "hub:a/b")
    assert reason in message
    assert message.endswith((".", ").", "']"))


def test_a_stream_that_breaks_in_the_middle_says_so(monkeypatch, cut_at_spaces, read_here):
    def rows():
        yield {"text": "one"}
        raise ConnectionError("reset")

    monkeypatch.setattr(hub_text, "_open", lambda source: rows())
    assert read_corpus("hub:a/b", limit=1).words == (("one",),)
    assert "cannot be reached" in refused(read_corpus, "hub:a/b")


@pytest.mark.parametrize(
    ("ref", "part"),
    [
        ("demo", None),
        ("demo-gold", None),
        ("upload:mine.txt", None),
        ("demo:news,fiction", None),
        ("hub:imdb", None),
        ("demo:gossip", "not a genre"),
        ("hub:", "hub"),
        ("poetry", "not a text"),
        ("/nowhere.txt", "There is no file"),
    ],
)
def test_what_may_be_a_text_is_told_without_reading_it(ref: str, part: str | None) -> None:
    problem = corpus_problem(ref)
    assert problem is None if part is None else part in str(problem)


def test_files_of_the_server_are_no_texts_on_a_shared_instance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = tmp_path / "a.txt"
    text.write_text("One sentence.")
    assert corpus_problem(str(text)) is None
    monkeypatch.setenv("PALIMPSEST_MODE", "shared")
    assert "shared instance" in str(corpus_problem(str(text)))
