"""README is short, and what it and the pages beside it say of the program is so."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml

from core.commands.examples.every import EXAMPLES
from core.models.zoo import read_manifest
from core.text.corpora import read_corpus
from docs.make.studies import ROOMS
from tests import ROOT
from tests.docs.blocks import blocks_of
from ui.frame.shell import PAGES

README = (ROOT / "README.md").read_text(encoding="utf8")
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
MOST_LINES = 150
UNLINKED = {"docs/index.md", "docs/contributing.md"}  # README says the same itself


def page(name: str) -> str:
    """The text of a page of the documentation."""
    return (ROOT / "docs" / name).read_text(encoding="utf8")


def test_readme_is_short_and_leads_on() -> None:
    assert len(README.splitlines()) <= MOST_LINES
    headings = re.findall(r"^## (.+)$", README, flags=re.M)
    assert headings == [
        "Two commands",
        "A five-minute tour",
        "Where to read on",
        "Licence and citation",
    ]
    pages = {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")}
    linked = set(re.findall(r"\]\(([^)]+)\)", README))
    assert pages - linked == UNLINKED


@pytest.mark.parametrize("text", [README, page("quick-start.md")], ids=["README", "quick-start"])
def test_what_is_said_of_the_program_is_so(text: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))["project"]
    assert f"Python {project['requires-python'].removeprefix('>=')} or newer" in text
    assert len(EXAMPLES) == 12
    assert "twelve examples" in text
    shell = blocks_of(ROOT / "README.md", "console")
    assert any(block.code.startswith("make app") for block in shell)


def test_the_tour_names_what_is_there() -> None:
    assert "Which layers change?" in {example.title for example in EXAMPLES}
    opening = README.partition("## Two")[0]
    titles = re.findall(r"^\| (\w[\w ]+) \| .* \| .* \|$", opening, flags=re.M)
    assert titles == ["page", *ROOMS.values()]
    modules = [f"{title.lower().replace(' ', '_')}.py" for title in ROOMS.values()]
    assert [name for name in modules if not (ROOT / "pages" / name).is_file()] == []


@pytest.mark.parametrize("text", [README, page("index.md")], ids=["README", "index"])
def test_a_page_asks_the_same_question_everywhere(text: str) -> None:
    asked = {entry.title: entry for entry in PAGES if entry.question}
    rows = re.findall(r"^\| \[?([\w ]+)[^|]* \| (.*\?) \| .* \|$", text, flags=re.M)
    assert dict(rows) == {title: entry.question for title, entry in asked.items()}
    for entry in asked.values():
        assert f'title="{entry.question}"' in (ROOT / entry.path).read_text(encoding="utf8")


def test_licences_that_limit_use_are_named() -> None:
    for entry in read_manifest():
        if "NC" in entry["licence"] or "research" in entry["licence"]:
            assert f"`{entry['task']}`" in README.partition("## Licence")[2]


def test_texts_are_as_large_as_the_page_says() -> None:
    text = page("models.md")
    demo, gold = read_corpus("demo"), read_corpus("demo-gold")
    assert f"{len(demo.sentences):,} sentences in ten genres" in text
    assert len({sentence.genre for sentence in demo.sentences}) == 10
    assert f"{len(gold.sentences)} sentences with hand-checked trees" in text


def test_every_variable_of_the_environment_is_read_somewhere() -> None:
    named = re.findall(r"^\| `(PALIMPSEST_\w+)`", page("deployment.md"), flags=re.M)
    places = (path for top in ("core", "extras", "ui") for path in (ROOT / top).rglob("*.py"))
    sources = "\n".join(path.read_text(encoding="utf8") for path in places)
    assert len(named) >= 6
    assert [name for name in named if f'"{name}"' not in sources] == []


def test_the_site_fetches_nothing_and_is_built_strictly() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf8")
    settings = yaml.safe_load(text)
    assert settings["strict"] is True
    assert settings["theme"]["font"] is False
    assert not {"analytics", "consent"} & set(settings.get("extra", {}))
    assert re.findall(r"https?://\S+", text) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_listed_and_hold_no_outputs(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert code
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert f"`{path.name}`" in page("tutorials/notebooks.md")
