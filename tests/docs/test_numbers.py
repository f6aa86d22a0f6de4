"""Numbers of README and of the documentation that a precomputed result holds are the result's."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from core.errors import NotStoredError, SpecError
from core.results.estimates import Estimate
from core.results.statements import Statement
from docs.make import numbers
from docs.make.pages import filled
from tests import ROOT

PAGES = [path for path in numbers.pages() if numbers.BLOCK.search(path.read_text(encoding="utf8"))]
SCORES = pd.DataFrame(
    {
        "model": ["a", "a", "b"],
        "layer": [1, 2, 1],
        "score": [0.254, 0.5, -0.0321],
        "low": [0.2, 0.4, -0.05],
        "high": [0.3, math.nan, -0.01],
        "gap": [5.14, 10.0, 1234.5],
        "gap_low": [-0.25, 9.0, 1200.0],
        "gap_high": [11.0, 11.0, 1300.0],
        "p_value": [0.0123, 0.00001, 0.5],
    }
)
SAID = (
    Statement("a", "best", Estimate(0.254, 0.2, 0.3), layers=(1,)),
    Statement("b", "worst"),
)
RESULT = SimpleNamespace(tables={"scores": SCORES}, statements=SAID, spec={"words": 7})


@pytest.fixture
def of_a_study(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command has the same result."""
    monkeypatch.setattr(numbers, "result_of", lambda command: RESULT)
    return


def page(text: str, *lines: str) -> str:
    """A page with a list of sources."""
    return "\n".join([text, "", "<!-- numbers of rsa --words 9", *lines, "-->", ""])


def first_line(text: str, *lines: str) -> str:
    return numbers.rewritten(page(text, *lines)).splitlines()[0]


@pytest.mark.slow
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_s_numbers_are_those_of_the_results(path: Path, precomputed_results: None) -> None:
    """`python -m docs.make.numbers` writes them anew."""
    text = path.read_text(encoding="utf8")
    assert numbers.rewritten(text) == text


def test_the_findings_have_numbers_from_results() -> None:
    assert ROOT / "docs" / "findings.md" in PAGES
    text = (ROOT / "docs" / "findings.md").read_text(encoding="utf8")
    assert len(numbers.FIGURE.findall(text)) > 100


@pytest.mark.parametrize(
    ("text", "number", "written"),
    [
        ("about .1<!--x--> of it", "score", "about .3<!--x--> of it"),
        ("0.10<!--x-->", "score", "0.25<!--x-->"),
        (".00 [.00, .000]<!--x-->", "score", ".25 [.20, .300]<!--x-->"),
        ("1 %<!--x-->", "100 * score", "25 %<!--x-->"),
        ("1 % [1, 2]<!--x-->", "100 - 100 * score", "75 % [70, 80]<!--x-->"),
        (".0 points\n[.0, 1]<!--x-->", "gap", "5.1 points\n[−0.2, 11]<!--x-->"),
        ("0.0 points [0.0, 0.0]<!--x-->", "-gap", "−5.1 points [−11.0, 0.2]<!--x-->"),
        ("+0.0<!--x-->", "gap", "+5.1<!--x-->"),
        ("p = .5<!--x-->", "p_value", "p = .012<!--x-->"),
        ("[1, 2]<!--x-->", "gap", None),
    ],
)  # fmt: skip
def test_a_number_is_written_as_it_stands_there(
    text: str, number: str, written: str | None, of_a_study: None
) -> None:
    source = f"x: {number} of scores where model == 'a' and layer == 1"
    new = numbers.rewritten(page(text, source)) if written else ""
    if written:
        assert new.partition("\n\n")[0] == written
        assert numbers.rewritten(new) == new
    else:
        with pytest.raises(SpecError, match="no number before <!--x-->"):
            numbers.rewritten(page(text, source))


def test_thousands_zero_and_small_p_values(of_a_study: None) -> None:
    assert first_line(
        "1<!--x b 1-->", "x: gap of scores where model == '{0}' and layer == {1}"
    ) == ("1,234<!--x b 1-->")
    assert first_line(".0<!--x-->", "x: score of scores where model == 'b'") == ".0<!--x-->"
    assert first_line("p = .1<!--x-->", "x: p_value of scores where layer == 2") == (
        "p < .001<!--x-->"
    )


def test_a_mark_in_code_is_an_example(of_a_study: None) -> None:
    assert numbers.rewritten("Write `0.0 %<!--x-->` there.") == "Write `0.0 %<!--x-->` there."


def test_rows_are_counted_and_compared(of_a_study: None) -> None:
    lines = (
        "n: (score > 0).sum() of scores",
        "holds: (score > 0).all() of scores where layer == 2",
    )
    assert first_line("9<!--n-->", *lines) == "2<!--n-->"


def test_a_statement_is_a_row_of_its_own_table(of_a_study: None) -> None:
    source = "x: value of statements where subject == 'a' and verdict == 'best'"
    assert first_line(".0 [.0, .0]<!--x-->", source) == ".3 [.2, .3]<!--x-->"


@pytest.mark.parametrize(
    ("text", "lines", "error"),
    [
        ("word<!--x-->", ["x: gap of scores where layer == 2"], "no number before"),
        ("1<!--y-->", ["x: gap of scores where layer == 2"], r"\['x', 'y'\]"),
        ("1<!--x-->", ["x: gap of scores", "x: gap of scores"], "twice"),
        ("1<!--x-->", ["x gap of scores"], "is not `key:"),
        ("1<!--x-->", ["x: gap of scores"], "3 values in 3 rows"),
        ("1<!--x-->", ["x: gap of scores where layer == 7"], "0 rows"),
        ("1<!--x-->", ["x: nonsense of scores where layer == 2"], "cannot be read"),
        ("1<!--x-->", ["x: gap of scores where layer = 2"], "cannot be read"),
        ("1<!--x-->", ["x: value of statements where subject == 'b'"], "not one number"),
        ("1<!--x-->", ["x: gap of nonsense"], "choose one of scores"),
        ("1 [1, 2]<!--x-->", ["x: p_value * 2 of more where layer == 2"], "no table more"),
        (".1 [.1, .2]<!--x-->", ["x: score of scores where layer == 2"], "not one number"),
        ("a", ["holds: (score > 0).all() of scores"], "no longer holds"),
        ("a", ["holds: (score > 0).all() of scores where layer == 7"], "0 rows"),
    ],
)
def test_what_cannot_be_filled_in_is_refused(
    text: str, lines: list[str], error: str, of_a_study: None
) -> None:
    with pytest.raises(SpecError, match=error):
        numbers.rewritten(page(text, *lines))


def test_a_number_without_an_interval_is_not_written_with_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bare = SimpleNamespace(tables={"scores": SCORES[["layer", "score"]]}, statements=(), spec={})
    monkeypatch.setattr(numbers, "result_of", lambda command: bare)
    with pytest.raises(SpecError, match="has no interval"):
        numbers.rewritten(page(".1 [.1, .2]<!--x-->", "x: score of scores where layer == 2"))


def test_a_benchmark_s_table_is_read_as_its_script_wrote_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "some.md").write_text(
        "# Some\n\n| a model | gap | 95 % interval | F1, layer 4 | |\n|---|---|---|---|---|\n"
        "| seed-0 | -4.8 | [-5.6, -4.0] | 1,040 [32, 1,050.9] | met |\n| seed-1 | 3 |  | n/a | |\n"
        "\n| b |\n|--:|\n| 1 to 2 |\n",
        encoding="utf8",
    )
    monkeypatch.setattr(numbers, "ROOT", tmp_path)
    lines = [
        "gap: -gap of table_1 where a_model == 'seed-0'",
        "f: f1_layer_4 of table_1 where a_model == 'seed-0'",
        "holds: b.count() == 1 of table_2",
    ]
    text = "\n".join(["0.0 [0.0, 0.0]<!--gap--> 1 [1, 0.1]<!--f-->", "<!-- numbers of some.md"])
    assert numbers.rewritten("\n".join([text, *lines, "-->\n"])).startswith(
        "4.8 [4.0, 5.6]<!--gap--> 1,040 [32, 1,050.9]<!--f-->"
    )
    with pytest.raises(SpecError, match="no table table_3: choose one of table_1, table_2"):
        numbers.table_of("some.md", "table_3")


def test_a_built_page_has_today_s_numbers_and_no_marks(of_a_study: None) -> None:
    text = page("It is 7.0<!--x-->.", "x: gap of scores where model == 'a' and layer == 1")
    assert filled(f"{text}\nMore.") == "It is 5.1.\n\n\nMore."


def test_a_command_is_read_as_the_shell_reads_it(precomputed_results: None) -> None:
    assert numbers.result_of("weights intruders").study == "weights intruders"
    assert numbers.result_of("weights --map tsne").spec["map"] == "tsne"


@pytest.mark.parametrize("command", ["nonsense", "rsa --nonsense 3", "rsa nonsense"])
def test_a_command_that_does_not_exist_is_named(command: str) -> None:
    with pytest.raises(SpecError, match="nonsense"):
        numbers.result_of(command)


def test_a_result_that_is_not_precomputed_is_named() -> None:
    with pytest.raises(NotStoredError, match="'rsa' is not precomputed"):
        numbers.result_of.__wrapped__("rsa")


def test_the_command_rewrites_pages_and_says_what_changed(
    of_a_study: None,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(numbers, "ROOT", tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("# One\n", encoding="utf8")
    text = page("It is 7.0<!--x-->.", "x: gap of scores where model == 'a' and layer == 1")
    (tmp_path / "docs" / "a.md").write_text(text, encoding="utf8")
    assert numbers.main() == 0
    assert "docs/a.md:1: It is 7.0<!--x-->." in capsys.readouterr().out
    assert (tmp_path / "docs" / "a.md").read_text(encoding="utf8") == text.replace("7.0", "5.1")
    assert numbers.main() == 0
    assert capsys.readouterr().out == ""


def test_the_command_names_the_page_that_it_cannot_fill_in(
    of_a_study: None,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(numbers, "ROOT", tmp_path)
    text = page("It is so.", "holds: (score > 0).all() of scores")
    (tmp_path / "README.md").write_text(text, encoding="utf8")
    assert numbers.main() == 1
    assert "README.md: This no longer holds: (score > 0).all()" in capsys.readouterr().err
    assert (tmp_path / "README.md").read_text(encoding="utf8") == text


def test_the_manifest_of_the_models_is_a_source() -> None:
    lines = (
        "<!-- numbers of zoo/manifest.json",
        'tokens: tokens / 1e6 of models where name == "{0}"',
    )
    written = numbers.rewritten("\n".join(["9<!--tokens seed-0--> million", *lines, "-->", ""]))
    assert written.startswith("25<!--tokens seed-0--> million")


def test_two_results_are_compared_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    other = SCORES.assign(score=[0.5, 0.4, -0.1])
    results = {
        "rsa": RESULT,
        "rsa --drop-rogue 1": SimpleNamespace(tables={"scores": other}, statements=(), spec={}),
    }
    monkeypatch.setattr(numbers, "result_of", results.__getitem__)
    lines = (
        "<!-- numbers of rsa --drop-rogue 1 beside rsa",
        "more: (score > score_beside).sum() of scores",
        "-->",
    )
    text = "\n".join(["9<!--more--> of three", *lines, ""])
    assert numbers.rewritten(text).startswith("1<!--more--> of three")


def test_what_was_asked_for_is_a_table(of_a_study: None) -> None:
    assert first_line("9<!--x-->", "x: words of options") == "7<!--x-->"
