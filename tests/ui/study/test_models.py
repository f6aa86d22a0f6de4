"""The hub's fine-tunes of a chosen base become choices in every model control, or it is said why
there are none."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.errors import ModelError
from core.limits import MODE
from core.models.hub.listing import Listed
from core.options import options_of
from core.studies.weights.clusters.spec import WeightsSpec
from ui.study.controls import help_of
from ui.study.models import TOO_LARGE

pytestmark = pytest.mark.usefixtures("small_box")


def page() -> None:
    from tests.ui.forms import models_form
    from ui.study.models import fine_tune_finder

    with models_form() as form:
        fine_tune_finder(form.address.key("base"))


def ask_the_hub(base: str) -> AppTest:
    app = AppTest.from_function(page, default_timeout=30)
    app.query_params.update({"base": base})
    app.run()
    next(button for button in app.button if button.label == "Search the Hub").click()
    return app.run()


def test_fine_tunes_of_a_hub_model_become_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    about = {"downloads": 5, "parameters": 110_000_000, "bytes": 1, "licence": ""}
    listed = [
        Listed("hub:a/tuned", ("glue/mnli",), gated=False, **about),
        Listed("hub:a/gated", ("squad",), gated=True, **about),
    ]
    known = {"roberta-base": listed}
    monkeypatch.setattr(
        "core.models.hub.listing.list_fine_tunes", lambda base, most, say: known.get(base, [])
    )
    app = ask_the_hub("hub:roberta-base")
    assert "hub:a/tuned" in app.multiselect(key="rsa/compare").options
    assert "hub:a/gated" not in app.multiselect(key="rsa/compare").options
    assert app.dataframe[0].value["data set"].tolist() == ["mnli"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("base", "named"),
    [
        ("zoo:seed-0", r"hub\:roberta\-base"),
        ("hub:t5-base", r"t5\-base"),
        ("hub:gpt2-medium", "offline"),
    ],
)
def test_no_fine_tunes_is_said(base: str, named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def list_fine_tunes(name: str, most: int, say: object) -> list[Listed]:
        if name == "gpt2-medium":
            raise ModelError("The hub is offline.")
        return []

    monkeypatch.setattr("core.models.hub.listing.list_fine_tunes", list_fine_tunes)
    app = ask_the_hub(base)
    assert not app.exception
    assert named in app.info[0].value


@pytest.mark.slow
def test_a_box_that_cannot_be_read_is_no_crash(small_box: Path) -> None:
    (small_box / "manifest.json").write_text('{"models": []}')
    app = AppTest.from_function(page, default_timeout=30).run()
    assert not app.exception


def weights_page() -> None:
    from core.studies.weights.clusters.spec import WeightsSpec
    from core.studies.weights.lineage.spec import LineageSpec
    from ui.study.forms import Form

    forms = {name: Form(name, Spec) for name, Spec in (("a", WeightsSpec), ("b", LineageSpec))}
    with forms["a"].body():
        forms["a"].control("base")
        for form in forms.values():
            form.control("models")
        forms["a"].button()


def test_adapters_are_offered_after_the_models_and_not_as_bases(small_box: Path) -> None:
    models = '{"name": "parse-0", "ref": "zoo:parse-0"}'
    adapters = '{"name": "parse-0-lora-8", "ref": "zoo:parse-0-lora-8"}'
    (small_box / "manifest.json").write_text(f'{{"models": [{models}], "adapters": [{adapters}]}}')
    app = AppTest.from_function(weights_page, default_timeout=30).run()
    assert not app.exception
    offered = app.multiselect(key="a/models").options
    assert offered.index("zoo:parse-0-lora-8") > offered.index("zoo:parse-0")
    assert "zoo:parse-0-lora-8" in app.multiselect(key="b/models").options
    bases = app.selectbox(key="a/base").options
    assert "zoo:parse-0" in bases
    assert "zoo:parse-0-lora-8" not in bases


def public_page() -> None:
    from core.studies.alignment.seeds.spec import AlignSpec
    from ui.study.forms import Form
    from ui.study.models import public_models

    form = Form("alignment", AlignSpec)
    with form.body():
        form.control("models")
        form.button()
        public_models(form.address, "align")


@pytest.mark.slow
def test_public_models_are_chosen_together_and_refused_where_they_are_too_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = AppTest.from_function(public_page, default_timeout=30).run()
    _, polypythias = (each for each in app.button if each.label == "Choose")
    assert not polypythias.disabled
    polypythias.click()
    app.run()
    seeds = [f"hub:EleutherAI/pythia-160m-seed{number}" for number in range(1, 10)]
    assert list(app.multiselect[0].value) == seeds
    monkeypatch.setenv(MODE, "shared")
    shared = AppTest.from_function(public_page, default_timeout=30).run()
    multiberts, _ = (each for each in shared.button if each.label == "Choose")
    assert multiberts.disabled
    assert multiberts.help == TOO_LARGE


def test_a_pattern_in_a_help_text_keeps_its_asterisks() -> None:
    options = {option.name: option for option in options_of(WeightsSpec)}
    said = help_of(options["models"])
    assert r"zoo:\*\-\*" in said.replace(r"\:", ":")
    assert r"/\*" in said
