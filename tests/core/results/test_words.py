"""Words in files: every one is where the code looks, and a slip is refused with its file and key."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from core.catalogue import STUDIES
from core.commands.main import main
from core.commands.pair import PARTS, SENTENCES
from core.commands.pair_page import WORDS
from core.errors import PalimpsestError
from core.results.words import FILE, Words, as_record, read_toml, words_beside
from core.study import View
from tests import ROOT

FOLDERS = sorted(
    path.parent for top in ("core/studies", "extras") for path in (ROOT / top).rglob(FILE)
)
LEAST = 'title = "T"\npurpose = "p"\n'


def read(folder: Path, text: str) -> Words:
    """The words of a study whose file has this text."""
    folder.mkdir(exist_ok=True)
    (folder / FILE).write_text(text, encoding="utf8")
    return words_beside(str(folder / "study.py"))


def folder_of(name: str) -> Path:
    return ROOT.joinpath(*STUDIES[name].collect.__module__.split(".")[:-1])


def test_every_study_has_a_file_and_every_file_a_study() -> None:
    assert {folder_of(name) for name in STUDIES} == set(FOLDERS)


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_uses_what_its_file_has(name: str) -> None:
    study, words = STUDIES[name], words_beside(str(folder_of(name) / "study.py"))
    assert set(words.views) == {view.key for view in study.views} - {""}
    code = "\n".join(path.read_text(encoding="utf8") for path in folder_of(name).glob("*.py"))
    # a key is called with values, or chosen by a condition
    assert [key for key in words.sentences if f'"{key}"' not in code] == []
    left = [text for text in study.caveats.values() if re.search(r"\{\w+\}", text)]
    assert left == []


def test_line_breaks_are_spaces_and_views_fall_back_on_the_study(tmp_path: Path) -> None:
    words = read(
        tmp_path / "a",
        LEAST + 'how_to_read = """\nHeight is\na score."""\nmissing = "None."\n'
        "[formulas]\nA = '''\n\\frac{a}\n{b}'''\n"
        '[views.x]\nname = "X"\npurpose = "x"\nhow_to_read = "Read."\n',
    )
    assert words.how_to_read == "Height is a score."
    assert words.formulas == {"A": "\\frac{a} {b}"}
    assert words.view("x").missing == "None."
    assert words.view("").name == "T"
    assert words.view("").how_to_read == words.how_to_read


def test_a_sentence_takes_values_where_it_has_their_names(tmp_path: Path) -> None:
    words = read(tmp_path / "a", LEAST + '[sentences]\nx = "{who} of {count}"\ny = "{plain}"\n')
    assert words.sentence("x", who="One", count=3, more="ignored") == "One of 3"
    assert words.sentence("y") == "{plain}"
    with pytest.raises(PalimpsestError, match=r"'x' of 'T' has \{count\}, which nothing fills"):
        words.sentence("x", who="One")


def test_a_text_of_another_study_is_borrowed_and_values_are_put_in(tmp_path: Path) -> None:
    read(tmp_path / "lender", LEAST + '[caveats]\n"P." = "Up to {reach} words."\n')
    words = read(tmp_path / "borrower", LEAST + '[caveats]\n"P." = { as_in = "lender" }\n')
    assert words.filled(reach=4).caveats == {"P.": "Up to 4 words."}
    with pytest.raises(PalimpsestError, match=r"No caveat of 'T' has \{coverage\}"):
        words.filled(coverage=1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('purpose = "p"', "words.toml has no 'title': add it"),
        (LEAST + 'reson = "r"', "words.toml has 'reson'; there are title, purpose, reason"),
        (LEAST + 'reason = " "', "words.toml: reason is ' ': write a text"),
        (LEAST + "reason = 3", "words.toml: reason is 3: write a text"),
        (LEAST + 'caveats = "c"', "words.toml: caveats is 'c': write a table"),
        (LEAST + '[caveats]\n"A." = ""', "words.toml: caveats: A. is '': write a text"),
        (LEAST + '[caveats]\n"A." = { as = "b" }', r"A. is \{'as': 'b'\}: write a text"),
        (LEAST + '[views.x]\nname = "X"\npurpose = "x"', "views: x has no 'how_to_read': add it"),
        (LEAST + "[views]\nx = 1", "views: x is 1: write a table"),
        (LEAST + "reason = ", "words.toml is not TOML: Invalid value"),
        (LEAST + '[caveats]\n"A." = { as_in = "beside" }', "has no text 'A.' under .caveats."),
        (LEAST + '[caveats]\n"A." = { as_in = "nowhere" }', "nowhere/words.toml is missing"),
    ],
)
def test_a_slip_is_refused(text: str, message: str, tmp_path: Path) -> None:
    read(tmp_path / "beside", LEAST)
    with pytest.raises(PalimpsestError, match=message):
        read(tmp_path / "a", text)


def test_what_the_code_asks_for_and_no_file_has_is_refused(tmp_path: Path) -> None:
    words = read(tmp_path / "a", LEAST)
    with pytest.raises(PalimpsestError, match=r"has no view 'x': add it under \[views\]"):
        words.view("x")
    with pytest.raises(PalimpsestError, match=r"has no sentence 'x': add it under \[sentences\]"):
        words.sentence("x")
    with pytest.raises(PalimpsestError, match="has no view 'girds'"):
        View("girds").of_study(STUDIES["rsa"])
    with pytest.raises(PalimpsestError, match="is missing: restore it"):
        words_beside(str(tmp_path / "none" / "study.py"))
    (tmp_path / "latin.toml").write_bytes("title = 'é'".encode("latin1"))
    with pytest.raises(PalimpsestError, match="is not TOML"):
        read_toml(tmp_path / "latin.toml")


def test_a_record_has_values_of_its_fields_types() -> None:
    @dataclass(frozen=True)
    class Paper:
        kind: Literal["book", "article"]
        year: int | None = None
        authors: tuple[str, ...] = ()

    paper = as_record(Paper, {"kind": "book", "year": 1955, "authors": ["Kuhn, Harold"]}, "kuhn")
    assert paper == Paper("book", 1955, ("Kuhn, Harold",))
    for values, message in (
        ({"kind": "film"}, "kuhn: kind is 'film'; there are 'book', 'article'"),
        ({"kind": "book", "year": "1955"}, "kuhn: year is '1955': write a number"),
        ({"kind": "book", "authors": "Kuhn"}, "kuhn: authors is 'Kuhn': write a list of texts"),
        ({"kind": "book", "authors": [""]}, "kuhn: authors is '': write a text"),
        ([], r"kuhn is \[\]: write a table"),
    ):
        with pytest.raises(PalimpsestError, match=message):
            as_record(Paper, values, "kuhn")


def test_listing_the_commands_reads_all_words_in_little_time() -> None:
    """In processor seconds; no study is imported for it."""
    code = (
        "import sys, time; from core.catalogue import STUDIES; t = time.process_time(); "
        "STUDIES.purposes(); print(time.process_time() - t, 'core.study' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    seconds, imported = done.stdout.split()
    assert float(seconds) < 0.5
    assert imported == "False"


def test_every_section_of_the_page_of_a_pair_has_its_words() -> None:
    assert {name: set(words) for name, words in WORDS.items()} == {
        name: {"title", "caveat"} for name in PARTS
    }


def test_every_sentence_on_a_pair_s_relation_is_used() -> None:
    code = (ROOT / "core/commands/pair.py").read_text(encoding="utf8")
    assert [key for key in SENTENCES if f'"{key}"' not in code] == []


def test_a_slip_is_one_sentence_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / FILE).write_text('title = "T"', encoding="utf8")
    monkeypatch.setattr(STUDIES, "_studies", {})
    monkeypatch.setattr(
        "core.catalogue.words_beside", lambda module: words_beside(str(tmp_path / "study.py"))
    )
    assert main(["--help"]) == 2
    said = capsys.readouterr().err
    assert said == f"palimpsest: {tmp_path / FILE} has no 'purpose': add it.\n"
