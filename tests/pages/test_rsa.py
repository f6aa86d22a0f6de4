"""The RSA page under AppTest, on a handful of sentences of the demo through the included models."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from contextlib import closing
from dataclasses import fields, replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.catalogue import STUDIES
from core.models import describe
from core.models.zoo import zoo_folder
from core.results.numbers import text_of
from core.studies.rsa.layers.notice_text import said
from core.studies.rsa.layers.spec import RsaSpec
from core.studies.rsa.layers.study import STUDY
from core.studies.rsa.swap.text import GUESSES
from core.studies.rsa.tokens.spec import LENGTHS
from core.text.reading import fewer_sentences
from extras.rsa.truth.spec import TruthSpec
from tests.core.hostile import grown
from tests.core.hub_server import HubServer
from tests.core.tiny_models import save_tiny
from tests.core.warm import Warm
from tests.extras.rsa.truth.test_study import SMALL as FEW
from tests.pages.conftest import SMALL, Everything, headline, open_page, sentences, settle
from ui.views import rsa as rsa_views
from ui.views.rsa_experiments import EXPERIMENTS
from ui.views.tokens.words import word_at

PAGE = "pages/rsa.py"
AUDIT, TRAINING, TRUTH = (STUDIES[name].title for name in ("audit", "training", "truth"))
pytestmark = pytest.mark.usefixtures("box")


def charts(app: AppTest) -> list[dict]:
    return [json.loads(chart.proto.spec) for chart in app.get("vega_lite_chart")]


def unescaped(app: AppTest) -> str:
    """All sentences of the page, without the marks that keep Markdown from reading them."""
    return sentences(app).replace("\\", "")


def view(app: AppTest, name: str) -> AppTest:
    app.segmented_control(key="rsa/view").set_value(name)
    return settle(app.run())


@pytest.mark.exhaustive
def test_the_line_above_the_figure_says_how_many_sentences_were_read(tmp_path) -> None:
    text = tmp_path / "short.txt"
    text.write_text(
        "\n".join(f"The man opened door number {number}." for number in range(23)), encoding="utf8"
    )
    app = open_page(PAGE, **{**SMALL, "sentences": "40", "corpus": str(text)})
    assert not app.exception
    assert "txt, 23 sentences;" in app.expander[0].label
    assert fewer_sentences(str(text), 23, 40) in unescaped(app)
    assert "demo, 20 sentences;" in open_page(PAGE, **SMALL).expander[0].label


def test_the_study_runs_by_itself_and_has_the_same_numbers_as_the_command_line() -> None:
    app = open_page(PAGE, **SMALL)
    assert not app.exception
    spec = RsaSpec("zoo:seed-0", ("zoo:parse-0",), words=40, sentences=20, references=False)
    expected = STUDY.run(spec).table
    shown = app.dataframe[0].value
    assert shown["similarity"].tolist() == pytest.approx(expected["similarity"].tolist(), abs=1e-6)
    assert "parse" in sentences(app)
    assert len(charts(app)) == 2, "states and functions"
    labels = {button.label for button in app.get("download_button")}
    assert labels == {"CSV", "Parquet", "SVG", "PNG"}
    assert {"Figure", "Report", "Download all"} <= {button.label for button in app.button}
    assert all(point in unescaped(app) for point in STUDY.caveats)


@pytest.mark.parametrize(
    ("link", "options"),
    [
        ({"standardise": "true"}, {"standardise": True}),
        ({"drop_rogue": "3"}, {"drop_rogue": 3}),
        pytest.param(
            *({"genres": ["fiction"]}, {"genres": ("fiction",)}), marks=pytest.mark.exhaustive
        ),
        pytest.param(
            *({"one_per_word": "true"}, {"one_per_word": True}), marks=pytest.mark.exhaustive
        ),
    ],
)
def test_what_the_link_asks_for_reaches_the_numbers(link: dict, options: dict) -> None:
    settings = {
        "compare": ("zoo:parse-0",),
        "words": 40,
        "sentences": 20,
        "references": False,
    }
    plain = STUDY.run(RsaSpec("zoo:seed-0", **settings)).table["similarity"].tolist()
    expected = (
        STUDY.run(RsaSpec("zoo:seed-0", **{**settings, **options})).table["similarity"].tolist()
    )
    app = open_page(PAGE, **{**SMALL, **link})
    assert not app.exception
    shown = app.dataframe[0].value["similarity"].tolist()
    assert shown == pytest.approx(expected, abs=1e-6)
    assert shown != pytest.approx(plain, abs=1e-4)


@pytest.mark.exhaustive
def test_runs_of_one_task_are_one_curve_and_sizes_stand_beside_names() -> None:
    app = open_page(PAGE, **{**SMALL, "compare": ["zoo:parse-[01]", "zoo:sentiment-fast"]})
    assert not app.exception
    table = app.dataframe[0].value
    assert list(dict.fromkeys(table["model"])) == ["zoo:parse-*", "zoo:sentiment-fast"]
    assert table["runs"].max() == 2
    drawn = json.dumps(charts(app))
    assert "parse-* (2 runs, ." in drawn
    assert "sentiment-fast (." in drawn
    sizes = table["relative_change"].dropna()
    assert said("unequal", least=text_of(sizes.min()), most=text_of(sizes.max())) in unescaped(app)


def test_every_view_draws_its_charts() -> None:
    app = open_page(PAGE, **SMALL)
    assert len(charts(view(app, "Layer against layer"))) == 1
    assert "base_layer" in app.dataframe[0].value
    assert len(charts(view(app, "Two texts"))) == 3, "their difference, and each"
    assert "corpus" in app.dataframe[0].value
    assert len(charts(view(app, "Token map"))) == 2
    assert "variance" in sentences(app)
    assert not app.exception
    assert len(charts(view(app, "By layer"))) == 2, "states and functions"


@pytest.mark.exhaustive
def test_a_text_without_known_genres_is_compared_with_the_included_one(tmp_path: Path) -> None:
    text = tmp_path / "mine.txt"
    text.write_text(
        "\n".join(f"The man opened door number {number}." for number in range(23)), encoding="utf8"
    )
    app = open_page(PAGE, **SMALL, view="Two texts")
    assert app.selectbox(key="rsa/against").value == ""
    assert app.multiselect(key="rsa/against_genres").value == ["legal", "technical"]
    app = open_page(PAGE, **SMALL, view="Two texts", corpus=str(text))
    assert not app.exception
    assert not app.error
    assert len(charts(app)) == 3
    assert app.selectbox(key="rsa/against").value == "demo"
    assert "against" not in app.query_params
    assert "against_genres" not in app.query_params

    app.multiselect(key="rsa/against_genres").set_value(["news"])
    next(button for button in app.button if button.label == "Compare").click()
    settle(app.run())
    assert not app.error
    assert len(charts(app)) == 3
    assert [app.query_params[name] for name in ("against", "against_genres")] == ["demo", "news"]


@pytest.mark.exhaustive
def test_the_proposed_second_text_follows_the_first(tmp_path: Path) -> None:
    text = tmp_path / "mine.txt"
    text.write_text("The man opened the door of the house.\n" * 20, encoding="utf8")
    app = open_page(PAGE, **SMALL, view="Two texts")
    app.query_params["corpus"] = str(text)  # as the back button does
    settle(app.run())
    assert not app.error
    assert app.selectbox(key="rsa/against").value == "demo"
    app.selectbox(key="rsa/corpus").set_value("demo")
    next(button for button in app.button if button.label == "Run").click()
    settle(app.run())
    assert not app.error
    assert app.selectbox(key="rsa/against").value == ""
    assert app.multiselect(key="rsa/against_genres").value == ["legal", "technical"]


@pytest.mark.exhaustive
def test_a_search_marks_words_of_the_token_map_and_is_in_the_address() -> None:
    app = open_page(PAGE, **SMALL, view="Token map")
    app.text_input(key="rsa/search").set_value("captain").run()
    assert not app.exception
    assert app.query_params["search"] == "captain"
    assert "words match “captain”" in sentences(app)
    assert "words match “hid”" in sentences(
        open_page(PAGE, **SMALL, view="Token map", search="hid")
    )


def test_the_slider_moves_the_token_map_without_a_study_and_without_another_chart() -> None:
    app = open_page(PAGE, **SMALL, view="Token map")
    before = charts(app)
    assert len(before) == 2
    app.select_slider(key="rsa/layer").set_value(2).run()
    assert not app.exception
    assert charts(app) == before  # which holds all layers
    assert all(title in sentences(app) for title in ("seed\\-0, layer 2", "parse\\-0, layer 2"))


def test_a_word_of_the_token_map_shows_its_nearest_words_and_is_in_the_address() -> None:
    app = open_page(PAGE, **SMALL, view="Token map")
    assert not html(app, "near")
    assert "captain" in html(app, "passage")[0]
    assert "<mark>" not in html(app, "passage")[0]
    app.selectbox(key="rsa/word").set_value(4).run()
    assert not app.exception
    (near,) = html(app, "near")
    assert app.query_params["word"] == "4"
    assert near.count("<tr") == 1 + 7  # the head, and a row per layer
    assert "seed-0" in near
    assert "parse-0" in near
    assert "<mark>captain</mark>" in html(app, "passage")[0]
    again = open_page(PAGE, **SMALL, view="Token map", word="4", layer="2")
    assert "At layer 2, seed-0 and parse-0 share" in html(again, "near")[0]


def test_a_clicked_word_is_chosen_and_a_second_click_lets_it_go() -> None:
    address = {"word": 0}
    for expected in (4, 0):
        address |= word_at(address, {"position": 3})  # type: ignore[arg-type]
        assert address["word"] == expected
    assert word_at(address, {}) == {}  # type: ignore[arg-type]


@pytest.mark.exhaustive
def test_a_model_and_a_layer_of_one_figure_are_those_of_the_next() -> None:
    """As a click on a point of the first figure chooses them, and as a link holds them."""
    point = {"layer": 3.0, "model": "zoo:sentiment-0"}
    assert rsa_views._token_map_at(point) == {
        "view": "Token map", "layer": 3, "model": "zoo:sentiment-0",
    }  # fmt: skip
    small = {name: value for name, value in SMALL.items() if name != "compare"}
    link = {"view": "Token map", "layer": "3", "model": "zoo:sentiment-0"}
    app = open_page(PAGE, **small, **link)
    assert "sentiment-0, layer 3" in unescaped(app)
    assert app.pills[0].value == ["zoo:seed-0", "zoo:sentiment-0"]
    app.pills[0].set_value(["zoo:seed-0", "zoo:parse-0"]).run()
    assert "parse-0, layer 3" in unescaped(app)  # followed once
    assert not app.exception


@pytest.mark.exhaustive
def test_the_model_whose_words_are_coloured_is_the_one_of_the_next_figure() -> None:
    asked = {"compare": ["zoo:seed-0@step-3200", "zoo:seed-0@step-800"]}
    app = start(open_page(PAGE, **(SMALL | asked), study="divergence"))
    shown = app.selectbox(key="divergence_model")
    assert shown.value == "zoo:seed-0@step-3200"
    shown.set_value("zoo:seed-0@step-800").run()
    assert app.session_state["rsa/model"] == "zoo:seed-0@step-800"
    app.session_state["rsa/model"] = "zoo:seed-0@step-3200"
    assert app.run().selectbox(key="divergence_model").value == "zoo:seed-0@step-3200"
    app.session_state["rsa/model"] = "zoo:nobody"
    assert app.run().selectbox(key="divergence_model").value == "zoo:seed-0@step-3200"
    assert not app.exception


def test_a_word_that_the_passage_does_not_have_is_announced() -> None:
    app = open_page(PAGE, **SMALL, view="Token map", word="150")
    assert not app.exception
    assert any("`150`" in warning.value for warning in app.warning)
    assert not html(app, "near")


@pytest.mark.exhaustive
def test_the_token_map_answers_its_question_unless_models_are_chosen() -> None:
    small = {name: value for name, value in SMALL.items() if name != "compare"}
    app = open_page(PAGE, **small, view="Token map")
    assert "qa-0, layer 6" in unescaped(app)
    (answers,) = html(app, "near")
    assert answers.count("<tr") == 1 + 7
    assert '<tr class="now"><th scope="row">6</th><td>under a loose board' in answers
    assert "qa\\-0; “Where did the captain" in app.expander[0].label
    assert "parse-0, layer 6" in unescaped(open_page(PAGE, **SMALL, view="Token map"))
    assert "qa-0, layer 6" not in unescaped(open_page(PAGE, **small, view="Token map", question=""))


def html(app: AppTest, kind: str) -> list[str]:
    """The page's pieces of HTML that hold an element of this class."""
    bodies = [element.proto.body for element in app.get("html")]
    return [body for body in bodies if f'class="{kind}"' in body]


def test_a_layer_that_no_model_has_is_announced_and_the_pages_own_is_not_in_the_link() -> None:
    app = open_page(PAGE, **SMALL, view="Token map", layer="99")
    assert not app.exception
    assert any("`99`" in warning.value for warning in app.warning)
    assert app.select_slider(key="rsa/layer").value == 6
    assert "layer" not in app.query_params
    app.select_slider(key="rsa/layer").set_value(2).run()
    assert "2" in app.query_params["layer"]
    assert not app.warning


def test_a_changed_measure_is_another_study() -> None:
    app = open_page(PAGE, **SMALL)
    raw = app.dataframe[0].value["similarity"].tolist()
    app.selectbox(key="rsa/measure").set_value("cka-debiased")
    next(button for button in app.button if button.label == "Run").click()
    settle(app.run())
    assert not app.exception
    assert app.dataframe[0].value["similarity"].tolist() != raw


@pytest.mark.exhaustive
def test_a_measure_that_is_mostly_null_says_so() -> None:
    app = open_page(PAGE, **SMALL, measure="cca")
    assert not app.exception
    width = describe("zoo:seed-0").d_model
    few = {"label": "mean CCA", "items": 40, "width": width, "others": "RSA or debiased CKA"}
    assert said("too_few_items", **few) in unescaped(app)
    assert "unrelated spaces score 1" in unescaped(app)


def test_a_model_that_cannot_be_had_is_named_and_the_others_are_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    app = open_page(PAGE, **{**SMALL, "compare": ["zoo:parse-0", "hub:nobody/nothing"]})
    assert not app.exception
    assert "was left out" in app.warning[0].value
    assert set(app.dataframe[0].value["model"]) == {"zoo:parse-0"}


@pytest.mark.exhaustive
@pytest.mark.tokenizers_apart
def test_a_hostile_tokenizer_is_named_on_a_shared_server_and_the_others_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = save_tiny(tmp_path / "evil")
    settings = json.loads((folder / "tokenizer.json").read_text(encoding="utf8"))
    (folder / "tokenizer.json").write_text(
        json.dumps(settings | {"normalizer": grown(4)}), encoding="utf8"
    )
    monkeypatch.setenv("PALIMPSEST_MODE", "shared")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    with HubServer() as server, closing(Warm(save_tiny(tmp_path / "warm"))) as waiting:
        if sys.platform == "linux":  # six processes for the tokenizer, which import nothing
            monkeypatch.setattr(subprocess, "Popen", waiting.popen)
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        server.add("org/evil", folder)
        app = open_page(PAGE, **{**SMALL, "compare": ["zoo:parse-0", "hub:org/evil"]})
    assert not app.exception
    assert "crashed or took more memory than a tokenizer should" in app.warning[0].value
    assert set(app.dataframe[0].value["model"]) == {"zoo:parse-0"}


def test_a_passage_that_is_too_short_is_a_sentence_not_a_trace() -> None:
    app = open_page(PAGE, **SMALL, view="Token map")
    app.text_area(key="rsa/passage").set_value("Two words")
    next(button for button in app.button if button.label == "Draw").click()
    settle(app.run())
    assert not app.exception
    assert str(LENGTHS[1]) in unescaped(app)


def start(app: AppTest) -> AppTest:
    """Press the button of an experiment, which says how long it will take."""
    next(button for button in app.button if button.label.startswith("Run, about ")).click()
    return settle(app.run())


@pytest.mark.exhaustive
def test_layers_are_exchanged_where_the_task_can_be_scored(everything: Everything) -> None:
    link = {**SMALL, "compare": ["zoo:parse-0", "zoo:nli-0"], "study": "swap", "noises": "2"}
    app = open_page(PAGE, **link, frozen="false")
    assert not app.exception
    assert not charts(app)  # it waits for its button
    app = start(app)
    assert len(charts(app)) == 2
    assert " UAS (layer " in headline(app)
    assert GUESSES in sentences(app)  # among the notes
    assert "contradiction" in sentences(app)  # a label of the model that cannot be scored
    everything.check(app)
    assert charts(open_page(PAGE, **link, frozen="false"))  # stored by now


@pytest.mark.exhaustive
def test_known_truth_has_a_header_and_options_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    # the page has no options for the models and the text of this study
    few = replace(FEW, planted=("zoo:parse-0", "zoo:pos-0"))
    values = tuple(getattr(few, option.name) for option in fields(TruthSpec))
    monkeypatch.setattr(TruthSpec.__init__, "__defaults__", values)
    app = open_page(PAGE, **SMALL, study="truth", plants="2", measures="rsa")
    assert not app.exception
    assert app.title[0].value == EXPERIMENTS[TRUTH].view.question
    assert not [
        fold for fold in app.expander if "Change" in fold.label
    ]  # it reads nothing of the page's form
    app = start(app)
    assert not app.exception
    assert len(charts(app)) == 4
    assert set(app.dataframe[0].value["finder"]) >= {"rsa"}
    assert open_page(PAGE, **SMALL).title[0].value != app.title[0].value


def test_output_divergence_colours_words_and_refuses_a_model_that_predicts_none() -> None:
    asked = {"compare": ["zoo:seed-0@step-3200", "zoo:parse-0"]}
    app = start(open_page(PAGE, **(SMALL | asked), study="divergence"))
    assert not app.exception
    assert len(charts(app)) == 4
    assert "JS divergence" in headline(app)
    assert app.selectbox(key="divergence_model").options == ["seed-0@step-3200"]
    assert "predicts no words" in sentences(app)


@pytest.mark.exhaustive
def test_the_lenses_show_words_curves_and_a_sentence() -> None:
    asked = {"models": ["zoo:review-0"], "others": [], "sentences": "20", "study": "lens"}
    app = start(open_page(PAGE, **(SMALL | asked)))
    assert not app.exception
    assert "review-0 now favours" in headline(app)
    assert len(charts(app)) == 1
    assert "zoo:review-0" in set(app.dataframe[0].value["model"])
    for part, count in (("words", 1), ("layers", 2), ("sentence", 2)):
        app.segmented_control(key="rsa/lens shown").set_value(part)
        app = settle(app.run())
        assert not app.exception
        assert len(charts(app)) == count


def test_the_audit_of_a_run_names_its_checkpoints() -> None:
    app = start(open_page(PAGE, **SMALL, view=AUDIT))
    assert not app.exception
    assert len(charts(app)) == 1
    assert "All 6 checkpoints are distinct" in headline(app)


def test_the_audit_of_a_run_on_the_hub_is_asked_for_by_a_pattern(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with HubServer() as hub:
        hub.replace_hub(monkeypatch, tmp_path / "cache")
        served = hub.add("lab/run", zoo_folder() / "models" / "seed-0")
        for step in (50, 800, 3200):
            folder = zoo_folder() / "models" / f"seed-0@step-{step}"
            served.revisions[f"step{step}"] = {
                path.name: path.read_bytes() for path in folder.iterdir()
            }
        link = {"models": ["hub:lab/run@step*"], "end": "hub:lab/run", "at_most": "2"}
        app = start(open_page(PAGE, **SMALL, study="audit", **link))
        assert not app.exception
        assert "All 3 checkpoints are distinct" in headline(app)
        assert "matches 3 revisions" in unescaped(app)
        assert app.query_params["models"] == "hub:lab/run@step*"


def test_a_folder_whose_study_is_long_waits_for_a_button(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(zoo_folder() / "models" / "parse-0", tmp_path / "mine")
    monkeypatch.setattr("core.runs.price.LONG", 0.0)
    app = open_page(PAGE, **{**SMALL, "compare": [f"path:{tmp_path / 'mine'}"], "words": "41"})
    assert not app.exception
    assert not charts(app)
    assert any(button.label.startswith("Start, about") for button in app.button)


@pytest.mark.exhaustive
def test_through_training_says_its_own_study_and_disables_what_it_does_not_read() -> None:
    app = start(open_page(PAGE, **SMALL, view=TRAINING))
    assert not app.exception
    assert len(charts(app)) == 2
    assert "seed-1" in headline(app)
    assert app.title[0].value == EXPERIMENTS[TRAINING].view.question
    line = next(fold.label for fold in app.expander if "Change" in fold.label)
    assert "20 sentences" in line
    assert "against parse" not in line
    assert app.multiselect(key="rsa/compare").disabled
    assert not app.selectbox(key="rsa/measure").disabled
    few = charts(app)[0]
    app.toggle(key="rsa/rivals").set_value(True).run()
    assert not app.exception
    assert "layer 3" not in json.dumps(few)
    assert "layer 3" in json.dumps(charts(app)[0])


@pytest.mark.exhaustive
def test_the_map_of_models_holds_all_layers_and_follows_the_slider() -> None:
    asked = {"models": ["zoo:seed-0", "zoo:seed-1", "zoo:nli-0"], "study": "spaces"}
    app = start(open_page(PAGE, **(SMALL | asked)))
    assert not app.exception
    before = charts(app)
    assert "stage" in json.dumps(before[1].get("params"))
    app.select_slider(key="rsa/layer").set_value(2).run()
    assert not app.exception
    assert charts(app) == before
    assert "2" in app.query_params["layer"]


def test_the_run_is_chosen_in_the_view_and_stands_in_the_link() -> None:
    run = {"steps": ["zoo:seed-0@step-200", "zoo:seed-0@step-800"], "others": ["zoo:seed-2"]}
    app = start(open_page(PAGE, **SMALL, view=TRAINING, **run))
    assert not app.exception
    assert set(app.dataframe[0].value["model"]) == {*run["steps"]}
    assert "seed-2" in headline(app)
    assert app.query_params["steps"] == run["steps"]
    app.multiselect(key="rsa/training/others").set_value([])
    next(button for button in app.button if button.label.startswith("Run, about")).click()
    settle(app.run())
    assert not app.exception
    assert "seed-2" not in headline(app)
    app.multiselect(key="rsa/training/steps").set_value(["zoo:nothing@step-*"])
    next(button for button in app.button if button.label.startswith("Run, about")).click()
    settle(app.run())
    assert not app.exception
    assert "No model matches" in sentences(app)
