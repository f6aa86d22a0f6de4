"""References: one record a paper, BibTeX that parses, and nothing cited or mentioned that is not in
the registry."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest

from core import __version__
from core.errors import PalimpsestError
from core.results.papers.reference import (
    PALIMPSEST,
    PAPERS,
    REGISTRY,
    VENUE,
    Reference,
    bibtex,
    cite,
)
from tests import ROOT

SOURCES = {
    path: path.read_text(encoding="utf8")
    for folder in ("core", "extras", "ui", "pages")
    for path in sorted((ROOT / folder).rglob("*.py"))
} | {
    path: path.read_text(encoding="utf8")
    for name in ("words.toml", "public.toml")
    for path in sorted((ROOT / "core").rglob(name))
}
NAME = r"(?:\b(?:van der|van|ter|de) )?[A-ZÖ][\w'’-]+(?: Loan)?"
MENTION = re.compile(rf"({NAME})(?:(?:,| &| and) {NAME})*(?: et al\.)?,? ((?:19|20)\d\d)\b")
PSEUDONYMS = {"nostalgebraist"}
REQUIRED = {
    "inproceedings": {"author", "title", "booktitle", "year"},
    "article": {"author", "title", "journal", "year"},
}


def parse_bibtex(text: str) -> dict[str, tuple[str, dict[str, str]]]:
    """Kind and fields of each entry by its key; anything that is not exactly BibTeX is an error."""
    entries: dict[str, tuple[str, dict[str, str]]] = {}
    place = 0
    while place < len(text):
        head = re.compile(r"@(\w+)\{([A-Za-z][\w:-]*),\n").match(text, place)
        assert head is not None, text[place : place + 40]
        assert head[2] not in entries, f"{head[2]} twice"
        fields: dict[str, str] = {}
        place = head.end()
        while True:
            begun = re.compile(r"  ([a-z]+) = \{").match(text, place)
            assert begun is not None, text[place : place + 40]
            end = _closing(text, begun.end())
            assert begun[1] not in fields
            fields[begun[1]] = text[begun.end() : end]
            last = text.startswith("\n}", end + 1)
            assert last or text.startswith(",\n", end + 1), text[end : end + 10]
            place = end + 3
            if last:
                break
        entries[head[2]] = (head[1], fields)
        while text.startswith("\n", place):
            place += 1
    return entries


def _closing(text: str, place: int) -> int:
    """Where the brace that was opened before `place` closes; braces after a backslash are text."""
    depth = 1
    while depth:
        if text[place] == "\\":
            place += 1
        depth += {"{": 1, "}": -1}.get(text[place], 0) if text[place - 1] != "\\" else 0
        place += 1
    return place - 1


@cache
def _cited_keys() -> dict[str, set[str]]:
    """Keys in every `CITATIONS`, `cite(...)` and `references=` of the source, by file."""
    keys: dict[str, set[str]] = {}
    for path, text in SOURCES.items():
        if path.suffix != ".py":
            continue
        for node in ast.walk(ast.parse(text)):
            cited: list[ast.expr] = []
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "CITATIONS":
                cited = [node.value]
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "cite":
                cited = list(node.args)
            elif isinstance(node, ast.keyword) and node.arg in ("references", "cites"):
                cited = [node.value]
            strings = {
                leaf.value for part in cited for leaf in ast.walk(part)
                if isinstance(leaf, ast.Constant) and isinstance(leaf.value, str)
            }  # fmt: skip
            keys.setdefault(path.name, set()).update(strings)
    return keys


@cache
def _mentions() -> set[tuple[str, str, str]]:
    """(First author, year, file) of every "Name & Name 2020" in docstrings, comments and
    sentences."""
    return {
        (match[1], match[2], path.name)
        for path, text in SOURCES.items()
        for match in MENTION.finditer(re.sub(r"\n *(?:# )?", " ", text))  # some are wrapped
    }


def test_every_paper_has_one_record() -> None:
    assert len({paper.key for paper in PAPERS}) == len(PAPERS)
    assert len({paper.title.casefold() for paper in PAPERS}) == len(PAPERS)
    for identifiers in ([paper.doi for paper in PAPERS], [paper.arxiv for paper in PAPERS]):
        given = [identifier for identifier in identifiers if identifier]
        assert len(set(given)) == len(given)
    for paper in PAPERS:
        assert paper.kind in VENUE
        assert paper.venue or paper.kind == "misc"
        assert all("," in author for author in {*paper.authors} - PSEUDONYMS)
        assert not paper.doi or paper.doi.startswith("10.")
        assert not paper.arxiv or re.fullmatch(r"\d{4}\.\d{4,5}", paper.arxiv)


@pytest.mark.exhaustive
@pytest.mark.slow
def test_what_studies_and_measures_cite_is_in_the_registry() -> None:
    from core.maths.similarity.registry import MEASURES

    cited = set().union(*_cited_keys().values())
    cited |= {key for measure in MEASURES.values() for key in measure.references}
    assert {"merchant2020", "hewitt2019control", "kornblith2019", "kuhn1955"} <= cited
    assert cited <= set(REGISTRY)


@pytest.mark.slow
def test_what_the_source_mentions_is_in_the_registry_and_nothing_else_is() -> None:
    names = {
        (paper.authors[0].partition(",")[0], str(paper.year)): paper.key
        for paper in PAPERS
        if paper.authors
    }
    mentioned = {(name, year) for name, year, _ in _mentions()}
    assert {mention for mention in _mentions() if mention[:2] not in names} == set(), (
        "add these papers to core/results/papers/references.toml"
    )
    from core.maths.similarity.registry import MEASURES

    cited = set().union(*_cited_keys().values())
    cited |= {key for measure in MEASURES.values() for key in measure.references}
    unreached = (
        {paper.key for paper in PAPERS}
        - cited
        - {names[mention] for mention in mentioned if mention in names}
    )
    assert unreached == set()


def test_a_reference_is_listed_once_and_an_unknown_one_is_refused() -> None:
    papers = cite(["merchant2020", "ding2021", "merchant2020"])
    assert [paper.key for paper in papers] == ["merchant2020", "ding2021"]
    with pytest.raises(PalimpsestError, match="nobody1900"):
        cite(["merchant2020", "nobody1900"])


def test_bibtex_of_everything_parses_and_has_every_paper_once() -> None:
    entries = parse_bibtex(bibtex([*PAPERS, PALIMPSEST, PAPERS[0]], "rsa"))
    assert list(entries) == [*(paper.key for paper in PAPERS), "palimpsest"]
    for kind, fields in entries.values():
        assert REQUIRED.get(kind, {"title"}) <= set(fields)
        for name, value in fields.items():
            assert name == "doi" or not re.search(r"(?<!\\)[&%$#_]", value), value
    probes = entries["hewitt2019control"], entries["hewitt2019structural"]
    assert [fields["author"] for _, fields in probes] == [
        "Hewitt, John and Liang, Percy",
        "Hewitt, John and Manning, Christopher D.",
    ]
    assert {"svcca", "insights"} == {
        entries[key][1]["title"].lstrip("{").partition(" ")[0].rstrip(":").lower()
        for key in ("raghu2017", "morcos2018")
    }


def test_palimpsest_cites_itself_with_author_year_and_version() -> None:
    _, fields = parse_bibtex(bibtex((), "a_b"))["palimpsest"]
    assert fields["author"] == "{the Palimpsest authors}"
    assert fields["year"] == "2026"
    assert __version__ in fields["note"]
    assert r"a\_b" in fields["note"]
    card = (ROOT / "CITATION.cff").read_text(encoding="utf8")
    assert PALIMPSEST.authors[0] in card


def test_special_characters_are_escaped() -> None:
    paper = Reference("a1", 2020, "misc", ("Löser, René", "R&D"), r"50 % of {a}_b^c~d\e # $")
    _, fields = parse_bibtex(paper.bibtex() + "\n")["a1"]
    assert fields["author"] == r"L{\"o}ser, Ren{\'e} and {R\&D}"
    assert (
        fields["title"]
        == r"{50 \% of \{a\}\_b\textasciicircum{}c\textasciitilde{}d\textbackslash{}e \# \$}"
    )
