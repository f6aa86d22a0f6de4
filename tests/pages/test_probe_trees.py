"""The probe page on tiny models: every view, any sentence, and errors that name their cause."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.maths.structural.arcs import FAR
from core.results.estimates import estimate_of
from tests.cases import exhaustive
from tests.core.studies.probes.trees.test_study import write_trees
from tests.core.tiny_models import save_tiny
from tests.pages.conftest import Everything, headline, open_page, origins, sentences, settle
from ui.study import controls
from ui.views import probes as probe_views

PAGE = "pages/probe_trees.py"


@pytest.fixture(scope="module")
def link(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str | list[str]]:
    folder = tmp_path_factory.mktemp("probe-page")
    models = [f"path:{save_tiny(folder / name, name)}" for name in ("bert", "gpt2")]
    trees = write_trees(folder / "trees.conllu")
    small = {
        "rank": "8",
        "epochs": "1",
        "draws": "20",
        "seeds": "1",
        "controls": "1",
        "untrained": "false",
    }
    return {"models": models, "corpus": str(trees), "sentences": "130", **small}


@pytest.fixture(autouse=True)
def offered(link: dict[str, str | list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    """AppTest cannot rerun a form that holds a value which is not among its options, as a browser
    can."""
    monkeypatch.setattr(controls, "TEXTS", (*controls.TEXTS, link["corpus"]))
    monkeypatch.setattr(controls, "model_options", lambda: list(link["models"]))


def figures(app: AppTest) -> int:
    return len(app.get("vega_lite_chart")) + len(app.get("arrow_vega_lite_chart"))


def test_curves_differences_table_and_headline(link: dict[str, str | list[str]]) -> None:
    app = open_page(PAGE, **link)
    assert not app.exception
    assert figures(app) == 2
    uuas = app.dataframe[0].value
    assert set(uuas["metric"]) == {"uuas"}
    assert any(estimate_of(row, "value").value_text in headline(app) for _, row in uuas.iterrows())
    for metric in ("dspr", "root", "nspr"):
        app.segmented_control(key="probe/metric").set_value(metric)
        app.run()
        assert not app.exception
        assert figures(app) == 2
    app.toggle(key="probe/selectivity").set_value(True)
    app.run()
    assert not app.exception
    assert figures(app) == 1
    assert set(app.dataframe[0].value["metric"]) == {"nspr selectivity"}


@pytest.mark.exhaustive
def test_arcs_are_drawn_by_length_and_without_adjacent_ones(
    link: dict[str, str | list[str]],
) -> None:
    app = open_page(PAGE, **link, view="By arc length")
    assert not app.exception
    assert figures(app) == 2
    scores, margins = (frame.value for frame in app.dataframe[:2])
    assert set(margins["arcs"]) == {FAR} < set(scores["arcs"])
    few = open_page(PAGE, **link, view="By arc length", probes="depth")
    assert not few.exception
    assert figures(few) == 0
    assert "distance and depth" in few.info[0].value


MARKED = "<b>html</b> & *stars* $x$"


@pytest.mark.parametrize(
    "text",
    exhaustive(["The man went out.", "Hello", MARKED, "😀 👍🏽", "مرحبا بالعالم"], "Hello", MARKED),
)
def test_any_sentence_is_drawn(link: dict[str, str | list[str]], text: str) -> None:
    app = open_page(PAGE, **link, view="Sentence")
    app.text_input(key="probe/sentence").set_value(text)
    settle(app.run())
    assert not app.exception
    assert not app.error
    assert figures(app) == (4 if " " in text else 1)  # a word alone has no distances
    assert text not in sentences(app)  # what is typed is drawn, never rendered


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("text", "said"), [("", "no word"), ("word " * 300, "300 words"), ("dog " * 90, "90 words")]
)
def test_what_cannot_be_drawn_is_said(
    link: dict[str, str | list[str]], text: str, said: str
) -> None:
    app = open_page(PAGE, **link, view="Sentence")
    app.text_input(key="probe/sentence").set_value(text)
    settle(app.run())
    assert not app.exception
    assert said in app.error[0].value
    assert figures(app) == 0


@pytest.mark.parametrize("view", ["By layer", "Sentence"])
def test_a_second_reader_gets_the_charts_of_the_first(
    link: dict[str, str | list[str]], view: str, drawn: list[object]
) -> None:
    first = open_page(PAGE, **link, view=view)
    assert len(drawn) == figures(first) > 0
    drawn.clear()
    assert figures(open_page(PAGE, **link, view=view)) == figures(first)
    assert not drawn


def test_metric_sentence_and_model_are_in_the_link_and_come_back_from_it(
    link: dict[str, str | list[str]],
) -> None:
    app = open_page(PAGE, **link)
    app.segmented_control(key="probe/metric").set_value("dspr")
    app.toggle(key="probe/selectivity").set_value(True)
    app.run()
    app.segmented_control(key="probe/view").set_value("Sentence")
    settle(app.run())
    app.text_input(key="probe/sentence").set_value("'A \"dog\"' <script>& went & out?")
    app.selectbox(key="probe/tree_of").set_value(link["models"][1])
    settle(app.run())
    given = dict(app.query_params)
    assert {name: given[name] for name in ("metric", "selectivity", "sentence", "tree_of")} == {
        "metric": "dspr",
        "selectivity": "true",
        "sentence": "'A \"dog\"' <script>& went & out?",
        "tree_of": link["models"][1],
    }
    again = open_page(PAGE, **given)
    assert not again.exception
    assert again.text_input(key="probe/sentence").value == given["sentence"]
    assert headline(again) == headline(app)
    assert set(open_page(PAGE, **{**given, "view": "By layer"}).dataframe[0].value["metric"]) == {
        "dspr selectivity"
    }


def test_a_point_opens_the_sentence_at_its_layer_in_its_model() -> None:
    at = {"view": "Sentence", "layer": 2}
    assert probe_views._sentence_at(["zoo:a"], {"layer": 2.0, "model": "zoo:a"}) == (
        at | {"tree_of": "zoo:a"}
    )
    baseline = {"layer": 2.0, "model": "random:zoo:a"}  # it draws no trees
    assert probe_views._sentence_at(["zoo:a"], baseline) == at
    assert probe_views._sentence_at(["zoo:a"], {"model": "zoo:a"}) == {}


def test_a_model_that_the_study_has_not_is_left_out_with_a_sentence(
    link: dict[str, str | list[str]],
) -> None:
    app = open_page(PAGE, **link, view="Sentence", tree_of="zoo:<script>", metric="nonsense")
    assert not app.exception
    assert figures(app) == 4
    assert "zoo:<script>" in [warning.value for warning in app.warning][-1]
    assert any("metric takes one of" in warning.value for warning in app.warning)


@pytest.mark.exhaustive
def test_of_several_sentences_one_is_chosen(link: dict[str, str | list[str]]) -> None:
    app = open_page(PAGE, **link, view="Sentence")
    app.text_input(key="probe/sentence").set_value("The dog went out. The man opened the door.")
    settle(app.run())
    assert not app.exception
    assert figures(app) == 4


@pytest.mark.exhaustive
def test_worst_and_best_sentences_are_browsed(link: dict[str, str | list[str]]) -> None:
    app = open_page(PAGE, **link, view="Sentence")
    for source in ("worst", "best"):
        app.segmented_control(key="probe/source").set_value(source)
        settle(app.run())
        assert not app.exception
        assert figures(app) == 4
        assert re.search(r"\d+ of \d+ edges", headline(app))


@pytest.mark.exhaustive
def test_ranks_are_swept_on_demand(
    link: dict[str, str | list[str]],
    everything: Everything,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PALIMPSEST_STORE", str(tmp_path / "store"))
    app = open_page(PAGE, **link, view="Rank")
    assert not origins(app), "nothing is shown yet that could come from somewhere"
    assert figures(app) == 0
    assert re.search(r"Nothing is computed yet.*Press the button .* layer \d", sentences(app))
    next(
        button for button in app.button if button.label.startswith("Sweep the rank, about")
    ).click()
    settle(app.run())
    assert not app.exception
    assert figures(app) == 2
    assert re.search(r"rank \d+ of 32", headline(app))
    everything.check(app)
    assert figures(open_page(PAGE, **link, view="Rank")) == 2  # what is stored needs no button


def test_a_link_that_asks_for_nonsense_is_mended(link: dict[str, str | list[str]]) -> None:
    app = open_page(PAGE, **{**link, "rank": "many", "heads": "tails", "view": "Upside down"})
    assert not app.exception
    assert len(app.warning) == 3


def test_too_little_text_is_a_sentence(link: dict[str, str | list[str]]) -> None:
    app = open_page(PAGE, **{**link, "sentences": "20"})
    assert not app.exception
    assert "Use more text" in app.error[0].value
