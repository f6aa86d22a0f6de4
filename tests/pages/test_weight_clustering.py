"""The weight clustering page: runs on a small zoo, opens from a link, shows every view, says what
it cannot do."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from core.maths.spectra.projections import ModelMap
from core.models.hub.listing import Listed
from core.studies.weights.clusters import tasks as measuring
from core.studies.weights.clusters.members import EVERY
from tests.core.small_zoo import CONFIG, base_tensors, tuned_tensors, write_model, write_zoo
from tests.core.tree_server import TreeServer, as_files
from tests.pages.conftest import ROOT, headline, open_page, sentences, settle
from ui.study.experiments import START
from ui.views import weights_labels
from ui.views.weights_spectra import SPECTRA

PAGE = "pages/weight_clustering.py"
LINK = {"rank": "3", "permutations": "100"}
MAP = {**LINK, "view": "Map"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_zoo(tmp_path_factory.mktemp("zoo"))


@pytest.fixture(autouse=True)
def small_zoo(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_ZOO", str(folder))


def shares_a_task(text: str) -> bool:
    """Whether a page says that the vote names the tasks of the small zoo, or that neighbours share
    their task, by chance in 25 %."""
    return (
        re.search(r"neighbours share (its|a) task.*25 %|the task of \d of 9 models", text)
        is not None
    )


def figures(app: AppTest) -> int:
    return len(app.get("vega_lite_chart")) + len(app.get("arrow_vega_lite_chart"))


def with_spectra(app: AppTest) -> AppTest:
    """The page with the fold of one model's spectra open."""
    app.session_state[SPECTRA] = True
    return app.run()


def test_the_map_and_the_spectra_of_a_model() -> None:
    app = open_page(PAGE, **MAP)
    assert not app.exception
    assert shares_a_task(headline(app))
    assert "another base than" in sentences(app)
    assert figures(app) == 1  # the map
    with_spectra(app)
    assert figures(app) == 1 + 1 + 6  # the map, the legend of the spectra, the spectra
    assert app.selectbox(key="weights/shown_model").value == "zoo:nli-0"
    app.selectbox(key="weights/shown_model").set_value("zoo:parse-2").run()
    assert not app.exception
    links = [link.proto for link in app.get("page_link")]
    assert ["base=zoo%3Aseed-0&compare=zoo%3Aparse-2" in link.query_string for link in links][
        :1
    ] == [True]


def place_own(app: AppTest, written: str) -> AppTest:
    """The page after a model was written under *What is my model?*."""
    app.text_input(key="weights/own model written").set_value(written)
    return next(b for b in app.button if b.label == "Place it on the map").click().run()


def test_a_model_of_ones_own_is_placed_on_the_map_with_a_vote(tmp_path: Path) -> None:
    write_model(tmp_path / "mine", tuned_tensors(base_tensors(), 1, 5))
    app = open_page(PAGE, **LINK, view="Distances")
    settle(place_own(app, str(tmp_path / "mine")))
    assert not app.exception
    assert app.session_state["weights/models"] == [EVERY, f"path:{tmp_path}/mine"]
    assert app.session_state["weights/view"] == "Map"
    assert not app.session_state["weights/fold"]
    assert "the task of mine is pos" in headline(app)
    assert app.session_state["weights/shown_model"] == f"path:{tmp_path}/mine"
    with_spectra(app)
    app.selectbox(key="weights/shown_model").set_value("zoo:parse-2").run()
    assert app.session_state["weights/shown_model"] == "zoo:parse-2"  # asked once


@pytest.mark.parametrize("written", ["", "hub:", "hub:a/b/c/d"])
def test_what_is_no_model_of_ones_own_is_refused_in_a_sentence(written: str) -> None:
    app = place_own(open_page(PAGE, **LINK), written)
    assert not app.exception
    assert any("is not a model reference" in error.value for error in app.error)
    assert app.session_state["weights/models"] == [EVERY]


@pytest.mark.parametrize(
    ("view", "count"),
    [("Vote", 1), ("Neighbours", 1), ("Distances", 1), ("Rank by depth", 7), ("Map", 1)],
)
def test_a_link_opens_every_view_and_what_it_draws_is_shared(
    view: str, count: int, drawn: list[object]
) -> None:
    app = open_page(PAGE, **LINK, view=view, vector="norms")
    assert not app.exception
    assert "norms" in sentences(app)
    assert figures(app) == count == len(drawn)
    drawn.clear()
    assert figures(open_page(PAGE, **LINK, view=view, vector="norms")) == count
    assert not drawn


def test_the_map_is_coloured_and_drawn_as_asked() -> None:
    app = open_page(PAGE, **MAP, colour="cluster", map="tsne")
    assert not app.exception
    assert figures(app) == 1


def map_of(app: AppTest) -> str:
    return str(
        next(iter(app.get("vega_lite_chart") or app.get("arrow_vega_lite_chart"))).proto.spec
    )


def test_a_search_and_other_axes_are_in_the_address_and_in_the_map() -> None:
    app = open_page(PAGE, **MAP)
    assert "PC 2" in map_of(app)
    assert "PC 3" not in map_of(app)
    app.text_input(key="weights/search").set_value("parse").run()
    app.segmented_control(key="weights/axes").set_value("1-3").run()
    assert not app.exception
    assert app.query_params["search"] == "parse"
    assert app.query_params["axes"] == "1-3"
    assert "3 of 9 models match “parse”" in sentences(app)
    assert "PC 3" in map_of(app)
    again = open_page(PAGE, **MAP, search="parse", axes="1-3")
    assert "3 of 9 models match “parse”" in sentences(again)
    assert "PC 3" in map_of(again)
    other = open_page(PAGE, **MAP, axes="1-3", map="tsne")
    assert not other.exception
    assert "t-SNE 2" in map_of(other)


def test_a_click_leaves_the_map_as_it_is_and_another_choice_draws_it_again() -> None:
    app = open_page(PAGE, **MAP)
    before = map_of(app)
    assert "zoo:nli-0" in before
    app.session_state["weights/clicked"] = app.session_state["weights/shown_model"] = "zoo:pos-1"
    app.run()
    assert map_of(app) == before
    with_spectra(app).selectbox(key="weights/shown_model").set_value("zoo:parse-2").run()
    assert not app.exception
    assert map_of(app) != before


def test_the_slider_reads_ranks_that_are_there() -> None:
    app = open_page(PAGE, **LINK, view="Rank by depth")
    app.slider(key="weights/percent").set_value(99.0).run()
    assert not app.exception
    app.segmented_control(key="weights/measure").set_value("relative_norm").run()
    assert not app.exception
    assert figures(app) == 7


def test_weights_themselves_have_ranks_too() -> None:
    app = open_page(PAGE, **LINK, view="Rank by depth", of="both")
    app.segmented_control(key="weights/of_shown").set_value("weights").run()
    app.segmented_control(key="weights/measure").set_value("relative_norm").run()
    assert "norm relative to the base" in sentences(app)


def test_spectra_of_the_weights_stand_beside_those_of_the_delta() -> None:
    app = with_spectra(open_page(PAGE, **MAP, of="both"))
    app.segmented_control(key="weights/spectra_of").set_value("weights").run()
    assert not app.exception
    assert figures(app) == 8


def test_what_a_link_cannot_ask_for_is_left_out() -> None:
    app = open_page(PAGE, **LINK, vector="colour", models="nonsense")
    assert not app.exception
    said = sentences(app)
    assert "The link asks for `colour`" in said
    assert "The link asks for `nonsense`" in said
    assert shares_a_task(said)


def test_a_model_that_fails_is_named_and_the_rest_shown(folder: Path) -> None:
    other = folder / "models" / "seed-1"
    app = open_page(PAGE, **LINK, models=[EVERY, f"path:{other}"])
    assert not app.exception
    assert "does not look like a fine\\-tune" in sentences(app)
    assert shares_a_task(sentences(app))


def test_no_model_at_all_is_a_sentence() -> None:
    app = open_page(PAGE, **LINK)
    app.multiselect(key="weights/models").set_value([])
    next(button for button in app.button if button.label == "Run").click()
    settle(app.run())
    assert "Choose at least 1 under Fine\\-tunes" in sentences(app)


def test_one_model_has_no_neighbours_and_no_distances() -> None:
    few = "3 models and 2 labels"
    for view, text in (("Vote", few), ("Neighbours", few), ("Distances", "at least 2 models")):
        app = open_page(PAGE, **LINK, models="zoo:nli-1", view=view)
        assert not app.exception
        assert text in sentences(app)


def test_a_pattern_of_hub_models_is_a_sentence() -> None:
    app = open_page(PAGE, **LINK, models=[EVERY, "hub:someone/*"])
    assert not app.exception
    assert "matches none of the public models" in sentences(app)
    assert shares_a_task(sentences(app))


def test_more_neighbours_than_there_are_is_a_sentence() -> None:
    app = open_page(PAGE, **LINK, neighbours="50")
    assert not app.exception
    assert "50 neighbours are too many" in sentences(app)
    assert "9 models have a label" in sentences(app)


def test_another_map_runs_as_a_study_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's script draws nothing: with a map that takes its time, it shows progress and can be
    left."""
    going = threading.Event()

    def slow(*arguments: object) -> ModelMap:
        assert threading.current_thread() is not threading.main_thread()
        going.wait(60)
        return ModelMap(np.zeros((9, 2)), (np.nan, np.nan))

    monkeypatch.setattr(measuring, "draw_map", slow)
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).run()
    app.query_params.update({**MAP, "map": "tsne", "seed": "3"})
    app.switch_page(PAGE).run()
    until = time.monotonic() + 60
    while not shares_a_task(headline(app)):
        assert time.monotonic() < until
        app.run()
    assert any(button.label == "Cancel" for button in app.button)
    assert figures(app) == 0
    going.set()
    settle(app)
    assert figures(app) == 1


def test_labels_of_ones_own_are_taken_from_the_upload() -> None:
    """AppTest cannot upload; the control is drawn and the link that names a table says what is
    missing."""
    app = open_page(PAGE, **LINK, labels="upload:mine.csv")
    assert not app.exception
    assert "is not on this server" in sentences(app)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"a,b\n1,2", "no column named model; rename one of its columns"),
        (b"", "incomplete: it needs a header"),
        (b"\xff\xfe\x00", "not UTF-8; save it as a CSV file in UTF-8"),
        (b"model;genre\nzoo:nli-0;x\n", "separate them by commas or tabs"),
    ],
)
def test_a_label_table_that_cannot_be_read_is_refused_with_the_reason_on_the_page(
    content: bytes, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload = SimpleNamespace(name="mine.csv", file_id="1", getvalue=lambda: content)
    monkeypatch.setattr(weights_labels, "uploader", lambda *given, **layout: upload)
    app = open_page(PAGE, **LINK)
    assert not app.exception
    refused = [error.value.replace("\\", "") for error in app.error]
    assert len(refused) == 2  # in the popover, and in place of the result
    assert all(reason in sentence for sentence in refused)


def test_a_label_table_takes_the_names_that_are_shown_and_says_what_it_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for run in (1, 2):
        write_model(tmp_path / f"run{run}", tuned_tensors(base_tensors(), 0, run + 3))
    rows = ["model,kind", "run1,x", "run2,x", "nli-0,x", "zoo:pos-0,y", "pos-1,y", "run9,y"]
    content = "\n".join(rows).encode()
    upload = SimpleNamespace(name="mine.csv", file_id="1", getvalue=lambda: content)
    monkeypatch.setattr(weights_labels, "uploader", lambda *given, **layout: upload)
    app = open_page(PAGE, **LINK, models=[EVERY, f"path:{tmp_path}/run*"])
    assert not app.exception
    assert not app.error
    said = [each.value.replace("\\", "") for each in app.caption]
    assert "The label table gives 5 of 11 models a label." in said
    assert any("not compared: run9. Models without a label: " in text for text in said)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TreeServer]:
    with TreeServer() as running:
        running.replace_hub(monkeypatch, tmp_path / "cache", timeout=2.0)
        running.add("org/base", as_files(base_tensors(), CONFIG))
        for place, data in enumerate(("mnli", "squad")):
            for run in range(2):
                known = {"parameters": {"F32": 56_000}, "total": 56_000}
                files = as_files(tuned_tensors(base_tensors(), place, run), CONFIG)
                running.add_fine_tune(
                    f"org/{data}-{run}", "org/base", files, (data,), safetensors=known
                )
        yield running


def panel_alone() -> AppTest:
    """The panel without the form: AppTest cannot choose what is not among a selectbox's options."""

    def script() -> None:
        import streamlit as st

        from core.options import options_of
        from core.studies.weights.clusters.spec import WeightsSpec
        from ui.choosing.hub import hub_panel
        from ui.frame.links import Address

        address = Address("weights", options_of(WeightsSpec))
        if "base" not in st.query_params:
            st.query_params["base"] = "hub:org/base"
        address.open()
        hub_panel(address)
        st.text("chosen: " + " ".join(address["models"]))

    return AppTest.from_function(script, default_timeout=60).run()


def test_fine_tunes_of_the_hub_are_listed_and_chosen(server: TreeServer) -> None:
    app = panel_alone()
    app.button[0].click().run()
    assert not app.exception
    listed = app.dataframe[0].value
    assert list(listed["model"]) == [
        "hub:org/mnli-0",
        "hub:org/mnli-1",
        "hub:org/squad-0",
        "hub:org/squad-1",
    ]
    assert listed["chosen"].all()
    app.number_input(key="weights/hub_a_label").set_value(1).run()
    next(button for button in app.button if button.label == "Compare these 2").click().run()
    assert app.text[0].value == "chosen: hub:org/mnli-0 hub:org/squad-0"


def test_adapters_of_the_hub_are_listed_and_chosen(server: TreeServer) -> None:
    lora = {"adapter_config.json": b"{}", "adapter_model.safetensors": b"x"}
    server.add_fine_tune("org/lora-squad", "org/base", lora, ("squad",), relation="adapter")
    server.add_fine_tune(
        "org/old-squad", "org/base", {"adapter_config.json": b"{}"}, ("squad",), relation="adapter"
    )
    app = panel_alone()
    app.segmented_control(key="weights/hub_kind").set_value("Adapters").run()
    app.button[0].click().run()
    assert not app.exception
    listed = app.dataframe[0].value.set_index("model")["chosen"]
    assert listed.to_dict() == {"hub:org/lora-squad": True, "hub:org/old-squad": False}
    next(button for button in app.button if button.label == "Compare these 1").click().run()
    assert app.text[0].value == "chosen: hub:org/lora-squad"
    app.segmented_control(key="weights/hub_kind").set_value("Fine-tunes").run()
    assert not len(app.dataframe), "what was listed was of the other kind"


def test_a_hub_that_cannot_be_asked_is_a_sentence(
    server: TreeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    app = panel_alone()
    app.button[0].click().run()
    assert not app.exception
    assert "offline mode" in app.error[0].value


def test_a_base_that_nobody_tuned_is_a_sentence(server: TreeServer) -> None:
    for name in [name for name in server.repositories if name != "models/org/base"]:
        del server.repositories[name]
    app = panel_alone()
    app.button[0].click().run()
    assert "no fine-tunes" in app.info[0].value


def test_a_listing_is_an_own_type() -> None:
    assert Listed("hub:a/b", ("x/squad", "glue"), 1, None, None, "", False).label == "glue + squad"


def test_a_lineage_is_drawn_with_the_models_of_the_link() -> None:
    chosen = ["zoo:seed-0", "zoo:nli-0", "zoo:seed-1"]
    app = open_page(PAGE, **LINK, view="Lineage", lineage_models=chosen)
    settle(app)
    assert any(START in info.value for info in app.info)
    before = figures(app)
    next(button for button in app.button if button.label.startswith("Run, about")).click().run()
    settle(app)
    assert not app.exception
    assert "1 of 1 fine-tunes" in headline(app)
    assert figures(app) > before


def test_intruders_start_with_their_button() -> None:
    link = {
        **LINK,
        "view": "Intruders",
        "intruder_models": "zoo:nli-0",
        "leading": "4",
        "draws": "20",
    }
    app = open_page(PAGE, **link)
    settle(app)
    assert any(START in info.value for info in app.info)
    before = figures(app)
    next(button for button in app.button if button.label.startswith("Run, about")).click().run()
    settle(app)
    assert not app.exception
    assert "nli-0" in headline(app)
    assert "of 72" in headline(app)
    assert figures(app) > before
