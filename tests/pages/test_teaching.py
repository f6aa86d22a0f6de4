"""The teacher's page, and a lesson walked through on its page."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from tests.pages.conftest import SMALL, open_page, sentences, settle
from ui.lessons import guesses


def test_the_teachers_page_has_four_lessons_and_ninety_minutes() -> None:
    app = open_page("pages/teaching.py")
    assert not app.exception
    assert app.table[0].value["Minutes"].iloc[-1] == "85 to 90"
    assert len(app.get("download_button")) == 4


@pytest.mark.usefixtures("box")
def test_a_lesson_asks_for_a_guess_first_and_judges_it_after_the_figure() -> None:
    app = open_page("pages/rsa.py", lesson="true", **SMALL)
    assert not app.get("vega_lite_chart")
    guess = next(slider for slider in app.slider if slider.key == "rsa/guess")
    guess.set_value(0.0)
    next(button for button in app.button if button.label == "Look").click()
    settle(app.run())
    assert not app.exception
    assert len(app.get("vega_lite_chart")) == 2  # states and functions of layers
    assert [each.value.startswith("Lesson: ") for each in app.header] == [True]
    assert not app.subheader, "no level is skipped between the title and the headline"
    (judged,) = [line for line in sentences(app).splitlines() if "Your guess, layer 0" in line]
    assert "the figure shows layer" in judged
    said = [str(each.value) for each in app.markdown]
    figure = next(n for n, line in enumerate(said) if line.startswith("**Layer functions"))
    assert said.index(judged) < figure, "feedback stands above the figure, where the guess was made"
    assert not any("Compare it with the figure" in line for line in said)


@pytest.mark.usefixtures("box", "precomputed_results")
@pytest.mark.parametrize(
    ("page", "row"), [("seed_alignment", "ridge"), ("probe_trees", "control trees")]
)
def test_what_a_lesson_asks_about_is_in_its_figure(page: str, row: str) -> None:
    app = open_page(f"pages/{page}.py", lesson="1")
    next(button for button in app.button if button.label == "Look").click()
    spec = settle(app.run()).get("vega_lite_chart")[0].proto.spec
    assert row in spec
    assert "Show all rivals" not in [toggle.label for toggle in app.toggle], "all are drawn"


@pytest.mark.usefixtures("box")
def test_a_class_sees_its_guesses_in_the_figure_once_they_are_revealed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    guesses._guesses.begin()
    contexts = iter(SimpleNamespace(session_id=str(number)) for number in range(9))
    monkeypatch.setattr(guesses, "get_script_run_ctx", lambda: next(contexts))
    for value in (2.0, 2.0, 5.0):
        guesses.note_guess("rsa", value)
    app = open_page("pages/rsa.py", lesson="true", **SMALL)
    assert not app.toggle or not [t for t in app.toggle if "guesses" in t.label]  # not before
    next(button for button in app.button if button.label == "Look").click()
    settle(app.run())
    shown = next(toggle for toggle in app.toggle if "guesses" in toggle.label)
    assert shown.label == "Show all 4 guesses"
    assert "●● 2" not in str(app.get("vega_lite_chart")[0].proto.spec)
    shown.set_value(True).run()
    spec = json.loads(app.get("vega_lite_chart")[0].proto.spec)
    assert "●● 2" in json.dumps(spec, ensure_ascii=False)
    assert "middle one of 4 guesses" in sentences(app)
    assert not app.exception
    guesses._guesses.begin()


def test_what_has_no_way_out_is_not_presented() -> None:
    """Home and Teaching have no keys that leave: a link that presents them shows them as they
    are."""
    styled = [
        element.proto.body for element in open_page("pages/teaching.py", present="1").get("html")
    ]
    assert not any("display: none !important" in body for body in styled)
    styled = [
        element.proto.body
        for element in open_page("pages/rsa.py", present="1", lesson="1").get("html")
    ]
    assert any("display: none !important" in body for body in styled)


def test_a_presented_lesson_leaves_the_arrow_keys_to_its_slider_until_there_is_a_guess() -> None:
    app = open_page("pages/rsa.py", present="1", lesson="1")
    keys = [str(button.key) for button in app.button]
    assert "rsa/leave" in keys
    assert not [key for key in keys if "view" in key]
    next(button for button in app.button if button.label == "Look").click().run()
    assert "rsa/view Left" in [str(button.key) for button in app.button]
