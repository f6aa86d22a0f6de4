"""No dead link in documentation, notebooks, the files at the root, and the app's sentences."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.make.pages import filled, made_images, made_pages
from tests import ROOT
from tests.docs.blocks import blocks_of
from tests.docs.links import URL, dead_links, sentences, slug, wrong_address

FRONT = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "zoo/LICENSES.md")
PRODUCT = ("app.py", "pages", "ui", "core", "extras", "benchmarks")
EXAMPLES = (
    "core/studies/rsa/length",
    "zoo/models/NAME",
    "core.studies.rsa.length",
)  # what a reader is to make
PATH = re.compile(r"`((?:core|ui|docs|zoo|tests|benchmarks|pages|deploy)/[\w./-]*)`")
DOTTED = re.compile(r"`((?:core|ui|benchmarks|docs)\.[\w.]+)`")


def modules() -> Iterator[Path]:
    """Every module of the product."""
    for top in PRODUCT:
        yield from [ROOT / top] if top.endswith(".py") else sorted((ROOT / top).rglob("*.py"))


def notebooks() -> dict[str, str]:
    """The Markdown of each notebook, by its place."""
    pages = {}
    for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf8"))["cells"]
        texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
        pages[path.relative_to(ROOT).as_posix()] = "\n\n".join(texts)
    return pages


def written() -> dict[str, str]:
    """Every page that is written by hand, by its place."""
    paths = [*sorted((ROOT / "docs").rglob("*.md")), *(ROOT / name for name in FRONT)]
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf8") for path in paths}


@pytest.fixture(scope="module")
def made() -> tuple[dict[str, str], set[str]]:
    """Pages and figures that the build makes, by their places."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PALIMPSEST_PRECOMPUTED", raising=False)
        pages = {f"docs/{place}": text for place, text in made_pages().items()}
        return pages, {f"docs/{place}" for place in made_images()}


@pytest.mark.exhaustive
@pytest.mark.slow
def test_no_link_is_dead(made: tuple[dict[str, str], set[str]], precomputed_results: None) -> None:
    pages, images = made
    texts = {place: filled(text) for place, text in written().items()} | notebooks() | pages
    folders = (ROOT / top for top in ("docs", "zoo", "ui/images"))
    paths = (*ROOT.iterdir(), *(path for folder in folders for path in folder.rglob("*")))
    files = images | {path.relative_to(ROOT).as_posix() for path in paths}
    wrong = {page: dead for page in texts if (dead := dead_links(page, texts, files))}
    assert wrong == {}


def test_the_front_page_points_to_files_of_the_repository() -> None:
    """Those that the build makes are not there for a reader of the repository."""
    page = (ROOT / "README.md").read_text(encoding="utf8")
    assert len(re.findall(r"\]\(docs/", page)) >= 8
    for target in re.findall(r"\]\(([^)#:]+)\)", page):
        assert (ROOT / target).exists(), target


def test_addresses_in_sentences_are_well_formed_and_known() -> None:
    addresses = {
        (path.relative_to(ROOT).as_posix(), address)
        for path in modules()
        for text in sentences(path.read_text(encoding="utf8"))
        for address in URL.findall(text)
    }
    assert ("core/models/hub/client.py", "https://huggingface.co") in addresses
    wrong = {(path, wrong_address(address)) for path, address in addresses}
    assert {(path, reason) for path, reason in wrong if reason} == set()


def test_files_that_sentences_of_the_app_link_to_are_there() -> None:
    linked = {
        target
        for path in modules()
        for text in sentences(path.read_text(encoding="utf8"))
        for target in re.findall(r"\b(?:pages/\w+\.py|docs/[\w/-]+\.md)\b", text)
    }
    assert len(linked) >= 5
    assert [target for target in sorted(linked) if not (ROOT / target).is_file()] == []


@pytest.mark.parametrize("place", sorted({*written(), *notebooks()}))
def test_paths_and_modules_that_are_named_exist(place: str) -> None:
    assert missing((written() | notebooks())[place]) == []


def test_paths_and_modules_that_code_names_exist() -> None:
    texts = {path.relative_to(ROOT).as_posix(): path.read_text("utf8") for path in modules()}
    assert {path: gone for path, text in texts.items() if (gone := missing(text))} == {}


def missing(text: str) -> list[str]:
    """Paths and modules that a text names and that are not there."""
    named = [*PATH.findall(text), *DOTTED.findall(text)]
    named = [name for name in named if not name.startswith(EXAMPLES)]
    return [name for name in named if not ((ROOT / name).exists() or exists(name))]


def exists(name: str) -> bool:
    """Whether a dotted name is a module, or stands in one."""
    parts = name.rstrip(".").split(".")
    for count in range(len(parts), 0, -1):
        try:
            thing = importlib.import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for part in parts[count:]:
            if not hasattr(thing, part):
                return False
            thing = getattr(thing, part)
        return True
    return False


@pytest.mark.parametrize(
    ("link", "reason"),
    [
        ("[a](b.md)", "there is no docs/b.md"),
        ("[a](../README.md#nothing)", "no such heading"),
        ("[a](#two)", "no such heading"),
        ("[a](https://example.org/x)", "not listed"),
        ("[a](https:///x)", "is no address"),
        ("![a](b.svg)", "there is no docs/b.svg"),
    ],
)
def test_a_dead_link_is_seen(link: str, reason: str) -> None:
    pages = {"docs/a.md": f"# One\n\n{link}\n", "README.md": "# Read me\n"}
    (wrong,) = dead_links("docs/a.md", pages, set())
    assert reason in wrong


@pytest.mark.parametrize(
    "link",
    [
        "[a](#one-two)",
        "[a](../README.md#read-me)",
        "[a](b.svg)",
        "[a](https://arxiv.org/abs/1)",
        "`[a](b.md)`",
    ],
)
def test_a_link_that_is_alive_is_left_alone(link: str) -> None:
    pages = {"docs/a.md": f"# `One`, *two*\n\n{link}\n", "README.md": "# Read me\n"}
    assert dead_links("docs/a.md", pages, {"docs/b.svg"}) == []


def test_anchors_are_those_of_the_site() -> None:
    assert slug("Change the chart") == "change-the-chart"
    assert slug("`core.text`: what it *holds*") == "coretext-what-it-holds"


def test_blocks_that_are_files_have_names_without_folders() -> None:
    blocks = [block for page in (ROOT / "docs").rglob("*.md") for block in blocks_of(page)]
    titles = [block.title for block in blocks if block.title]
    assert titles
    assert all(Path(title).name == title for title in titles)
