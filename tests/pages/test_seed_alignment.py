"""The seed-alignment page: every view runs on tiny models without the box, and says what it cannot
do."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from core.catalogue import STUDIES
from core.limits import MODE, SHARED
from core.studies.alignment.seeds import study
from core.studies.alignment.seeds.study import STUDY
from core.studies.alignment.seeds.text import WHICH, said
from tests.cases import exhaustive
from tests.core.studies.alignment.conftest import LABELLED, WORDS, hurry, save_classifier
from tests.core.tiny_models import save_tiny
from tests.pages.conftest import Everything, headline, open_page, sentences
from ui.study.experiments import START
from ui.views.alignment_experiments import EXPERIMENTS

PAGE = "pages/seed_alignment.py"
GAINS, SPACE, TRAINING = (STUDY.words.view(key).name for key in ("gains", "space", "training"))
ROTATION, STITCHING, CHECK, ATTENTION, BETWEEN, PROTOCOL = (
    STUDIES[f"align {name}"].title
    for name in ("rotation", "stitch", "check", "attention", "barrier", "protocol")
)
MODELS = ("zoo:seed-0", "zoo:seed-1")
PREDICTING = ("zoo:predicting-0", "zoo:predicting-1")
METHODS = ["identity", "shuffled", "procrustes", "ridge"]
LINK: dict[str, str | list[str]] = {"sentences": "80", "split": "sentence", "methods": METHODS}


@pytest.fixture(scope="module")
def small_box(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A box of tiny classifiers, with its demo and its labelled sentences."""
    folder = tmp_path_factory.mktemp("box")
    entries = []
    for seed, ref in enumerate(MODELS):
        name = ref.partition(":")[2]
        save_classifier(folder / "models" / name, seed)
        entries.append(
            {
                "ref": ref,
                "name": name,
                "task": "sentiment",
                "base": "zoo:seed-0",
                "family": "RoFormer",
            }
        )
    for seed, ref in enumerate(PREDICTING):
        name = ref.partition(":")[2]
        save_tiny(folder / "models" / name, "roformer", head=True, seed=seed)
        entries.append({"ref": ref, "name": name, "task": "", "base": "", "family": "RoFormer"})
    (folder / "manifest.json").write_text(json.dumps({"format": 1, "models": entries}))
    (folder / "corpus").mkdir()
    rng = np.random.default_rng(0)
    lines = [f"news\t{' '.join(rng.choice(WORDS, size=6))} ." for _ in range(80)]
    (folder / "corpus" / "demo.txt").write_text("\n".join(lines))
    labelled = "\n".join(f"{label}\t{sentence}" for sentence, label in LABELLED)
    (folder / "corpus" / "demo-sentiment.tsv").write_text(labelled)
    return folder


@pytest.fixture(autouse=True)
def surroundings(small_box: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_ZOO", str(small_box))


def charts(app: AppTest) -> int:
    return len(app.get("vega_lite_chart")) + len(app.get("arrow_vega_lite_chart"))


def found(app: AppTest) -> bool:
    """Whether the page says what was found, and of which words."""
    return any(words in sentences(app) for words in WHICH.values())


@pytest.mark.parametrize("view", ["By method", SPACE])
def test_a_pair_of_which_one_model_is_missing_leaves_one_reason_and_no_view(view: str) -> None:
    app = open_page(PAGE, **LINK, models=["zoo:seed-0", "zoo:nope"], view=view)
    assert not app.exception
    (warning,) = app.warning
    assert "was left out" in warning.value
    assert headline(app) == said("no_pair")
    assert not app.info
    assert charts(app) == 0
    assert not any("omputed" in each.value for each in app.caption)  # nor "Precomputed"


@pytest.mark.parametrize("view", [view.name for view in STUDY.views])
def test_every_view_of_the_study_is_there_and_drawn_once(view: str, drawn: list[object]) -> None:
    app = open_page(PAGE, **LINK, view=view)
    assert not app.exception
    assert not app.error
    assert found(app)
    if view in (TRAINING, GAINS):  # a link without networks and without the static window
        assert app.info
        assert charts(app) == 0
    else:
        assert len(drawn) == charts(app) == (2 if view == SPACE else 1)
    drawn.clear()
    assert charts(open_page(PAGE, **LINK, view=view)) == charts(app)
    assert not drawn


def test_the_slider_of_the_space_moves_through_the_layers() -> None:
    app = open_page(PAGE, **LINK, view=SPACE)
    app.select_slider(key="alignment/layer").set_value(0)
    app.selectbox(key="alignment/map").set_value("procrustes")
    app.selectbox(key="alignment/pair").set_value("zoo:seed-1 into zoo:seed-0")
    app.run()
    assert not app.exception
    assert charts(app) == 2
    given = dict(app.query_params)
    assert given["map"] == "procrustes"
    assert given["pair"] == "zoo:seed-1 into zoo:seed-0"
    again = open_page(PAGE, **given)
    assert headline(again) == headline(app) != headline(open_page(PAGE, **LINK, view=SPACE))


def test_a_pair_and_a_map_that_the_study_has_not_are_left_out_with_a_sentence() -> None:
    app = open_page(PAGE, **LINK, view=SPACE, pair="a into b", map="inn")
    assert not app.exception
    assert charts(app) == 2
    assert [warning.value.split("`")[1] for warning in app.warning] == ["a into b", "inn"]


def press(app: AppTest, label: str) -> AppTest:
    next(button for button in app.button if button.label.startswith(label)).click()
    return app.run()


@pytest.mark.parametrize("view", exhaustive(EXPERIMENTS, ROTATION, STITCHING))
def test_an_experiment_starts_on_its_button_and_without_the_main_study(
    view: str, monkeypatch: pytest.MonkeyPatch, drawn: list[object], everything: Everything
) -> None:
    def never(*arguments: object, **options: object) -> None:
        raise AssertionError("the main study ran")

    if view == PROTOCOL:  # lays the study's own tasks beside the published ones
        hurry(monkeypatch)
    else:
        monkeypatch.setattr(study, "plan", never)
    own: dict[str, dict[str, object]] = {
        ROTATION: {},
        STITCHING: {"models": list(MODELS), "methods": ["identity", "ols"]},
        CHECK: {"methods": ["identity", "ols"], "layer": "1"},
        ATTENTION: {"methods": ["identity", "ols"]},
        BETWEEN: {"models": list(PREDICTING), "base": PREDICTING[0]},
        PROTOCOL: {"steps": "2", "length": "16", "tuned": list(MODELS)},
    }[view]
    link = {**LINK, **own, "study": EXPERIMENTS[view].study.name}
    app = open_page(PAGE, **link)
    assert not app.exception
    assert charts(app) == 0
    assert START in sentences(app)
    app = press(app, "Run, about")
    for _ in range(100):
        if charts(app):
            break
        time.sleep(0.3)
        app.run()
    assert not app.exception
    assert charts(app) >= 1
    assert app.dataframe
    everything.check(app)
    drawn.clear()
    assert charts(open_page(PAGE, **link)) == charts(app)  # what is there needs no button
    assert not drawn


@pytest.mark.parametrize("view", [STITCHING, ATTENTION])
def test_rows_that_an_experiment_has_not_are_refused(view: str) -> None:
    app = open_page(PAGE, **LINK, items="mean", view=view)
    assert not app.exception
    assert app.info
    assert charts(app) == 0
    assert not any(button.label.startswith("Run, about") for button in app.button)


def test_the_check_without_a_method_says_so() -> None:
    app = open_page(PAGE, **LINK, view=CHECK)
    app.multiselect(key="alignment/align check/methods").set_value([])
    app = press(app, "Run, ")
    assert not app.exception
    assert "needs at least 1" in sentences(app)


def test_stitching_one_model_asks_for_another() -> None:
    app = open_page(PAGE, **LINK, view=STITCHING)
    app.multiselect(key="alignment/align stitch/models").set_value([MODELS[0]])
    app = press(app, "Run, ")
    assert not app.exception
    assert "Choose at least 2" in sentences(app)


def test_one_model_is_a_sentence() -> None:
    app = open_page(PAGE, **LINK)
    app.multiselect(key="alignment/models").set_value([MODELS[0]])
    app = press(app, "Run")
    assert not app.exception
    assert "Choose at least 2" in sentences(app)


def test_a_split_by_word_of_sentences_is_a_sentence() -> None:
    app = open_page(PAGE, **{**LINK, "split": "word", "items": "mean"})
    assert not app.exception
    assert "split takes sentence where items is mean" in sentences(app)


def test_a_second_group_stands_beside_the_first() -> None:
    app = open_page(PAGE, **LINK, against=list(MODELS), view="By layer")
    assert not app.exception
    assert charts(app) == 2
    assert "The two groups" in sentences(app)


def test_a_large_study_says_its_price_and_waits_for_a_button(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("core.runs.price.LONG", 0.0)
    app = open_page(PAGE, **{**LINK, "sentences": "76"})  # nobody asked for these before
    assert not app.exception
    assert re.search(r"Expected: \d+ tasks on 2 models: about ", sentences(app).replace("\\", ""))
    assert charts(app) == 0
    app = press(app, "Start, about")
    for _ in range(100):
        if charts(app):
            break
        time.sleep(0.3)
        app.run()
    assert found(app)
    assert "Expected" not in sentences(app)
    again = open_page(PAGE, **{**LINK, "sentences": "76"})
    assert charts(again)  # what is there costs nothing


def test_a_shared_instance_refuses_a_long_study(monkeypatch: pytest.MonkeyPatch) -> None:
    assert charts(open_page(PAGE, **LINK))  # stored from here on
    monkeypatch.setattr("core.runs.price.LONG", 0.0)
    monkeypatch.setattr("core.limits.SHARED", replace(SHARED, max_seconds=0.0))
    monkeypatch.setenv(MODE, "shared")
    app = open_page(PAGE, **{**LINK, "sentences": "77"})  # nobody asked for these before
    assert not app.exception
    assert "This study would take about " in sentences(app)
    assert "and this instance allows" in sentences(app)
    assert charts(app) == 0
    assert charts(open_page(PAGE, **LINK))  # what is there costs nothing
