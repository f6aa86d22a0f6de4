"""What the controls and links accept, what they refuse, and the sentence beside it."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.errors import CorpusError, ModelError
from core.models.hub_listing import Listed
from ui.controls import TextChoice, model_problem, text_problem
from ui.links import flag, number, one_of


@pytest.fixture
def small_box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("seed-0", "parse-0"):
        (tmp_path / "models" / name).mkdir(parents=True)
    models = ", ".join(f'{{"name": "{name}", "ref": "zoo:{name}"}}' for name in ("seed-0", "parse-0"))
    (tmp_path / "manifest.json").write_text(f'{{"models": [{models}]}}')
    monkeypatch.setenv("PALIMPSEST_ZOO", str(tmp_path))
    return tmp_path


def page() -> None:
    import streamlit as st

    from ui import controls, links

    links.read_link(controls.link_rules(models=("base", "compare"), measure=links.one_of(("rsa", "cka"))))
    with st.form("form"):
        base = controls.model_picker("Base", key="base", default="zoo:seed-0")
        compared = controls.models_picker("Compared", key="compare", default=("zoo:parse-0",))
        measure = st.selectbox("Measure", ["rsa", "cka"], key="measure", bind="query-params")
        text = controls.text_picker()
        pressed = controls.form_submitted()
        controls.fine_tune_finder()
    st.session_state.got = (base, compared, measure, text, pressed)


def opened(**link: str | list[str]) -> AppTest:
    app = AppTest.from_function(page, default_timeout=30)
    app.query_params.update(link)
    return app.run()


def got(app: AppTest) -> tuple:
    assert not app.exception
    return app.session_state.got


def press_run(app: AppTest) -> AppTest:
    next(button for button in app.button if button.label == "Run").click()
    return app.run()


def test_the_defaults(small_box: Path) -> None:
    base, compared, measure, text, pressed = got(opened())
    assert (base, compared, measure, pressed) == ("zoo:seed-0", ("zoo:parse-0",), "rsa", False)
    assert text == TextChoice("demo", (), 200)


def test_a_link_reopens_what_was_chosen(small_box: Path) -> None:
    app = opened(
        base="random:zoo:seed-0",
        compare=["zoo:seed-0", "hub:bert-base-uncased"],
        measure="cka",
        text="demo",
        genre=["news", "fiction"],
        sentences="50",
    )
    base, compared, measure, text, _ = got(app)
    assert (base, compared, measure) == ("random:zoo:seed-0", ("zoo:seed-0", "hub:bert-base-uncased"), "cka")
    assert text == TextChoice("demo", ("news", "fiction"), 50)
    assert not app.warning


def test_what_a_link_cannot_ask_for_is_left_out_and_said(small_box: Path) -> None:
    app = opened(
        base="zoo:[no](http://evil.example)",
        compare=["zoo:seed-0", "zoo:gone"],
        measure="magic",
        text="/etc/passwd",
        genre=["news", "gossip"],
        sentences="many",
    )
    base, compared, measure, text, _ = got(app)
    assert (base, compared, measure) == ("zoo:seed-0", ("zoo:seed-0",), "rsa")
    assert text == TextChoice("demo", ("news",), 200)
    said = " ".join(str(warning.value) for warning in app.warning)
    assert all(f"`{value}`" in said for value in ("zoo:gone", "magic", "/etc/passwd", "gossip", "many"))
    assert "](http" not in said.replace("`zoo:[no](http://evil.example)`", "")
    assert len(opened().warning) == 0
    press_run(app)
    assert not app.warning


def test_a_model_that_is_none_is_refused_beside_the_control(small_box: Path) -> None:
    app = AppTest.from_function(page, default_timeout=30)
    app.session_state["base"] = "zoo:gone"  # as if typed; AppTest's own selectbox takes listed options only
    app.run()
    assert got(app)[0] is None
    assert "gone" in app.error[0].value


def test_no_model_is_refused_beside_the_control(small_box: Path) -> None:
    app = opened()
    app.multiselect(key="compare").set_value([])
    press_run(app)
    assert got(app)[1] is None
    assert "at least one model" in app.error[0].value


def test_an_upload_that_is_not_there_is_asked_for(small_box: Path) -> None:
    app = opened(text="upload")
    assert got(app)[3] is None
    assert "Choose a file" in app.error[0].value


def test_an_upload_is_read_under_its_reference() -> None:
    choice = TextChoice("upload:a.txt", (), 5, b"One sentence here.\nAnd another one.\n")
    corpus = choice.corpora()["upload:a.txt"]
    assert len(corpus.sentences) == 2
    assert choice.identity != TextChoice("upload:a.txt", (), 5, b"Other words.").identity
    assert TextChoice("demo", (), 5).corpora() == {}
    with pytest.raises(CorpusError):
        TextChoice("upload:a.txt", (), 5, b"\x00\xff\xfe").corpora()


def ask_the_hub(app: AppTest) -> AppTest:
    next(button for button in app.button if button.label == "Ask the hub").click()
    return app.run()


def test_fine_tunes_of_a_hub_model_become_choices(small_box: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    about = {"downloads": 5, "parameters": 110_000_000, "bytes": 1, "licence": ""}
    listed = [
        Listed("hub:a/tuned", ("glue/mnli",), gated=False, **about),
        Listed("hub:a/gated", ("squad",), gated=True, **about),
    ]
    known = {"roberta-base": listed}
    monkeypatch.setattr("core.models.hub_listing.list_fine_tunes", lambda base, most: known.get(base, []))
    app = ask_the_hub(opened(base="hub:roberta-base"))
    assert "hub:a/tuned" in app.multiselect(key="compare").options
    assert "hub:a/gated" not in app.multiselect(key="compare").options
    assert app.dataframe[0].value["data set"].tolist() == ["mnli"]


@pytest.mark.parametrize(
    ("base", "said"), [("zoo:seed-0", "Only hub models"), ("hub:t5-base", "No card"), ("hub:gpt2-medium", "offline")]
)
def test_no_fine_tunes_is_said(base: str, said: str, small_box: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def list_fine_tunes(name: str, most: int) -> list[Listed]:
        if name == "gpt2-medium":
            raise ModelError("The hub is offline.")
        return []

    monkeypatch.setattr("core.models.hub_listing.list_fine_tunes", list_fine_tunes)
    app = ask_the_hub(opened(base=base))
    assert not app.exception
    assert said in app.info[0].value


@pytest.mark.parametrize("ref", ["zoo:seed-0", "random:zoo:parse-0", "hub:bert-base-uncased", "hub:a/b@main"])
def test_models_that_may_be_used(ref: str, small_box: Path) -> None:
    assert model_problem(ref) is None


@pytest.mark.parametrize("ref", ["", "seed-0", "zoo:gone", "zoo:../../etc", "path:/nowhere", "hub:a/b/c", "random:x"])
def test_models_that_may_not(ref: str, small_box: Path) -> None:
    assert model_problem(ref)


def test_folders_and_files_are_off_when_shared(
    small_box: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = tmp_path / "a.txt"
    text.write_text("One sentence.")
    assert model_problem(f"path:{tmp_path}") is None
    assert text_problem(str(text)) is None
    monkeypatch.setenv("PALIMPSEST_MODE", "shared")
    assert "shared instance" in str(model_problem(f"path:{tmp_path}"))
    assert "shared instance" in str(text_problem(str(text)))


@pytest.mark.parametrize(
    ("ref", "part"),
    [
        ("demo", None),
        ("demo-gold", None),
        ("upload", None),
        ("demo:news,fiction", None),
        ("hub:imdb", None),
        ("demo:gossip", "no genre"),
        ("hub:", "hub"),
        ("poetry", "not a text"),
        ("/nowhere.txt", "no such file"),
    ],
)
def test_texts(ref: str, part: str | None) -> None:
    problem = text_problem(ref)
    assert problem is None if part is None else part in str(problem)


def test_rules_of_links() -> None:
    assert one_of(("a", "b"))("a") is None
    assert "a, b" in str(one_of(("a", "b"))("c"))
    whole, real = number(1, 5), number(0, 1, whole=False)
    assert [whole(value) is None for value in ("1", "5", "0", "6", "2.5", "x", "nan", "inf", "1e0")] == [
        *(True, True, False, False, False, False, False, False, True)
    ]
    assert real("0.25") is None
    assert flag("true") is None
    assert flag("maybe") is not None
