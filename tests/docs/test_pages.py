"""Every study of the catalogue has a page with its figures, options, caveats and papers."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from core.catalogue import STUDIES
from core.commands.precomputed import ON_REQUEST
from core.errors import NotStoredError
from core.models.zoo import read_adapters, read_manifest
from core.options import options_of
from docs.make import figures
from docs.make.checks import foreign_files
from docs.make.formulas import mathml, with_formulas
from docs.make.models import cards_page, models_table
from docs.make.pages import MARKS, filled, made_images, made_pages, studies_navigation
from docs.make.studies import image_of, page_of, plain, study_page
from tests import ROOT
from tests.cases import exhaustive


@pytest.mark.slow
@pytest.mark.parametrize("name", exhaustive(STUDIES, "rsa"))
def test_a_study_has_a_page_that_says_all_of_it(name: str, precomputed_results: None) -> None:
    study, page = STUDIES[name], study_page(name)
    assert page.startswith(f"# {study.title}\n")
    assert study.purpose[1:] in page
    assert study.words.reason in page
    for point, text in study.caveats.items():
        assert f"- **{point}** {text}\n" in f"{page}\n"
    assert page.count("<math ") == len(study.words.formulas)
    assert all(view.how_to_read in page for view in study.views)
    for option in options_of(study.Spec):
        assert f"| `--{option.name.replace('_', '-')}` | **{option.label}**." in page
    result = figures.precomputed().get(name)
    assert (result is None) == (name in ON_REQUEST)
    if result is not None:
        assert plain(result.headline) in page
        assert all(plain(reference.title)[:40] in page for reference in result.citations)
        assert all(f"`{column}`" in page for column in result.table.columns)


@pytest.mark.slow
@pytest.mark.parametrize("name", exhaustive(STUDIES, "rsa"))
def test_a_headline_s_numbers_are_found_in_two_steps(name: str, precomputed_results: None) -> None:
    """From the headline to the file that writes it, and to the functions that compute."""
    places = re.findall(
        r"^- (?:`(\w+)` in )?`((?:core|extras)/[\w/]+\.py)`", study_page(name), re.MULTILINE
    )
    assert len(places) >= 3
    for function, file in places:
        assert (ROOT / file).is_file()
        assert f"def {function}(" in (ROOT / file).read_text(encoding="utf8") or not function
    assert places[0][0] == "make_headline"


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", exhaustive([name for name in STUDIES if name not in ON_REQUEST], "rsa")
)
def test_a_study_s_figures_are_drawn_and_described(name: str, precomputed_results: None) -> None:
    drawn = figures.figures_of(name)
    page = study_page(name)
    assert 1 <= len(drawn) <= figures.MOST_FIGURES
    for figure in drawn:
        assert figure.svg.startswith(b"<svg")
        assert len(figure.words.split()) > 3
        assert f"]({image_of(name, figure).removeprefix('studies/')})" in page


def test_a_study_without_a_precomputed_result_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test's store has none: a build must not compute for minutes, nor leave a page out."""
    with pytest.raises(NotStoredError, match="make precomputed"):
        figures.precomputed.__wrapped__()


@pytest.mark.exhaustive
@pytest.mark.slow
def test_every_page_is_linked_from_the_list_and_the_gallery(precomputed_results: None) -> None:
    pages = made_pages()
    assert set(map(page_of, STUDIES)) < set(pages)
    for name in STUDIES:
        assert f"]({page_of(name).removeprefix('studies/')})" in pages["studies/index.md"]
        assert (f"]({page_of(name)})" in pages["gallery.md"]) == (name not in ON_REQUEST)
    assert len(made_images()) == pages["gallery.md"].count("![")


def test_the_navigation_has_every_study_once() -> None:
    text = json.dumps(studies_navigation())
    assert [text.count(f'"{page_of(name)}"') for name in STUDIES] == [1] * len(STUDIES)


def test_the_models_are_those_of_the_manifest() -> None:
    rows = models_table().splitlines()[2:]
    names = [entry["ref"] for entry in (*read_manifest(), *read_adapters())]
    assert [row.split("`")[1] for row in rows] == names
    assert all(f"## {name}" in cards_page() for name in names)
    assert "masked-token loss 3.43" in rows[0]
    assert "| UAS 81.9 % | UAS 28.9 % |" in next(row for row in rows if "`zoo:parse-0`" in row)


@pytest.mark.slow
def test_every_mark_is_on_a_page_and_is_filled(precomputed_results: None) -> None:
    pages = "\n".join(path.read_text(encoding="utf8") for path in (ROOT / "docs").rglob("*.md"))
    assert set(re.findall(r"^<!-- made: .* -->$", pages, flags=re.M)) == set(MARKS)
    page = filled((ROOT / "docs" / "models.md").read_text(encoding="utf8"))
    assert "<!--" not in page
    assert "non-commercial" in page or "commercial use" in page


def test_a_formula_is_mathml() -> None:
    made = mathml(r"\Bigl\{ k : \sum_i \sigma_i \Bigr\}")
    assert made.startswith('<div class="formula"><math ')
    assert "\\" not in made
    assert with_formulas("a\n\n```math\nx^2\n```\n\nb") == f"a\n\n{mathml('x^2')}\n\nb"


def test_a_formula_that_is_not_understood_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\\nonsense"):
        mathml(r"\nonsense{x}")


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://unpkg.com/a.js"></script>',
        '<link rel="stylesheet" href="//fonts.example.org/css">',
        "<img src='http://example.org/a.png'>",
        "@import 'https://example.org/a.css';",
        ".a { background: url(https://example.org/a.png) }",
    ],
)
def test_what_a_page_loads_from_another_host_is_seen(text: str, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(text, encoding="utf8")
    assert list(foreign_files(tmp_path)) == ["index.html"]


def test_a_link_to_another_host_is_no_load(tmp_path: Path) -> None:
    page = '<a href="https://arxiv.org/abs/1">a</a><img src="a.png"><script src="b.js"></script>'
    (tmp_path / "index.html").write_text(page, encoding="utf8")
    assert foreign_files(tmp_path) == {}


def test_a_page_escapes_what_markdown_would_read() -> None:
    assert plain("[.27, .31] of *x* <b>") == r"\[.27, .31\] of \*x\* \<b\>"
